//! Source files and spans in them.

use std::ops::Range;

/// A byte range in a source file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FileSpan {
    pub(crate) source: u32,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// A file, or standard input.
#[derive(Debug)]
pub(crate) struct SourceFile {
    pub(crate) name: String,
    pub(crate) text: String,
    lines: Vec<u32>,
    /// Number of characters before each block of bytes, so that columns in very long lines are cheap to compute.
    blocks: Vec<u32>,
    /// Byte ranges of documents of kind Secret.
    secrets: Vec<Range<u32>>,
    /// Byte ranges of kubeconfigs and subscription passwords in MachineDeployments.
    masked: Vec<Range<u32>>,
    /// The text with masked ranges and escape characters replaced, if there are any.
    shown: Option<String>,
}

const BLOCK: usize = 1024;

/// Replaces escape characters in text for display, because the printer of excerpts adds colors.
pub(crate) const SUBSTITUTE: &str = "\x1a";

impl SourceFile {
    pub(crate) fn new(name: String, text: String) -> Self {
        let after_breaks = text
            .bytes()
            .enumerate()
            .filter(|(_, b)| *b == b'\n')
            .map(|(i, _)| offset(i) + 1);
        let lines = [0].into_iter().chain(after_breaks).collect();
        let starts =
            |block: &[u8]| offset(block.iter().filter(|b| !(0x80..0xC0).contains(*b)).count());
        let blocks = text
            .as_bytes()
            .chunks(BLOCK)
            .scan(0, |sum, block| {
                Some(std::mem::replace(sum, *sum + starts(block)))
            })
            .collect();
        let (secrets, masked) = (secrets(&text), credentials(&text));
        Self {
            name,
            lines,
            blocks,
            secrets,
            shown: (!masked.is_empty() || text.contains('\x1b')).then(|| without(&text, &masked)),
            masked,
            text,
        }
    }

    /// Line and column, both from 1; columns count characters.
    pub(crate) fn line_column(&self, at: u32) -> (usize, usize) {
        let line = self.lines.partition_point(|start| *start <= at).max(1);
        let mark = u32::from(line == 1 && self.text.starts_with('\u{feff}'));
        let characters = self.characters_before(at) - self.characters_before(self.lines[line - 1]);
        (line, characters.saturating_sub(mark) as usize + 1)
    }

    fn characters_before(&self, at: u32) -> u32 {
        let at = (at as usize).min(self.text.len());
        let block = at / BLOCK;
        let before = self
            .blocks
            .get(block)
            .or(self.blocks.last())
            .copied()
            .unwrap_or(0);
        let from = block.min(self.blocks.len().saturating_sub(1)) * BLOCK;
        before
            + offset(
                self.text.as_bytes()[from..at]
                    .iter()
                    .filter(|b| !(0x80..0xC0).contains(*b))
                    .count(),
            )
    }

    /// Text of a line without its line break; `line` counts from 1.
    pub(crate) fn line(&self, line: usize) -> &str {
        let range = self.line_range(line);
        &self.text[range.start as usize..range.end as usize]
    }

    /// Byte range of a line without its line break; `line` counts from 1.
    pub(crate) fn line_range(&self, line: usize) -> Range<u32> {
        let start = self
            .lines
            .get(line - 1)
            .copied()
            .unwrap_or(offset(self.text.len()));
        let end = self
            .lines
            .get(line)
            .map_or(offset(self.text.len()), |next| next - 1);
        let is_crlf = end > start && self.text.as_bytes()[end as usize - 1] == b'\r';
        start..end - u32::from(is_crlf)
    }

    /// Nearest character boundary at or before an offset.
    pub(crate) fn boundary(&self, at: u32) -> u32 {
        offset(self.text.floor_char_boundary(at as usize))
    }

    /// Returns true if an offset is in a document of kind Secret, even an invalid one; its text must not be shown.
    pub(crate) fn is_secret(&self, at: u32) -> bool {
        self.secrets.iter().any(|range| range.contains(&at))
    }

    /// Returns true if an offset is in a credential of a MachineDeployment.
    pub(super) fn is_masked(&self, at: u32) -> bool {
        self.masked.iter().any(|range| range.contains(&at))
    }

    /// The text for display: credentials are replaced by asterisks, and escape characters, byte by byte.
    pub(crate) fn shown(&self) -> &str {
        self.shown.as_ref().unwrap_or(&self.text)
    }

    pub(crate) fn line_count(&self) -> usize {
        self.lines.len()
    }
}

/// Byte ranges of Secrets, found without parsing, so that invalid documents are included.
fn secrets(text: &str) -> Vec<Range<u32>> {
    if !text.contains("Secret") {
        return Vec::new();
    }
    documents(text)
        .into_iter()
        .filter(|it| is_secret_document(&text[it.clone()]))
        // The end offset belongs to the last document.
        .map(|it| offset(it.start)..offset(it.end) + u32::from(it.end == text.len()))
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
fn credentials(text: &str) -> Vec<Range<u32>> {
    const KIND: &str = "MachineDeployment";
    const WORDS: [&str; 4] = [
        "kubeconfig",
        "rhelActivationKey",
        "rhelSubscriptionManagerPassword",
        "rhsmOfflineToken",
    ];
    let mut found: Vec<Range<u32>> = Vec::new();
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
            let start = offset(document.start + end);
            if found.last().is_none_or(|it| it.end <= start) {
                found.push(start..offset(document.start + block(inside, end)));
            }
        }
    }
    found
}

fn without(text: &str, masked: &[Range<u32>]) -> String {
    let (mut shown, mut done) = (String::with_capacity(text.len()), 0);
    for range in masked {
        let (start, end) = (range.start as usize, range.end as usize);
        shown += &text[done..start];
        for character in text[start..end].chars() {
            match character.is_ascii_whitespace() {
                true => shown.push(character),
                false => shown.extend(std::iter::repeat_n('*', character.len_utf8())),
            }
        }
        done = end;
    }
    (shown + &text[done..]).replace('\x1b', SUBSTITUTE)
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

/// Converts an offset to 32 bits, which is enough because a source file has at most 16 MiB.
pub(super) fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
