//! How another machine type reaches the machines of a pool. The values are those of Gardener.

use super::context::PoolContext;
use crate::model::{FindingKind, Worker};
use crate::validate::report::FindingSink;

const ROLLING: &str = "AutoRollingUpdate";
const IN_PLACE: &str = "AutoInPlaceUpdate";

pub(super) fn is_in_place(worker: &Worker) -> bool {
    worker.update_strategy.as_deref() == Some(IN_PLACE)
}

pub(super) fn check(pool: &PoolContext, report: &mut FindingSink) {
    let Some(given) = pool.worker.update_strategy.as_deref() else {
        return;
    };
    if ![ROLLING, IN_PLACE].contains(&given) {
        let at = &pool.at.key("updateStrategy");
        let message = format!("unsupported value {given:?}");
        report
            .error(
                at,
                FindingKind::NotSupported,
                "pool/update-strategy",
                message,
            )
            .hint(format!("supported values: {ROLLING}, {IN_PLACE}"));
    }
}
