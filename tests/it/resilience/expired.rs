//! A shoot whose certificates have all expired.

use crate::support::provider::certificates::Certificates;
use crate::support::provider::{POD, Provider};
use crate::support::shoot_api::ShootApi;
use crate::support::shoots::Manifest;
use jiff::civil::date;
use std::time::Duration;

const NAME: &str = "stale";

/// Lets all certificates of the control plane expire, and restarts it. Returns how many there are.
fn expire_all(provider: &Provider) -> usize {
    let certificates = Certificates::of(provider);
    for leaf in &certificates.leaves {
        certificates.replace(provider, leaf, date(2020, 1, 2), date(2021, 1, 2));
    }
    for pod in provider.names(POD) {
        if !pod.starts_with("virt-launcher") {
            provider.delete(POD, &pod);
        }
    }
    certificates.leaves.len()
}

#[test]
#[ignore = "second tier: restarts a whole control plane that cannot start; unit tests renew each certificate"]
fn one_apply_renews_a_control_plane_whose_certificates_have_all_expired() {
    let provider = Provider::new();
    let manifest = Manifest::small(NAME);
    provider.assert_applied(&manifest, "created");
    let kvshoot = provider.kvshoot_with(&manifest);
    let old = ShootApi::connect(&provider, &kvshoot, NAME);
    assert_eq!(expire_all(&provider), 11);
    let limit = Duration::from_secs(5);
    provider.wait_for("an API server that is not trusted", |_| {
        !old.responds("/api/v1/nodes", limit)
    });
    let status = kvshoot.run(&format!("status {NAME}"));
    assert_eq!(status.code, 1, "{status}");
    assert!(status.out.contains("has expired"), "{status}");

    provider.assert_applied(&manifest, "configured");
    assert!(old.responds("/api/v1/nodes", Duration::from_secs(60)));
    let healthy = kvshoot.run(&format!("wait {NAME} --timeout 3m"));
    assert_eq!(healthy.code, 0, "{healthy}");
    provider.assert_unchanged(&manifest);
    provider.assert_deleted(NAME);
}
