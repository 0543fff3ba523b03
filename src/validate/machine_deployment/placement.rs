//! `affinity` and `topologySpreadConstraints`: placement on provider nodes.

use super::values::ValueResolver;
use crate::model::{
    Affinity, AffinityPresets, CloudProviderSpec, FindingKind, NodeAffinityPreset, NodeLabelPreset,
    TopologySpread, TopologySpreadConstraint, WorkerConfig,
};
use crate::validate::report::FieldCursor;

pub(super) fn add(
    config: &mut WorkerConfig,
    cloud: &CloudProviderSpec,
    at: &FieldCursor,
    values: &mut ValueResolver,
) {
    if let Some(it) = &cloud.affinity {
        let presets = presets(it, &at.key("affinity"), values);
        let is_set = presets.pod_affinity_preset.is_some()
            || presets.pod_anti_affinity_preset.is_some()
            || presets.node_affinity_preset.is_some();
        config.affinity = is_set.then_some(presets);
    }
    let at = &at.key("topologySpreadConstraints");
    for (i, it) in cloud.topology_spread_constraints.iter().enumerate() {
        let spreading = spreading(i, it, &at.index(i), values);
        config.topology_spread_constraints.push(spreading);
    }
}

fn presets(given: &Affinity, at: &FieldCursor, values: &mut ValueResolver) -> AffinityPresets {
    let mut pods = |field: &'static str, var: &Option<_>| {
        let to = format!("providerConfig.affinity.{field}");
        values.word(&to, var.as_ref(), &at.key(field))
    };
    AffinityPresets {
        pod_affinity_preset: pods("podAffinityPreset", &given.pod_affinity_preset),
        pod_anti_affinity_preset: pods("podAntiAffinityPreset", &given.pod_anti_affinity_preset),
        node_affinity_preset: given
            .node_affinity_preset
            .as_ref()
            .and_then(|it| hosts(it, &at.key("nodeAffinityPreset"), values)),
    }
}

/// Ignored without a type, as dashboards send empty objects.
fn hosts(
    given: &NodeAffinityPreset,
    at: &FieldCursor,
    values: &mut ValueResolver,
) -> Option<NodeLabelPreset> {
    let to = |field: &str| format!("providerConfig.affinity.nodeAffinityPreset.{field}");
    let type_ = values.word(&to("type"), given.type_.as_ref(), &at.key("type"))?;
    let key = values.text(&to("key"), given.key.as_ref(), &at.key("key"));
    let at_values = &at.key("values");
    let mut labels = Vec::new();
    for (i, value) in given.values.iter().enumerate() {
        let to = format!("{}.{i}", to("values"));
        // An empty label value is valid.
        let value = values.text(&to, Some(value), &at_values.index(i));
        labels.push(value.unwrap_or_default());
    }
    Some(NodeLabelPreset {
        type_: Some(type_),
        key,
        values: labels,
    })
}

fn spreading(
    index: usize,
    given: &TopologySpreadConstraint,
    at: &FieldCursor,
    values: &mut ValueResolver,
) -> TopologySpread {
    let mut text = |field: &'static str, var: &Option<_>| {
        let to = format!("providerConfig.topologySpreadConstraints.{index}.{field}");
        let before = values.counters();
        let at = &at.key(field);
        let found = values.text(&to, var.as_ref(), at);
        if found.is_none() && values.counters() == before {
            let (kind, code) = (FindingKind::Required, "machine-deployment/spread");
            values.report.error(at, kind, code, "is required");
        }
        found
    };
    let skew = text("maxSkew", &given.max_skew);
    let topology_key = text("topologyKey", &given.topology_key).unwrap_or_default();
    let when_unsatisfiable =
        text("whenUnsatisfiable", &given.when_unsatisfiable).unwrap_or_default();
    let max_skew = skew.map_or(Some(1), |it| it.parse().ok());
    if max_skew.is_none() {
        let (kind, code) = (FindingKind::Invalid, "machine-deployment/spread");
        let message = "must be an integer";
        values.report.error(&at.key("maxSkew"), kind, code, message);
    }
    TopologySpread {
        max_skew: max_skew.unwrap_or(1),
        topology_key,
        when_unsatisfiable,
    }
}
