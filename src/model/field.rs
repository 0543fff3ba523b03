//! Paths of fields in a document, in the notation of Kubernetes.

use std::fmt;

/// A path such as `spec.provider.workers[0].labels[example.org/tier]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct FieldPath(Vec<Segment>);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Segment {
    Key(String),
    Index(usize),
}

impl FieldPath {
    pub(crate) fn root() -> Self {
        Self::default()
    }

    #[must_use]
    pub(crate) fn child(&self, key: &str) -> Self {
        self.with(Segment::Key(key.to_owned()))
    }

    #[must_use]
    pub(crate) fn with(&self, segment: Segment) -> Self {
        Self(self.0.iter().cloned().chain([segment]).collect())
    }

    pub(crate) fn segments(&self) -> &[Segment] {
        &self.0
    }
}

impl FromIterator<Segment> for FieldPath {
    fn from_iter<T: IntoIterator<Item = Segment>>(segments: T) -> Self {
        Self(segments.into_iter().collect())
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Key(key) if !is_plain(key) => write!(f, "[{key}]")?,
                Segment::Key(key) if i == 0 => f.write_str(key)?,
                Segment::Key(key) => write!(f, ".{key}")?,
            }
        }
        Ok(())
    }
}

fn is_plain(key: &str) -> bool {
    !key.is_empty()
        && key
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}
