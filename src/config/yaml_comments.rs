//! Comments of a YAML text, for a text that is written anew.

use serde_yaml::Value;

/// A comment, with the line that it belongs to.
struct Comment<'a> {
    /// With its `#`.
    text: &'a str,
    /// Content of the line that follows it, or that it ends; empty at the end of the text.
    line: &'a str,
    /// How many lines with that content precede it.
    nth: usize,
    is_at_end: bool,
}

/// Returns `after` with the comments of `before`, each at the line that it had. Those of lines that are gone or changed
/// are at the top.
///
/// `after` stays as it is if the comments would change its value.
pub(super) fn with_comments(before: &str, after: String) -> String {
    let comments = comments(before);
    if comments.is_empty() {
        return after;
    }
    let mut lines: Vec<String> = after.lines().map(str::to_owned).collect();
    let original = lines.clone();
    let mut above: Vec<Vec<&str>> = vec![Vec::new(); lines.len() + 1];
    let mut top = Vec::new();
    for comment in &comments {
        let of_line = |(_, line): &(usize, &String)| line.trim() == comment.line;
        let line = original.iter().enumerate().filter(of_line).nth(comment.nth);
        match line.map(|it| it.0) {
            _ if comment.line.is_empty() => above[original.len()].push(comment.text),
            None => top.push(comment.text),
            Some(line) if comment.is_at_end => lines[line] += &format!(" {}", comment.text),
            Some(line) => above[line].push(comment.text),
        }
    }
    let mut text: Vec<String> = top.into_iter().map(str::to_owned).collect();
    for (line, comments) in lines.iter().map(Some).chain([None]).zip(above) {
        let content = line.map_or("", |it| it.trim_start());
        let indentation = line.map_or("", |it| &it[..it.len() - content.len()]);
        text.extend(comments.iter().map(|it| format!("{indentation}{it}")));
        text.extend(line.cloned());
    }
    let text = text.join("\n") + "\n";
    match value(&text) == value(&after) {
        true => text,
        false => after,
    }
}

fn value(text: &str) -> Option<Value> {
    serde_yaml::from_str(text).ok()
}

fn comments(text: &str) -> Vec<Comment<'_>> {
    let lines: Vec<(&str, Option<&str>)> = text.lines().map(split).collect();
    let mut comments = Vec::new();
    for (number, (content, comment)) in lines.iter().enumerate() {
        let Some(text) = *comment else { continue };
        let next = match content.is_empty() {
            true => lines[number..].iter().find(|it| !it.0.is_empty()),
            false => Some(&lines[number]),
        };
        let line = next.map_or("", |it| it.0);
        let nth = lines[..number].iter().filter(|it| it.0 == line).count();
        let is_at_end = !content.is_empty();
        comments.push(Comment {
            text,
            line,
            nth,
            is_at_end,
        });
    }
    comments
}

/// Splits a line into its content and its comment. A `#` inside of quotes begins none.
fn split(line: &str) -> (&str, Option<&str>) {
    let mut quote = None;
    let mut before = ' ';
    for (at, letter) in line.char_indices() {
        match (quote, letter) {
            (None, '#') if before.is_whitespace() => {
                return (line[..at].trim(), Some(line[at..].trim_end()));
            }
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            _ => {}
        }
        before = letter;
    }
    (line.trim(), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_stay_at_their_lines() {
        let before = "\
# mine
apiVersion: v1
clusters: # all of them
- name: a
  # in the cellar
  cluster: {server: 'https://a#b'} # flow
- name: b
# the end
";
        let after = "\
apiVersion: v1
clusters:
- name: a
  cluster:
    server: https://a#b
- name: b
- name: c
";
        let expected = "\
# in the cellar
# flow
# mine
apiVersion: v1
clusters: # all of them
- name: a
  cluster:
    server: https://a#b
- name: b
- name: c
# the end
";
        assert_eq!(with_comments(before, after.to_owned()), expected);
    }

    #[test]
    fn equal_lines_are_told_apart() {
        let before = "a:\n  x: 1\nb:\n  # second\n  x: 1\n";
        assert_eq!(
            with_comments(before, "a:\n  x: 1\nb:\n  x: 1\n".to_owned()),
            before
        );
    }

    #[test]
    fn a_comment_never_changes_the_value() {
        let before = "# x\na: 1\n";
        let after = "b: |\n  a: 1\n".to_owned();
        let read = |text: &str| value(text).expect("YAML");
        assert_eq!(read(&with_comments(before, after.clone())), read(&after));
        assert_eq!(with_comments("a: '# b'\n", after.clone()), after);
    }
}
