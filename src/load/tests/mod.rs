//! Whole files: texts in, lines of `file:line:column path kind: message` out.

mod credentials;
mod every_field;
mod every_field_values;
mod fuzz;
mod hostile;
mod machine_deployments;
mod speed;
mod unaffected;

use super::{BindingLookup, LastApplied, LoadContext, Loaded, judge, recorded_shoot};
use crate::manifest::{Manifest, Problem};
use crate::model::Shoot;
use crate::state::json::to_yaml;
use crate::state::record::{self, manifest_of, used_part, written};
use crate::ui::problems;
use crate::validate::testing::{PROFILE, SHOOT, read, today, valid_for_tests};
use crate::validate::{Input, validate};
use std::sync::Arc;

pub(super) fn load(files: &[(&str, &str)]) -> Loaded {
    load_with(files, &[], None)
}

/// `last` is the record of the Shoot `demo`.
pub(super) fn load_with(
    files: &[(&str, &str)],
    profiles: &[(&str, &str)],
    last: Option<LastApplied>,
) -> Loaded {
    let own = |(name, text): &(&str, &str)| ((*name).to_owned(), text.as_bytes().to_vec());
    let records = last.map(|it| ("shoot--dev--demo".to_owned(), it));
    let context = LoadContext {
        profiles: profiles.iter().map(own).collect(),
        records: records.into_iter().collect(),
        bindings: BindingLookup::Required,
        ..LoadContext::at(today())
    };
    judge(Manifest::parse(files.iter().map(own)), &context)
}

pub(super) fn lines(loaded: &Loaded) -> String {
    let sources = loaded.manifest.sources();
    let line = |problem: &Problem| {
        let place = problem.span.map_or_else(String::new, |place| {
            let source = &sources[place.source as usize];
            let (line, column) = source.line_column(place.start);
            format!("{}:{line}:{column} ", source.name)
        });
        format!(
            "{place}{} {:?}: {}\n",
            problem.path, problem.kind, problem.message
        )
    };
    let warnings = loaded
        .manifest
        .warnings()
        .iter()
        .map(|it| format!("warning: {}", line(it)));
    loaded
        .manifest
        .problems()
        .iter()
        .map(line)
        .chain(warnings)
        .collect()
}

#[test]
fn a_profile_is_found_among_the_files_in_the_configuration_and_in_the_record() {
    let shoot = [("s.yaml", SHOOT)];
    let both = [("s.yaml", SHOOT), ("p.yaml", PROFILE)];
    assert_eq!(lines(&load(&both)), "");
    assert_eq!(load(&both).shoots.len(), 1);
    assert_eq!(
        lines(&load_with(
            &shoot,
            &[("broken.yaml", "a: ["), ("p.yaml", PROFILE)],
            None
        )),
        ""
    );
    let recorded = valid_for_tests(SHOOT);
    let last = (Shoot::clone(&recorded.manifest), recorded.profile.clone());
    assert_eq!(lines(&load_with(&shoot, &[], Some(last))), "");
    assert_eq!(
        lines(&load(&shoot)),
        "s.yaml:7:21 spec.cloudProfileName Required: CloudProfile \"kubevirt\" not found\n"
    );
}

#[test]
fn without_a_profile_the_rest_is_judged() {
    let text = SHOOT
        .replace("maximum: 1", "maximum: 0")
        .replace("20Gi", "20G");
    let loaded = load(&[("s.yaml", &text)]);
    assert!(loaded.shoots.is_empty());
    assert_eq!(
        lines(&loaded),
        "s.yaml:7:21 spec.cloudProfileName Required: CloudProfile \"kubevirt\" not found\n\
         s.yaml:16:5 spec.provider.workers Forbidden: no pool has machines\n\
         s.yaml:20:16 spec.provider.workers[0].maximum Forbidden: must be at least 1, the minimum (is 0)\n\
         s.yaml:21:38 spec.provider.workers[0].volume.size Invalid: \"20G\" is not a whole number of Gi\n"
    );
}

#[test]
fn shoots_and_profiles_with_the_same_name_are_duplicates() {
    let text = format!("{SHOOT}---\n{SHOOT}---\n{PROFILE}---\n{PROFILE}");
    assert_eq!(
        lines(&load(&[("s.yaml", &text)])),
        "s.yaml:27:9 metadata.name Duplicate: Shoot \"demo\" is defined more than once\n\
         s.yaml:113:9 metadata.name Duplicate: CloudProfile \"kubevirt\" is defined more than once\n"
    );
}

