//! Number of replicas, topology spread and disruption budgets of the control plane.

use super::Context;
use crate::plan::names;
use crate::validate::control_plane::Tolerance;
use serde_json::{Value, json};

impl Context<'_> {
    /// Replicas of a Deployment of the control plane.
    pub(super) fn replicas(&self) -> u32 {
        match self.shoot.control_plane.tolerance {
            Tolerance::None => 1,
            Tolerance::Node | Tolerance::Zone => 2,
        }
    }

    /// Members of etcd.
    pub(super) fn members(&self) -> u32 {
        match self.shoot.control_plane.tolerance {
            Tolerance::None => 1,
            Tolerance::Node | Tolerance::Zone => 3,
        }
    }

    /// Selects the pods of a part.
    pub(super) fn selector(&self, part: &str) -> Value {
        json!({ names::PART_OF: self.shoot.id, names::COMPONENT: part })
    }

    pub(super) fn name(&self, part: &str) -> String {
        names::control_plane(&self.shoot.id, part)
    }
}

/// Spreads replicas over as many nodes or zones as there are replicas. A pod without a matching node stays pending,
/// which is reported: better than a failure tolerance that does not hold.
///
/// `revision` is the label that distinguishes the pods of an update from the old pods that are about to be deleted.
pub(super) fn spread(
    context: &Context,
    part: &str,
    replicas: u32,
    revision: Option<&str>,
) -> Vec<Value> {
    let constraint = |key: &str| {
        let mut it = json!({
            "maxSkew": 1,
            "minDomains": replicas,
            "topologyKey": key,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": { "matchLabels": context.selector(part) },
        });
        if let Some(label) = revision {
            it["matchLabelKeys"] = json!([label]);
        }
        it
    };
    match context.shoot.control_plane.tolerance {
        _ if replicas < 2 => Vec::new(),
        Tolerance::None => Vec::new(),
        Tolerance::Node => {
            let mut zones = constraint(names::ZONE_LABEL);
            zones["whenUnsatisfiable"] = json!("ScheduleAnyway");
            // Only allowed in hard constraints.
            if let Some(fields) = zones.as_object_mut() {
                fields.remove("minDomains");
            }
            vec![constraint(names::HOSTNAME_LABEL), zones]
        }
        Tolerance::Zone => vec![
            constraint(names::HOSTNAME_LABEL),
            constraint(names::ZONE_LABEL),
        ],
    }
}

/// Returns None for a single replica, because a budget would block every drain of its node.
pub(super) fn budget(context: &Context, part: &str, replicas: u32) -> Option<Value> {
    (replicas > 1).then(|| {
        json!({
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": { "name": context.name(part) },
            "spec": {
                "maxUnavailable": 1,
                "selector": { "matchLabels": context.selector(part) },
                "unhealthyPodEvictionPolicy": "AlwaysAllow",
            },
        })
    })
}
