//! Sizes of pools whose minimum and maximum differ.

use crate::app::inspect::pools::worker_size;
use crate::app::lifecycle::scale::sizes;
use crate::cluster::RecordSnapshot;
use crate::load::last_applied;
use crate::model::Worker;
use crate::state::printable::one_line;
use serde::Serialize;

/// The decided number of machines of a pool.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SizeStatus {
    pool: String,
    size: usize,
    minimum: i32,
    maximum: i32,
    /// False if no `kvshoot keep` runs for the cluster autoscaler; None if that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    scaled_automatically: Option<bool>,
}

impl SizeStatus {
    /// Those of pools whose minimum and maximum differ. `is_kept` is true if a `kvshoot keep` runs.
    pub(super) fn all(record: &RecordSnapshot, is_kept: Option<bool>) -> Vec<SizeStatus> {
        let sizes = sizes(record);
        let shoot = last_applied(&record.data).map(|it| it.0);
        let workers = shoot.iter().flat_map(|it| &it.spec.provider.workers);
        let open = workers.filter(|it| it.is_scalable());
        let size = |worker: &Worker| SizeStatus {
            pool: worker.name.clone(),
            size: worker_size(worker, &sizes),
            minimum: worker.minimum,
            maximum: worker.maximum,
            scaled_automatically: is_kept,
        };
        open.map(size).collect()
    }

    pub(super) fn text(&self) -> String {
        let SizeStatus {
            size,
            minimum,
            maximum,
            ..
        } = self;
        let pool = one_line(&self.pool);
        let scaled = match self.scaled_automatically {
            Some(false) => "; not scaled: no kvshoot keep runs",
            Some(true) | None => "",
        };
        format!("pool {pool}: {size} ({minimum} to {maximum}){scaled}")
    }
}
