//! A pool's machines: one item for each place, one for each machine that must go.

mod removal;

use super::item::{Action, Class, Content, Failure, Id, Key, Kind, Need, Plan, State, Wanted};
use super::observed::{Machine, Observed};
use super::roll::{self, Phase};
use super::spread::spread;
use super::{Hash, desired, names};
use crate::validate::{Pool, ValidShoot};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// So many machines may fail in a zone, and it is given up for this run.
const PATIENCE: u32 = 3;

/// Who still needs what machines use.
#[derive(Default)]
pub(super) struct Users {
    /// Items that must be gone before what they use may go, by the name of that.
    pub(super) leaving: HashMap<Arc<str>, Vec<Need>>,
    /// Names of machines that stay, or are being made.
    pub(super) staying: HashSet<Arc<str>>,
    /// Places that machines may still come to, by all of their names but the ordinal.
    pub(super) places: HashMap<Arc<str>, Arc<[Need]>>,
}

/// What a pool should be.
pub(super) struct Wants {
    id: Arc<str>,
    pool: Arc<str>,
    hash: Hash,
    /// Machines wanted in each zone.
    targets: Vec<usize>,
    zones: Vec<String>,
    surge: usize,
    unavailable: usize,
    /// What a machine of each zone needs before it can be made.
    needs: Vec<Arc<[Need]>>,
    /// Labels and annotations that its machines should show; none where none are wanted.
    metadata: Option<String>,
    creation_limit: Duration,
}

impl Wants {
    pub(super) fn of(
        shoot: &ValidShoot,
        observed: &Observed,
        pool: &Pool,
        hash: Hash,
        needs: &[Arc<[Need]>],
    ) -> Wants {
        let size = desired::size(&observed.facts, pool);
        Wants {
            id: shoot.id.as_str().into(),
            pool: pool.name.as_str().into(),
            hash,
            targets: spread(size, pool.zones.len()),
            zones: pool.zones.clone(),
            surge: pool.surge.rounded_up(size),
            unavailable: pool.unavailable.rounded_down(size),
            needs: needs.to_vec(),
            metadata: Some(desired::pool_metadata(pool)),
            creation_limit: pool.creation_timeout,
        }
    }

    /// A pool that is no longer in the manifest.
    pub(super) fn none(id: &str, pool: &Arc<str>) -> Wants {
        Wants {
            id: id.into(),
            pool: pool.clone(),
            hash: Hash::default(),
            targets: Vec::new(),
            zones: Vec::new(),
            surge: 0,
            unavailable: 0,
            needs: Vec::new(),
            metadata: None,
            creation_limit: Duration::MAX,
        }
    }

    /// A zone that is not the pool's needs whatever any of them needs.
    fn needs(&self, zone: usize) -> Arc<[Need]> {
        self.needs
            .get(zone)
            .or(self.needs.first())
            .cloned()
            .unwrap_or_default()
    }

    fn name(&self, zone: usize, ordinal: u32) -> Arc<str> {
        names::machine(&self.id, &self.pool, zone, self.hash, ordinal).into()
    }

    fn zone(&self, zone: usize) -> String {
        self.zones
            .get(zone)
            .cloned()
            .unwrap_or_else(|| format!("number {}", zone + 1))
    }
}

/// What the rolling update judges: what is there, what was sent, and what it says.
struct Seen<'a> {
    machines: Vec<(&'a Arc<str>, &'a Machine)>,
    judged: Vec<roll::Machine>,
    setbacks: Vec<u32>,
    /// Those that may go now.
    chosen: HashSet<usize>,
    create: Vec<(usize, u32)>,
    /// Names of those whose making has no answer yet.
    coming: Vec<Arc<str>>,
}

pub(super) fn add(plan: &mut Plan, observed: &Observed, wants: &Wants, users: &mut Users) {
    let mut seen = look(plan, observed, wants);
    let pool = roll::Pool {
        hash: wants.hash,
        targets: &wants.targets,
        surge: wants.surge,
        unavailable: wants.unavailable,
        setbacks: &seen.setbacks,
        patience: PATIENCE,
    };
    let moves = roll::roll(&pool, &seen.judged);
    seen.chosen.extend(&moves.remove);
    seen.create = moves.create;

    let mut places = Vec::new();
    let mut late = HashSet::new();
    for zone in 0..wants.targets.len() {
        places.extend(add_places(plan, observed, wants, &seen, &mut late, zone));
    }
    let places: Arc<[Need]> = places.into();
    let made = seen.create.iter().map(|it| wants.name(it.0, it.1));
    users
        .staying
        .extend(made.chain(seen.coming.iter().cloned()));
    let series = (0..wants.targets.len()).map(|zone| series(&wants.name(zone, 0)).into());
    users.places.extend(series.map(|it| (it, places.clone())));
    removal::add(plan, observed, wants, &seen, &late, &places, users);
}

