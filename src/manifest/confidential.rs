//! Parts of a file that excerpts do not show. They are found without parsing, so that invalid documents are included.

use std::ops::Range;

/// Returns the byte ranges of private keys, passwords, and credentials of MachineDeployments, in order.
pub(super) fn masked(text: &str) -> Vec<Range<usize>> {
    let mut all = credentials(text);
    all.extend(private_keys(text));
    all.extend(passwords(text));
    all.sort_unstable_by_key(|it| (it.start, it.end));
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(all.len());
    for range in all {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// Byte ranges of private keys in PEM: from the end of their first line to the last, or to the end of the document.
fn private_keys(text: &str) -> Vec<Range<usize>> {
    const BEGIN: &str = "PRIVATE KEY-----";
    const END: &str = "-----END";
    let mut found = Vec::new();
    let mut done = 0;
    for (at, word) in text.match_indices(BEGIN) {
        let start = at + word.len();
        let head = &text[..at];
        let is_begin = |dashes: usize| head[dashes..].starts_with("-----BEGIN");
        if start < done || !head.rfind("-----").is_some_and(is_begin) {
            continue;
        }
        let rest = &text[start..];
        let rest = &rest[..rest.find("\n---").unwrap_or(rest.len())];
        done = start + rest.find(END).unwrap_or(rest.len());
        found.push(start..done);
    }
    found
}

/// Byte ranges after keys that hold a password in a cloud-config.
fn passwords(text: &str) -> Vec<Range<usize>> {
    const KEYS: [&str; 5] = [
        "password:",
        "passwd:",
        "hashed_passwd:",
        "plain_text_passwd:",
        "chpasswd:",
    ];
    let mut found: Vec<Range<usize>> = Vec::new();
    if !text.contains("passw") {
        return found;
    }
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let key = line.trim_start_matches([' ', '\t', '-']);
        let indent = line.len() - key.len();
        if let Some(word) = KEYS.into_iter().find(|it| key.starts_with(it)) {
            let value = start + indent + word.len();
            if found.last().is_none_or(|it| it.end <= value) {
                found.push(value..block(text, value));
            }
        }
        start += line.len();
    }
    found
}

/// Byte ranges of Secrets, found without parsing, so that invalid documents are included.
pub(super) fn secrets(text: &str) -> Vec<Range<usize>> {
    if !text.contains("Secret") {
        return Vec::new();
    }
    documents(text)
        .into_iter()
        .filter(|it| is_secret_document(&text[it.clone()]))
        // The end offset belongs to the last document.
        .map(|it| it.start..it.end + usize::from(it.end == text.len()))
        .collect()
}

fn documents(text: &str) -> Vec<Range<usize>> {
    let breaks = text.match_indices("\n---").map(|(at, _)| at + 1);
    let starts: Vec<usize> = [0].into_iter().chain(breaks).collect();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|(start, end)| *start..end)
        .collect()
}

/// Byte ranges after the keys of credentials: the rest of the line, and all following lines with more indentation.
fn credentials(text: &str) -> Vec<Range<usize>> {
    const KIND: &str = "MachineDeployment";
    const WORDS: [&str; 4] = [
        "kubeconfig",
        "rhelActivationKey",
        "rhelSubscriptionManagerPassword",
        "rhsmOfflineToken",
    ];
    let mut found: Vec<Range<usize>> = Vec::new();
    if !text.contains(KIND) {
        return found;
    }
    for document in documents(text) {
        let inside = &text[document.clone()];
        if !inside.contains(KIND) {
            continue;
        }
        let ends = |word: &'static str| {
            let found = inside.match_indices(word);
            found.map(move |(at, word)| at + word.len())
        };
        let mut all: Vec<usize> = WORDS.into_iter().flat_map(ends).collect();
        all.sort_unstable();
        for end in all {
            let start = document.start + end;
            if found.last().is_none_or(|it| it.end <= start) {
                found.push(start..document.start + block(inside, end));
            }
        }
    }
    found
}

pub(super) fn without(text: &str, masked: &[Range<usize>]) -> String {
    let (mut shown, mut done) = (String::with_capacity(text.len()), 0);
    for range in masked {
        let (start, end) = (range.start, range.end);
        shown += &text[done..start];
        for character in text[start..end].chars() {
            match character.is_ascii_whitespace() {
                true => shown.push(character),
                false => shown.extend(std::iter::repeat_n('*', character.len_utf8())),
            }
        }
        done = end;
    }
    shown + &text[done..]
}

/// End of the block that starts in the line of `at`.
fn block(text: &str, at: usize) -> usize {
    let start = text[..at].rfind('\n').map_or(0, |it| it + 1);
    let indentation = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let mut lines = text[start..].split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    let depth = indentation(first);
    let further = lines.take_while(|it| it.trim().is_empty() || indentation(it) > depth);
    start + first.len() + further.map(str::len).sum::<usize>()
}

/// Returns true if `kind` is followed by `Secret`, with only quotes, a colon and whitespace between them.
fn is_secret_document(document: &str) -> bool {
    document.match_indices("Secret").any(|(at, word)| {
        let before = document[..at].trim_end_matches(['"', '\'', ':', ' ', '\t']);
        let after = &document[at + word.len()..];
        before.ends_with("kind") && !after.starts_with(|c: char| c.is_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        without(text, &masked(text))
    }

    #[test]
    fn a_private_key_in_the_place_of_a_public_one_is_not_shown() {
        let text = "sshPublicKeys:\n- |\n  -----BEGIN OPENSSH PRIVATE KEY-----\n  b3BlbnNzaC1r\n  ZXktdjE=\n  -----END OPENSSH PRIVATE KEY-----\n- next\n";
        let expected = text
            .replace("b3BlbnNzaC1r", "************")
            .replace("ZXktdjE=", "********");
        assert_eq!(shown(text), expected);
        // One that was cut off hides the rest of its document.
        let text = "- -----BEGIN RSA PRIVATE KEY----- MIIE\nnext: a\n---\nkind: b\n";
        assert_eq!(
            shown(text),
            "- -----BEGIN RSA PRIVATE KEY----- ****\n***** *\n---\nkind: b\n"
        );
    }

    #[test]
    fn passwords_of_a_cloud_config_are_not_shown() {
        let text = "users:\n- name: a\n  passwd: $6$x\n- hashed_passwd: y\nchpasswd:\n  list: |\n    root:z\nruncmd: []\n";
        assert_eq!(
            shown(text),
            "users:\n- name: a\n  passwd: ****\n- hashed_passwd: *\nchpasswd:\n  ***** *\n    ******\nruncmd: []\n"
        );
        assert_eq!(shown("ssh_pwauth: false\n"), "ssh_pwauth: false\n");
    }
}
