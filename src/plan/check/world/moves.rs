//! What happens without us: imports go on, machines come, fail, come back and go, and people meddle.

use super::World;
use crate::state::facts::{Fact, Import, Look, Machine};
use crate::state::key::{Key, Kind};
use crate::state::prerequisite::{Family, Found, Relied};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

impl World<'_> {
    pub(crate) fn moves(&mut self, faults: bool) {
        let longest = if faults { 60 } else { 3 };
        let passes = 1 + self.dice.roll(longest);
        self.observed.now += Duration::from_secs(passes as u64);
        self.object_moves();
        self.machine_moves(faults);
        if faults && self.dice.one_in(60) {
            self.hurt = true;
            self.someone_meddles();
        }
    }

    /// Between two runs others make a type of a name, change it, or take it away.
    pub(crate) fn types_move(&mut self) {
        let relied = Relied {
            family: Family::Instancetype,
            kind: None,
            name: "standard-2".into(),
        };
        let found = match (self.seed + self.round) % 16 {
            0 => Found::There("VirtualMachineInstancetype".into()),
            1 => Found::There("VirtualMachineClusterInstancetype".into()),
            2 => Found::Template(Arc::new(json!({ "of": self.clock }))),
            3 => Found::Nothing,
            _ => return,
        };
        self.facts().relied.insert(relied, found);
    }

    fn object_moves(&mut self) {
        if let Some(record) = &self.observed.facts.record
            && record.leaving
            && self.dice.one_in(3)
        {
            self.facts().record = None;
        }
        let Some(key) = self.some_object(|_| true) else {
            return;
        };
        let step = 10 + 10 * self.dice.roll(5) as u8;
        let objects = &mut self.facts().objects;
        let it = objects.get_mut(&key).expect("it was chosen of these");
        match &mut it.fact {
            _ if it.leaving => {
                objects.remove(&key);
            }
            Fact::Image(import) if !import.done => {
                let percent = import.percent.map_or(0.0, |it| it + f32::from(step));
                import.percent = Some(percent.min(100.0));
                import.done = percent >= 100.0;
            }
            _ => {}
        }
    }

    pub(crate) fn some_object(&mut self, which: impl Fn(&Key) -> bool) -> Option<Key> {
        let keys = self.observed.facts.objects.keys();
        let mut keys: Vec<Key> = keys.filter(|it| which(it)).cloned().collect();
        keys.sort();
        (!keys.is_empty()).then(|| keys.swap_remove(self.dice.roll(keys.len())))
    }

    fn some_machine(&mut self) -> Option<(Arc<str>, Arc<str>)> {
        let pools = self.observed.facts.machines.iter();
        let names = pools.flat_map(|(pool, all)| all.keys().map(move |it| (pool, it)));
        let count = names.clone().count();
        let chosen = (count > 0).then(|| self.dice.roll(count))?;
        let (pool, name) = names.clone().nth(chosen)?;
        Some((pool.clone(), name.clone()))
    }

    fn machine_moves(&mut self, faults: bool) {
        let Some((pool, name)) = self.some_machine() else {
            return;
        };
        let version = self.next();
        let fate = self.dice.roll(24);
        let dead = self.dead.clone();
        let now = self.observed.now;
        let all = self.facts().machines.get_mut(&pool);
        let all = all.expect("it was chosen of these");
        let it = all.get_mut(&name).expect("it was chosen of these");
        // Every change of its status gives it another version.
        it.version = version;
        let look = match it.look {
            Look::Coming if faults && fate < 3 => Look::Broken,
            Look::Coming if dead == Some((pool.clone(), it.zone)) => Look::Coming,
            // It takes so long that it fails.
            Look::Coming if faults && fate < 12 => Look::Coming,
            Look::Coming => Look::Ready,
            Look::Ready if faults && fate < 3 => Look::NotReady,
            Look::NotReady if fate < 12 => Look::Ready,
            Look::Deleting => {
                all.remove(&name);
                if all.is_empty() {
                    self.facts().machines.remove(&pool);
                }
                return;
            }
            other => other,
        };
        let is_bad = matches!(look, Look::Broken | Look::NotReady) && look != it.look;
        if look != it.look {
            it.look = look;
            it.since = now;
        }
        self.hurt |= is_bad;
    }

    /// Somebody else changes what is ours.
    fn someone_meddles(&mut self) {
        match self.dice.roll(6) {
            0 => self.meddle_with_a_machine(|it| it.look = Look::Deleting),
            // Its host is to be empty.
            5 => self.meddle_with_a_machine(|it| it.evacuating = true),
            1 => {
                if let Some(key) = self.some_object(|_| true) {
                    self.facts().objects.remove(&key);
                }
            }
            2 => {
                if let Some(key) = self.some_object(|_| true) {
                    let it = self.facts().objects.get_mut(&key);
                    it.expect("it was chosen of these").leaving = true;
                }
            }
            3 => self.import_begins_again(),
            _ => {
                if let Some(record) = &mut self.facts().record {
                    record.hash.0 ^= 1;
                }
            }
        }
    }

    fn meddle_with_a_machine(&mut self, how: impl FnOnce(&mut Machine)) {
        if let Some((pool, name)) = self.some_machine() {
            let all = self.facts().machines.get_mut(&pool);
            let it = all.and_then(|it| it.get_mut(&name));
            how(it.expect("it was chosen of these"));
        }
    }

    fn import_begins_again(&mut self) {
        if let Some(key) = self.some_object(|it| it.kind == Kind::Image) {
            let it = self.facts().objects.get_mut(&key);
            let it = it.expect("it was chosen of these");
            it.fact = Fact::Image(Import::default());
        }
    }
}
