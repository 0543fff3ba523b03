//! A shoot that was not touched for longer than its certificates are valid.

use crate::support::provider::{Provider, SECRET, VM};
use crate::support::shoot_api::ShootApi;
use crate::support::shoots::Manifest;
use std::time::Duration;

const NAME: &str = "stale";

#[test]
#[ignore = "second tier: a sandbox of its own; unit tests renew each certificate"]
fn one_apply_renews_a_cluster_that_was_not_touched_for_a_year() {
    let provider = Provider::with_clock();
    let manifest = Manifest::small(NAME);
    provider.assert_applied(&manifest, "created");
    let kvshoot = provider.kvshoot_with(&manifest);
    let of_control_plane = || {
        let names = provider.names(SECRET).into_iter();
        names
            .filter(|it| !it.contains("-worker-"))
            .collect::<Vec<_>>()
    };
    let (secrets, machines) = (of_control_plane(), provider.names(VM));
    let now = provider.move_clock("--forward 400d");
    assert!(now.contains(", 400d ahead of this computer\n"), "{now}");
    let sandbox = provider.status();
    assert!(
        sandbox.contains(", 400d ahead of this computer\n"),
        "{sandbox}"
    );

    let status = kvshoot.run(&format!("status {NAME}"));
    assert_eq!(status.code, 1, "{status}");
    assert!(status.out.contains("has expired"), "{status}");
    provider.assert_applied(&manifest, "configured");
    assert_eq!(of_control_plane(), secrets);
    // Its kubelet had certificates for 30 days, and cannot ask for others.
    assert_ne!(provider.names(VM), machines);
    let api = ShootApi::connect(&provider, &kvshoot, NAME);
    assert!(api.responds("/api/v1/nodes", Duration::from_secs(60)));
    let healthy = kvshoot.run(&format!("wait {NAME} --timeout 3m"));
    assert_eq!(healthy.code, 0, "{healthy}");
    // A kubectl with the clock of this computer would reject the new certificates.
    let nodes = kvshoot.run(&format!("exec {NAME} -- kubectl get nodes -o name"));
    assert!(nodes.code == 0 && nodes.out.starts_with("node/"), "{nodes}");
    provider.assert_unchanged(&manifest);
    provider.assert_deleted(NAME);
}
