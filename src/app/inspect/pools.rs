//! `kvshoot pools list`.

use super::nodes::node_facts;
use super::shoot_summary::find_or_only;
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::lifecycle::scale::sizes;
use crate::app::provider::connect::connect;
use crate::cluster::RecordSnapshot;
use crate::load::last_applied;
use crate::model::Worker;
use crate::state::desired::{self, PoolSize, SizesByPool};
use crate::state::facts::Facts;
use crate::ui::{Format, ListRow};
use serde::Serialize;

/// Lists the pools of a shoot.
pub(crate) fn list_pools(
    name: Option<&str>,
    output: Format,
    context: &Context,
) -> Result<Exit, CommandError> {
    let pools = context.block_on(async {
        let provider = connect(context).await?;
        let record = find_or_only(&provider, name, context).await?;
        let warn = &mut |why: &str| context.ui.warn(why);
        let facts = node_facts(&provider, &record, warn).await?;
        Ok::<_, CommandError>(pool_rows(&facts, &record))
    })??;
    context.ui.list(output, &pools, "no pools found");
    Ok(Exit::Done)
}

pub(super) fn pool_rows(facts: &Facts, record: &RecordSnapshot) -> Vec<PoolRow> {
    let applied = last_applied(&record.data);
    let workers = applied.map(|(shoot, _)| shoot.spec.provider.workers);
    let workers = workers.iter().flatten();
    workers
        .map(|worker| PoolRow::of(worker, facts, record))
        .collect()
}

/// The number of machines of a pool, by the sizes in the record.
pub(crate) fn worker_size(worker: &Worker, sizes: &SizesByPool) -> usize {
    let bound = |it: i32| usize::try_from(it).unwrap_or_default();
    let decided = sizes.get(&worker.name).map(PoolSize::total);
    desired::size_within(decided, bound(worker.minimum), bound(worker.maximum))
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PoolRow {
    pub(super) name: String,
    machine_type: String,
    image: String,
    zones: Vec<String>,
    minimum: i32,
    maximum: i32,
    /// The decided number of machines, within the bounds.
    size: usize,
    pub(super) machines: usize,
    /// Machines that are ready nodes.
    pub(super) ready: usize,
}

impl PoolRow {
    fn of(worker: &Worker, facts: &Facts, record: &RecordSnapshot) -> PoolRow {
        let own = || {
            facts
                .machines
                .get(worker.name.as_str())
                .into_iter()
                .flatten()
        };
        let ready = own().filter(|(name, it)| facts.is_ready(name, it.runs));
        let image = worker.machine.image.as_ref();
        PoolRow {
            name: worker.name.clone(),
            machine_type: worker.machine.type_.clone(),
            image: image
                .map(|it| [it.name.as_str(), it.version.as_deref().unwrap_or_default()].join(" "))
                .unwrap_or_default(),
            zones: worker.zones.clone(),
            minimum: worker.minimum,
            maximum: worker.maximum,
            size: worker_size(worker, &sizes(record)),
            machines: own().count(),
            ready: ready.count(),
        }
    }
}

impl ListRow for PoolRow {
    fn headers() -> &'static [&'static str] {
        &[
            "NAME", "TYPE", "IMAGE", "ZONES", "MIN", "MAX", "SIZE", "MACHINES", "READY",
        ]
    }

    fn cells(&self) -> Vec<String> {
        let numbers = [
            self.minimum.to_string(),
            self.maximum.to_string(),
            self.size.to_string(),
            self.machines.to_string(),
            self.ready.to_string(),
        ];
        let texts = [
            self.name.clone(),
            self.machine_type.clone(),
            self.image.clone(),
            self.zones.join(","),
        ];
        texts.into_iter().chain(numbers).collect()
    }

    fn name(&self) -> String {
        format!("pool/{}", self.name)
    }
}
