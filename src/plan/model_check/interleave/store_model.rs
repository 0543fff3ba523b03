//! The store, or a deliberately broken one.

use super::{NAMES, News, ObjectVersion};
use crate::plan::store::{Object, Store, Version};
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flaw {
    None,
    /// The last event received wins.
    LastWins,
    /// Events older than the newest event of any object are dropped.
    OneVersion,
    /// A LIST replaces everything, including newer answers.
    ListReplaces,
    /// A LIST never removes objects.
    ListRemovesNothing,
    /// A deletion removes whichever object has the name.
    AnyUid,
    /// Answers without a version are ignored.
    IgnoresAnswers,
    /// A deleted uid may reappear.
    ForgetsDeleted,
    /// Versions are compared as text, so 9 is more than 10.
    VersionsAsText,
}

pub(super) struct StoreModel {
    names: [Arc<str>; NAMES],
    store: Store<ObjectVersion>,
    flaw: Flaw,
    deliveries: u64,
    /// Version of the last event applied.
    newest: u64,
}

impl StoreModel {
    pub(super) fn new(flaw: Flaw) -> StoreModel {
        StoreModel {
            names: std::array::from_fn(|it| format!("m{it}").into()),
            store: Store::default(),
            flaw,
            deliveries: 0,
            newest: 0,
        }
    }

    pub(super) fn get(&self, name: usize) -> Option<ObjectVersion> {
        self.store.get(&self.names[name]).map(|it| it.fact)
    }

    pub(super) fn apply(&mut self, news: &News) {
        self.deliveries += 1;
        match news {
            News::Put(it) if self.flaw == Flaw::OneVersion && it.version < self.newest => {}
            News::Put(it) => {
                self.newest = it.version;
                self.store.put(self.object(*it));
            }
            News::Deleted(it) => {
                let version = self.version(it.version);
                let uid = self.deleted_uid(*it);
                self.store.gone(self.names[it.name].clone(), uid, version);
            }
            News::DeletedByAnswer(_) if self.flaw == Flaw::IgnoresAnswers => {}
            News::DeletedByAnswer(it) => {
                let uid = self.deleted_uid(*it);
                self.store.gone_by_answer(&self.names[it.name], uid);
            }
            News::List(_, all) if self.flaw == Flaw::ListRemovesNothing => {
                for it in all {
                    self.store.put(self.object(*it));
                }
            }
            News::List(version, all) => {
                if self.flaw == Flaw::ListReplaces {
                    self.store = Store::default();
                }
                let all = all.iter().map(|it| self.object(*it)).collect();
                self.store.list(self.version(*version), all);
            }
        }
    }

    fn object(&self, object: ObjectVersion) -> Object<ObjectVersion> {
        Object {
            name: self.names[object.name].clone(),
            uid: self.uid(object.uid),
            version: self.version(object.version),
            fact: object,
        }
    }

    fn uid(&self, uid: u64) -> Arc<str> {
        match self.flaw {
            // A new uid each time, so no deletion is remembered.
            Flaw::ForgetsDeleted => format!("u{uid}-{}", self.deliveries).into(),
            _ => format!("u{uid}").into(),
        }
    }

    fn deleted_uid(&self, object: ObjectVersion) -> Arc<str> {
        let shown = self.store.get(&self.names[object.name]);
        match shown {
            Some(it) if self.flaw == Flaw::AnyUid => it.uid.clone(),
            Some(it) if self.flaw == Flaw::ForgetsDeleted && it.fact.uid == object.uid => {
                it.uid.clone()
            }
            _ => self.uid(object.uid),
        }
    }

    fn version(&self, version: u64) -> Version {
        let text = match self.flaw {
            Flaw::LastWins => self.deliveries.to_string(),
            // Padded to a fixed length, so that the first digit decides.
            Flaw::VersionsAsText => format!("{version:0<9}"),
            _ => version.to_string(),
        };
        Version::parse(&text).expect("a number that is not zero")
    }
}
