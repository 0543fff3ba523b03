use super::{Broken, Dice, Ear, NAMES, News, Server, Thing};
use std::collections::HashSet;

pub(crate) struct Listener {
    pub(crate) ear: Ear,
    seed: u64,
    listed: bool,
    /// Length of the server's history that was delivered.
    watched: usize,
    /// Answers on their way.
    pub(crate) mail: Vec<News>,
    /// The newest version that was shown.
    shown: [Option<u64>; NAMES],
    /// Deletions that it has received.
    buried: HashSet<u64>,
}

/// News, and whether it is an answer to us.
pub(crate) type Heard = (News, bool);

impl Listener {
    pub(crate) fn new(ear: Ear, seed: u64) -> Listener {
        Listener {
            ear,
            seed,
            listed: false,
            watched: 0,
            mail: Vec::new(),
            shown: [None; NAMES],
            buried: HashSet::new(),
        }
    }

    /// Some of what is on its way; nothing before the first LIST.
    pub(crate) fn arrives(&mut self, server: &Server, dice: &mut Dice) -> Vec<Heard> {
        match dice.roll(6) {
            0 => vec![(self.list(server, dice), false)],
            _ if !self.listed => Vec::new(),
            // Answers come in any order.
            1 | 2 if !self.mail.is_empty() => {
                let which = dice.roll(self.mail.len());
                vec![(self.mail.swap_remove(which), true)]
            }
            // The watch is cut, and begins again further back.
            3 if dice.one_in(4) => {
                self.watched = self.watched.saturating_sub(dice.roll(6));
                Vec::new()
            }
            _ => self.watch(server, dice.roll(4)),
        }
    }

    /// The first LIST is consistent; later ones may come from a cache that lags.
    fn list(&mut self, server: &Server, dice: &mut Dice) -> News {
        let lag = if self.listed { dice.roll(6) } else { 0 };
        let newest = server.lists.len() - 1;
        // After 410 the watch resumes from a new LIST; events in between are never delivered.
        if !self.listed || lag == 0 && dice.one_in(2) {
            self.watched = server.history.len();
        }
        self.listed = true;
        server.lists[newest.saturating_sub(lag)].clone()
    }

    fn watch(&mut self, server: &Server, most: usize) -> Vec<Heard> {
        let events = server.history[self.watched..].iter().take(most).cloned();
        let events: Vec<Heard> = events.map(|it| (it, false)).collect();
        self.watched += events.len();
        events
    }

    /// All that is still on its way.
    pub(crate) fn rest(&mut self, server: &Server) -> Vec<Heard> {
        let mut rest = Vec::new();
        if !self.listed {
            rest.extend(server.lists.last().map(|it| (it.clone(), false)));
            self.watched = server.history.len();
        }
        rest.extend(self.mail.drain(..).map(|it| (it, true)));
        rest.extend(self.watch(server, usize::MAX));
        rest
    }

    pub(crate) fn hear(&mut self, server: &Server, heard: &Heard, broken: &mut Broken) {
        let (news, is_answer) = heard;
        self.ear.hear(news);
        let seed = self.seed;
        let mut must = |name, holds| broken.must(name, holds, || format!("seed {seed}"));
        for name in 0..NAMES {
            let now = self.ear.shows(name);
            match (now, self.shown[name]) {
                (Some(now), before) => {
                    must("never back in time", before <= Some(now.version));
                    must("gone stays gone", !self.buried.contains(&now.uid));
                    self.shown[name] = Some(now.version);
                }
                (None, Some(before)) => {
                    // The object that was shown last must have been deleted since.
                    let died = |it: &Thing| it.name == name && it.version > before;
                    must("nothing vanishes", server.deaths().any(died));
                }
                (None, None) => {}
            }
        }
        match news {
            News::Put(it) if *is_answer => {
                let now = self.ear.shows(it.name);
                let fresh = now.is_some_and(|now| now.version >= it.version);
                must("own write is seen", fresh || server.death(it.uid).is_some());
            }
            News::GoneByAnswer(it) => {
                let now = self.ear.shows(it.name);
                must(
                    "own delete is seen",
                    now.is_none_or(|now| now.uid != it.uid),
                );
            }
            _ => {}
        }
        if let News::Gone(it) | News::GoneByAnswer(it) = news {
            self.buried.insert(it.uid);
        }
    }
}
