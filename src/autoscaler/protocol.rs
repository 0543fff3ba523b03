//! Messages of the protocol, and the part of a Node that templates have, with the numbers of their fields.

use prost::Message;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// Machines that the autoscaler counts together.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct NodeGroup {
    #[prost(string, tag = "1")]
    pub(crate) id: String,
    #[prost(int32, tag = "2")]
    pub(crate) min_size: i32,
    #[prost(int32, tag = "3")]
    pub(crate) max_size: i32,
    /// For logs.
    #[prost(string, tag = "4")]
    pub(crate) debug: String,
}

/// A message without fields, or whose fields are not used.
#[derive(Clone, PartialEq, Message)]
pub(super) struct EmptyMessage {}

#[derive(Clone, PartialEq, Message)]
pub(super) struct NodeGroupList {
    #[prost(message, repeated, tag = "1")]
    pub(super) node_groups: Vec<NodeGroup>,
}

/// A node. A machine without a node has its `providerID` in both.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ExternalNode {
    #[prost(string, tag = "1")]
    pub(super) provider_id: String,
    #[prost(string, tag = "2")]
    pub(super) name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct OfNode {
    #[prost(message, optional, tag = "1")]
    pub(super) node: Option<ExternalNode>,
}

/// A group with an empty ID means that the node is in none.
#[derive(Clone, PartialEq, Message)]
pub(super) struct GroupOfNode {
    #[prost(message, optional, tag = "1")]
    pub(super) node_group: Option<NodeGroup>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct OfGroup {
    #[prost(string, tag = "1")]
    pub(super) id: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TargetSize {
    #[prost(int32, tag = "1")]
    pub(super) target_size: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Resize {
    /// Negative for fewer machines.
    #[prost(int32, tag = "1")]
    pub(super) delta: i32,
    #[prost(string, tag = "2")]
    pub(super) id: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct DeleteNodes {
    #[prost(message, repeated, tag = "1")]
    pub(super) nodes: Vec<ExternalNode>,
    #[prost(string, tag = "2")]
    pub(super) id: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Instances {
    #[prost(message, repeated, tag = "1")]
    pub(super) instances: Vec<Instance>,
}

/// A machine.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Instance {
    /// `spec.providerID` of its node.
    #[prost(string, tag = "1")]
    pub(crate) id: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) status: Option<InstanceStatus>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct InstanceStatus {
    #[prost(enumeration = "InstanceState", tag = "1")]
    pub(crate) state: i32,
    #[prost(message, optional, tag = "2")]
    pub(crate) error: Option<InstanceError>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration)]
#[repr(i32)]
pub(crate) enum InstanceState {
    Unspecified = 0,
    Running = 1,
    Creating = 2,
    Deleting = 3,
}

/// Why a machine that is being created will not be ready. The autoscaler deletes it, and tries other groups.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct InstanceError {
    #[prost(string, tag = "1")]
    pub(crate) code: String,
    #[prost(string, tag = "2")]
    pub(crate) message: String,
    #[prost(int32, tag = "3")]
    pub(crate) class: i32,
}

impl InstanceError {
    /// The provider has no room for the machine.
    pub(crate) const OUT_OF_RESOURCES: i32 = 1;
    pub(crate) const OTHER: i32 = 99;
}

impl Instance {
    pub(crate) fn new(id: String, state: InstanceState, error: Option<InstanceError>) -> Instance {
        let status = InstanceStatus {
            state: state.into(),
            error,
        };
        Instance {
            id,
            status: Some(status),
        }
    }
}

/// A Node of the core API as bytes. The field has number 1 until Kubernetes 1.34, and 2 since then.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TemplateNode {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) node_info: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) node_bytes: Vec<u8>,
}

/// Settings of a group.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct AutoscalingOptions {
    #[prost(double, tag = "1")]
    pub(crate) scale_down_utilization_threshold: f64,
    #[prost(double, tag = "2")]
    pub(crate) scale_down_gpu_utilization_threshold: f64,
    /// Kubernetes 1.34 and older have nanoseconds in a message of its own.
    #[prost(message, optional, tag = "3")]
    pub(crate) old_unneeded_time: Option<Nanoseconds>,
    #[prost(message, optional, tag = "4")]
    pub(crate) old_unready_time: Option<Nanoseconds>,
    #[prost(message, optional, tag = "5")]
    pub(crate) old_max_provision_time: Option<Nanoseconds>,
    #[prost(bool, tag = "6")]
    pub(crate) zero_or_max_node_scaling: bool,
    #[prost(bool, tag = "7")]
    pub(crate) ignore_daemon_sets_utilization: bool,
    #[prost(message, optional, tag = "8")]
    pub(crate) unneeded_time: Option<ProtoDuration>,
    #[prost(message, optional, tag = "9")]
    pub(crate) unready_time: Option<ProtoDuration>,
    #[prost(message, optional, tag = "10")]
    pub(crate) max_provision_time: Option<ProtoDuration>,
    #[prost(message, optional, tag = "11")]
    pub(crate) max_startup_time: Option<ProtoDuration>,
    #[prost(bool, tag = "12")]
    pub(crate) allow_non_atomic_scale_up_to_max: bool,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct Nanoseconds {
    #[prost(int64, tag = "1")]
    pub(crate) duration: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct ProtoDuration {
    #[prost(int64, tag = "1")]
    pub(crate) seconds: i64,
    #[prost(int32, tag = "2")]
    pub(crate) nanos: i32,
}

/// Sets a duration in the form that the autoscaler has sent.
pub(crate) fn set_duration(
    time: Duration,
    old: &mut Option<Nanoseconds>,
    new: &mut Option<ProtoDuration>,
) {
    if let Some(old) = old {
        old.duration = i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
    }
    if let Some(new) = new {
        new.seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
        new.nanos = i32::try_from(time.subsec_nanos()).unwrap_or_default();
    }
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct OptionsRequest {
    #[prost(string, tag = "1")]
    pub(super) id: String,
    #[prost(message, optional, tag = "2")]
    pub(super) defaults: Option<AutoscalingOptions>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct OptionsResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) options: Option<AutoscalingOptions>,
}

/// A node as it will be when it has just joined.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct NodeTemplate {
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    /// Key, value and effect.
    pub(crate) taints: Vec<(String, String, String)>,
    /// Quantities by name of the resource.
    pub(crate) capacity: BTreeMap<String, String>,
    pub(crate) allocatable: BTreeMap<String, String>,
}

impl NodeTemplate {
    /// A Node of the core API in the form of protocol buffers.
    pub(super) fn encode(&self) -> Vec<u8> {
        let taints = self.taints.iter().cloned();
        let taints = taints.map(|(key, value, effect)| Taint { key, value, effect });
        let ready = NodeCondition {
            kind: "Ready".to_owned(),
            status: "True".to_owned(),
        };
        let node = Node {
            metadata: Some(Metadata {
                name: self.name.clone(),
                labels: self.labels.clone().into_iter().collect(),
            }),
            spec: Some(NodeSpec {
                taints: taints.collect(),
            }),
            status: Some(NodeStatus {
                capacity: quantities(&self.capacity),
                allocatable: quantities(&self.allocatable),
                conditions: vec![ready],
            }),
        };
        node.encode_to_vec()
    }
}

fn quantities(of: &BTreeMap<String, String>) -> HashMap<String, NodeQuantity> {
    let quantity = |text: &String| NodeQuantity { text: text.clone() };
    let all = of.iter().map(|(name, text)| (name.clone(), quantity(text)));
    all.collect()
}

#[derive(Clone, PartialEq, Message)]
struct Node {
    #[prost(message, optional, tag = "1")]
    metadata: Option<Metadata>,
    #[prost(message, optional, tag = "2")]
    spec: Option<NodeSpec>,
    #[prost(message, optional, tag = "3")]
    status: Option<NodeStatus>,
}

#[derive(Clone, PartialEq, Message)]
struct Metadata {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(map = "string, string", tag = "11")]
    labels: HashMap<String, String>,
}

