//! Node groups of the cluster autoscaler, and the sizes that it decides. Each zone of a pool whose minimum and maximum differ
//! is a node group.

mod template;
#[cfg(test)]
mod tests;

pub(crate) use template::NodeShape;

use crate::model::WorkerClusterAutoscaler;
use crate::state::desired::{self, PoolSize, SizesByPool, spread};
use crate::state::facts::{Evacuation, Facts, MachinePhase, ObservedMachine};
use crate::state::observed::Observed;
use crate::state::record::{DeletedMachine, SizeRefusal, resized_zone, without_machine};
use crate::validate::{PoolSpec, ValidShoot};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// A zone of a pool whose minimum and maximum differ.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScalableZone<'a> {
    shoot: &'a ValidShoot,
    pool: &'a PoolSpec,
    /// Index of the zone in the pool.
    zone: usize,
}

/// A machine, as the autoscaler sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScalableMachine {
    pub(crate) name: Arc<str>,
    pub(crate) state: ScalableState,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ScalableState {
    Creating,
    /// No host has room for it; with the reason.
    Unschedulable(String),
    /// It will not run; with the reason.
    Failed(String),
    /// It was ready once.
    Running,
    Leaving,
}

/// Why a size cannot be decided.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AutoscalingRefusal {
    #[error("{0}")]
    Size(#[from] SizeRefusal),
    #[error(
        "zone {zone} of pool {pool} cannot have {size} machines: its share of the pool's bounds is {minimum} to {maximum}"
    )]
    OutOfShare {
        pool: String,
        zone: String,
        size: usize,
        minimum: usize,
        maximum: usize,
    },
    #[error("{existing} machines exist already, so zone {zone} of pool {pool} cannot have {size}")]
    Existing {
        pool: String,
        zone: String,
        size: usize,
        existing: usize,
    },
    #[error("machine {0} is not in this node group")]
    OtherGroup(String),
}

/// All node groups of a shoot.
pub(crate) fn scalable_zones(shoot: &ValidShoot) -> Vec<ScalableZone<'_>> {
    let pools = shoot.pools.iter().filter(|it| it.is_scalable());
    let zones = pools.flat_map(|pool| (0..pool.zones.len()).map(move |zone| (pool, zone)));
    zones
        .map(|(pool, zone)| ScalableZone { shoot, pool, zone })
        .collect()
}

/// The node group of a machine. None if the machine does not exist, or has a fixed pool or another zone.
pub(crate) fn zone_of_machine<'a>(
    shoot: &'a ValidShoot,
    facts: &Facts,
    name: &str,
) -> Option<ScalableZone<'a>> {
    let mut zones = scalable_zones(shoot).into_iter();
    zones.find(|it| it.machine(facts, name).is_some())
}

impl<'a> ScalableZone<'a> {
    /// The beginning of the names of its machines.
    pub(crate) fn id(&self) -> String {
        let (shoot, pool) = (&self.shoot.id, &self.pool.name);
        format!("{shoot}-{pool}-z{}", self.zone + 1)
    }

    /// Its share of the pool's minimum and maximum. The first zones take the remainder.
    pub(crate) fn bounds(&self) -> (usize, usize) {
        let share = |size| spread(size, self.pool.zones.len())[self.zone];
        (share(self.pool.minimum), share(self.pool.maximum))
    }

    /// Number of machines that it should have, without those that leave.
    pub(crate) fn target(&self, facts: &Facts) -> usize {
        desired::zone_targets(facts, self.pool)[self.zone]
    }

    /// Its machines, in the order of their names.
    pub(crate) fn machines(&self, observed: &Observed) -> Vec<ScalableMachine> {
        let facts = &observed.facts;
        let machines = self.observed_machines(facts);
        let machines = machines.map(|(name, machine)| ScalableMachine {
            name: name.clone(),
            state: self.state(observed, machine),
        });
        machines.collect()
    }