/// A machine's name without its ordinal.
pub(super) fn series(name: &str) -> &str {
    name.rsplit_once('-').map_or(name, |it| it.0)
}

fn look<'a>(plan: &mut Plan, observed: &'a Observed, wants: &Wants) -> Seen<'a> {
    let mut seen = Seen {
        machines: Vec::new(),
        judged: Vec::new(),
        setbacks: setbacks(observed, wants),
        chosen: HashSet::new(),
        create: Vec::new(),
        coming: Vec::new(),
    };
    for (name, machine) in observed.pool(&wants.pool) {
        let phase = observed.phase(machine, wants.creation_limit);
        if phase == Phase::Creating && wants.creation_limit < Duration::MAX {
            plan.wake_at(machine.since + wants.creation_limit);
        }
        let Machine {
            hash,
            zone,
            ordinal,
            born,
            ..
        } = *machine;
        seen.machines.push((name, machine));
        seen.judged.push(roll::Machine {
            hash,
            zone,
            ordinal,
            phase,
            born,
        });
    }
    in_flight(observed, wants, &mut seen);
    seen
}

/// Requests without an answer count as if they had happened.
fn in_flight(observed: &Observed, wants: &Wants, seen: &mut Seen) {
    for (index, (name, machine)) in seen.machines.iter().enumerate() {
        let removed = match observed
            .sent
            .get(&Key::provider(Kind::Machine, (*name).clone()))
        {
            Some(Action::Delete(target)) if target.uid == machine.uid => Phase::Deleting,
            Some(Action::Drain(target)) if target.uid == machine.uid => Phase::Draining,
            _ => continue,
        };
        if seen.judged[index].phase != Phase::Deleting {
            seen.judged[index].phase = removed;
        }
    }
    for action in observed.sent.values() {
        let Action::Apply(Wanted {
            key,
            hash,
            content:
                Content::Machine {
                    pool,
                    zone,
                    ordinal,
                },
        }) = action
        else {
            continue;
        };
        if *pool != wants.pool {
            continue;
        }
        seen.coming.push(key.name.clone());
        let there = observed.facts.machines.get(pool);
        if there.is_none_or(|it| !it.contains_key(&key.name)) {
            seen.judged.push(roll::Machine {
                hash: *hash,
                zone: *zone,
                ordinal: *ordinal,
                phase: Phase::Creating,
                born: u64::MAX,
            });
        }
    }
}

/// A zone whose machine was refused is as good as given up: nothing would take an old one's place.
fn setbacks(observed: &Observed, wants: &Wants) -> Vec<u32> {
    let key = (wants.pool.clone(), wants.hash);
    let mut setbacks = observed.setbacks.get(&key).cloned().unwrap_or_default();
    setbacks.resize(wants.targets.len(), 0);
    for (action, _) in observed.refused.values() {
        if let Action::Apply(Wanted {
            content: Content::Machine { pool, zone, .. },
            hash,
            ..
        }) = action
            && (pool, *hash) == (&wants.pool, wants.hash)
            && let Some(count) = setbacks.get_mut(*zone)
        {
            *count = PATIENCE;
        }
    }
    setbacks
}

/// The best machines of a zone take its places, so what is done stays in front; those beyond the last place
/// must go, but are still needed.
fn add_places(
    plan: &mut Plan,
    observed: &Observed,
    wants: &Wants,
    seen: &Seen,
    late: &mut HashSet<usize>,
    zone: usize,
) -> Vec<Need> {
    let mut here: Vec<usize> = (0..seen.judged.len())
        .filter(|it| takes_place(&seen.judged[*it], wants.hash, zone))
        .collect();
    here.retain(|it| !seen.chosen.contains(it));
    here.sort_by_key(|it| {
        (
            Reverse(seen.judged[*it].phase == Phase::Ready),
            seen.judged[*it].ordinal,
        )
    });
    let target = wants.targets[zone];
    late.extend(
        here.iter()
            .skip(target)
            .filter(|it| **it < seen.machines.len()),
    );
    let mut create = seen.create.iter().filter(|it| it.0 == zone);
    let mut places = Vec::with_capacity(target);
    for place in 0..target {
        let (title, state) = match here.get(place) {
            Some(it) => taken(observed, wants, seen, *it),
            None => match create.next() {
                Some((_, ordinal)) => to_be_made(observed, wants, zone, *ordinal),
                None => empty(observed, wants, seen, zone),
            },
        };
        let id: Id = format!("machine/{}/z{}/{place}", wants.pool, zone + 1).into();
        places.push(plan.add(observed, id, title, wants.needs(zone), state));
    }
    places
}

