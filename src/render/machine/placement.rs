//! Placement of a machine: zone, hosts, and the other machines of its pool.

use super::spec::MachineContext;
use crate::model::{AffinityPresets, NodeLabelPreset};
use crate::state::names;
use serde_json::{Map, Value, json};

/// Affinities of a VM, including those of the pool's Kubermatic presets.
pub(crate) fn affinity(machine: &MachineContext) -> Value {
    let zone = &machine.pool.zones[machine.zone];
    let mut terms = vec![
        place(names::REGION_LABEL, machine.region),
        place(names::ZONE_LABEL, zone),
    ];
    let mut affinity = Map::new();
    let mut hosts = Map::new();
    if let Some(presets) = &machine.pool.worker.affinity {
        if let Some((is_hard, term)) = presets.node_affinity_preset.as_ref().and_then(labelled) {
            match is_hard {
                // Added to the same term, since terms are alternatives and all of these must hold.
                true => terms.push(term),
                false => {
                    let preferred =
                        json!([{ "weight": 1, "preference": { "matchExpressions": [term] } }]);
                    hosts.insert(
                        "preferredDuringSchedulingIgnoredDuringExecution".into(),
                        preferred,
                    );
                }
            }
        }
        affinity.extend(between(presets, machine));
    }
    let required = json!({ "nodeSelectorTerms": [{ "matchExpressions": terms }] });
    hosts.insert(
        "requiredDuringSchedulingIgnoredDuringExecution".into(),
        required,
    );
    affinity.insert("nodeAffinity".into(), Value::Object(hosts));
    Value::Object(affinity)
}

/// `default` matches only nodes without that label.
fn place(key: &str, value: &str) -> Value {
    match value {
        "default" => json!({ "key": key, "operator": "DoesNotExist" }),
        _ => json!({ "key": key, "operator": "In", "values": [value] }),
    }
}

/// Returns whether the preset is hard, and its expression for node labels.
fn labelled(preset: &NodeLabelPreset) -> Option<(bool, Value)> {
    let (type_, key) = (preset.type_.as_deref()?, preset.key.as_deref()?);
    let term = match preset.values.as_slice() {
        [] => json!({ "key": key, "operator": "Exists" }),
        values => json!({ "key": key, "operator": "In", "values": values }),
    };
    Some((type_ == "hard", term))
}

/// Affinity or anti-affinity to the other machines of the pool.
fn between(
    presets: &AffinityPresets,
    machine: &MachineContext,
) -> impl Iterator<Item = (String, Value)> {
    let near = ("podAffinity", presets.pod_affinity_preset.as_deref());
    let apart = (
        "podAntiAffinity",
        presets.pod_anti_affinity_preset.as_deref(),
    );
    let term = json!({
        "labelSelector": { "matchLabels": selector(machine) },
        "topologyKey": names::HOSTNAME_LABEL,
    });
    let given = [near, apart].into_iter();
    given.filter_map(move |(kind, preset)| {
        let terms = match preset? {
            "hard" => json!({ "requiredDuringSchedulingIgnoredDuringExecution": [term] }),
            _ => json!({ "preferredDuringSchedulingIgnoredDuringExecution": [{ "weight": 1, "podAffinityTerm": term }] }),
        };
        Some((kind.to_owned(), terms))
    })
}

/// Spreads machines over hosts with a soft constraint, unless the pool has its own constraints.
pub(crate) fn spread(machine: &MachineContext) -> Vec<Value> {
    let given = machine.pool.worker.topology_spread_constraints.iter();
    let mut spread: Vec<Value> = given
        .map(|wanted| {
            constraint(
                machine,
                wanted.max_skew,
                &wanted.topology_key,
                &wanted.when_unsatisfiable,
            )
        })
        .collect();
    if spread.is_empty() {
        spread.push(constraint(
            machine,
            1,
            names::HOSTNAME_LABEL,
            "ScheduleAnyway",
        ));
    }
    spread
}

fn constraint(machine: &MachineContext, skew: i32, key: &str, when: &str) -> Value {
    json!({
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": when,
        "labelSelector": { "matchLabels": selector(machine) },
    })
}

/// Selects the machines of the pool.
fn selector(machine: &MachineContext) -> Value {
    json!({ names::PART_OF: machine.site.id, names::POOL: machine.pool.name })
}
