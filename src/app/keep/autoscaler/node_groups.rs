//! The node groups of one shoot.

use crate::app::lifecycle::scale::{size_change, sizes};
use crate::autoscaler::{
    AutoscalerError, AutoscalingOptions, CloudProvider, Instance, InstanceError, InstanceState,
    NodeGroup, NodeTemplate, SizeChange, set_duration,
};
use crate::cluster::{ApiClient, Error, RecordSnapshot};
use crate::model::WorkerClusterAutoscaler;
use crate::plan::autoscaling::{
    ScalableMachine, ScalableState, ScalableZone, scalable_zones, zone_of_machine,
};
use crate::state::desired::{PoolSize, SizesByPool};
use crate::state::facts::Facts;
use crate::state::observed::Observed;
use crate::validate::ValidShoot;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

/// Writes of a record that other programs may change in between.
const ATTEMPTS: u32 = 5;
/// Time for an observation of what was written. The next answer would be old without it.
const OBSERVATION_TIMEOUT: Duration = Duration::from_secs(2);
/// Longer than any process of the autoscaler runs.
const NEVER: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// An observation that goes on.
#[derive(Clone)]
pub(in crate::app::keep) struct ObservedShoot {
    pub(in crate::app::keep) shoot: Arc<ValidShoot>,
    pub(in crate::app::keep) facts: watch::Receiver<Arc<Facts>>,
    /// When the observation began.
    pub(in crate::app::keep) started: Instant,
    pub(in crate::app::keep) record: RecordSnapshot,
    /// Certificates of the authorities of the shoot, as PEM.
    pub(in crate::app::keep) authorities: Arc<str>,
}

/// The node groups of a shoot, as its autoscaler sees them.
pub(super) struct NodeGroups {
    provider: ApiClient,
    /// The latest one: a shoot is observed anew when its manifest changes.
    observed: Mutex<ObservedShoot>,
    /// One decision at a time.
    writing: tokio::sync::Mutex<()>,
}

impl NodeGroups {
    pub(super) fn new(provider: ApiClient, observed: ObservedShoot) -> NodeGroups {
        NodeGroups {
            provider,
            observed: Mutex::new(observed),
            writing: tokio::sync::Mutex::new(()),
        }
    }

    pub(super) fn observe(&self, observed: ObservedShoot) {
        *self.lock() = observed;
    }

    fn lock(&self) -> MutexGuard<'_, ObservedShoot> {
        self.observed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn latest(&self) -> ObservedShoot {
        self.lock().clone()
    }

    /// Answers about a group.
    fn about<T>(
        &self,
        group: &str,
        answer: impl FnOnce(&ScalableZone, &Observed) -> T,
    ) -> Result<T, AutoscalerError> {
        let latest = self.latest();
        let zone = find(&latest.shoot, group)?;
        Ok(answer(&zone, &latest.observed()))
    }

    async fn decide(&self, group: &str, change: &SizeChange) -> Result<(), AutoscalerError> {
        let _writing = self.writing.lock().await;
        let mut attempt = 0;
        let after = loop {
            attempt += 1;
            let latest = self.latest();
            let record = self.record(&latest.record).await?;
            let facts = latest.facts.borrow().clone();
            let zone = find(&latest.shoot, group)?;
            let before = sizes(&record);
            let after = decided(&zone, &facts, &before, change)?;
            let Some(data) = size_change(&before, &after) else {
                return Ok(());
            };
            match self.provider.change_record(&record, data).await {
                Ok(()) => break after,
                Err(Error::Conflict { .. }) if attempt < ATTEMPTS => {}
                Err(error) => return Err(AutoscalerError::Failed(error.to_string())),
            }
        };
        let mut facts = self.latest().facts;
        let observed = facts.wait_for(|it| has(it, &after));
        // It is written, whether it was observed or not.
        let _ = timeout(OBSERVATION_TIMEOUT, observed).await;
        Ok(())
    }

    async fn record(&self, known: &RecordSnapshot) -> Result<RecordSnapshot, AutoscalerError> {
        let record = self.provider.record(&known.name).await;
        let record = record.map_err(|it| AutoscalerError::Failed(it.to_string()))?;
        let record = record.filter(|it| it.uid == known.uid);
        record.ok_or_else(|| AutoscalerError::Failed("the cluster is being deleted".into()))
    }
}

