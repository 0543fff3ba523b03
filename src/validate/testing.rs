//! Manifests for tests, here and in other modules.

use super::{Input, ValidShoot, ValidationOutcome, validate};
use crate::manifest::{Content, Manifest};
use crate::model::{CloudProfile, Shoot};

/// A small CloudProfile with two images, two machine types and three zones.
pub(crate) const PROFILE: &str = include_str!("testing/cloudprofile.yaml");

/// A minimal Shoot that is valid against it.
pub(crate) const SHOOT: &str = include_str!("testing/shoot.yaml");

/// A Shoot that uses most fields, valid against it too.
pub(crate) const WIDE: &str = include_str!("testing/wide.yaml");

/// The time of all tests.
pub(crate) fn today() -> jiff::Timestamp {
    jiff::Timestamp::from_second(1_767_225_600).expect("the first of January 2026")
}

/// The Shoot and the CloudProfile of a text; [`PROFILE`] if it has none.
pub(crate) fn read(yaml: &str) -> (Shoot, CloudProfile) {
    let files = [("test.yaml", yaml), ("profile.yaml", PROFILE)];
    let files = files.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()));
    let manifest = Manifest::parse(files);
    assert_eq!(
        manifest.problems(),
        [],
        "the manifest of a test must be readable"
    );
    let mut contents = manifest.documents().map(|(_, content)| content);
    let shoot = contents.find_map(|content| match content {
        Content::Shoot(shoot) => Some(shoot.as_ref().clone()),
        _ => None,
    });
    let mut contents = manifest.documents().map(|(_, content)| content);
    let profile = contents.find_map(|content| match content {
        Content::CloudProfile(profile) => Some(profile.as_ref().clone()),
        _ => None,
    });
    (shoot.expect("a Shoot"), profile.expect("a CloudProfile"))
}

/// Validates a text.
pub(crate) fn verdict(yaml: &str) -> ValidationOutcome {
    let (shoot, profile) = read(yaml);
    validate(&Input {
        shoot: &std::sync::Arc::new(shoot),
        profile: &profile,
        previous: None,
        previous_profile: None,
        now: today(),
    })
}

/// The Shoot of a valid text, which may contain a CloudProfile as a second document.
pub(crate) fn valid_for_tests(yaml: &str) -> ValidShoot {
    let verdict = verdict(yaml);
    assert_eq!(verdict.errors, [], "the manifest of a test must be valid");
    verdict.shoot.expect("there are no errors")
}
