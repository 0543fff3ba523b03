use super::{NAMES, News, Thing};
use crate::state::store::{ResourceVersion, Store, StoredObject};
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    None,
    /// What arrives last wins.
    LastWins,
    /// What is older than the newest news of any name is old.
    OneClock,
    /// A LIST replaces everything, newer answers too.
    ListReplaces,
    /// A LIST only adds objects and removes none.
    ListRemovesNothing,
    /// A deletion removes whatever has the name.
    AnyUid,
    /// Answers without a version are ignored.
    DeafToAnswers,
    /// A uid may come back.
    DeadForgotten,
    /// 9 is more than 10.
    VersionsAsText,
}

pub(crate) struct Ear {
    names: [Arc<str>; NAMES],
    store: Store<Thing>,
    flaw: Flaw,
    heard: u64,
    /// Of the last thing that was put.
    newest: u64,
}

impl Ear {
    pub(crate) fn new(flaw: Flaw) -> Ear {
        Ear {
            names: std::array::from_fn(|it| format!("m{it}").into()),
            store: Store::default(),
            flaw,
            heard: 0,
            newest: 0,
        }
    }

    pub(crate) fn shows(&self, name: usize) -> Option<Thing> {
        self.store.get(&self.names[name]).map(|it| it.fact)
    }

    pub(crate) fn hear(&mut self, news: &News) {
        self.heard += 1;
        match news {
            News::Put(it) if self.flaw == Flaw::OneClock && it.version < self.newest => {}
            News::Put(it) => {
                self.newest = it.version;
                self.store.put(self.object(*it));
            }
            News::Gone(it) => {
                let version = self.version(it.version);
                let uid = self.uid_to_go(*it);
                self.store.gone(self.names[it.name].clone(), uid, version);
            }
            News::GoneByAnswer(_) if self.flaw == Flaw::DeafToAnswers => {}
            News::GoneByAnswer(it) => {
                let uid = self.uid_to_go(*it);
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

    fn object(&self, thing: Thing) -> StoredObject<Thing> {
        StoredObject {
            name: self.names[thing.name].clone(),
            uid: self.uid(thing.uid),
            version: self.version(thing.version),
            fact: thing,
        }
    }

    fn uid(&self, uid: u64) -> Arc<str> {
        match self.flaw {
            // Never the same twice, so no death is remembered of it.
            Flaw::DeadForgotten => format!("u{uid}-{}", self.heard).into(),
            _ => format!("u{uid}").into(),
        }
    }

    fn uid_to_go(&self, thing: Thing) -> Arc<str> {
        let shown = self.store.get(&self.names[thing.name]);
        match shown {
            Some(it) if self.flaw == Flaw::AnyUid => it.uid.clone(),
            Some(it) if self.flaw == Flaw::DeadForgotten && it.fact.uid == thing.uid => {
                it.uid.clone()
            }
            _ => self.uid(thing.uid),
        }
    }

    fn version(&self, version: u64) -> ResourceVersion {
        let text = match self.flaw {
            Flaw::LastWins => self.heard.to_string(),
            // As long as any, so that the first digit decides.
            Flaw::VersionsAsText => format!("{version:0<9}"),
            _ => version.to_string(),
        };
        ResourceVersion::parse(&text).expect("a number that is not zero")
    }
}
