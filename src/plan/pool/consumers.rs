//! Consumers of the objects that machines use.

use crate::state::plan::Dependency;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Consumers of the objects that machines use.
#[derive(Default)]
pub(crate) struct Consumers {
    /// Items to be done before an object that they use may be deleted, by the object's name.
    pub(crate) leaving: HashMap<Arc<str>, Vec<Dependency>>,
    /// Names of machines that stay or are being created.
    pub(crate) staying: HashSet<Arc<str>>,
    /// Slots that machines may still fill, by machine name without ordinal.
    pub(crate) places: HashMap<Arc<str>, Arc<[Dependency]>>,
}

/// A machine's name without its ordinal.
pub(crate) fn series(name: &str) -> &str {
    name.rsplit_once('-').map_or(name, |it| it.0)
}
