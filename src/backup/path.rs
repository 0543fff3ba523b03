//! Where a backup is below its destination: `NAMESPACE/ID/NAME`.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use std::fmt::{self, Display, Formatter};

/// As in `20261123T215652.104Z-x7k2p`. Two backups of one second are in order.
const TIME_FORMAT: &str = "%Y%m%dT%H%M%S%.3fZ";
/// Length of the time in a name.
const TIME: usize = 20;
/// Length of the random suffix.
const SUFFIX: usize = 5;

/// The name of a backup: its time, and characters that make it unique. Names sort by time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BackupName(String);

/// The directory of a backup.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BackupPath {
    pub(crate) namespace: String,
    /// The technical ID of the shoot.
    pub(crate) id: String,
    pub(crate) name: BackupName,
}

/// Backups to look for.
#[derive(Debug, Clone, Default)]
pub(crate) struct BackupScope {
    pub(crate) namespace: Option<String>,
    /// The technical ID of the shoot.
    pub(crate) id: Option<String>,
    pub(crate) name: Option<BackupName>,
}

impl BackupName {
    /// `suffix` has five characters of `[a-z0-9]`.
    pub(crate) fn new(time: Timestamp, suffix: &str) -> Option<BackupName> {
        BackupName::parse(&format!("{}-{suffix}", time.strftime(TIME_FORMAT)))
    }

    pub(crate) fn parse(text: &str) -> Option<BackupName> {
        let (time, suffix) = text.split_at_checked(TIME)?;
        let suffix = suffix.strip_prefix('-')?;
        let is_suffix = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit();
        if suffix.len() != SUFFIX || !suffix.bytes().all(is_suffix) {
            return None;
        }
        let name = BackupName(text.to_owned());
        // Only the canonical text, not one that is merely understood.
        (name.time()?.strftime(TIME_FORMAT).to_string() == time).then_some(name)
    }

    pub(crate) fn time(&self) -> Option<Timestamp> {
        let time = DateTime::strptime(TIME_FORMAT, self.0.get(..TIME)?).ok()?;
        Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl BackupPath {
    /// Reads the directories of a backup; None if they are not those of one.
    pub(crate) fn parse(namespace: &str, id: &str, name: &str) -> Option<BackupPath> {
        let is_valid = is_label(namespace) && is_label(id);
        Some(BackupPath {
            namespace: is_valid.then(|| namespace.to_owned())?,
            id: id.to_owned(),
            name: BackupName::parse(name)?,
        })
    }
}

impl BackupScope {
    pub(crate) fn includes(&self, path: &BackupPath) -> bool {
        let fits = |wanted: &Option<String>, value: &str| {
            wanted.as_deref().is_none_or(|wanted| wanted == value)
        };
        fits(&self.namespace, &path.namespace)
            && fits(&self.id, &path.id)
            && self.name.as_ref().is_none_or(|it| *it == path.name)
    }
}

impl Display for BackupName {
    fn fmt(&self, formatter: &mut Formatter) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Display for BackupPath {
    fn fmt(&self, formatter: &mut Formatter) -> fmt::Result {
        write!(formatter, "{}/{}/{}", self.namespace, self.id, self.name)
    }
}

/// A DNS label, so that a path never leaves its destination.
pub(crate) fn is_label(text: &str) -> bool {
    let is_end = |it: Option<&u8>| it.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    let is_valid = |it: &u8| it.is_ascii_lowercase() || it.is_ascii_digit() || *it == b'-';
    bytes.len() <= 63 && bytes.iter().all(is_valid) && is_end(bytes.first()) && is_end(bytes.last())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_its_time() {
        let time: Timestamp = "2026-11-23T21:56:52.104Z".parse().unwrap();
        let name = BackupName::new(time, "x7k2p").unwrap();
        assert_eq!(name.as_str(), "20261123T215652.104Z-x7k2p");
        assert_eq!(name.time(), Some(time));
        assert_eq!(BackupName::parse(name.as_str()), Some(name));
    }

    #[test]
    fn other_names_are_not_backups() {
        for name in [
            "",
            "..",
            "20261123T215652.104Z",
            "20261123T215652Z-x7k2p",
            "20261123T215652.104Z-",
            "20261123T215652.104Z-x7k2",
            "20261123T215652.104Z-x7k2pp",
            "20261123T215652.104Z-x7/2p",
            "20261323T215652.104Z-x7k2p",
            " 0261123T215652.104Z-x7k2p",
            "2026112éT215652.104Z-x7k2p",
        ] {
            assert_eq!(BackupName::parse(name), None, "{name}");
        }
    }

    #[test]
    fn a_path_never_leaves_its_destination() {
        let name = "20261123T215652.104Z-x7k2p";
        let path = BackupPath::parse("lab", "shoot-a", name).unwrap();
        assert_eq!(path.to_string(), format!("lab/shoot-a/{name}"));
        for part in ["", ".", "..", "a/b", "/", "-a", "A"] {
            assert_eq!(BackupPath::parse(part, "a", name), None, "{part}");
            assert_eq!(BackupPath::parse("a", part, name), None, "{part}");
        }
    }
}
