//! External changes: imports progress, machines start, fail, recover and disappear, and other users change objects.

use super::Simulation;
use crate::plan::item::{Key, Kind};
use crate::plan::observed::{Fact, Import, Look, Machine};
use crate::plan::relied::{Family, Found, Relied};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

impl Simulation<'_> {
    pub(super) fn step(&mut self, faults: bool) {
        let longest = if faults { 60 } else { 3 };
        let passes = 1 + self.rng.below(longest);
        self.observed.now += Duration::from_secs(passes as u64);
        self.step_object();
        self.step_machine(faults);
        if faults && self.rng.one_in(60) {
            self.had_fault = true;
            self.external_change();
        }
    }

    /// Between two runs other users create, change or delete an instancetype.
    pub(super) fn change_types(&mut self) {
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

    fn step_object(&mut self) {
        if let Some(record) = &self.observed.facts.record
            && record.leaving
            && self.rng.one_in(3)
        {
            self.facts().record = None;
        }
        let Some(key) = self.random_object(|_| true) else {
            return;
        };
        let step = 10 + 10 * self.rng.below(5) as u8;
        let objects = &mut self.facts().objects;
        let it = objects.get_mut(&key).expect("it was chosen from these");
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

    pub(super) fn random_object(&mut self, which: impl Fn(&Key) -> bool) -> Option<Key> {
        let keys = self.observed.facts.objects.keys();
        let mut keys: Vec<Key> = keys.filter(|it| which(it)).cloned().collect();
        keys.sort();
        (!keys.is_empty()).then(|| keys.swap_remove(self.rng.below(keys.len())))
    }

    fn random_machine(&mut self) -> Option<(Arc<str>, Arc<str>)> {
        let pools = self.observed.facts.machines.iter();
        let names = pools.flat_map(|(pool, all)| all.keys().map(move |it| (pool, it)));
        let count = names.clone().count();
        let chosen = (count > 0).then(|| self.rng.below(count))?;
        let (pool, name) = names.clone().nth(chosen)?;
        Some((pool.clone(), name.clone()))
    }

    fn step_machine(&mut self, faults: bool) {
        let Some((pool, name)) = self.random_machine() else {
            return;
        };
        let version = self.next();
        let fate = self.rng.below(24);
        let dead_zone = self.dead_zone.clone();
        let now = self.observed.now;
        let all = self.facts().machines.get_mut(&pool);
        let all = all.expect("it was chosen from these");
        let it = all.get_mut(&name).expect("it was chosen from these");
        // Every status change gives it another version.
        it.version = version;
        let look = match it.look {
            Look::Coming if faults && fate < 3 => Look::Broken,
            Look::Coming if dead_zone == Some((pool.clone(), it.zone)) => Look::Coming,
            // Takes so long that it fails.
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
        self.had_fault |= is_bad;
    }

    /// Another user changes one of our objects.
    fn external_change(&mut self) {
        match self.rng.below(6) {
            0 => self.change_machine(|it| it.look = Look::Deleting),
            // Its host is being drained.
            5 => self.change_machine(|it| it.evacuating = true),
            1 => {
                if let Some(key) = self.random_object(|_| true) {
                    self.facts().objects.remove(&key);
                }
            }
            2 => {
                if let Some(key) = self.random_object(|_| true) {
                    let it = self.facts().objects.get_mut(&key);
                    it.expect("it was chosen from these").leaving = true;
                }
            }
            3 => self.restart_import(),
            _ => {
                if let Some(record) = &mut self.facts().record {
                    record.hash.0 ^= 1;
                }
            }
        }
    }

    fn change_machine(&mut self, how: impl FnOnce(&mut Machine)) {
        if let Some((pool, name)) = self.random_machine() {
            let all = self.facts().machines.get_mut(&pool);
            let it = all.and_then(|it| it.get_mut(&name));
            how(it.expect("it was chosen from these"));
        }
    }

    fn restart_import(&mut self) {
        if let Some(key) = self.random_object(|it| it.kind == Kind::Image) {
            let it = self.facts().objects.get_mut(&key);
            let it = it.expect("it was chosen from these");
            it.fact = Fact::Image(Import::default());
        }
    }
}
