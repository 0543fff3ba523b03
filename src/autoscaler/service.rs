//! The calls of the protocol, as a gRPC service of one shoot.

use super::protocol::{
    AutoscalingOptions, DeleteNodes, EmptyMessage, ExternalNode, GroupOfNode, Instance, Instances,
    NodeGroup, NodeGroupList, NodeTemplate, OfGroup, OfNode, OptionsRequest, OptionsResponse,
    Resize, TargetSize, TemplateNode,
};
use futures::FutureExt as _;
use futures::future::{BoxFuture, ready};
use http::{Request, Response};
use hyper::body::Incoming;
use prost::Message;
use std::collections::BTreeSet;
use std::sync::Arc;
use tonic::server::{Grpc, UnaryService};
use tonic::{Code, Status};
use tonic_prost::ProstCodec;

/// Path of all calls, before their names.
const SERVICE: &str = "/clusterautoscaler.cloudprovider.v1.externalgrpc.CloudProvider/";
/// Bytes of a request: names and labels of all nodes that are deleted at once.
const MAX_REQUEST: usize = 4 << 20;

/// The response to a call.
type Answer = BoxFuture<'static, Response<tonic::body::Body>>;

/// A change of a group's size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SizeChange {
    /// More machines.
    Increase(usize),
    /// Fewer machines, of those that do not exist yet.
    Decrease(usize),
    /// These machines, by name.
    Delete(BTreeSet<String>),
}

/// Why a call has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AutoscalerError {
    #[error("node group {0:?} not found")]
    UnknownGroup(String),
    /// The size is not allowed, or a machine is not in the group.
    #[error("{0}")]
    Refused(String),
    /// The decision could not be written.
    #[error("{0}")]
    Failed(String),
}

/// Node groups of one shoot.
pub(crate) trait CloudProvider: Send + Sync + 'static {
    /// All groups, as they were observed last.
    fn node_groups(&self) -> Vec<NodeGroup>;

    /// The group of a node, by name.
    fn group_of(&self, node: &str) -> Option<NodeGroup>;

    /// Number of machines that a group should have, without those that are being deleted.
    ///
    /// # Errors
    ///
    /// There is no such group; the same for the other functions.
    fn target_size(&self, group: &str) -> Result<usize, AutoscalerError>;

    /// The machines of a group.
    fn instances(&self, group: &str) -> Result<Vec<Instance>, AutoscalerError>;

    /// The next node of a group.
    fn template(&self, group: &str) -> Result<NodeTemplate, AutoscalerError>;

    /// Settings of a group, from those that hold for all.
    fn options(
        &self,
        group: &str,
        defaults: AutoscalingOptions,
    ) -> Result<AutoscalingOptions, AutoscalerError>;

    /// Decides a size, and returns once it is written.
    fn change(&self, group: &str, change: SizeChange)
    -> BoxFuture<'_, Result<(), AutoscalerError>>;
}

impl From<AutoscalerError> for Status {
    fn from(error: AutoscalerError) -> Status {
        let code = match error {
            AutoscalerError::UnknownGroup(_) => Code::NotFound,
            AutoscalerError::Refused(_) => Code::FailedPrecondition,
            AutoscalerError::Failed(_) => Code::Unavailable,
        };
        Status::new(code, error.to_string())
    }
}