    /// Settings of the pool in the manifest.
    pub(crate) fn settings(&self) -> Option<&'a WorkerClusterAutoscaler> {
        let mut workers = self.shoot.manifest.spec.provider.workers.iter();
        let worker = workers.find(|it| it.name == self.pool.name)?;
        worker.cluster_autoscaler.as_ref()
    }

    /// True while machines of the pool are replaced: a roll, an evacuation, or `kvshoot nodes replace`. New machines are
    /// empty then, but not too many.
    pub(crate) fn is_being_replaced(&self, facts: &Facts) -> bool {
        let size = desired::pool_size(facts, self.pool);
        let machines = facts.machines.get(self.pool.name.as_str());
        let machines = machines.into_iter().flat_map(|it| it.values());
        let mut staying = machines.filter(|it| !size.deletes(&it.uid)).peekable();
        let Some(first) = staying.peek().copied() else {
            return false;
        };
        staying.any(|it| {
            it.evacuation == Some(Evacuation::Replacement)
                || it.instance.replace.is_some()
                || !it.has_content_of(first)
        })
    }

    /// The next node of the group.
    pub(crate) fn node_shape(&self) -> NodeShape {
        NodeShape::of(&self.id(), self.shoot, self.pool, self.zone)
    }

    /// The sizes with `more` machines in this zone.
    ///
    /// # Errors
    ///
    /// The pool, or its zone, would have too many.
    pub(crate) fn increased(
        &self,
        decided: &SizesByPool,
        more: usize,
    ) -> Result<SizesByPool, AutoscalingRefusal> {
        let size = self.decided(decided).saturating_add(more);
        self.resized(decided, size)
    }

    /// The sizes with `fewer` machines in this zone, of those that do not exist yet.
    ///
    /// # Errors
    ///
    /// Machines exist already, or the pool or its zone would have too few.
    pub(crate) fn decreased(
        &self,
        decided: &SizesByPool,
        facts: &Facts,
        fewer: usize,
    ) -> Result<SizesByPool, AutoscalingRefusal> {
        let size = self.pool_size(decided);
        let staying = self.observed_machines(facts);
        let existing = staying.filter(|it| stays(it.1, &size)).count();
        let before = self.decided(decided);
        match before.checked_sub(fewer).filter(|it| *it >= existing) {
            Some(size) => self.resized(decided, size),
            None => Err(AutoscalingRefusal::Existing {
                pool: self.pool.name.clone(),
                zone: self.zone_name(),
                size: before.saturating_sub(fewer),
                existing,
            }),
        }
    }

    /// The sizes without machines of this zone. Those that are gone, or leave already, are left out.
    ///
    /// # Errors
    ///
    /// A machine is in another group, or the pool or its zone would have too few.
    pub(crate) fn without(
        &self,
        decided: &SizesByPool,
        facts: &Facts,
        names: &BTreeSet<String>,
    ) -> Result<SizesByPool, AutoscalingRefusal> {
        let machines = facts.machines.values().flat_map(|it| it.values());
        let existing = machines.map(|it| &*it.uid).collect();
        let mut sizes = decided.clone();
        for name in names.iter().filter(|it| facts.machine(it).is_some()) {
            let machine = self.machine(facts, name);
            let machine = machine.ok_or_else(|| AutoscalingRefusal::OtherGroup(name.clone()))?;
            if !stays(machine, &self.pool_size(&sizes)) {
                continue;
            }
            let deleted = DeletedMachine {
                pool: &self.pool.name,
                zone: self.zone,
                uid: &machine.uid,
            };
            let before = self.decided(&sizes);
            sizes = without_machine(&self.shoot.pools, &sizes, deleted, &existing)?;
            let after = self.decided(&sizes);
            if after < before {
                self.refuse_outside(after)?;
            }
        }
        Ok(sizes)
    }

    fn resized(
        &self,
        decided: &SizesByPool,
        size: usize,
    ) -> Result<SizesByPool, AutoscalingRefusal> {
        self.refuse_outside(size)?;
        let sizes = resized_zone(&self.shoot.pools, decided, &self.pool.name, self.zone, size)?;
        Ok(sizes)
    }

    fn refuse_outside(&self, size: usize) -> Result<(), AutoscalingRefusal> {
        let (minimum, maximum) = self.bounds();
        if (minimum..=maximum).contains(&size) {
            return Ok(());
        }
        Err(AutoscalingRefusal::OutOfShare {
            pool: self.pool.name.clone(),
            zone: self.zone_name(),
            size,
            minimum,
            maximum,
        })
    }

    /// The size that the record decides.
    fn decided(&self, sizes: &SizesByPool) -> usize {
        self.pool_size(sizes).zone_targets(&self.pool.zones)[self.zone]
    }

    fn pool_size(&self, sizes: &SizesByPool) -> PoolSize {
        PoolSize::within_bounds(sizes.get(&self.pool.name), self.pool)
    }

    fn zone_name(&self) -> String {
        self.pool.zones[self.zone].clone()
    }

    fn machine<'f>(&self, facts: &'f Facts, name: &str) -> Option<&'f ObservedMachine> {
        let machines = facts.machines.get(self.pool.name.as_str())?;
        machines.get(name).filter(|it| it.zone == self.zone)
    }

    fn observed_machines<'f>(
        &self,
        facts: &'f Facts,
    ) -> impl Iterator<Item = (&'f Arc<str>, &'f ObservedMachine)> + use<'f> {
        let machines = facts.machines.get(self.pool.name.as_str());
        let zone = self.zone;
        let machines = machines.into_iter().flatten();
        machines.filter(move |it| it.1.zone == zone)
    }

    fn state(&self, observed: &Observed, machine: &ObservedMachine) -> ScalableState {
        let reason = || match &machine.cause {
            Some(cause) => cause.to_string(),
            None => machine.status.to_string(),
        };
        let lasts = |since: Duration, limit| observed.now.saturating_sub(since) >= limit;
        let limit = self.pool.creation_timeout;
        let size = desired::pool_size(&observed.facts, self.pool);
        match machine.phase {
            _ if !stays(machine, &size) => ScalableState::Leaving,
            MachinePhase::Ready | MachinePhase::NotReady => ScalableState::Running,
            MachinePhase::Failed => ScalableState::Failed(reason()),
            // As long as an apply waits for a host.
            _ if machine
                .unschedulable_since
                .is_some_and(|it| lasts(it, limit / 2)) =>
            {
                ScalableState::Unschedulable(reason())
            }
            _ if lasts(machine.since, limit) => ScalableState::Failed(reason()),
            _ => ScalableState::Creating,
        }
    }
}

/// False for a machine that is being removed, or that was deleted by name.
fn stays(machine: &ObservedMachine, size: &PoolSize) -> bool {
    let is_leaving = machine.is_draining() || machine.phase == MachinePhase::Deleting;
    !is_leaving && !size.deletes(&machine.uid)
}
