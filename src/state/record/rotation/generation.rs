//! Content of the Secret of a root or key.

use std::fmt;

/// Content of the Secret of a root or key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub(crate) struct KeyGeneration {
    /// Number of the newest one in the Secret.
    pub(crate) number: u32,
    pub(crate) content: KeyContent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub(crate) enum KeyContent {
    #[default]
    Alone,
    /// The one before is used, and the newest is trusted.
    Announced,
    /// The newest is used, and the one before is trusted.
    Leading,
}

impl KeyGeneration {
    /// True for Secrets of shoots that were never rotated.
    pub(crate) fn is_first(self) -> bool {
        self == KeyGeneration::default()
    }

    /// The content that this one is made from; None if it is made from nothing.
    pub(crate) fn before(self) -> Option<KeyGeneration> {
        let (number, content) = match self.content {
            KeyContent::Alone if self.number == 0 => return None,
            KeyContent::Alone => (self.number, KeyContent::Leading),
            KeyContent::Announced => (self.number.saturating_sub(1), KeyContent::Alone),
            KeyContent::Leading => (self.number, KeyContent::Announced),
        };
        Some(KeyGeneration { number, content })
    }
}

impl fmt::Display for KeyGeneration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let content = match self.content {
            KeyContent::Alone => "alone",
            KeyContent::Announced => "announced",
            KeyContent::Leading => "leading",
        };
        write!(f, "{}/{content}", self.number)
    }
}
