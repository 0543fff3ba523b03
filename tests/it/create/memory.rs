//! Time to create a large cluster.

use crate::support::cost;
use crate::support::provider::Provider;
use crate::support::shoots::Manifest;
use std::time::Duration;

/// The limit applies to an idle computer.
#[test]
#[ignore = "second tier: 60 machines take minutes"]
fn sixty_machines_are_ready_in_four_minutes() {
    let provider = Provider::new();
    let manifest = Manifest::named("sixty").with_size(60);
    let took = cost::timed_apply(&provider, &manifest);
    cost::control_plane_memory(&provider);
    assert!(took < Duration::from_secs(240), "{took:.1?}");
}
