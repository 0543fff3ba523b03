//! Collapsible log groups and annotations of CI systems.

use super::settings::CiSystem;
use super::tty_stream::Stream;
use crate::state::printable::{one_line, visible};
use serde_json::Value;

/// A group of log lines; ends when dropped.
#[derive(Debug)]
pub(crate) struct LogGroup<'a> {
    stream: &'a Stream,
    system: Option<CiSystem>,
    /// Name of the section, for GitLab.
    name: &'static str,
}

impl<'a> LogGroup<'a> {
    pub(super) fn begin(
        stream: &'a Stream,
        system: Option<CiSystem>,
        name: &'static str,
        title: &str,
    ) -> LogGroup<'a> {
        let title = one_line(title);
        match system {
            Some(CiSystem::GitHub) => stream.write_command(&format!("::group::{title}\n")),
            Some(CiSystem::GitLab) => {
                let start = section("start", &format!("{name}[collapsed=true]"));
                stream.write_command(&format!("{start}{title}\n"));
            }
            None => {}
        }
        LogGroup {
            stream,
            system,
            name,
        }
    }
}

/// Annotation of a manifest line with a problem, for CI systems that support it.
pub(super) fn annotation(system: Option<CiSystem>, level: &str, problem: &Value) -> Option<String> {
    if system != Some(CiSystem::GitHub) {
        return None;
    }
    let text = |key: &str| visible(problem[key].as_str().unwrap_or_default());
    let title = format!("title={}", escaped(&text("code"), true));
    let properties: Vec<String> = [("file", "file"), ("line", "line"), ("column", "col")]
        .into_iter()
        .filter_map(|(key, name)| match &problem[key] {
            Value::String(text) => Some(format!("{name}={}", escaped(&visible(text), true))),
            Value::Number(number) => Some(format!("{name}={number}")),
            _ => None,
        })
        .chain([title])
        .collect();
    let message = match text("path").as_str() {
        "" => text("message"),
        path => format!("{path}: {}", text("message")),
    };
    let (properties, message) = (properties.join(","), escaped(&message, false));
    Some(format!("::{level} {properties}::{message}\n"))
}

impl Drop for LogGroup<'_> {
    fn drop(&mut self) {
        match self.system {
            Some(CiSystem::GitHub) => self.stream.write_command("::endgroup::\n"),
            Some(CiSystem::GitLab) => {
                let end = section("end", self.name);
                self.stream.write_command(&format!("{end}\n"));
            }
            None => {}
        }
    }
}

/// A GitLab section marker. Terminals overwrite it with the text that follows.
fn section(what: &str, name: &str) -> String {
    let now = crate::clock::now().as_second();
    format!("\x1b[0Ksection_{what}:{now}:kvshoot_{name}\r\x1b[0K")
}

/// Escapes text for a GitHub workflow command, like `@actions/core`.
fn escaped(text: &str, is_property: bool) -> String {
    let text = text
        .replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A");
    match is_property {
        true => text.replace(':', "%3A").replace(',', "%2C"),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::super::printer::Ui;
    use super::super::settings::UiSettings;
    use super::super::tests::check;
    use super::*;
    use serde_json::json;

    fn printed(ci_system: Option<CiSystem>, print: impl FnOnce(&Ui)) -> String {
        let settings = UiSettings {
            ci_system,
            ..UiSettings::default()
        };
        check(settings, print)
    }

    #[test]
    fn groups_use_the_syntax_of_the_ci_system() {
        let print = |ui: &Ui| {
            let _group = ui.log_group("make", "Make shoot a");
            ui.status("done");
        };
        assert_eq!(printed(None, print), "--\ndone\n");
        let github = printed(Some(CiSystem::GitHub), print);
        assert_eq!(github, "--\n::group::Make shoot a\ndone\n::endgroup::\n");
        let gitlab = printed(Some(CiSystem::GitLab), print);
        let digits = |it: char| it.is_ascii_digit();
        let gitlab: Vec<&str> = gitlab.split(digits).filter(|it| !it.is_empty()).collect();
        // Splitting at digits also removes the zeros of ESC [ 0 K.
        let expected = [
            "--\n\x1b[",
            "Ksection_start:",
            ":kvshoot_make[collapsed=true]\r\x1b[",
            "KMake shoot a\ndone\n\x1b[",
            "Ksection_end:",
            ":kvshoot_make\r\x1b[",
            "K\n",
        ];
        assert_eq!(gitlab, expected);
    }

    #[test]
    fn problems_annotate_their_line_on_github() {
        let problem = json!({
            "file": "a,b.yaml", "line": 3, "column": 5, "code": "pool/name",
            "path": "spec.x", "message": "100% wrong\nreally",
        });
        let print = |ui: &Ui| ui.problems("text", [("warning", problem.clone())]);
        let expected = "--\ntext\n::warning file=a%2Cb.yaml,line=3,col=5,title=pool/name::spec.x: 100%25 wrong%0Areally\n";
        assert_eq!(printed(Some(CiSystem::GitHub), print), expected);
        assert_eq!(printed(Some(CiSystem::GitLab), print), "--\ntext\n");
    }
}
