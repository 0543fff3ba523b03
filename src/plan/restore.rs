//! The plan of a restore: the control plane alone, up to an API server that has the data of the backup. Machines and what
//! runs in the shoot follow when the restore is complete.

use crate::plan::planner::Planner;
use crate::plan::{control_plane, record};
use crate::state::facts::Facts;
use crate::state::failure::{ErrorClass, Failure};
use crate::state::observed::Observed;
use crate::state::plan::{ItemState, Plan};
use crate::state::record::etcd::EtcdRestore;
use crate::validate::ValidShoot;

/// Plans the stage of a restore that the record is in. All done means that the stage is complete.
pub(crate) fn restore(shoot: &ValidShoot, observed: &Observed) -> Plan {
    let mut planner = Planner::new(observed);
    let record = record::add(&mut planner, shoot);
    control_plane::add(&mut planner, shoot, record);
    control_plane::block_without_etcd(&mut planner.plan);
    planner.plan
}

/// The only item of any other plan while a restore is under way; None without one.
pub(super) fn refuse(shoot: &ValidShoot, observed: &Observed) -> Option<Plan> {
    let restore = under_way(&observed.facts)?;
    let mut planner = Planner::new(observed);
    let message = format!(
        "backup {} is being restored: run kvshoot restore {} --from DEST to complete it",
        restore.backup, shoot.name
    );
    let state = ItemState::Failed(Failure::new(ErrorClass::Missing, message));
    let title = "Check that no restore is under way".to_owned();
    planner.add("restore".to_owned().into(), title, [], state);
    Some(planner.plan)
}

fn under_way(facts: &Facts) -> Option<&EtcdRestore> {
    facts.record.as_ref()?.etcd.as_ref()?.restore.as_ref()
}