#[test]
fn consequences_of_a_broken_field_are_not_reported() {
    let text = SHOOT
        .replace("volume:", "volum:")
        .replace("minimum: 1", "minimum: one");
    assert_eq!(
        lines(&load(&[("s.yaml", &text), ("p.yaml", PROFILE)])),
        "s.yaml:19:16 spec.provider.workers[0].minimum Invalid: expected an integer, found a string\n\
         s.yaml:21:7 spec.provider.workers[0].volum Unknown: unknown field \"volum\"\n"
    );
}

#[test]
fn an_error_inside_a_block_is_shown_there() {
    let networks = "    type: kubevirt\n    infrastructureConfig:\n      apiVersion: kubevirt.provider.extensions.gardener.cloud/v1alpha1\n      kind: InfrastructureConfig\n      networks:\n        tenantNetworks:\n        - name: a\n          config: |\n            {\n              \"cniVersion\" \"0.4.0\"\n            }\n";
    let text = SHOOT.replace("    type: kubevirt\n", networks);
    assert_eq!(
        lines(&load(&[("s.yaml", &text), ("p.yaml", PROFILE)])),
        "s.yaml:24:28 spec.provider.infrastructureConfig.networks.tenantNetworks[0].config Invalid: not valid JSON: expected `:`\n"
    );
}

#[test]
fn each_field_without_effect_gets_a_warning_with_its_reason() {
    let text = SHOOT.replace(
        "  region",
        "  dns: {domain: a.example.org}\n  seedName: b\n  region",
    ) + "status: {a: b}\n";
    assert_eq!(
        lines(&load(&[("s.yaml", &text), ("p.yaml", PROFILE)])),
        "warning: s.yaml:8:3 spec.dns NotSupported: has no effect: kvshoot creates no DNS records for the cluster\n\
         warning: s.yaml:9:3 spec.seedName NotSupported: has no effect: kvshoot has no seed clusters\n"
    );
}

/// A Secret with a kubeconfig that clients accept.
const IN_STRING_DATA: &str = "stringData: {kubeconfig: \"{clusters: [{name: c, cluster: {server: 'https://192.0.2.1'}}], contexts: [{name: c, context: {cluster: c}}], current-context: c}\"}";

/// A Shoot with a SecretBinding to a Secret of that content.
fn with_secret(content: &str) -> String {
    let shoot = SHOOT.replace("  region", "  secretBindingName: b\n  region");
    format!(
        "{shoot}---\napiVersion: core.gardener.cloud/v1beta1\nkind: SecretBinding\nmetadata: {{name: b}}\nsecretRef: {{name: s}}\n---\napiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\n{content}\n---\n{PROFILE}"
    )
}

#[test]
fn the_secret_of_a_binding_holds_a_kubeconfig() {
    for (content, expected) in [
        (IN_STRING_DATA, ""),
        (
            "data: {kubeconfig: Y2x1c3RlcnM6IFt7bmFtZTogYywgY2x1c3Rlcjoge3NlcnZlcjogJ2h0dHBzOi8vMTkyLjAuMi4xJ319XQpjb250ZXh0czogW3tuYW1lOiBjLCBjb250ZXh0OiB7Y2x1c3RlcjogY319XQpjdXJyZW50LWNvbnRleHQ6IGMK}",
            "",
        ),
        ("data: {other: YQ==}", "Required: is required"),
        (
            "data: {kubeconfig: '...'}",
            "Invalid: is not base64-encoded text",
        ),
        (
            "stringData: {kubeconfig: a}",
            "Invalid: is not a kubeconfig",
        ),
    ] {
        let reported = lines(&load(&[("s.yaml", &with_secret(content))]));
        assert!(
            reported.trim_end().ends_with(expected) && reported.is_empty() == expected.is_empty(),
            "{reported}"
        );
    }
}

#[test]
fn nothing_of_a_secret_is_shown() {
    for content in [
        "stringData: {kubeconfig: hunter2}",
        "stringData:\n  kubeconfig: hunter2\n  a: 12345678\n  hunter2 # no colon",
        "data: {a: hunter2, kubeconfig: [hunter2]}",
        "stringData: {a: 0x12345678}",
        "immutable: hunter2\ntype: 12345678",
    ] {
        let loaded = load(&[("s.yaml", &with_secret(content))]);
        let (errors, sources) = (loaded.manifest.problems(), loaded.manifest.sources());
        assert!(!errors.is_empty(), "{content}");
        let text = problems::all_as_text(errors, &[], sources, false, 100);
        let json = problems::json(errors, &[], sources).to_string();
        for shown in [&text, &json] {
            assert!(
                !shown.contains("hunter2") && !shown.contains("12345678"),
                "{shown}"
            );
        }
    }
}

