//! Fields directly below `spec`, and the provider type.

use crate::model::{FindingKind, Shoot};
use crate::validate::context::Input;
use crate::validate::names;
use crate::validate::profile::index::ProfileIndex;
use crate::validate::report::{FieldCursor, FindingSink};
use crate::validate::rules::not_found;

const PURPOSES: [&str; 4] = ["evaluation", "testing", "development", "production"];

pub(crate) fn check(
    input: &Input,
    index: &ProfileIndex,
    at: &FieldCursor,
    report: &mut FindingSink,
) {
    let shoot = input.shoot;
    provider(input, at, report);
    profile_name(shoot, at, report);
    bindings(shoot, at, report);
    region(input, index, &at.key("region"), report);
    if let Some(purpose) = shoot
        .spec
        .purpose
        .as_deref()
        .filter(|it| !PURPOSES.contains(it))
    {
        report
            .error(
                &at.key("purpose"),
                FindingKind::NotSupported,
                "shoot/purpose",
                format!("unsupported value {purpose:?}"),
            )
            .hint(format!("supported values: {}", PURPOSES.join(", ")));
    }
}

fn provider(input: &Input, at: &FieldCursor, report: &mut FindingSink) {
    let given = input.shoot.spec.provider.type_.as_str();
    let offered = input.profile.spec.type_.as_str();
    let at = &at.key("provider");
    let at = &at.key("type");
    if given.is_empty() {
        return;
    }
    if given != "kubevirt" {
        report
            .error(
                at,
                FindingKind::NotSupported,
                "shoot/provider-type",
                format!("unsupported value {given:?}"),
            )
            .hint("supported values: kubevirt");
    } else if given != offered && !offered.is_empty() {
        let profile = FieldCursor::root(crate::model::DocumentKind::CloudProfile);
        report
            .error(
                at,
                FindingKind::Invalid,
                "shoot/provider-of-profile",
                format!(
                    "must be {offered:?}, the provider type of the CloudProfile (is {given:?})"
                ),
            )
            .see(&profile.key("spec").key("type"), "defined here");
    }
}

/// Name of the CloudProfile, from either field.
pub(crate) fn profile_named(shoot: &Shoot) -> Option<&str> {
    let reference = shoot.spec.cloud_profile.as_ref();
    let modern = reference
        .map(|it| it.name.as_str())
        .filter(|it| !it.is_empty());
    let older = shoot
        .spec
        .cloud_profile_name
        .as_deref()
        .filter(|it| !it.is_empty());
    modern.or(older)
}

fn profile_name(shoot: &Shoot, at: &FieldCursor, report: &mut FindingSink) {
    let older = shoot
        .spec
        .cloud_profile_name
        .as_deref()
        .filter(|it| !it.is_empty());
    let Some(reference) = &shoot.spec.cloud_profile else {
        if older.is_none() {
            report
                .error(
                    &at.key("cloudProfileName"),
                    FindingKind::Required,
                    "shoot/profile-name",
                    "is required",
                )
                .hint("set the name of a CloudProfile");
        }
        return;
    };
    let at_reference = &at.key("cloudProfile");
    if let Some(kind) = reference.kind.as_deref().filter(|it| *it != "CloudProfile") {
        report
            .error(
                &at_reference.key("kind"),
                FindingKind::NotSupported,
                "shoot/profile-kind",
                format!("unsupported value {kind:?}"),
            )
            .hint("supported values: CloudProfile");
    }
    if let Some(older) = older.filter(|it| *it != reference.name) {
        report
            .error(
                &at.key("cloudProfileName"),
                FindingKind::Invalid,
                "shoot/two-profiles",
                format!(
                    "{older:?} differs from cloudProfile.name {:?}",
                    reference.name
                ),
            )
            .see(&at_reference.key("name"), "set here")
            .hint("remove one of them");
    }
}

fn bindings(shoot: &Shoot, at: &FieldCursor, report: &mut FindingSink) {
    let is_set = |it: &Option<String>| it.as_ref().is_some_and(|it| !it.is_empty());
    if is_set(&shoot.spec.secret_binding_name) && is_set(&shoot.spec.credentials_binding_name) {
        report
            .error(
                &at.key("secretBindingName"),
                FindingKind::Forbidden,
                "shoot/two-bindings",
                "cannot be combined with credentialsBindingName",
            )
            .see(&at.key("credentialsBindingName"), "set here")
            .hint("remove one of them");
    }
}

fn region(input: &Input, index: &ProfileIndex, at: &FieldCursor, report: &mut FindingSink) {
    let region = input.shoot.spec.region.as_str();
    if !names::is_label_value(region) {
        report
            .error(
                at,
                FindingKind::Invalid,
                "shoot/region",
                format!("{region:?} is not a valid region name"),
            )
            .hint(names::LABEL_VALUE);
        return;
    }
    let is_unchanged = input.previous.is_some_and(|it| it.spec.region == region);
    if index.region.is_none() && !is_unchanged {
        let regions = input.profile.spec.regions.iter();
        not_found(
            at,
            "shoot/region-not-offered",
            "region",
            region,
            &index.title(),
            regions.map(|it| it.name.as_str()),
            report,
        );
    }
}