/// Answers one call.
pub(super) fn answer(shoot: Arc<dyn CloudProvider>, request: Request<Incoming>) -> Answer {
    let path = request.uri().path().to_owned();
    tracing::debug!(call = %path, "the cluster autoscaler asks");
    match path.strip_prefix(SERVICE).unwrap_or_default() {
        "NodeGroups" => unary(request, move |_: EmptyMessage| {
            let node_groups = shoot.node_groups();
            Ok(NodeGroupList { node_groups })
        }),
        "NodeGroupForNode" => unary(request, move |OfNode { node }: OfNode| {
            let group = node.and_then(|it| shoot.group_of(machine_name(&it)));
            let node_group = Some(group.unwrap_or_default());
            Ok(GroupOfNode { node_group })
        }),
        // Answers are always those of the last observation.
        "Refresh" | "Cleanup" | "GPULabel" | "GetAvailableGPUTypes" => {
            unary(request, |_: EmptyMessage| Ok(EmptyMessage {}))
        }
        "NodeGroupTargetSize" => unary(request, move |it: OfGroup| {
            let target_size = count(shoot.target_size(&it.id)?);
            Ok(TargetSize { target_size })
        }),
        "NodeGroupNodes" => unary(request, move |it: OfGroup| {
            let instances = shoot.instances(&it.id)?;
            Ok(Instances { instances })
        }),
        "NodeGroupTemplateNodeInfo" => unary(request, move |it: OfGroup| {
            let node = shoot.template(&it.id)?.encode();
            Ok(TemplateNode {
                node_info: node.clone(),
                node_bytes: node,
            })
        }),
        "NodeGroupGetOptions" => unary(request, move |it: OptionsRequest| {
            let options = shoot.options(&it.id, it.defaults.unwrap_or_default())?;
            let options = Some(options);
            Ok(OptionsResponse { options })
        }),
        "NodeGroupIncreaseSize" => changing(request, shoot, |it: Resize| {
            let more = positive(it.delta, "delta must be positive")?;
            Ok((it.id, SizeChange::Increase(more)))
        }),
        "NodeGroupDecreaseTargetSize" => changing(request, shoot, |it: Resize| {
            let fewer = positive(it.delta.saturating_neg(), "delta must be negative")?;
            Ok((it.id, SizeChange::Decrease(fewer)))
        }),
        "NodeGroupDeleteNodes" => changing(request, shoot, |it: DeleteNodes| {
            let names = it.nodes.iter().map(|it| machine_name(it).to_owned());
            let names = names.collect();
            Ok((it.id, SizeChange::Delete(names)))
        }),
        _ => ready(Status::unimplemented("not supported by kvshoot").into_http()).boxed(),
    }
}

fn positive(number: i32, otherwise: &str) -> Result<usize, Status> {
    let number = usize::try_from(number).ok().filter(|it| *it > 0);
    number.ok_or_else(|| Status::invalid_argument(otherwise))
}

fn count(size: usize) -> i32 {
    i32::try_from(size).unwrap_or(i32::MAX)
}

/// The name of a node is that of its machine. A machine without a node is given by its ID: `kubevirt://NAME`.
fn machine_name(node: &ExternalNode) -> &str {
    let id = [&node.provider_id, &node.name];
    let id = id.into_iter().find(|it| !it.is_empty());
    let id = id.map_or("", String::as_str);
    id.rsplit_once("//").map_or(id, |it| it.1)
}

/// Answers a call from what was observed.
fn unary<Q, A, F>(request: Request<Incoming>, call: F) -> Answer
where
    Q: Message + Default + 'static,
    A: Message + Default + 'static,
    F: FnOnce(Q) -> Result<A, Status> + Send + 'static,
{
    respond(request, move |it| ready(call(it)).boxed())
}

/// Answers a call that changes the size of a group, which `change` reads from it.
fn changing<Q, F>(request: Request<Incoming>, shoot: Arc<dyn CloudProvider>, change: F) -> Answer
where
    Q: Message + Default + 'static,
    F: FnOnce(Q) -> Result<(String, SizeChange), Status> + Send + 'static,
{
    respond(request, move |it| {
        let change = change(it);
        let changed = async move {
            let (group, change) = change?;
            shoot.change(&group, change).await?;
            Ok(EmptyMessage {})
        };
        changed.boxed()
    })
}

/// Decodes the request of a call, and encodes the response.
fn respond<Q, A, F>(request: Request<Incoming>, call: F) -> Answer
where
    Q: Message + Default + 'static,
    A: Message + Default + 'static,
    F: FnOnce(Q) -> BoxFuture<'static, Result<A, Status>> + Send + 'static,
{
    let response = async move {
        let codec = ProstCodec::<A, Q>::default();
        let mut grpc = Grpc::new(codec).apply_max_message_size_config(Some(MAX_REQUEST), None);
        grpc.unary(Call(Some(call)), request).await
    };
    response.boxed()
}

/// A call that is made once.
struct Call<F>(Option<F>);

impl<Q, A, F> UnaryService<Q> for Call<F>
where
    A: 'static,
    F: FnOnce(Q) -> BoxFuture<'static, Result<A, Status>>,
{
    type Response = A;
    type Future = BoxFuture<'static, Result<tonic::Response<A>, Status>>;

    fn call(&mut self, request: tonic::Request<Q>) -> Self::Future {
        let call = self.0.take().expect("it is called once");
        let answer = call(request.into_inner());
        async move { answer.await.map(tonic::Response::new) }.boxed()
    }
}
