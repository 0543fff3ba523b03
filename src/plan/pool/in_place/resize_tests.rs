use crate::model::Quantity;
use crate::plan::check::rng::Dice;
use crate::plan::hibernation::HALTED;
use crate::plan::{finished, plan};
use crate::state::action::{Action, DeleteTarget, Desired, Halt, HaltPurpose, Payload};
use crate::state::desired;
use crate::state::desired::machine_content::{DiskGrowth, MachineContent};
use crate::state::facts::{
    Facts, ImageImport, MachinePhase, MachineSleep, ObjectStatus, ObservedMachine, ObservedObject,
    StorageClass,
};
use crate::state::failure::{ErrorClass, Failure};
use crate::state::hash::Hash;
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::names;
use crate::state::observed::Observed;
use crate::state::plan::{Item, ItemKind, ItemState, MachineStep, Plan};
use crate::state::record;
use crate::state::testing::{machine, object};
use crate::validate::ValidShoot;
use crate::validate::testing::{SHOOT, valid_for_tests};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

const MACHINES: usize = 4;
const STRATEGY: &str = "updateStrategy: AutoInPlaceUpdate";

/// A shoot with four machines of a type.
fn shoot(machine_type: &str, strategy: &str) -> ValidShoot {
    let text = SHOOT
        .replace("imum: 1", &format!("imum: {MACHINES}"))
        .replace("type: small", &format!("type: {machine_type}"))
        .replace(
            "    - name: cpu\n",
            &format!("    - name: cpu\n      {strategy}\n"),
        );
    assert!(text.contains(strategy));
    valid_for_tests(&text)
}

fn small() -> ValidShoot {
    shoot("small", STRATEGY)
}

fn large() -> ValidShoot {
    shoot("large", STRATEGY)
}

/// A pool whose machines KubeVirt and kubelets start and stop.
struct Pool {
    facts: Facts,
    created: u64,
    /// Requests of this run that the API server has refused.
    refused: HashMap<ObjectKey, (Action, Failure)>,
}

impl Pool {
    fn of(shoot: &ValidShoot) -> Pool {
        let facts = (*finished(shoot).facts).clone();
        assert_eq!(facts.machines["cpu"].len(), MACHINES);
        Pool {
            facts,
            created: 0,
            refused: Default::default(),
        }
    }

    /// Plans once the record, the rights on machines and the images are those of the shoot.
    fn plan(&self, shoot: &ValidShoot) -> Plan {
        let mut facts = self.facts.clone();
        let hash = record::wanted(shoot, &facts).hash;
        facts.record.as_mut().expect("it exists").hash = hash;
        loop {
            let observed = Observed {
                facts: Arc::new(facts.clone()),
                refused: self.refused.clone(),
                ..Observed::default()
            };
            let plan = plan(shoot, &observed);
            let changed: Vec<_> = plan.items.iter().flat_map(objects).collect();
            let images: Vec<_> = plan.items.iter().filter_map(image).collect();
            if changed.is_empty() && images.is_empty() {
                return plan;
            }
            let import = ImageImport {
                done: true,
                ..Default::default()
            };
            for wanted in images {
                let imported = ObservedObject {
                    hash: wanted.hash,
                    ..object(ObjectStatus::Image(import.clone()))
                };
                facts.objects.insert(wanted.key.clone(), imported);
            }
            for object in changed {
                let kind = ObjectKind::generic(object["kind"].as_str().unwrap()).unwrap();
                let name = object["metadata"]["name"].as_str().unwrap();
                let hash = object["metadata"]["annotations"][names::SPEC_HASH].as_str();
                let known = facts.objects.get_mut(&ObjectKey::provider(kind, name));
                known.expect(name).hash = Hash::parse(hash.unwrap()).unwrap();
            }
        }
    }

    fn machines(&self) -> &BTreeMap<Arc<str>, ObservedMachine> {
        &self.facts.machines["cpu"]
    }

    fn machine(&mut self, name: &str) -> &mut ObservedMachine {
        let pool = self.facts.machines.get_mut("cpu").expect("a pool");
        pool.get_mut(name).expect("a machine")
    }

