//! The texts that were read, and places in them.

use std::ops::Range;

/// A range of bytes in one of the sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) source: u32,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// One file, or standard input.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) text: String,
    lines: Vec<u32>,
    /// How many characters stand before each block of bytes, so that a column costs no walk along a line of megabytes.
    blocks: Vec<u32>,
    /// Documents that say they are Secrets.
    secrets: Vec<Range<u32>>,
}

const BLOCK: usize = 1024;

impl Source {
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
        let secrets = secrets(&text);
        Self {
            name,
            text,
            lines,
            blocks,
            secrets,
        }
    }

    /// Line and column, both from 1; columns count characters, as editors do.
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

    /// A line's text without its break; `line` counts from 1.
    pub(crate) fn line(&self, line: usize) -> &str {
        let range = self.line_range(line);
        &self.text[range.start as usize..range.end as usize]
    }

    /// Where a line begins and where its break stands.
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

    /// The next place at or before which no character is cut.
    pub(crate) fn boundary(&self, at: u32) -> u32 {
        offset(self.text.floor_char_boundary(at as usize))
    }

    /// Whether a place is in a document that says it is a Secret, whose text is not to be shown. Broken ones say so too.
    pub(crate) fn is_secret(&self, at: u32) -> bool {
        self.secrets.iter().any(|range| range.contains(&at))
    }

    pub(crate) fn line_count(&self) -> usize {
        self.lines.len()
    }
}

/// From one line of dashes to the next. What cannot be parsed counts too, so only the letters are looked at.
fn secrets(text: &str) -> Vec<Range<u32>> {
    if !text.contains("Secret") {
        return Vec::new();
    }
    let breaks = text.match_indices("\n---").map(|(at, _)| at + 1);
    let starts: Vec<usize> = [0].into_iter().chain(breaks).collect();
    let ends = starts.iter().skip(1).copied().chain([text.len() + 1]);
    starts
        .iter()
        .zip(ends)
        .filter(|(start, end)| says_secret(&text[**start..(*end).min(text.len())]))
        .map(|(start, end)| offset(*start)..offset(end))
        .collect()
}

/// The word `kind` and the word `Secret`, with at most quotes, a colon and space between them.
fn says_secret(document: &str) -> bool {
    document.match_indices("Secret").any(|(at, word)| {
        let before = document[..at].trim_end_matches(['"', '\'', ':', ' ', '\t']);
        let after = &document[at + word.len()..];
        before.ends_with("kind") && !after.starts_with(|c: char| c.is_alphanumeric())
    })
}

/// Offsets fit in 32 bits, because a source is at most 16 MiB.
pub(super) fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
