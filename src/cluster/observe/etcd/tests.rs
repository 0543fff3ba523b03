use super::*;
use crate::cluster::objects::testing::object;
use crate::cluster::observe::parse::etcd::parse_command;
use serde_json::{Value, json};

const PEERS: &str = "a-etcd-peers.clusters.svc:2380";

fn command(cluster: &str, state: &str, directory: &str) -> Vec<String> {
    let flags = [
        "etcd".to_owned(),
        format!("--data-dir=/var/lib/etcd/{directory}"),
        format!("--initial-cluster={cluster}"),
        "--initial-cluster-token=uid".to_owned(),
        format!("--initial-cluster-state={state}"),
    ];
    flags.into()
}

#[test]
fn the_start_of_a_member_is_read_from_its_command() {
    let own = format!("$(POD_NAME)=https://$(POD_NAME).{PEERS}");
    let open = format!("a-etcd-1=https://a-etcd-1.{PEERS},other-0=https://a-etcd-0.{PEERS}");
    let all = format!("a-etcd-0=https://a-etcd-0.{PEERS},a-etcd-1=https://a-etcd-1.{PEERS}");
    for (cluster, state, directory, expected) in [
        (&own, "new", "0c1adef0-1", (EtcdStart::New, 1)),
        (&own, "existing", "0c1adef0-3", (EtcdStart::Sealed, 3)),
        (&open, "existing", "0c1adef0-1", (EtcdStart::Open(1), 1)),
        // Of an earlier release.
        (&all, "new", "data", (EtcdStart::New, 0)),
    ] {
        let command = command(cluster, state, directory);
        assert_eq!(parse_command(&command), expected, "{command:?}");
    }
    assert_eq!(parse_command(&[]), (EtcdStart::New, 0));
}

/// The container of a pod whose member ended with this code and message.
fn exit(code: i64, message: &str, is_running: bool) -> EtcdPod {
    let ended = json!({ "exitCode": code, "message": message });
    let state = match is_running {
        true => json!({ "running": {} }),
        false => json!({ "waiting": { "reason": "CrashLoopBackOff" } }),
    };
    let pod: PartialPod = object(json!({
        "metadata": { "name": "a-etcd-1" },
        "status": { "containerStatuses": [{
            "name": "etcd", "state": state, "lastState": { "terminated": ended },
        }] },
    }));
    parse_pod(&pod).expect("a member").1
}

/// The messages are those of etcd 3.6.8.
#[test]
fn lost_data_are_read_from_the_last_exit() {
    for (code, message, expected) in [
        (
            1,
            "cannot fetch cluster info from peer urls: could not retrieve cluster information from the given URLs",
            EtcdExit::Empty,
        ),
        (
            1,
            "couldn't find local name \"a-etcd-1\" in the initial cluster configuration",
            EtcdExit::Empty,
        ),
        (
            1,
            "member 8e9e05c52164694d has already been bootstrapped",
            EtcdExit::Empty,
        ),
        (
            2,
            "tocommit(193) is out of range [lastIndex(0)]",
            EtcdExit::OldCopy,
        ),
        (
            1,
            "the member has been permanently removed from the cluster",
            EtcdExit::Removed,
        ),
        (0, "", EtcdExit::Removed),
        (
            137,
            "a\nout of memory",
            EtcdExit::Other("out of memory".into()),
        ),
    ] {
        for is_running in [true, false] {
            let pod = exit(code, message, is_running);
            assert_eq!(pod.exit.as_ref(), Some(&expected), "{message}");
            assert_eq!(pod.runs, is_running);
        }
    }
}

#[test]
fn members_are_those_of_the_pods_in_their_urls() {
    let list = |members: Value| {
        let list =
            json!({ "header": { "cluster_id": "10590781745069811414" }, "members": members });
        parse_members(&list)
    };
    let url = |ordinal: u32| format!("https://a-etcd-{ordinal}.{PEERS}");
    let members = list(json!([
        { "ID": "18", "name": "a-etcd-0", "peerURLs": [url(0)], "clientURLs": [] },
        { "ID": "19", "peerURLs": [url(2)], "isLearner": true },
    ]));
    let members = members.expect("members");
    assert_eq!(&*members.cluster_id, "10590781745069811414");
    assert_eq!(members.voters(), [0]);
    let (ordinal, learner) = members.learner().expect("a learner");
    assert_eq!(
        (ordinal, &*learner.id, learner.has_started),
        (2, "19", false)
    );
    assert_eq!(members.replicas(), 3);
    let foreign = list(json!([{ "ID": "18", "peerURLs": ["https://192.0.2.1:2380"] }]));
    assert!(foreign.is_err());
}
