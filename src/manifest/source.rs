//! Source files and spans in them.

use super::confidential;
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
    /// Byte ranges of private keys and passwords, and of kubeconfigs in MachineDeployments.
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
        let masked = confidential::masked(&text);
        let has_escapes = text.contains('\x1b');
        let shown = (!masked.is_empty() || has_escapes)
            .then(|| confidential::without(&text, &masked).replace('\x1b', SUBSTITUTE));
        let offsets = |ranges: Vec<Range<usize>>| -> Vec<Range<u32>> {
            let ranges = ranges.into_iter();
            ranges.map(|it| offset(it.start)..offset(it.end)).collect()
        };
        Self {
            name,
            lines,
            blocks,
            secrets: offsets(confidential::secrets(&text)),
            masked: offsets(masked),
            shown,
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

    /// Returns true if an offset is in a private key, a password or another credential.
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

/// Converts an offset to 32 bits, which is enough because a source file has at most 16 MiB.
pub(super) fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
