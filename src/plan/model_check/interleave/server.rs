//! A server with two kinds of writers: us and others.

use super::{NAMES, News, ObjectVersion, Rng};

pub(super) struct Server {
    clock: u64,
    uids: u64,
    current: [Option<ObjectVersion>; NAMES],
    /// All watch events, in order.
    pub(super) history: Vec<News>,
    /// Answers to LIST at each step, newest last; a stale cache returns an older one.
    pub(super) lists: Vec<News>,
}

impl Server {
    pub(super) fn new() -> Server {
        Server {
            // Versions soon get another digit: from 9 to 10 and so on.
            clock: 8,
            uids: 0,
            current: [None; NAMES],
            history: Vec::new(),
            lists: vec![News::List(8, Vec::new())],
        }
    }

    pub(super) fn current(&self, name: usize) -> Option<ObjectVersion> {
        self.current[name]
    }

    /// Returns the version at which a uid was deleted.
    pub(super) fn deletion_version(&self, uid: u64) -> Option<u64> {
        self.deletions()
            .find(|it| it.uid == uid)
            .map(|it| it.version)
    }

    pub(super) fn deletions(&self) -> impl Iterator<Item = &ObjectVersion> {
        self.history.iter().filter_map(|it| match it {
            News::Deleted(it) => Some(it),
            _ => None,
        })
    }

    /// Performs a random write, or none. Our own writes are answered.
    pub(super) fn step(&mut self, rng: &mut Rng) -> Option<News> {
        let name = rng.below(NAMES);
        let ours = rng.one_in(2);
        let answer = match rng.below(5) {
            0 | 1 => Some(self.write(name, rng)),
            2 => self.delete(name, rng),
            _ => None,
        };
        let all = self.current.iter().flatten().copied().collect();
        self.lists.push(News::List(self.clock, all));
        answer.filter(|_| ours)
    }

    fn write(&mut self, name: usize, rng: &mut Rng) -> News {
        self.tick(rng);
        let uid = self.current[name].map_or_else(
            || {
                self.uids += 1;
                self.uids
            },
            |it| it.uid,
        );
        let object = ObjectVersion {
            name,
            uid,
            version: self.clock,
        };
        self.current[name] = Some(object);
        self.history.push(News::Put(object));
        News::Put(object)
    }

    fn delete(&mut self, name: usize, rng: &mut Rng) -> Option<News> {
        let object = self.current[name].take()?;
        self.tick(rng);
        self.history.push(News::Deleted(ObjectVersion {
            version: self.clock,
            ..object
        }));
        Some(News::DeletedByAnswer(object))
    }

    /// Writes to other kinds increase the version, too.
    fn tick(&mut self, rng: &mut Rng) {
        self.clock += 1 + rng.below(3) as u64;
    }
}