    fn serving(&self) -> usize {
        let serves = |it: &&ObservedMachine| {
            it.phase == MachinePhase::Ready && it.sleep == MachineSleep::Awake
        };
        self.machines().values().filter(serves).count()
    }

    /// Carries out an action on a machine.
    fn act(&mut self, shoot: &ValidShoot, action: &Action) {
        let wanted = match action {
            Action::Apply(wanted) => wanted,
            Action::Drain(target) => return self.leave(target, MachinePhase::Drained),
            Action::Delete(target) => return self.leave(target, MachinePhase::Deleting),
        };
        let name = wanted.key.name.clone();
        match &wanted.payload {
            Payload::Halt(Halt { is_marked, .. }) => {
                let machine = self.machine(&name);
                assert_eq!(*is_marked, machine.sleep == MachineSleep::Entering);
                // The run may be killed after the mark.
                match machine.sleep {
                    MachineSleep::Awake => machine.sleep = MachineSleep::Entering,
                    _ => {
                        machine.sleep = MachineSleep::Halted;
                        machine.status = "Stopping".into();
                    }
                }
            }
            Payload::Start { resize, .. } => {
                let content = content(shoot);
                let machine = self.machine(&name);
                machine.sleep = MachineSleep::Awake;
                machine.status = "Starting".into();
                machine.phase = MachinePhase::NotReady;
                if resize.is_some() {
                    let roots = machine.content.take().and_then(|it| it.roots);
                    machine.content = Some(MachineContent { roots, ..content });
                }
            }
            Payload::UserData { .. } => {
                let data = object(ObjectStatus::None);
                self.facts.objects.insert(wanted.key.clone(), data);
            }
            Payload::Machine { zone, ordinal, .. } => self.create(shoot, wanted, *zone, *ordinal),
            _ => {}
        }
    }

    fn create(&mut self, shoot: &ValidShoot, wanted: &Desired, zone: usize, ordinal: u32) {
        self.created += 1;
        let new = ObservedMachine {
            uid: format!("new-{}", self.created).into(),
            hash: wanted.hash,
            content: Some(content(shoot)),
            zone,
            ordinal,
            born: 1_000_000_000_000 + self.created,
            metadata: desired::pool_metadata(&shoot.pools[0]).into(),
            ..machine(MachinePhase::Provisioning)
        };
        let pool = self.facts.machines.get_mut("cpu").expect("a pool");
        let former = pool.insert(wanted.key.name.clone(), new);
        assert!(former.is_none(), "{} exists", wanted.key.name);
    }

    fn leave(&mut self, target: &DeleteTarget, phase: MachinePhase) {
        if self.machines().contains_key(&target.key.name) {
            self.machine(&target.key.name).phase = phase;
        }
    }

    /// Time passes for one machine.
    fn proceed(&mut self, name: &str) {
        let machine = self.machine(name);
        match (machine.phase, machine.sleep, &*machine.status) {
            (MachinePhase::Deleting, ..) => {
                let pool = self.facts.machines.get_mut("cpu").expect("a pool");
                pool.remove(name);
                self.facts.nodes.remove(name);
            }
            (MachinePhase::Ready, MachineSleep::Halted, HALTED) => {
                machine.phase = MachinePhase::NotReady;
            }
            (_, MachineSleep::Halted, status) if status != HALTED => machine.status = HALTED.into(),
            (MachinePhase::Provisioning | MachinePhase::NotReady, MachineSleep::Awake, _) => {
                machine.phase = MachinePhase::Ready;
                machine.status = "Running".into();
            }
            _ => {}
        }
    }

