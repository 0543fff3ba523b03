//! The rules as a person sees them: a change to a valid manifest in, lines of `path kind: message` out.

use super::testing::{SHOOT, valid_for_tests};

#[test]
fn a_good_manifest_becomes_a_valid_shoot() {
    let shoot = valid_for_tests(SHOOT);
    assert_eq!(shoot.id, "shoot--dev--demo");
    assert_eq!(shoot.kubernetes, "1.34.2");
    assert_eq!(shoot.networking.pods, "100.96.0.0/11");
    let pool = &shoot.pools[0];
    assert_eq!(
        pool.image.url,
        "https://images.example.org/ubuntu-24.04.img"
    );
    assert_eq!(pool.root.class, "standard-rwo");
    assert_eq!(shoot.manifest.spec.kubernetes.version, "1.34.2");
}
