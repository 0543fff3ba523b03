//! The members of etcd, for `kvshoot status -o wide`.

use crate::state::facts::{EtcdMember, EtcdPod, ObservedEtcd};
use crate::ui::{count, format_size};

/// A line for etcd, and one for each member.
pub(super) fn lines(etcd: &ObservedEtcd) -> Vec<String> {
    let mut lines = vec![match &etcd.membership {
        Ok(membership) => {
            let voters = count(membership.voters().len(), "member");
            let leader = leader(etcd).map_or_else(
                || "no leader".to_owned(),
                |it| format!("member {it} is the leader"),
            );
            format!("{voters}, {leader}")
        }
        Err(why) => why.to_string(),
    }];
    let members = etcd.membership.iter().flat_map(|it| &it.members);
    lines.extend(members.map(|(ordinal, member)| {
        let pod = etcd.pods.get(ordinal);
        format!("member {ordinal}: {}", describe(member, pod))
    }));
    lines
}

/// The member that most members follow.
fn leader(etcd: &ObservedEtcd) -> Option<u32> {
    let statuses = etcd.pods.values().filter_map(|it| it.status.as_ref());
    let leader = statuses.filter_map(|it| it.leader.as_ref()).next()?;
    let members = &etcd.membership.as_ref().ok()?.members;
    let (ordinal, _) = members.iter().find(|it| it.1.id == *leader)?;
    Some(*ordinal)
}

fn describe(member: &EtcdMember, pod: Option<&EtcdPod>) -> String {
    let joins = if member.is_learner { "joining, " } else { "" };
    let Some(status) = pod.and_then(|it| it.status.as_ref()) else {
        return format!("{joins}no answer");
    };
    let (size, in_use) = (format_size(status.size), format_size(status.size_in_use));
    let alarms = match status.errors.join(", ") {
        none if none.is_empty() => "no alarms".to_owned(),
        alarms => alarms,
    };
    format!(
        "{joins}database {size}, {in_use} in use, revision {}, {alarms}",
        status.revision
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::facts::{EtcdMembership, EtcdStart, EtcdStatus};
    use std::sync::Arc;
    use std::time::Duration;

    fn pod(leader: Option<&str>, errors: &[&str]) -> EtcdPod {
        EtcdPod {
            uid: "uid".into(),
            version: "1".into(),
            revision: "latest".into(),
            start: EtcdStart::Sealed,
            is_ready: true,
            is_leaving: false,
            runs: true,
            exit: None,
            load_error: None,
            status: Some(EtcdStatus {
                cluster_id: "7".into(),
                member_id: "10".into(),
                leader: leader.map(Into::into),
                revision: 42,
                applied: 5,
                size: 20 << 20,
                size_in_use: 11 << 20,
                errors: errors.iter().map(|it| (*it).into()).collect(),
            }),
        }
    }

    fn member(id: &str, is_learner: bool) -> EtcdMember {
        EtcdMember {
            id: id.into(),
            is_learner,
            has_started: true,
        }
    }

    fn observed(membership: Result<EtcdMembership, Arc<str>>) -> ObservedEtcd {
        ObservedEtcd {
            at: Duration::ZERO,
            pods: [
                (0, pod(Some("11"), &[])),
                (1, pod(Some("11"), &["alarm:NOSPACE"])),
            ]
            .into(),
            membership,
            ..ObservedEtcd::nothing()
        }
    }

    #[test]
    fn each_member_has_its_database_and_alarms() {
        let membership = EtcdMembership {
            cluster_id: "7".into(),
            members: [
                (0, member("10", false)),
                (1, member("11", false)),
                (2, member("12", true)),
            ]
            .into(),
        };
        assert_eq!(
            lines(&observed(Ok(membership))),
            [
                "2 members, member 1 is the leader",
                "member 0: database 20 MiB, 11 MiB in use, revision 42, no alarms",
                "member 1: database 20 MiB, 11 MiB in use, revision 42, alarm:NOSPACE",
                "member 2: joining, no answer",
            ]
        );
        let silent = observed(Err("no member of etcd answers".into()));
        assert_eq!(lines(&silent), ["no member of etcd answers"]);
    }
}