    /// Everything that can happen happens, until nothing is left to do.
    fn settle(&mut self, shoot: &ValidShoot) {
        for _ in 0..200 {
            let due = due(&self.plan(shoot));
            for action in &due {
                self.act(shoot, action);
            }
            let names: Vec<_> = self.machines().keys().cloned().collect();
            let before = self.machines().clone();
            names.iter().for_each(|it| self.proceed(it));
            if due.is_empty() && before == *self.machines() {
                return;
            }
        }
        let plan = self.plan(shoot);
        let open = plan.items.iter().filter(|it| it.state != ItemState::Done);
        let open: Vec<_> = open.map(|it| (&it.title, &it.state)).collect();
        panic!("it does not end: {open:?}");
    }

    fn assert_settled(&self, shoot: &ValidShoot) {
        assert_eq!(self.machines().len(), MACHINES);
        assert_eq!(self.serving(), MACHINES);
        let wanted = content(shoot);
        // One that was created with the other strategy stays.
        let mut contents = self
            .machines()
            .values()
            .filter_map(|it| it.content.as_ref());
        assert!(contents.all(|it| it.is_same(&wanted)));
    }
}

/// The objects of a component that are due.
fn objects(item: &Item) -> Vec<Value> {
    match &item.state {
        ItemState::Due(Action::Apply(Desired {
            payload: Payload::Objects(objects),
            ..
        })) => objects.to_vec(),
        _ => Vec::new(),
    }
}

/// The image volume that an item imports.
fn image(item: &Item) -> Option<&Desired> {
    match &item.state {
        ItemState::Due(Action::Apply(wanted)) => {
            Some(wanted).filter(|it| it.key.kind == ObjectKind::ImageVolume)
        }
        _ => None,
    }
}

fn content(shoot: &ValidShoot) -> MachineContent {
    let attachments = desired::attachments(shoot, &Facts::default());
    desired::pool_hashes(shoot, &shoot.pools[0], &attachments, None).content
}

/// What can be done with machines now.
fn due(plan: &Plan) -> Vec<Action> {
    let of_machine = |it: &&Item| match &it.kind {
        ItemKind::Machine(_) => true,
        ItemKind::Deletion { key, .. } => &*key.kind.to_string() == "VirtualMachine",
        _ => false,
    };
    let due = |it: &Item| match &it.state {
        ItemState::Due(action) => Some(action.clone()),
        _ => None,
    };
    plan.items
        .iter()
        .filter(of_machine)
        .filter_map(due)
        .collect()
}

fn resizes(plan: &Plan) -> Vec<(&str, &ItemState)> {
    let is_resize = |it: &&Item| matches!(&it.kind, ItemKind::Machine(slot) if slot.step == MachineStep::Resize);
    let items = plan.items.iter().filter(is_resize);
    items.map(|it| (it.title.as_str(), &it.state)).collect()
}

fn deletions(plan: &Plan) -> usize {
    let items = plan.items.iter();
    let deletions = items.filter(|it| it.title.starts_with("Delete machine"));
    deletions.count()
}

#[test]
fn another_machine_type_restarts_one_machine_after_another() {
    let mut pool = Pool::of(&small());
    let names: Vec<_> = pool.machines().keys().cloned().collect();
    let large = large();
    let first = pool.plan(&large);
    let all = resizes(&first);
    assert_eq!((all.len(), deletions(&first)), (MACHINES, 0));
    let begun = all.iter().filter(|it| matches!(it.1, ItemState::Due(_)));
    assert_eq!(begun.count(), 1, "{all:?}");
    let others = all.iter().filter(|it| *it.1 == ItemState::Blocked);
    assert_eq!(others.count(), MACHINES - 1);
    assert!(
        all[0].0.ends_with("to restart it with 4 CPU and 16Gi"),
        "{all:?}"
    );

    pool.settle(&large);
    pool.assert_settled(&large);
    assert!(pool.machines().keys().eq(names.iter()));
    // They are as if they had been created with this size.
    let rolling = shoot("large", "updateStrategy: AutoRollingUpdate");
    assert!(due(&pool.plan(&rolling)).is_empty());
    // And back.
    pool.settle(&small());
    pool.assert_settled(&small());
    assert!(pool.machines().keys().eq(names.iter()));
}

