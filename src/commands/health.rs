//! How a shoot is, as status and wait want to know it.

use super::CommandError;
use super::provider::{before, failed};
use crate::cluster::{ImageSeen, MachineSeen, NodeSeen, Provider, RecordSeen, ShootSeen};
use crate::state::conditions::{self, ComponentHealth, Condition, HealthInput, ShootHealth};

/// Looks at the provider, and at the shoot where it can be reached.
pub(super) async fn look(
    provider: &Provider,
    record: &RecordSeen,
) -> Result<Vec<Condition>, CommandError> {
    let seen = seen(provider, record).await?;
    Ok(conditions::conditions(&seen))
}

/// What the conditions rest on.
pub(super) async fn seen(
    provider: &Provider,
    record: &RecordSeen,
) -> Result<HealthInput, CommandError> {
    let id = &*record.name;
    let (machines, images, control_plane) = futures::try_join!(
        provider.machines(id),
        provider.images(Some(id)),
        provider.control_plane(id)
    )
    .map_err(failed)?;
    let shoot = before(&record.data).map(|it| it.0);
    let workers = shoot.iter().flat_map(|it| &it.spec.provider.workers);
    let network = shoot.as_ref().map(|it| &it.spec.networking.type_);
    let inside = match provider.shoot_seen(id).await {
        Ok(ShootSeen {
            nodes,
            workloads,
            answers,
        }) => ShootHealth::Reachable {
            nodes: nodes.iter().map(of_node).collect(),
            workloads,
            answers,
        },
        Err(error) => ShootHealth::Unreachable(error.to_string()),
    };
    Ok(HealthInput {
        images: images.iter().map(of_image).collect(),
        machines: machines.iter().map(of_machine).collect(),
        wanted: workers
            .map(|it| usize::try_from(it.minimum).unwrap_or_default())
            .sum(),
        control_plane: control_plane.workloads,
        expiry: control_plane.expiry,
        now: provider.server_time().unwrap_or_default(),
        inside,
        has_network: network.is_none_or(|it| it != "none"),
    })
}

fn of_image(image: &ImageSeen) -> ComponentHealth {
    ComponentHealth {
        name: image.name.clone(),
        why: (!image.import.done).then(|| image.phase.clone()),
    }
}

fn of_machine(machine: &MachineSeen) -> ComponentHealth {
    let why = match &machine.complaint {
        Some(complaint) => format!("{}, {complaint}", machine.status).into(),
        None => machine.status.clone(),
    };
    ComponentHealth {
        name: machine.name.clone(),
        why: (!machine.ready).then_some(why),
    }
}

fn of_node(node: &NodeSeen) -> ComponentHealth {
    ComponentHealth {
        name: node.name.clone(),
        why: node.why.clone(),
    }
}
