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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::check::stopped::{with_pods, with_stopped};
    use crate::plan::finished;
    use crate::state::names::part;
    use crate::state::record::etcd::{EtcdRestore, RestoreStage};
    use crate::validate::testing::{SHOOT, valid_for_tests};

    /// A shoot whose restore has just begun.
    fn begun(shoot: &ValidShoot) -> Observed {
        let mut observed = finished(shoot);
        let facts = Arc::make_mut(&mut observed.facts);
        let record = facts.record.as_mut().expect("it is complete");
        let etcd = record.etcd.as_mut().expect("it is founded");
        etcd.restore = Some(EtcdRestore {
            backup: "namespace/id/name".to_owned(),
            snapshot: 9,
            target: etcd.incarnation + 1,
            stage: RestoreStage::Receive,
        });
        observed
    }

    /// Titles of what can be done now.
    fn due(plan: &Plan) -> Vec<&str> {
        let items = plan.items.iter();
        let due = items.filter(|it| matches!(it.state, ItemState::Due(_)));
        due.map(|it| &*it.title).collect()
    }

    #[test]
    fn etcd_changes_only_when_no_pod_of_the_control_plane_is_left() {
        let shoot = valid_for_tests(SHOOT);
        let running = begun(&shoot);
        let stop = restore(&shoot, &running);
        assert_eq!(due(&stop).len(), 5, "{:?}", due(&stop));
        assert!(due(&stop).iter().all(|it| it.starts_with("Stop ")));

        let stopped = with_stopped(running, &stop);
        let unlisted = restore(&shoot, &stopped);
        assert_eq!(due(&unlisted), [""; 0]);
        let terminating = with_pods(stopped.clone(), &[(part::API_SERVER, 1)]);
        assert_eq!(due(&restore(&shoot, &terminating)), [""; 0]);
        let gone = with_pods(stopped, &[]);
        assert_eq!(due(&restore(&shoot, &gone)), ["Deploy etcd"]);
    }
}
