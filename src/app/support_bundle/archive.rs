//! A tar.gz archive with mode 0600, which is written completely or not at all.

use crate::state::printable::{one_line, visible};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;
use tar::{Builder, EntryType, Header};
use tempfile::NamedTempFile;

/// Buffer size in bytes.
const BLOCK: usize = 64 << 10;

pub(super) struct Archive {
    builder: Builder<GzEncoder<NamedTempFile>>,
    /// The top directory in the archive.
    root: String,
    /// Modification time of all files, in seconds since 1970.
    time: u64,
    /// Paths of the files with their lengths.
    pub(super) files: Vec<(String, usize)>,
}

impl Archive {
    /// Starts an archive in `folder`, or as a temporary file.
    pub(super) fn begin(folder: Option<&Path>, root: &str, time: u64) -> io::Result<Archive> {
        let prefix = format!(".{root}-");
        // Temporary files have mode 0600.
        let mut file = tempfile::Builder::new();
        file.prefix(&prefix).suffix(".part");
        let file = match folder {
            Some(folder) => file.tempfile_in(folder)?,
            None => file.tempfile()?,
        };
        Ok(Archive {
            builder: Builder::new(GzEncoder::new(file, Compression::default())),
            root: root.to_owned(),
            time,
            files: Vec::new(),
        })
    }

    /// Adds a text, with escapes for what would control the terminal of a reader.
    pub(super) fn add(&mut self, path: &str, text: &str) -> io::Result<()> {
        let text = visible(text);
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o600);
        header.set_mtime(self.time);
        header.set_size(text.len() as u64);
        let path = format!("{}/{}", one_line(&self.root), one_line(&sanitized(path)));
        self.builder
            .append_data(&mut header, &path, text.as_bytes())?;
        self.files.push((path, text.len()));
        Ok(())
    }

    /// Moves the archive to its path. A symbolic link is followed.
    pub(super) fn persist(self, path: &Path) -> io::Result<u64> {
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let mut file = self.builder.into_inner()?.finish()?;
        let length = file.stream_position()?;
        file.flush()?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|it| it.error)?;
        Ok(length)
    }

    /// Writes the archive to a pipe or device.
    pub(super) fn write_to(self, path: &Path) -> io::Result<u64> {
        let mut target = OpenOptions::new().write(true).open(path)?;
        self.copy(|bytes| target.write_all(bytes))
    }

    /// Copies the archive in blocks, and drops it.
    pub(super) fn copy(self, mut write: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<u64> {
        let mut file: File = self.builder.into_inner()?.finish()?.into_file();
        let length = file.stream_position()?;
        file.rewind()?;
        let mut block = vec![0; BLOCK];
        loop {
            match file.read(&mut block)? {
                0 => return Ok(length),
                read => write(&block[..read])?,
            }
        }
    }
}

/// Removes parts that would leave the top directory, since names come from a cluster.
fn sanitized(path: &str) -> String {
    let parts = path.split('/').filter(|it| !matches!(*it, "" | "." | ".."));
    parts.collect::<Vec<_>>().join("/")
}