#[test]
fn a_machine_starts_when_it_has_stopped() {
    let mut pool = Pool::of(&small());
    let (name, large) = (pool.machines().keys().next().unwrap().clone(), large());
    pool.machine(&name).sleep = MachineSleep::Halted;
    let state = |pool: &Pool, status: &str| {
        let mut pool = Pool {
            facts: pool.facts.clone(),
            created: 0,
            refused: Default::default(),
        };
        pool.machine(&name).status = status.into();
        let plan = pool.plan(&large);
        let (_, state) = resizes(&plan)
            .into_iter()
            .find(|it| it.0.contains(&*name))
            .unwrap();
        state.clone()
    };
    assert!(matches!(state(&pool, "Stopping"), ItemState::Waiting(_)));
    // Its node may be gone.
    pool.machine(&name).phase = MachinePhase::Provisioning;
    let ItemState::Due(Action::Apply(wanted)) = state(&pool, HALTED) else {
        panic!("{:?}", state(&pool, HALTED));
    };
    let pool_name: Arc<str> = "cpu".into();
    assert!(
        matches!(wanted.payload, Payload::Start { resize: Some(it), .. } if it.pool == pool_name)
    );
}

/// The record has the begin of the last hibernation.
#[test]
fn a_machine_is_started_although_the_shoot_has_hibernated_long_ago() {
    let mut pool = Pool::of(&small());
    let (name, now) = (pool.machines().keys().next().unwrap().clone(), 10_000_000);
    pool.facts.time = now;
    let record = pool.facts.record.as_mut().expect("it exists");
    record.hibernation.began = Some(1);
    let machine = pool.machine(&name);
    (machine.sleep, machine.status) = (MachineSleep::Halted, HALTED.into());
    let mut is_resized = |halted_at| {
        pool.machine(&name).halted_at = halted_at;
        resizes(&pool.plan(&large()))
            .iter()
            .any(|it| it.0.contains(&*name))
    };
    assert!(is_resized(Some(now - 60)));
    // The certificate of its kubelet has expired.
    assert!(!is_resized(Some(now - 67 * 60 * 60)));
    assert!(!is_resized(None));
}

#[test]
fn machines_are_replaced_if_the_pool_does_not_say_otherwise_or_something_else_changes() {
    let pool = Pool::of(&small());
    let rolling = shoot("large", "updateStrategy: AutoRollingUpdate");
    let plan = pool.plan(&rolling);
    assert_eq!((resizes(&plan).len(), deletions(&plan)), (0, MACHINES));
    let mut other = large();
    other.pools[0].root.class = "other".to_owned();
    let plan = pool.plan(&other);
    assert_eq!((resizes(&plan).len(), deletions(&plan)), (0, MACHINES));
}

/// Its node is ready until it is emptied, which a run that looks for a failed node would wait for without end.
#[test]
fn a_machine_that_is_being_halted_is_replaced_if_something_else_changes() {
    let mut pool = Pool::of(&small());
    let name = pool.machines().keys().next().unwrap().clone();
    let mut other = large();
    other.pools[0].root.class = "other".to_owned();
    let mut removal = |sleep, phase| {
        let machine = pool.machine(&name);
        (machine.sleep, machine.phase) = (sleep, phase);
        match &due(&pool.plan(&other))[..] {
            [Action::Drain(it)] if it.key.name == name => (it.unless_ready, it.drain),
            due => panic!("{due:?}"),
        }
    };
    let limit = Some(other.pools[0].drain_timeout);
    let none = Some(Duration::ZERO);
    for (sleep, phase, expected) in [
        (MachineSleep::Entering, MachinePhase::Ready, (false, limit)),
        (
            MachineSleep::Entering,
            MachinePhase::NotReady,
            (true, limit),
        ),
        (MachineSleep::Halted, MachinePhase::Ready, (false, none)),
        (MachineSleep::Halted, MachinePhase::NotReady, (true, none)),
    ] {
        assert_eq!(removal(sleep, phase), expected, "{sleep:?} {phase:?}");
    }
}

