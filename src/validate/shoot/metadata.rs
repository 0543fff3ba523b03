//! Name, labels and annotations of the shoot.

use jiff::Timestamp;

use crate::model::{FindingKind, Metadata};
use crate::validate::names;
use crate::validate::report::{FieldCursor, FindingSink};

/// Annotation with the expiry, in RFC 3339; on a Shoot, as in Gardener, and on a record.
pub(crate) const EXPIRES: &str = "shoot.gardener.cloud/expiration-timestamp";

/// Maximum length of project and shoot name together, so that derived names fit.
const MAX_TOGETHER: usize = 21;

/// `metadata.namespace` without the prefix `garden-`; `local` when absent.
pub(crate) fn project(metadata: &Metadata) -> &str {
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    match namespace.strip_prefix("garden-").unwrap_or(namespace) {
        "" => "local",
        project => project,
    }
}

pub(crate) fn id(metadata: &Metadata) -> String {
    format!("shoot--{}--{}", project(metadata), metadata.name)
}

pub(crate) fn check(metadata: &Metadata, at: &FieldCursor, report: &mut FindingSink) {
    let project = project(metadata);
    let (at_name, at_namespace) = (&at.key("name"), &at.key("namespace"));
    part(&metadata.name, "metadata/name", at_name, report);
    part(project, "metadata/project", at_namespace, report);
    let length = project.len() + metadata.name.len();
    if length > MAX_TOGETHER {
        let message = format!(
            "must be at most {MAX_TOGETHER} characters together with project {project:?} (is {length})"
        );
        report
            .error(at_name, FindingKind::TooLong, "metadata/too-long", message)
            .hint("machine names contain both and are limited to 63 characters");
    }
    names::check_labels(&at.key("labels"), &metadata.labels, report);
    let at_annotations = at.key("annotations");
    names::check_annotations(&at_annotations, &metadata.annotations, report);
    expiry(metadata, &at_annotations.key(EXPIRES), report);
    without_effect(metadata, &at_annotations, report);
}

/// Annotations that Gardener writes itself, so that manifests copied out of it get no warnings.
const OF_SERVERS: [&str; 2] = ["gardener.cloud/created-by", "gardener.cloud/timestamp"];

/// Reasons of annotations whose absence is noticed; others are just not read.
const REASONS: [(&str, &str); 4] = [
    (OPERATION, "run `kvshoot apply`, which reconciles"),
    (
        "maintenance.shoot.gardener.cloud/operation",
        "run `kvshoot upgrade`, which updates at once",
    ),
    (
        "confirmation.gardener.cloud/deletion",
        "`kvshoot delete` asks, or takes --confirm",
    ),
    (
        "shoot.gardener.cloud/ignore",
        "run `kvshoot apply` only when you want to reconcile",
    ),
];

const OPERATION: &str = "gardener.cloud/operation";

/// Operations that end in `-start` or `-complete`.
const ROTATIONS: [&str; 4] = [
    "rotate-credentials",
    "rotate-ca",
    "rotate-serviceaccount-key",
    "rotate-etcd-encryption-key",
];

fn is_rotation(operation: &str) -> bool {
    let name = operation.strip_suffix("-start");
    let name = name.or_else(|| operation.strip_suffix("-complete"));
    name.is_some_and(|it| ROTATIONS.contains(&it))
}

/// Warns about each annotation of Gardener that kvshoot does not read.
fn without_effect(metadata: &Metadata, at: &FieldCursor, report: &mut FindingSink) {
    for key in metadata.annotations.keys() {
        let domain = key.split_once('/').map_or("", |it| it.0);
        let is_of_gardener = domain == "gardener.cloud" || domain.ends_with(".gardener.cloud");
        if !is_of_gardener || key == EXPIRES || OF_SERVERS.contains(&key.as_str()) {
            continue;
        }
        if key == OPERATION && is_rotation(&metadata.annotations[key]) {
            continue;
        }
        let why = match metadata.annotations[key].as_str() {
            operation if key == OPERATION && operation != "reconcile" && operation != "retry" => {
                format!("kvshoot has no operation {operation:?}")
            }
            _ => {
                let why = REASONS.iter().find(|it| it.0 == key);
                why.map_or("kvshoot does not read it", |it| it.1).to_owned()
            }
        };
        report.warning(
            &at.key(key),
            FindingKind::NotSupported,
            "metadata/no-effect",
            format!("has no effect: {why}"),
        );
    }
}

/// Checks the expiry annotation.
fn expiry(metadata: &Metadata, at: &FieldCursor, report: &mut FindingSink) {
    let Some(text) = metadata.annotations.get(EXPIRES) else {
        return;
    };
    if text.parse::<Timestamp>().is_err() {
        let message = format!("{text:?} is not a valid timestamp");
        report
            .error(at, FindingKind::Invalid, "metadata/expiration", message)
            .hint("use RFC 3339, for example 2026-12-24T18:00:00Z");
    }
}

fn part(text: &str, code: &'static str, at: &FieldCursor, report: &mut FindingSink) {
    if text.is_empty() {
        return;
    }
    if !names::is_dns_label(text) && text.len() <= names::MAX_NAME {
        let message = format!("{text:?} is not a valid DNS label");
        report
            .error(at, FindingKind::Invalid, code, message)
            .hint(names::DNS_LABEL);
    } else if text.contains("--") {
        let message = format!("{text:?} must not contain two consecutive hyphens");
        report
            .error(at, FindingKind::Invalid, code, message)
            .hint("-- separates the project from the name in object names");
    }
}
