//! The plan of a restore: the control plane alone, up to an API server that has the data of the backup. Machines and what
//! runs in the shoot follow when the restore is complete.

use crate::plan::planner::Planner;
use crate::plan::{control_plane, record};
use crate::state::action::{Action, Desired, Payload};
use crate::state::facts::Facts;
use crate::state::failure::{ErrorClass, Failure};
use crate::state::hash::Hash;
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::observed::Observed;
use crate::state::plan::{Dependency, ItemState, Plan};
use crate::state::record::etcd::EtcdRecord;
use crate::validate::ValidShoot;
use std::sync::Arc;

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
    let restore = etcd_record(&observed.facts)?.exclusive_restore()?;
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

/// Adds the end of a restore, once all other items are done. A run that is interrupted before leaves it to the next one.
pub(super) fn complete(planner: &mut Planner, shoot: &ValidShoot) {
    let Some(etcd) = etcd_record(&planner.observed.facts).filter(|it| it.restore.is_some()) else {
        return;
    };
    let etcd = EtcdRecord {
        restore: None,
        ..etcd.clone()
    };
    let action = Action::Apply(Desired {
        key: ObjectKey::provider(ObjectKind::Record, shoot.id.clone()),
        hash: Hash::of(&etcd),
        payload: Payload::EtcdRecord(etcd),
    });
    let needs: Arc<[Dependency]> = planner.plan.dependencies(|_| true).collect();
    let title = "Complete the restore".to_owned();
    planner.add(
        "restore".to_owned().into(),
        title,
        needs,
        ItemState::Due(action),
    );
}

fn etcd_record(facts: &Facts) -> Option<&EtcdRecord> {
    facts.record.as_ref()?.etcd.as_ref()
}