fn takes_place(machine: &roll::Machine, hash: Hash, zone: usize) -> bool {
    machine.hash == hash
        && machine.zone == zone
        && matches!(
            machine.phase,
            Phase::Creating | Phase::Ready | Phase::NotReady
        )
}

/// A place that a machine has, or will have when our request is answered.
fn taken(observed: &Observed, wants: &Wants, seen: &Seen, index: usize) -> (String, State) {
    let judged = &seen.judged[index];
    let Some((name, machine)) = seen.machines.get(index) else {
        let name = wants.name(judged.zone, judged.ordinal);
        return (
            format!("Make machine {name}"),
            State::Waiting("an answer".into()),
        );
    };
    let data = Key::provider(Kind::UserData, (*name).clone());
    let there = observed.facts.objects.get(&data);
    if there.is_some_and(|it| it.leaving) {
        return (format!("Apply user data of machine {name}"), old_data());
    }
    if there.is_none() && !is_sent(observed, name) {
        let content = Content::UserData {
            pool: wants.pool.clone(),
        };
        let wanted = Wanted {
            key: data,
            hash: wants.hash,
            content,
        };
        return (
            format!("Apply user data of machine {name}"),
            State::Due(Action::Apply(wanted)),
        );
    }
    if let Some(metadata) = wants
        .metadata
        .as_deref()
        .filter(|it| **it != *machine.metadata)
    {
        let content = Content::Metadata {
            pool: wants.pool.clone(),
            uid: machine.uid.clone(),
        };
        let hash = Hash::of(&metadata);
        let wanted = Wanted {
            key: Key::provider(Kind::Machine, (*name).clone()),
            hash,
            content,
        };
        return (
            format!("Change labels and annotations of machine {name}"),
            State::Due(Action::Apply(wanted)),
        );
    }
    match judged.phase {
        Phase::Ready => (format!("Machine {name} runs"), State::Done),
        _ => (
            format!("Start machine {name}"),
            State::Waiting(why(machine)),
        ),
    }
}

fn is_sent(observed: &Observed, name: &Arc<str>) -> bool {
    observed
        .sent
        .contains_key(&Key::provider(Kind::Machine, name.clone()))
}

fn why(machine: &Machine) -> String {
    match (&machine.cause, &*machine.status) {
        (Some(cause), _) => cause.to_string(),
        (None, "") => "KubeVirt to see it".into(),
        (None, status) => status.to_owned(),
    }
}

fn old_data() -> State {
    State::Waiting("its old user data to be gone".into())
}

/// What is left of an earlier machine of that name is used, unless it is about to go.
fn loses_data(observed: &Observed, name: &Arc<str>) -> bool {
    let key = Key::provider(Kind::UserData, name.clone());
    let there = observed.facts.objects.get(&key);
    there.is_some_and(|it| it.leaving) || matches!(observed.sent.get(&key), Some(Action::Delete(_)))
}

fn to_be_made(observed: &Observed, wants: &Wants, zone: usize, ordinal: u32) -> (String, State) {
    let name = wants.name(zone, ordinal);
    let content = Content::Machine {
        pool: wants.pool.clone(),
        zone,
        ordinal,
    };
    let title = format!("Make machine {name} in zone {}", wants.zone(zone));
    let mut pools = observed.facts.machines.values();
    // Another one's, as far as its marks go; it is on its way out.
    if pools.any(|it| it.contains_key(&name)) {
        return (title, State::Blocked);
    }
    if loses_data(observed, &name) {
        return (title, old_data());
    }
    (
        title,
        State::Due(Action::Apply(Wanted {
            key: Key::provider(Kind::Machine, name),
            hash: wants.hash,
            content,
        })),
    )
}

/// A place that no machine may take now: a bound holds it back, or its zone was given up.
fn empty(observed: &Observed, wants: &Wants, seen: &Seen, zone: usize) -> (String, State) {
    let title = format!(
        "Make a machine of pool {} in zone {}",
        wants.pool,
        wants.zone(zone)
    );
    if seen.setbacks[zone] < PATIENCE {
        return (title, State::Blocked);
    }
    let refusal = observed
        .refused
        .values()
        .find_map(|(action, failure)| match action {
            Action::Apply(Wanted {
                content: Content::Machine { pool, zone: it, .. },
                ..
            }) if (pool, *it) == (&wants.pool, zone) => Some(failure.clone()),
            _ => None,
        });
    let given_up = || {
        Failure::new(
            Class::Infrastructure,
            format!("{} machines failed here in this run", seen.setbacks[zone]),
        )
    };
    (title, State::Failed(refusal.unwrap_or_else(given_up)))
}