/// The creation of another one was refused, or its zone was given up.
#[test]
fn a_missing_machine_counts_as_unavailable() {
    let mut pool = Pool::of(&small());
    let name = pool.machines().keys().next().unwrap().clone();
    let machines = pool.facts.machines.get_mut("cpu").expect("a pool");
    machines.remove(&name);
    let key = ObjectKey::provider(ObjectKind::UserData, name.clone());
    pool.facts.objects.remove(&key);
    let plan = pool.plan(&large());
    let [Action::Apply(create)] = &due(&plan)[..] else {
        panic!("{:?}", due(&plan));
    };
    let failure = Failure::new(ErrorClass::Refused, "denied");
    let refused = (Action::Apply(create.clone()), failure);
    pool.refused.insert(create.key.clone(), refused);
    let plan = pool.plan(&large());
    assert_eq!(resizes(&plan).len(), MACHINES - 1);
    let halts = due(&plan).into_iter();
    let halts: Vec<_> = halts
        .filter(|it| matches!(it, Action::Apply(it) if matches!(it.payload, Payload::Halt(_))))
        .collect();
    assert_eq!(halts, []);
}

/// Another machine may have to be created in its place.
#[test]
fn a_smaller_pool_of_other_machines_waits_for_their_image() {
    let mut pool = Pool::of(&small());
    let mut smaller = large();
    (smaller.pools[0].minimum, smaller.pools[0].maximum) = (3, 3);
    let mut removals = |done: bool| {
        let images = pool.facts.objects.iter_mut();
        for (_, image) in images.filter(|it| it.0.kind == ObjectKind::ImageVolume) {
            image.status = ObjectStatus::Image(ImageImport {
                done,
                ..Default::default()
            });
        }
        let plan = pool.plan(&smaller);
        let due = due(&plan);
        due.iter()
            .filter(|it| matches!(it, Action::Drain(_)))
            .count()
    };
    assert_eq!([removals(true), removals(false)], [1, 0]);
}

/// A shoot whose machines have this root disk.
fn with_root_disk(shoot: ValidShoot, size: &str) -> ValidShoot {
    let mut shoot = shoot;
    shoot.pools[0].root.size = Quantity::parse(size).expect("a size");
    shoot
}

#[test]
fn disks_become_larger_by_a_restart_and_smaller_by_a_replacement() {
    let mut pool = Pool::of(&small());
    let larger = with_root_disk(small(), "30Gi");
    let plan = pool.plan(&larger);
    assert_eq!((resizes(&plan).len(), deletions(&plan)), (MACHINES, 0));
    assert!(
        resizes(&plan)[0]
            .0
            .ends_with("to restart it with a root disk of 30Gi")
    );
    let [Action::Apply(wanted)] = &due(&plan)[..] else {
        panic!("{:?}", due(&plan));
    };
    let Payload::Halt(Halt {
        purpose: HaltPurpose::Resize(disks),
        ..
    }) = &wanted.payload
    else {
        panic!("{wanted:?}");
    };
    let growth = DiskGrowth {
        claim: wanted.key.name.clone(),
        from: 20 << 30,
        to: 30 << 30,
    };
    assert_eq!(**disks, [growth]);
    let before: Vec<_> = pool.machines().keys().cloned().collect();
    pool.settle(&larger);
    pool.assert_settled(&larger);
    assert!(pool.machines().keys().eq(&before));
    let plan = pool.plan(&small());
    assert_eq!((resizes(&plan).len(), deletions(&plan)), (0, MACHINES));
    pool.settle(&small());
    pool.assert_settled(&small());
}

#[test]
fn machines_are_replaced_if_the_storage_class_does_not_allow_volumes_to_grow() {
    let mut pool = Pool::of(&small());
    let larger = with_root_disk(large(), "30Gi");
    for (expandable, restarted) in [(true, MACHINES), (false, 0)] {
        let class = StorageClass {
            zonal: false,
            expandable,
            offered: None,
        };
        let name = larger.pools[0].root.class.as_str().into();
        pool.facts.storage_classes.insert(name, class);
        let plan = pool.plan(&larger);
        let counts = (resizes(&plan).len(), deletions(&plan));
        assert_eq!(counts, (restarted, MACHINES - restarted));
        // Only what grows needs it.
        assert_eq!(resizes(&pool.plan(&large())).len(), MACHINES);
    }
}