impl ObservedShoot {
    fn observed(&self) -> Observed {
        Observed {
            now: self.started.elapsed(),
            facts: self.facts.borrow().clone(),
            ..Observed::default()
        }
    }
}

impl CloudProvider for NodeGroups {
    fn node_groups(&self) -> Vec<NodeGroup> {
        let latest = self.latest();
        scalable_zones(&latest.shoot)
            .iter()
            .map(node_group)
            .collect()
    }

    fn group_of(&self, node: &str) -> Option<NodeGroup> {
        let latest = self.latest();
        let facts = latest.facts.borrow().clone();
        zone_of_machine(&latest.shoot, &facts, node)
            .as_ref()
            .map(node_group)
    }

    fn target_size(&self, group: &str) -> Result<usize, AutoscalerError> {
        self.about(group, |zone, observed| zone.target(&observed.facts))
    }

    fn instances(&self, group: &str) -> Result<Vec<Instance>, AutoscalerError> {
        self.about(group, |zone, observed| {
            zone.machines(observed).into_iter().map(instance).collect()
        })
    }

    fn template(&self, group: &str) -> Result<NodeTemplate, AutoscalerError> {
        self.about(group, |zone, _| {
            let shape = zone.node_shape();
            NodeTemplate {
                name: shape.name,
                labels: shape.labels,
                taints: shape.taints,
                capacity: shape.capacity,
                allocatable: shape.allocatable,
            }
        })
    }

    fn options(
        &self,
        group: &str,
        defaults: AutoscalingOptions,
    ) -> Result<AutoscalingOptions, AutoscalerError> {
        self.about(group, |zone, observed| {
            let options = with_settings(zone.settings(), defaults);
            match zone.is_being_replaced(&observed.facts) {
                true => without_scale_down(options),
                false => options,
            }
        })
    }

    fn change(
        &self,
        group: &str,
        change: SizeChange,
    ) -> BoxFuture<'_, Result<(), AutoscalerError>> {
        let group = group.to_owned();
        async move { self.decide(&group, &change).await }.boxed()
    }
}

/// The defaults with the settings of a pool. Durations are in the fields that the autoscaler itself uses.
fn with_settings(
    settings: Option<&WorkerClusterAutoscaler>,
    mut options: AutoscalingOptions,
) -> AutoscalingOptions {
    // Destructured, so that a new field of the model does not compile until it is handled here.
    let Some(WorkerClusterAutoscaler {
        scale_down_utilization_threshold,
        scale_down_gpu_utilization_threshold,
        scale_down_unneeded_time,
        scale_down_unready_time,
        max_node_provision_time,
    }) = settings
    else {
        return options;
    };
    if let Some(share) = scale_down_utilization_threshold {
        options.scale_down_utilization_threshold = *share;
    }
    if let Some(share) = scale_down_gpu_utilization_threshold {
        options.scale_down_gpu_utilization_threshold = *share;
    }
    let to = &mut options;
    for (setting, old, new) in [
        (
            scale_down_unneeded_time,
            &mut to.old_unneeded_time,
            &mut to.unneeded_time,
        ),
        (
            scale_down_unready_time,
            &mut to.old_unready_time,
            &mut to.unready_time,
        ),
        (
            max_node_provision_time,
            &mut to.old_max_provision_time,
            &mut to.max_provision_time,
        ),
    ] {
        if let Some(time) = setting {
            set_duration(time.value, old, new);
        }
    }
    options
}

/// Options by which no node is ever unneeded.
fn without_scale_down(mut options: AutoscalingOptions) -> AutoscalingOptions {
    let to = &mut options;
    set_duration(NEVER, &mut to.old_unneeded_time, &mut to.unneeded_time);
    set_duration(NEVER, &mut to.old_unready_time, &mut to.unready_time);
    options
}

fn find<'a>(shoot: &'a ValidShoot, group: &str) -> Result<ScalableZone<'a>, AutoscalerError> {
    let mut zones = scalable_zones(shoot).into_iter();
    let found = zones.find(|it| it.id() == group);
    found.ok_or_else(|| AutoscalerError::UnknownGroup(group.to_owned()))
}

