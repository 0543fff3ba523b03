//! `kvshoot nodes describe`: all that is known of one node and its machine.

use super::{NodeRow, node_facts, node_rows};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::inspect::shoot_summary::{find, format_age};
use crate::app::lifecycle::scale::sizes;
use crate::app::provider::connect::connect;
use crate::cluster::{
    ApiClient, EventStream, KubernetesEvent, MachineDetail, NamespaceScope, RecordSnapshot,
};
use crate::state::facts::{ConditionStatus, Evacuation, Facts, ObservedMachine, ShootApi};
use crate::state::printable::one_line;
use crate::ui::Format;
use jiff::Timestamp;
use serde::Serialize;

/// The last events that are shown.
const EVENTS: usize = 10;
/// A decision of `kvshoot nodes delete`.
const DELETED: &str = "to be deleted, which makes the pool smaller";

/// A node and its machine.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeDetail {
    #[serde(flatten)]
    row: NodeRow,
    /// Node conditions with the status that means a fault.
    node_conditions: Vec<String>,
    taints: Vec<String>,
    /// KubeVirt's status of the VirtualMachine.
    vm: String,
    /// Phase of the VirtualMachineInstance.
    vmi: String,
    vmi_conditions: Vec<String>,
    networks: Vec<String>,
    /// Volumes of the VirtualMachineInstance.
    volumes: Vec<String>,
    /// PersistentVolumes of the shoot that are attached.
    attached_volumes: Vec<String>,
    /// Decisions about the machine that are not carried out yet, or were lately.
    repair: Vec<String>,
    events: Vec<NodeEvent>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeEvent {
    #[serde(rename = "type")]
    kind: String,
    reason: String,
    object: String,
    message: String,
    count: u64,
    /// RFC 3339.
    last_seen: Option<String>,
    #[serde(skip)]
    age: String,
}

/// Prints a node and its machine.
pub(crate) fn describe(
    name: &str,
    node: &str,
    output: Format,
    context: &Context,
) -> Result<Exit, CommandError> {
    let detail = context.block_on(async {
        let provider = connect(context).await?;
        let record = find(&provider, name, context).await?;
        read(name, node, &provider, &record, context).await
    })??;
    match output {
        Format::Json | Format::Yaml => context.ui.value(output, &detail),
        Format::Name => context.ui.item(output, &detail.row),
        Format::Table | Format::Wide => context.ui.data(&text(&detail)),
    }
    Ok(Exit::Done)
}

async fn read(
    name: &str,
    node: &str,
    provider: &ApiClient,
    record: &RecordSnapshot,
    context: &Context,
) -> Result<NodeDetail, CommandError> {
    let facts = node_facts(provider, record, &mut |why| context.ui.warn(why)).await?;
    let rows = node_rows(&facts, None, provider.server_time()).into_iter();
    let found = rows.zip(facts.machines()).find(|it| it.0.name == node);
    let Some((row, (_, _, machine))) = found else {
        let message = format!("machine {node:?} not found in shoot {name:?}");
        let list = context.hint_command(&["nodes", "list", name]);
        let error = CommandError::new(Exit::NotFound, message);
        return Err(error.hint(format!("list its nodes: {list}")));
    };
    let instance = provider.machine_detail(node).await.map_err(failed)?;
    let attached_volumes = match facts.shoot_api {
        ShootApi::Reachable => provider.attached_to(&record.name, node).await,
        _ => Ok(Vec::new()),
    };
    let events = events(node, provider, record, &facts).await?;
    let mut detail = NodeDetail {
        attached_volumes: attached_volumes.map_err(failed)?,
        events: shown(events, provider.server_time()),
        ..NodeDetail::of(row, machine, &facts, instance)
    };
    if sizes(record).values().any(|it| it.deletes(&machine.uid)) {
        detail.repair.push(DELETED.to_owned());
    }
    Ok(detail)
}

/// Events about the node, its machine and what belongs to it.
async fn events(
    node: &str,
    provider: &ApiClient,
    record: &RecordSnapshot,
    facts: &Facts,
) -> Result<Vec<KubernetesEvent>, CommandError> {
    let records = provider.records(NamespaceScope::Current).await;
    let others = records.map_err(failed)?;
    let others = others.iter().map(|it| it.name.to_string()).collect();
    let outside = EventStream::of_provider(provider, record, others).await;
    let mut events = outside.map_err(failed)?.list().await.map_err(failed)?;
    if facts.shoot_api == ShootApi::Reachable {
        let inside = EventStream::of_shoot(provider, &record.name).await;
        events.extend(inside.map_err(failed)?.list().await.map_err(failed)?);
    }
    events.retain(|it| concerns(&it.object, node));
    Ok(events)
}