/// It may be one that is too large for every host.
#[test]
fn a_machine_that_never_joined_is_replaced() {
    let mut pool = Pool::of(&small());
    let name = pool.machines().keys().next().unwrap().clone();
    pool.machine(&name).phase = MachinePhase::Provisioning;
    let plan = pool.plan(&large());
    let removed = due(&plan);
    assert!(
        matches!(&removed[..], [Action::Delete(it)] if it.key.name == name),
        "{removed:?}"
    );
}

#[test]
fn machines_of_earlier_versions_get_their_hashes_without_a_restart() {
    let mut pool = Pool::of(&small());
    let names: Vec<_> = pool.machines().keys().cloned().collect();
    for name in &names {
        pool.machine(name).content = None;
    }
    let is_labeled = |it: &Action| match it {
        Action::Apply(wanted) => matches!(wanted.payload, Payload::Metadata { .. }),
        _ => false,
    };
    let plan = pool.plan(&small());
    let labeled = due(&plan).iter().filter(|it| is_labeled(it)).count();
    assert_eq!(labeled, MACHINES);
    let rolling = shoot("small", "updateStrategy: AutoRollingUpdate");
    assert_eq!(due(&pool.plan(&rolling)), []);
    assert_eq!(deletions(&pool.plan(&large())), MACHINES);
}

#[test]
fn no_history_of_resizes_takes_more_than_one_machine_at_a_time() {
    play(0..12);
}

#[test]
#[ignore = "second tier: hundreds of histories; the first tier plays some of them"]
fn no_history_in_hundreds_takes_more_than_one_machine_at_a_time() {
    play(0..200);
}

/// Plays histories with edits back and forth, machines that are replaced meanwhile, nodes that fail, and runs that carry
/// out only a part.
#[expect(clippy::print_stdout, reason = "it prints how much it played")]
fn play(seeds: Range<u64>) {
    let shoots = [
        small(),
        large(),
        with_root_disk(small(), "30Gi"),
        shoot(
            "large",
            "updateStrategy: AutoRollingUpdate\n      maxSurge: 1\n      maxUnavailable: 1",
        ),
    ];
    let first = Pool::of(&shoots[0]);
    let (mut moves, mut resized) = (0, 0);
    let count = seeds.end - seeds.start;
    for seed in seeds {
        let mut dice = Dice::new(seed);
        let mut pool = Pool {
            facts: first.facts.clone(),
            created: 0,
            refused: Default::default(),
        };
        let mut wanted = 0;
        for _ in 0..60 {
            moves += 1;
            if dice.one_in(15) {
                wanted = dice.roll(shoots.len());
            }
            let names: Vec<_> = pool.machines().keys().cloned().collect();
            let name = names[dice.roll(names.len())].clone();
            match dice.roll(20) {
                0 => pool.machine(&name).instance.replace = Some("by name".into()),
                1 if pool.machine(&name).phase == MachinePhase::Ready => {
                    pool.machine(&name).phase = MachinePhase::NotReady;
                }
                2..10 => pool.proceed(&name),
                _ => {
                    let plan = pool.plan(&shoots[wanted]);
                    let mut actions = due(&plan);
                    if dice.one_in(2) {
                        actions.truncate(1);
                    }
                    resized += resizes(&plan).len();
                    let before = pool.serving();
                    actions.iter().for_each(|it| pool.act(&shoots[wanted], it));
                    let after = pool.serving();
                    assert!(
                        after == before || after + 1 >= MACHINES,
                        "seed {seed}: {before} machines serve, and then {after}: {actions:?}"
                    );
                }
            }
        }
        pool.settle(&shoots[wanted]);
        pool.assert_settled(&shoots[wanted]);
    }
    println!("{moves} moves, {resized} resizes that were planned");
    assert!(resized as u64 > 10 * count);
}
