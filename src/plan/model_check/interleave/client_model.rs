//! A client of the server, and the invariants of what its store shows.

use super::{NAMES, News, ObjectVersion, Rng, Server, StoreModel, Violations};
use std::collections::HashSet;

pub(super) struct ClientModel {
    pub(super) store: StoreModel,
    seed: u64,
    listed: bool,
    /// Number of events received from the server's history.
    watched: usize,
    /// Answers in flight.
    pub(super) answers: Vec<News>,
    /// The newest version that the store has shown, by name.
    shown: [Option<u64>; NAMES],
    /// Uids whose deletion was received.
    deleted: HashSet<u64>,
}

/// An event, and whether it is the answer to our own request.
pub(super) type Delivery = (News, bool);

impl ClientModel {
    pub(super) fn new(ear: StoreModel, seed: u64) -> ClientModel {
        ClientModel {
            store: ear,
            seed,
            listed: false,
            watched: 0,
            answers: Vec::new(),
            shown: [None; NAMES],
            deleted: HashSet::new(),
        }
    }

    /// Returns some of the events in flight; nothing before the first LIST.
    pub(super) fn next_deliveries(&mut self, server: &Server, rng: &mut Rng) -> Vec<Delivery> {
        match rng.below(6) {
            0 => vec![(self.list(server, rng), false)],
            _ if !self.listed => Vec::new(),
            // Answers arrive in any order.
            1 | 2 if !self.answers.is_empty() => {
                let which = rng.below(self.answers.len());
                vec![(self.answers.swap_remove(which), true)]
            }
            // The watch is interrupted and resumes at an earlier event.
            3 if rng.one_in(4) => {
                self.watched = self.watched.saturating_sub(rng.below(6));
                Vec::new()
            }
            _ => self.watch(server, rng.below(4)),
        }
    }

    /// The first LIST is consistent; later ones may come from a stale cache.
    fn list(&mut self, server: &Server, rng: &mut Rng) -> News {
        let lag = if self.listed { rng.below(6) } else { 0 };
        let newest = server.lists.len() - 1;
        // After 410 Gone the watch resumes from a new LIST, and the events in between are lost.
        if !self.listed || lag == 0 && rng.one_in(2) {
            self.watched = server.history.len();
        }
        self.listed = true;
        server.lists[newest.saturating_sub(lag)].clone()
    }

    fn watch(&mut self, server: &Server, most: usize) -> Vec<Delivery> {
        let events = server.history[self.watched..].iter().take(most).cloned();
        let events: Vec<Delivery> = events.map(|it| (it, false)).collect();
        self.watched += events.len();
        events
    }

    /// Returns everything still in flight.
    pub(super) fn remaining(&mut self, server: &Server) -> Vec<Delivery> {
        let mut rest = Vec::new();
        if !self.listed {
            rest.extend(server.lists.last().map(|it| (it.clone(), false)));
            self.watched = server.history.len();
        }
        rest.extend(self.answers.drain(..).map(|it| (it, true)));
        rest.extend(self.watch(server, usize::MAX));
        rest
    }

    pub(super) fn receive(
        &mut self,
        server: &Server,
        delivery: &Delivery,
        violations: &mut Violations,
    ) {
        let (news, is_answer) = delivery;
        self.store.apply(news);
        let seed = self.seed;
        let mut require = |name, holds| violations.require(name, holds, || format!("seed {seed}"));
        for name in 0..NAMES {
            let now = self.store.get(name);
            match (now, self.shown[name]) {
                (Some(now), before) => {
                    require("versions never go back", before <= Some(now.version));
                    require("deleted stays deleted", !self.deleted.contains(&now.uid));
                    self.shown[name] = Some(now.version);
                }
                (None, Some(before)) => {
                    // The object shown before must have been deleted since then.
                    let died = |it: &ObjectVersion| it.name == name && it.version > before;
                    require("nothing vanishes", server.deletions().any(died));
                }
                (None, None) => {}
            }
        }
        match news {
            News::Put(it) if *is_answer => {
                let now = self.store.get(it.name);
                let fresh = now.is_some_and(|now| now.version >= it.version);
                require(
                    "own write is visible",
                    fresh || server.deletion_version(it.uid).is_some(),
                );
            }
            News::DeletedByAnswer(it) => {
                let now = self.store.get(it.name);
                require(
                    "own delete is visible",
                    now.is_none_or(|now| now.uid != it.uid),
                );
            }
            _ => {}
        }
        if let News::Deleted(it) | News::DeletedByAnswer(it) = news {
            self.deleted.insert(it.uid);
        }
    }
}