/// True for the node, its VM, and objects whose name contains that of the machine, such as its launcher pod and volumes.
fn concerns(object: &str, node: &str) -> bool {
    let (kind, name) = object.split_once('/').unwrap_or_default();
    let end = name.rsplit_once(node).map(|it| it.1);
    match kind {
        "pod" => name.starts_with("virt-launcher-") && end.is_some_and(is_suffix),
        _ => name.starts_with(node) && end.is_some_and(is_suffix),
    }
}

/// A machine's name may be the beginning of another one: `a-1` and `a-10`.
fn is_suffix(text: &str) -> bool {
    text.is_empty() || text.starts_with('-')
}

/// The last events, oldest first.
fn shown(mut events: Vec<KubernetesEvent>, now: Option<i64>) -> Vec<NodeEvent> {
    events.sort_by_key(|it| it.last);
    let first = events.len().saturating_sub(EVENTS);
    let last = events.drain(first..).map(|it| {
        let time = it.last.and_then(|it| Timestamp::from_microsecond(it).ok());
        NodeEvent {
            kind: it.kind.to_string(),
            reason: it.reason.to_string(),
            object: it.object,
            message: it.message,
            count: it.count,
            last_seen: time.map(|it| format!("{it:.0}")),
            age: format_age(time.map(Timestamp::as_second), now),
        }
    });
    last.collect()
}

impl NodeDetail {
    fn of(
        row: NodeRow,
        machine: &ObservedMachine,
        facts: &Facts,
        instance: MachineDetail,
    ) -> NodeDetail {
        let node = facts.nodes.get(row.name.as_str());
        let conditions = node.iter().flat_map(|it| it.conditions.raised.iter());
        let conditions = conditions.map(|(kind, condition)| match condition.status {
            ConditionStatus::Unknown => format!("{kind}=Unknown"),
            _ => kind.to_string(),
        });
        let text = |value: &serde_json::Value, key: &str| {
            value[key].as_str().unwrap_or_default().to_owned()
        };
        let taints = node.iter().flat_map(|it| it.taints.iter());
        let taints = taints.map(|it| format!("{}:{}", text(it, "key"), text(it, "effect")));
        let failing = instance.conditions.into_iter();
        let vmi_conditions = failing.map(|(kind, is_true, message)| {
            let status = if is_true { "True" } else { "False" };
            match message.is_empty() {
                true => format!("{kind}={status}"),
                false => format!("{kind}={status}: {message}"),
            }
        });
        let volumes = instance.volumes.into_iter();
        let volumes = volumes.map(|(name, state)| match state.is_empty() {
            true => name,
            false => format!("{name} ({state})"),
        });
        NodeDetail {
            node_conditions: conditions.collect(),
            taints: taints.collect(),
            vm: machine.shown_status().to_owned(),
            vmi: instance.phase,
            vmi_conditions: vmi_conditions.collect(),
            networks: machine.networks.iter().map(|it| it.to_string()).collect(),
            volumes: volumes.collect(),
            attached_volumes: Vec::new(),
            repair: repair(machine),
            events: Vec::new(),
            row,
        }
    }
}

/// Decisions about a machine.
fn repair(machine: &ObservedMachine) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(restart) = &machine.instance.restart {
        let at = Timestamp::from_second(restart.at).unwrap_or_default();
        let is_done = machine.instance.uid.as_ref() != Some(&restart.of);
        let state = if is_done {
            "restarted"
        } else {
            "to be restarted, decided"
        };
        lines.push(format!("{state} at {at:.0}"));
    }
    if let Some(why) = &machine.instance.replace {
        lines.push(format!("to be replaced: {why}"));
    }
    let evacuation = machine.evacuation.map(|it| match it {
        Evacuation::Migration => "to be migrated: its host is being drained",
        Evacuation::Replacement => "to be replaced: its host is being drained",
        Evacuation::Cancellation => "stays: its host is no longer drained",
    });
    lines.extend(evacuation.map(str::to_owned));
    if machine.is_draining() {
        lines.push("drained, then deleted".to_owned());
    }
    lines
}

