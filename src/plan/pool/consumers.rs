//! Who still needs what machines use.

use crate::state::plan::Need;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Who still needs what machines use.
#[derive(Default)]
pub(crate) struct Users {
    /// Items that must be gone before what they use may go, by the name of that.
    pub(crate) leaving: HashMap<Arc<str>, Vec<Need>>,
    /// Names of machines that stay, or are being made.
    pub(crate) staying: HashSet<Arc<str>>,
    /// Places that machines may still come to, by all of their names but the ordinal.
    pub(crate) places: HashMap<Arc<str>, Arc<[Need]>>,
}

/// A machine's name without its ordinal.
pub(crate) fn series(name: &str) -> &str {
    name.rsplit_once('-').map_or(name, |it| it.0)
}
