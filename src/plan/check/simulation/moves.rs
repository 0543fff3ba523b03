//! External changes: imports progress, machines start, fail, recover and disappear, and other users change objects.

use super::World;
use super::rules::most;
use crate::plan::hibernation::HALTED;
use crate::state::desired::SizesByPool;
use crate::state::facts::{
    Evacuation, ImageImport, MachinePhase, MachineSleep, ObjectStatus, ObservedMachine,
};
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::prerequisite::{Lookup, Prerequisite, PrerequisiteKind};
use crate::state::record::{DeletedMachine, SizeRefusal, resized_zone, scaled, without_machine};
use crate::validate::PoolSpec;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

impl World<'_> {
    pub(crate) fn moves(&mut self, faults: bool) {
        let longest = if faults { 60 } else { 3 };
        let passes = 1 + self.dice.roll(longest);
        self.observed.now += Duration::from_secs(passes as u64);
        self.step_object();
        self.step_machine(faults);
        if faults && self.dice.one_in(60) {
            self.hurt = true;
            self.external_change();
        }
        if faults && self.dice.one_in(20) {
            self.decide_size();
        }
    }

    /// Between two runs other users create, change or delete an instancetype.
    pub(crate) fn change_types(&mut self) {
        let relied = Prerequisite {
            prerequisite_kind: PrerequisiteKind::Instancetype,
            kind: None,
            name: "standard-2".into(),
        };
        let found = match (self.seed + self.round) % 16 {
            0 => Lookup::Found("VirtualMachineInstancetype".into()),
            1 => Lookup::Found("VirtualMachineClusterInstancetype".into()),
            2 => Lookup::Template(Arc::new(json!({ "of": self.clock }))),
            3 => Lookup::NotFound,
            _ => return,
        };
        self.facts().prerequisites.insert(relied, found);
    }

    fn step_object(&mut self) {
        if let Some(record) = &self.observed.facts.record
            && record.leaving
            && self.dice.one_in(3)
        {
            self.facts().record = None;
        }
        let Some(key) = self.random_object(|_| true) else {
            return;
        };
        let step = 10 + 10 * self.dice.roll(5) as u8;
        let objects = &mut self.facts().objects;
        let it = objects.get_mut(&key).expect("it was chosen from these");
        match &mut it.status {
            _ if it.leaving => {
                objects.remove(&key);
            }
            ObjectStatus::Image(import) if !import.done => {
                let percent = import.percent.map_or(0.0, |it| it + f32::from(step));
                import.percent = Some(percent.min(100.0));
                import.done = percent >= 100.0;
            }
            _ => {}
        }
    }

    pub(crate) fn random_object(
        &mut self,
        which: impl Fn(&ObjectKey) -> bool,
    ) -> Option<ObjectKey> {
        let keys = self.observed.facts.objects.keys();
        let mut keys: Vec<ObjectKey> = keys.filter(|it| which(it)).cloned().collect();
        keys.sort();
        (!keys.is_empty()).then(|| keys.swap_remove(self.dice.roll(keys.len())))
    }

    fn random_machine(&mut self) -> Option<(Arc<str>, Arc<str>)> {
        let pools = self.observed.facts.machines.iter();
        let names = pools.flat_map(|(pool, all)| all.keys().map(move |it| (pool, it)));
        let count = names.clone().count();
        let chosen = (count > 0).then(|| self.dice.roll(count))?;
        let (pool, name) = names.clone().nth(chosen)?;
        Some((pool.clone(), name.clone()))
    }

    fn step_machine(&mut self, faults: bool) {
        let Some((pool, name)) = self.random_machine() else {
            return;
        };
        let version = self.next();
        let fate = self.dice.roll(24);
        let dead = self.dead.clone();
        let now = self.observed.now;
        let all = self.facts().machines.get_mut(&pool);
        let all = all.expect("it was chosen from these");
        let it = all.get_mut(&name).expect("it was chosen from these");
        // Every status change gives it another version.
        it.version = version;
        let look = match it.phase {
            MachinePhase::Ready if it.sleep == MachineSleep::Halted => MachinePhase::NotReady,
            _ if it.sleep == MachineSleep::Halted && &*it.status != HALTED => {
                it.status = HALTED.into();
                it.phase
            }
            MachinePhase::Provisioning | MachinePhase::NotReady
                if it.sleep == MachineSleep::Halted =>
            {
                it.phase
            }
            MachinePhase::Provisioning if faults && fate < 3 => MachinePhase::Failed,
            MachinePhase::Provisioning if dead == Some((pool.clone(), it.zone)) => {
                MachinePhase::Provisioning
            }
            // Takes so long that it fails.
            MachinePhase::Provisioning if faults && fate < 12 => MachinePhase::Provisioning,
            MachinePhase::Provisioning => MachinePhase::Ready,
            MachinePhase::Ready if faults && fate < 3 => MachinePhase::NotReady,
            MachinePhase::NotReady if fate < 12 => MachinePhase::Ready,
            MachinePhase::Deleting => {
                all.remove(&name);
                if all.is_empty() {
                    self.facts().machines.remove(&pool);
                }
                return;
            }
            other => other,
        };
        let is_bad =
            matches!(look, MachinePhase::Failed | MachinePhase::NotReady) && look != it.phase;
        if look != it.phase {
            it.phase = look;
            it.since = now;
        }
        self.hurt |= is_bad;
    }

    /// Another user changes one of our objects.
    fn external_change(&mut self) {
        match self.dice.roll(7) {
            0 => self.change_machine(|it| it.phase = MachinePhase::Deleting),
            // Repair or a user wants it to be replaced.
            6 => self.change_machine(|it| it.instance.replace = Some("it is marked".into())),
            // Its host is being drained.
            5 => {
                let way = match self.dice.roll(3) {
                    0 => Evacuation::Migration,
                    1 => Evacuation::Replacement,
                    _ => Evacuation::Cancellation,
                };
                self.change_machine(|it| it.evacuation = Some(way));
            }
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

    /// A user or the cluster autoscaler decides the size of a pool or a zone, or which machine is deleted.
    fn decide_size(&mut self) {
        let (Some(shoot), Some(record)) = (self.shoot, &self.observed.facts.record) else {
            return;
        };
        let sizes = record.sizes.iter();
        let sizes = sizes.map(|(pool, size)| (pool.to_string(), size.clone()));
        let decided: SizesByPool = sizes.collect();
        let pools = &shoot.pools;
        let pool = &pools[self.dice.roll(pools.len())];
        let wanted = pool.minimum + self.dice.roll(pool.maximum - pool.minimum + 2);
        let after = match self.dice.roll(4) {
            0 => scaled(pools, &decided, &[(pool.name.clone(), wanted)].into()),
            1 => {
                let zone = self.dice.roll(pool.zones.len());
                let wanted = wanted / pool.zones.len();
                resized_zone(pools, &decided, &pool.name, zone, wanted)
            }
            _ => self.without_random_machine(pools, &decided),
        };
        // Sizes outside of the bounds are refused.
        let Ok(after) = after else { return };
        for pool in pools {
            let most = most(&self.observed.facts, pool);
            let planned = self.planned.entry(pool.name.clone()).or_default();
            *planned = most.max(*planned);
        }
        if let Some(record) = &mut self.facts().record {
            let sizes = after.into_iter();
            record.sizes = sizes.map(|it| (it.0.as_str().into(), it.1)).collect();
        }
    }

    fn without_random_machine(
        &mut self,
        pools: &[PoolSpec],
        decided: &SizesByPool,
    ) -> Result<SizesByPool, SizeRefusal> {
        let Some((pool, name)) = self.random_machine() else {
            return Ok(decided.clone());
        };
        let all = &self.observed.facts.machines;
        let machine = &all[&pool][&name];
        let existing = all.values().flat_map(|it| it.values());
        let deleted = DeletedMachine {
            pool: &pool,
            zone: machine.zone,
            uid: &machine.uid,
        };
        without_machine(
            pools,
            decided,
            deleted,
            &existing.map(|it| &*it.uid).collect(),
        )
    }

    fn change_machine(&mut self, how: impl FnOnce(&mut ObservedMachine)) {
        if let Some((pool, name)) = self.random_machine() {
            let all = self.facts().machines.get_mut(&pool);
            let it = all.and_then(|it| it.get_mut(&name));
            how(it.expect("it was chosen from these"));
        }
    }

    fn restart_import(&mut self) {
        if let Some(key) = self.random_object(|it| it.kind == ObjectKind::ImageVolume) {
            let it = self.facts().objects.get_mut(&key);
            let it = it.expect("it was chosen from these");
            it.status = ObjectStatus::Image(ImageImport::default());
        }
    }
}
