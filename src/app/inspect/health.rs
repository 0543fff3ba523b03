//! The health of a shoot, for status and wait.

use crate::app::error::{CommandError, failed};
use crate::cluster::{ImageSeen, MachineSeen, NodeSeen, Provider, RecordSeen, ShootSeen};
use crate::load::last_applied;
use crate::state::conditions::{self, Condition, Inside, Part, Seen};

/// Returns the conditions of a shoot.
pub(crate) async fn conditions(
    provider: &Provider,
    record: &RecordSeen,
) -> Result<Vec<Condition>, CommandError> {
    let seen = observe(provider, record).await?;
    Ok(conditions::conditions(&seen))
}

/// Reads what the conditions depend on from the provider cluster, and from the shoot if it is reachable.
pub(crate) async fn observe(
    provider: &Provider,
    record: &RecordSeen,
) -> Result<Seen, CommandError> {
    let id = &*record.name;
    let (machines, images, control_plane) = futures::try_join!(
        provider.machines(id),
        provider.images(Some(id)),
        provider.control_plane(id)
    )
    .map_err(failed)?;
    let shoot = last_applied(&record.data).map(|it| it.0);
    let workers = shoot.iter().flat_map(|it| &it.spec.provider.workers);
    let network = shoot.as_ref().map(|it| &it.spec.networking.type_);
    let inside = match provider.shoot_seen(id).await {
        Ok(ShootSeen {
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

fn of_image(image: &ImageSeen) -> Part {
    Part {
        name: image.name.clone(),
        why: (!image.import.done).then(|| image.phase.clone()),
    }
}

fn of_machine(machine: &MachineSeen) -> Part {
    let why = match &machine.complaint {
        Some(complaint) => format!("{}, {complaint}", machine.status).into(),
        None => machine.status.clone(),
    };
    Part {
        name: machine.name.clone(),
        why: (!machine.ready).then_some(why),
    }
}

fn of_node(node: &NodeSeen) -> Part {
    Part {
        name: node.name.clone(),
        why: node.why.clone(),
    }
}
