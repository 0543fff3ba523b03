//! How a shoot is, as status and wait want to know it.

use super::CommandError;
use super::provider::{before, failed};
use crate::cluster::{
    ApiClient, ImageSnapshot, MachineSnapshot, NodeSnapshot, RecordSnapshot, ShootSnapshot,
};
use crate::plan::health::{self, Condition, Inside, Part, Seen};

/// Looks at the provider, and at the shoot where it can be reached.
pub(super) async fn look(
    provider: &ApiClient,
    record: &RecordSnapshot,
) -> Result<Vec<Condition>, CommandError> {
    let seen = seen(provider, record).await?;
    Ok(health::conditions(&seen))
}

/// What the conditions rest on.
pub(super) async fn seen(
    provider: &ApiClient,
    record: &RecordSnapshot,
) -> Result<Seen, CommandError> {
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
    let inside = match provider.shoot_snapshot(id).await {
        Ok(ShootSnapshot {
            nodes,
            workloads,
            answers,
        }) => Inside::Seen {
            nodes: nodes.iter().map(of_node).collect(),
            workloads,
            answers,
        },
        Err(error) => Inside::Unreachable(error.to_string()),
    };
    Ok(Seen {
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

fn of_image(image: &ImageSnapshot) -> Part {
    Part {
        name: image.name.clone(),
        why: (!image.import.done).then(|| image.phase.clone()),
    }
}

fn of_machine(machine: &MachineSnapshot) -> Part {
    let why = match &machine.complaint {
        Some(complaint) => format!("{}, {complaint}", machine.status).into(),
        None => machine.status.clone(),
    };
    Part {
        name: machine.name.clone(),
        why: (!machine.ready).then_some(why),
    }
}

fn of_node(node: &NodeSnapshot) -> Part {
    Part {
        name: node.name.clone(),
        why: node.why.clone(),
    }
}