/// Lines of names and values; those without a value are left out.
fn text(detail: &NodeDetail) -> String {
    let row = &detail.row;
    let mut out = format!("node {}: {}\n", one_line(&row.name), one_line(&row.status));
    let mut add = |title: &str, value: &str| {
        if !value.is_empty() {
            out += &format!("  {title:<16} {}\n", one_line(value));
        }
    };
    add("reason", row.reason.as_deref().unwrap_or_default());
    add("pool", &row.pool);
    add("zone", &row.zone);
    add("host", &row.host);
    add("addresses", &row.addresses.join(", "));
    add("networks", &detail.networks.join(", "));
    add("kubelet", &row.version);
    add("image", &row.image);
    add("age", &row.age);
    add("conditions", &detail.node_conditions.join(", "));
    add("taints", &detail.taints.join(", "));
    add("VM", &detail.vm);
    add("VMI", &detail.vmi);
    let lists = [
        ("VMI conditions", &detail.vmi_conditions),
        ("volumes", &detail.volumes),
        ("attached", &detail.attached_volumes),
        ("repair", &detail.repair),
    ];
    for (title, lines) in lists {
        for (number, line) in lines.iter().enumerate() {
            add(if number == 0 { title } else { "" }, line);
        }
    }
    for (number, event) in detail.events.iter().enumerate() {
        let title = if number == 0 { "events" } else { "" };
        let NodeEvent {
            age,
            kind,
            reason,
            object,
            message,
            ..
        } = event;
        add(title, &format!("{age} {kind} {reason} {object}: {message}"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::facts::{MachineInstance, MachinePhase, MachineRestart, NodeCondition};
    use crate::state::testing;

    fn detail() -> NodeDetail {
        let machine = ObservedMachine {
            instance: MachineInstance {
                uid: Some("two".into()),
                is_running: true,
                restart: Some(MachineRestart {
                    at: 60,
                    of: "one".into(),
                }),
                replace: Some("requested by me@host".into()),
            },
            ..testing::machine(MachinePhase::Ready)
        };
        let mut node = testing::node();
        let pressure = NodeCondition {
            status: ConditionStatus::True,
            since: None,
        };
        node.conditions.raised = [("DiskPressure".into(), pressure)].into();
        node.taints = [serde_json::json!({"key": "gpu", "effect": "NoSchedule"})].into();
        let facts = Facts {
            machines: [("cpu".into(), [("a".into(), machine.clone())].into())].into(),
            nodes: [("a".into(), node)].into(),
            shoot_api: ShootApi::Reachable,
            ..Facts::default()
        };
        let instance = MachineDetail {
            phase: "Running".to_owned(),
            conditions: vec![
                ("Ready".to_owned(), true, String::new()),
                (
                    "LiveMigratable".to_owned(),
                    false,
                    "not shared\n\u{1b}".to_owned(),
                ),
            ],
            volumes: vec![
                ("root".to_owned(), String::new()),
                ("pvc-1".to_owned(), "Ready".to_owned()),
            ],
        };
        let row = node_rows(&facts, None, None).remove(0);
        NodeDetail::of(row, &machine, &facts, instance)
    }

    #[test]
    fn a_machine_is_shown_on_one_screen_without_control_characters() {
        let expected = "\
node a: Ready
  pool             cpu
  age              <unknown>
  conditions       DiskPressure
  taints           gpu:NoSchedule
  VM               Running
  VMI              Running
  VMI conditions   Ready=True
                   LiveMigratable=False: not shared\\n\\x1b
  volumes          root
                   pvc-1 (Ready)
  repair           restarted at 1970-01-01T00:01:00Z
                   to be replaced: requested by me@host
";
        assert_eq!(text(&detail()), expected);
        let json = serde_json::to_value(detail()).expect("JSON");
        assert_eq!(json["name"], "a");
        assert_eq!(json["vmi"], "Running");
        assert_eq!(json["volumes"][1], "pvc-1 (Ready)");
    }

    #[test]
    fn events_of_other_machines_are_left_out() {
        for (object, expected) in [
            ("node/a-1", true),
            ("virtualmachineinstance/a-1", true),
            ("datavolume/a-1-root", true),
            ("pod/virt-launcher-a-1-x7k2p", true),
            ("pod/virt-launcher-a-10-x7k2p", false),
            ("pod/a-1", false),
            ("node/a-10", false),
            ("node/b-a-1", false),
            ("node", false),
        ] {
            assert_eq!(concerns(object, "a-1"), expected, "{object}");
        }
    }
}