fn decided(
    zone: &ScalableZone,
    facts: &Facts,
    before: &SizesByPool,
    change: &SizeChange,
) -> Result<SizesByPool, AutoscalerError> {
    let after = match change {
        SizeChange::Increase(more) => zone.increased(before, *more),
        SizeChange::Decrease(fewer) => zone.decreased(before, facts, *fewer),
        SizeChange::Delete(names) => zone.without(before, facts, names),
    };
    after.map_err(|it| AutoscalerError::Refused(it.to_string()))
}

fn has(facts: &Facts, sizes: &SizesByPool) -> bool {
    let record = facts.record.as_ref();
    let known = |pool: &str| record?.sizes.get(pool);
    sizes
        .iter()
        .all(|(pool, size): (&String, &PoolSize)| known(pool) == Some(size))
}

fn node_group(zone: &ScalableZone) -> NodeGroup {
    let (minimum, maximum) = zone.bounds();
    let number = |it: usize| i32::try_from(it).unwrap_or(i32::MAX);
    NodeGroup {
        id: zone.id(),
        min_size: number(minimum),
        max_size: number(maximum),
        debug: format!("{} ({minimum} to {maximum})", zone.id()),
    }
}

fn instance(machine: ScalableMachine) -> Instance {
    let error = |class, code: &str, message: String| {
        let code = code.to_owned();
        Some(InstanceError {
            code,
            message,
            class,
        })
    };
    let (state, error) = match machine.state {
        ScalableState::Creating => (InstanceState::Creating, None),
        ScalableState::Unschedulable(why) => {
            let class = InstanceError::OUT_OF_RESOURCES;
            (InstanceState::Creating, error(class, "OutOfResources", why))
        }
        ScalableState::Failed(why) => {
            let class = InstanceError::OTHER;
            (InstanceState::Creating, error(class, "Failed", why))
        }
        ScalableState::Running => (InstanceState::Running, None),
        ScalableState::Leaving => (InstanceState::Deleting, None),
    };
    Instance::new(format!("kubevirt://{}", machine.name), state, error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::autoscaler::ProtoDuration;
    use serde_json::json;

    #[test]
    fn no_node_is_unneeded_while_its_pool_is_replaced() {
        let seconds = |seconds| Some(ProtoDuration { seconds, nanos: 0 });
        let options = AutoscalingOptions {
            unneeded_time: seconds(3),
            unready_time: seconds(4),
            max_provision_time: seconds(5),
            ..AutoscalingOptions::default()
        };
        let years = seconds(315_360_000);
        let expected = AutoscalingOptions {
            unneeded_time: years,
            unready_time: years,
            ..options.clone()
        };
        assert_eq!(without_scale_down(options), expected);
    }

    #[test]
    fn the_settings_of_a_pool_replace_those_of_all() {
        let of_all = || AutoscalingOptions {
            scale_down_utilization_threshold: 0.5,
            scale_down_gpu_utilization_threshold: 0.5,
            unneeded_time: Some(ProtoDuration::default()),
            unready_time: Some(ProtoDuration::default()),
            max_provision_time: Some(ProtoDuration::default()),
            ..AutoscalingOptions::default()
        };
        assert_eq!(with_settings(None, of_all()), of_all());
        let settings = json!({
            "scaleDownUtilizationThreshold": 0.1,
            "scaleDownGpuUtilizationThreshold": 0.2,
            "scaleDownUnneededTime": "3s",
            "scaleDownUnreadyTime": "4s",
            "maxNodeProvisionTime": "5s",
        });
        let settings = serde_json::from_value(settings).expect("they are settings");
        let seconds = |seconds| Some(ProtoDuration { seconds, nanos: 0 });
        let expected = AutoscalingOptions {
            scale_down_utilization_threshold: 0.1,
            scale_down_gpu_utilization_threshold: 0.2,
            unneeded_time: seconds(3),
            unready_time: seconds(4),
            max_provision_time: seconds(5),
            ..AutoscalingOptions::default()
        };
        assert_eq!(with_settings(Some(&settings), of_all()), expected);
    }
}
