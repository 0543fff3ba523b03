//! How many there are of each, where they stand, and how many may be gone at a time.

use crate::render::control_plane::context::Context;
use crate::state::names;
use crate::validate::control_plane::Tolerance;
use serde_json::{Value, json};

impl Context<'_> {
    /// Of a Deployment of the control plane.
    pub(crate) fn replicas(&self) -> u32 {
        match self.shoot.control_plane.tolerance {
            Tolerance::None => 1,
            Tolerance::Node | Tolerance::Zone => 2,
        }
    }

    /// Members of etcd.
    pub(crate) fn members(&self) -> u32 {
        match self.shoot.control_plane.tolerance {
            Tolerance::None => 1,
            Tolerance::Node | Tolerance::Zone => 3,
        }
    }

    /// Selects the pods of a part.
    pub(crate) fn selector(&self, part: &str) -> Value {
        json!({ names::PART_OF: self.shoot.id, names::COMPONENT: part })
    }

    pub(crate) fn name(&self, part: &str) -> String {
        names::control_plane(&self.shoot.id, part)
    }
}

/// Puts what tolerates a failure on as many nodes, or zones, as there are replicas: a pod that finds no such place
/// stays pending, which is told, and is better than a promise that nothing keeps.
///
/// `revision` is the label that tells the pods of an update from those before, which are on their way out.
pub(crate) fn spread(
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
            // Said of hard constraints only.
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

/// None for a single replica: a budget would hold back every drain of its node.
pub(crate) fn budget(context: &Context, part: &str, replicas: u32) -> Option<Value> {
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
