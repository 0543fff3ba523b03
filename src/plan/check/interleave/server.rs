use super::{Dice, NAMES, News, Thing};

pub(crate) struct Server {
    clock: u64,
    uids: u64,
    there: [Option<Thing>; NAMES],
    /// All events of a watch, in order.
    pub(crate) history: Vec<News>,
    /// What a LIST shows, now or from a cache that lags; newest last.
    pub(crate) lists: Vec<News>,
}

impl Server {
    pub(crate) fn new() -> Server {
        Server {
            // Versions pass a change in length soon: 9 to 10 digits and so on.
            clock: 8,
            uids: 0,
            there: [None; NAMES],
            history: Vec::new(),
            lists: vec![News::List(8, Vec::new())],
        }
    }

    pub(crate) fn there(&self, name: usize) -> Option<Thing> {
        self.there[name]
    }

    /// When a uid died, if it did.
    pub(crate) fn death(&self, uid: u64) -> Option<u64> {
        self.deaths().find(|it| it.uid == uid).map(|it| it.version)
    }

    pub(crate) fn deaths(&self) -> impl Iterator<Item = &Thing> {
        self.history.iter().filter_map(|news| match news {
            News::Gone(thing) => Some(thing),
            _ => None,
        })
    }

    /// Another client may write. Our own writes are answered.
    pub(crate) fn step(&mut self, dice: &mut Dice) -> Option<News> {
        let name = dice.roll(NAMES);
        let ours = dice.one_in(2);
        let answer = match dice.roll(5) {
            0 | 1 => Some(self.write(name, dice)),
            2 => self.delete(name, dice),
            _ => None,
        };
        let all = self.there.iter().flatten().copied().collect();
        self.lists.push(News::List(self.clock, all));
        answer.filter(|_| ours)
    }

    fn write(&mut self, name: usize, dice: &mut Dice) -> News {
        self.tick(dice);
        let uid = self.there[name].map_or_else(
            || {
                self.uids += 1;
                self.uids
            },
            |it| it.uid,
        );
        let thing = Thing {
            name,
            uid,
            version: self.clock,
        };
        self.there[name] = Some(thing);
        self.history.push(News::Put(thing));
        News::Put(thing)
    }

    fn delete(&mut self, name: usize, dice: &mut Dice) -> Option<News> {
        let thing = self.there[name].take()?;
        self.tick(dice);
        self.history.push(News::Gone(Thing {
            version: self.clock,
            ..thing
        }));
        Some(News::GoneByAnswer(thing))
    }

    /// Other kinds move the clock, too.
    fn tick(&mut self, dice: &mut Dice) {
        self.clock += 1 + dice.roll(3) as u64;
    }
}