#[derive(Clone, PartialEq, Message)]
struct NodeSpec {
    #[prost(message, repeated, tag = "5")]
    taints: Vec<Taint>,
}

#[derive(Clone, PartialEq, Message)]
struct Taint {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(string, tag = "2")]
    value: String,
    #[prost(string, tag = "3")]
    effect: String,
}

#[derive(Clone, PartialEq, Message)]
struct NodeStatus {
    #[prost(map = "string, message", tag = "1")]
    capacity: HashMap<String, NodeQuantity>,
    #[prost(map = "string, message", tag = "2")]
    allocatable: HashMap<String, NodeQuantity>,
    #[prost(message, repeated, tag = "4")]
    conditions: Vec<NodeCondition>,
}

#[derive(Clone, PartialEq, Message)]
struct NodeQuantity {
    #[prost(string, tag = "1")]
    text: String,
}

#[derive(Clone, PartialEq, Message)]
struct NodeCondition {
    #[prost(string, tag = "1")]
    kind: String,
    #[prost(string, tag = "2")]
    status: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The encoding that other implementations of the protocol write.
    #[test]
    fn messages_have_the_numbers_of_the_protocol() {
        let group = NodeGroup {
            id: "g".to_owned(),
            min_size: 1,
            max_size: 300,
            debug: String::new(),
        };
        assert_eq!(group.encode_to_vec(), b"\x0a\x01g\x10\x01\x18\xac\x02");
        let error = InstanceError {
            code: "c".to_owned(),
            message: "m".to_owned(),
            class: InstanceError::OUT_OF_RESOURCES,
        };
        let instance = Instance::new("i".to_owned(), InstanceState::Creating, Some(error));
        let bytes = b"\x0a\x01i\x12\x0c\x08\x02\x12\x08\x0a\x01c\x12\x01m\x18\x01";
        assert_eq!(instance.encode_to_vec(), bytes);
        let delta = Resize::decode(&b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x12\x01g"[..]);
        let delta = delta.expect("it is a message");
        assert_eq!((delta.delta, delta.id.as_str()), (-1, "g"));
        // Labels of nodes are not read.
        let node = b"\x0a\x0e\x0a\x01p\x12\x01n\x1a\x06\x0a\x01k\x12\x01v\x12\x01g";
        let deleted = DeleteNodes::decode(&node[..]).expect("it is a message");
        assert_eq!(
            (deleted.nodes[0].name.as_str(), deleted.id.as_str()),
            ("n", "g")
        );
    }

    #[test]
    fn a_template_is_a_node_of_the_core_api() {
        let template = NodeTemplate {
            name: "n".to_owned(),
            labels: [("k".to_owned(), "v".to_owned())].into(),
            taints: vec![("t".to_owned(), String::new(), "NoSchedule".to_owned())],
            capacity: [("cpu".to_owned(), "1".to_owned())].into(),
            allocatable: [("cpu".to_owned(), "900m".to_owned())].into(),
        };
        let bytes = [
            &b"\x0a\x0b\x0a\x01n\x5a\x06\x0a\x01k\x12\x01v"[..],
            b"\x12\x11\x2a\x0f\x0a\x01t\x1a\x0aNoSchedule",
            b"\x1a\x2a\x0a\x0a\x0a\x03cpu\x12\x03\x0a\x011",
            b"\x12\x0d\x0a\x03cpu\x12\x06\x0a\x04900m",
            b"\x22\x0d\x0a\x05Ready\x12\x04True",
        ];
        assert_eq!(template.encode(), bytes.concat());
    }

    #[test]
    fn durations_are_set_in_the_form_that_was_sent() {
        let time = Duration::from_millis(1_500);
        let (mut old, mut new) = (Some(Nanoseconds { duration: 1 }), None);
        set_duration(time, &mut old, &mut new);
        assert_eq!(
            (old, new),
            (
                Some(Nanoseconds {
                    duration: 1_500_000_000
                }),
                None
            )
        );
        let (mut old, mut new) = (None, Some(ProtoDuration::default()));
        set_duration(time, &mut old, &mut new);
        let expected = ProtoDuration {
            seconds: 1,
            nanos: 500_000_000,
        };
        assert_eq!((old, new), (None, Some(expected)));
    }
}