/// `SNAPSHOTS=overwrite cargo test` writes the files.
#[test]
fn every_problem_is_reported_as_text_and_as_json() {
    let shoot = SHOOT
        .replace("minimum: 1", "minimum: 3")
        .replace("type: small", "type: huge")
        .replace("version: \"1.34\"", "version: 1.34");
    let profile = PROFILE.replace("memory: 32Gi", "memory: 8Gi");
    let loaded = load(&[("shoot.yaml", &shoot), ("cloudprofile.yaml", &profile)]);
    let manifest = &loaded.manifest;
    let (errors, warnings, sources) =
        (manifest.problems(), manifest.warnings(), manifest.sources());
    snapbox::assert_data_eq!(
        problems::all_as_text(errors, warnings, sources, false, 100),
        snapbox::file!["../../../tests/golden/validate/problems.txt"].raw()
    );
    snapbox::assert_data_eq!(
        format!("{:#}\n", problems::json(errors, warnings, sources)),
        snapbox::file!["../../../tests/golden/validate/problems.json"].raw()
    );
}

#[test]
fn a_broken_profile_does_not_make_its_offers_missing() {
    let profile = PROFILE.replace("machineTypes:", "machinTypes:");
    let reported = lines(&load(&[("s.yaml", SHOOT), ("p.yaml", &profile)]));
    assert!(reported.contains("machinTypes"), "{reported}");
    assert!(!reported.contains("not offered"), "{reported}");
}

#[test]
fn a_network_without_manifests_is_told_where_it_is_judged() {
    let judged = |type_: &str, profile: &str, addons: Option<&[&str]>| {
        let shoot = SHOOT.replace("type: calico", &format!("type: {type_}"));
        let files = [("s.yaml", shoot.as_str()), ("p.yaml", profile)];
        let files = files.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()));
        let addons = addons.map(|it| it.iter().map(|it| (*it).to_owned()).collect());
        let context = LoadContext {
            addons,
            ..LoadContext::at(today())
        };
        lines(&judge(Manifest::parse(files), &context))
    };
    let manifests = format!(
        "kind: CloudProfileConfig\n    networkManifests: [{{type: calico, url: 'https://a/b', digest: '{}'}}]\n",
        "0".repeat(64)
    );
    let offered = PROFILE.replacen("kind: CloudProfileConfig\n", &manifests, 1);
    for (type_, profile, addons) in [
        ("flannel", PROFILE, Some(&[][..])),
        ("none", PROFILE, Some(&[])),
        ("calico", PROFILE, Some(&["calico"])),
        ("calico", &offered, Some(&[])),
        ("calico", PROFILE, None),
    ] {
        assert_eq!(judged(type_, profile, addons), "", "{type_} {addons:?}");
    }
    assert_eq!(
        judged("nonsense", &offered, Some(&["cilium"])),
        "s.yaml:10:11 spec.networking.type NotSupported: no manifests for network \"nonsense\"\n"
    );
}

/// An apply may use what only the last CloudProfile has; its record has to be readable without that one.
#[test]
fn a_record_can_be_read_although_the_profile_lost_what_its_pools_use() {
    let (shoot, profile) = read(SHOOT);
    let before = valid_for_tests(SHOOT);
    let mut small = profile.clone();
    small
        .spec
        .kubernetes
        .versions
        .retain(|it| it.version != before.kubernetes);
    small.spec.machine_types.retain(|it| it.name != "small");
    small.spec.volume_types.retain(|it| it.name != "standard");
    let version = &before.pools[0].image.version;
    for image in &mut small.spec.machine_images {
        image.versions.retain(|it| it.version != *version);
    }
    for image in &mut small.spec.provider_config.machine_images {
        image.versions.retain(|it| it.version != *version);
    }
    let after = validate(&Input {
        shoot: &Arc::new(shoot),
        profile: &small,
        previous: Some(&before.manifest),
        previous_profile: Some(&before.profile),
        now: today(),
    });
    let after = after.shoot.expect("unchanged values stay valid");
    let data = [
        (record::SHOOT, manifest_of(&after.manifest)),
        (record::PROFILE, written(&used_part(&after.profile, &after))),
    ];
    let data = data
        .into_iter()
        .map(|(key, it)| (key.to_owned(), to_yaml(&it)));
    let read = recorded_shoot(&after.id, &data.collect(), today()).expect("it can be read");
    assert_eq!(read.pools, after.pools);
}
