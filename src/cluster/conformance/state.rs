//! States of objects in a cluster.

use serde_json::Value;

/// True if a condition of an object is true.
pub(super) fn is_true(object: &Value, kind: &str) -> bool {
    let mut conditions = conditions(object);
    conditions.any(|it| it["type"] == kind && it["status"] == "True")
}

pub(super) fn conditions(object: &Value) -> impl Iterator<Item = &Value> {
    object["status"]["conditions"]
        .as_array()
        .into_iter()
        .flatten()
}

/// True if all pods of a Deployment are up to date and available, and no other is left.
pub(super) fn is_rolled_out(deployment: &Value) -> bool {
    let status = &deployment["status"];
    let wanted = &deployment["spec"]["replicas"];
    let counts = ["replicas", "updatedReplicas", "availableReplicas"];
    status["observedGeneration"] == deployment["metadata"]["generation"]
        && counts.iter().all(|it| status[it] == *wanted)
        && status["terminatingReplicas"].as_u64().unwrap_or(0) == 0
}

/// Why a container does not run, or else the messages of the conditions of an object that are not true, or its phase.
pub(super) fn state_of(object: &Value) -> String {
    let containers = ["initContainerStatuses", "containerStatuses"];
    let containers = containers
        .iter()
        .filter_map(|it| object["status"][it].as_array());
    let waiting = containers.flatten().map(|it| &it["state"]["waiting"]);
    let conditions = conditions(object).filter(|it| it["status"] != "True");
    let mut reasons = waiting.chain(conditions).filter_map(|it| {
        let reason = it["reason"].as_str()?;
        let message = it["message"].as_str().filter(|it| !it.is_empty());
        match (reason, message) {
            ("ContainerCreating" | "PodInitializing", None) => None,
            (_, None) => Some(reason.to_owned()),
            (_, Some(message)) => Some(format!("{reason}: {message}")),
        }
    });
    let phase = || {
        object["status"]["phase"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    reasons.next().unwrap_or_else(phase)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_state_of_an_object_is_its_most_specific_reason() {
        let pod = json!({ "status": {
            "phase": "Pending",
            "conditions": [{ "type": "Ready", "status": "False", "reason": "ContainersNotReady", "message": "main" }],
            "containerStatuses": [{ "state": { "waiting": { "reason": "ErrImagePull", "message": "not found" } } }],
        }});
        assert_eq!(state_of(&pod), "ErrImagePull: not found");
        let pod = json!({ "status": {
            "phase": "Pending",
            "conditions": [{ "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/2 nodes" }],
        }});
        assert_eq!(state_of(&pod), "Unschedulable: 0/2 nodes");
        assert_eq!(
            state_of(&json!({ "status": { "phase": "Bound" } })),
            "Bound"
        );
        assert_eq!(state_of(&json!({})), "");
    }

    #[test]
    fn a_deployment_is_rolled_out_when_only_pods_of_its_last_generation_are_left() {
        let deployment = |generation: u64, replicas: u64, terminating: u64| {
            json!({
                "metadata": { "generation": 2 },
                "spec": { "replicas": 2 },
                "status": {
                    "observedGeneration": generation,
                    "replicas": replicas,
                    "updatedReplicas": 2,
                    "availableReplicas": 2,
                    "terminatingReplicas": terminating,
                },
            })
        };
        assert!(is_rolled_out(&deployment(2, 2, 0)));
        assert!(!is_rolled_out(&deployment(1, 2, 0)));
        assert!(!is_rolled_out(&deployment(2, 3, 0)));
        assert!(!is_rolled_out(&deployment(2, 2, 1)));
    }
}
