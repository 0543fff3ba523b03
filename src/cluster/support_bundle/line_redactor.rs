//! Redaction of a log line by line, as it arrives.

use super::redact::Redactor;
use std::collections::BTreeSet;

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
/// Instead of a line of a block of PEM.
const OMITTED: &str = "<PEM>";

/// Redacts lines. Those of a block of PEM are recognized by the line that begins it.
pub(crate) struct LineRedactor {
    redactor: Redactor,
    is_in_block: bool,
}

impl Default for LineRedactor {
    fn default() -> LineRedactor {
        LineRedactor {
            redactor: Redactor::new(&BTreeSet::new()),
            is_in_block: false,
        }
    }
}

impl LineRedactor {
    /// Redacts the next line.
    pub(crate) fn line(&mut self, line: &str) -> String {
        let begin = line.rfind(BEGIN);
        let end = line.rfind(END);
        let was_in_block = self.is_in_block && is_in_block(line);
        self.is_in_block = match begin {
            Some(begin) => end.is_none_or(|it| it < begin),
            None => was_in_block && end.is_none(),
        };
        match was_in_block && begin.is_none() {
            true => OMITTED.to_owned(),
            false => self.redactor.log(line),
        }
    }
}

/// False for a line that no block of PEM has, so that one without an end does not hide the rest of a log.
fn is_in_block(line: &str) -> bool {
    let is_base64 = |it: char| it.is_ascii_alphanumeric() || "+/=".contains(it);
    let is_name = |it: &str| it.chars().all(|it| it.is_ascii_alphabetic() || it == '-');
    let line = line.trim();
    let is_header = line.split_once(": ").is_some_and(|it| is_name(it.0));
    line.contains(END) || is_header || line.chars().all(is_base64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_key_is_omitted_until_its_end() {
        let mut redactor = LineRedactor::default();
        let log = "\
key:
-----BEGIN EC PRIVATE KEY-----
Proc-Type: 4,ENCRYPTED

MHcCAQEEIB2cVtWq5RmF8gZ
-----END EC PRIVATE KEY-----
password=hunter2hunter2
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49
it has no end
MIGHAgEAMBMGByqGSM49";
        let lines: Vec<String> = log.lines().map(|it| redactor.line(it)).collect();
        let expected = "\
key:
<PEM EC PRIVATE KEY>
<PEM>
<PEM>
<PEM>
<PEM>
password=<redacted>
<PEM PRIVATE KEY>
<PEM>
it has no end
MIGHAgEAMBMGByqGSM49";
        assert_eq!(lines.join("\n"), expected);
    }
}
