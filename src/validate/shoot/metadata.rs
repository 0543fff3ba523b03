//! What the shoot is called, and the fields that every object has.

use jiff::Timestamp;

use crate::model::{FindingKind, Metadata};
use crate::validate::names;
use crate::validate::report::{FieldCursor, FindingSink};

/// On a Shoot, as Gardener has it, and on a record: when it may be deleted by whoever cleans up, in RFC 3339.
pub(crate) const EXPIRES: &str = "shoot.gardener.cloud/expiration-timestamp";

/// What every derived name leaves to the project and the shoot together.
const MOST_TOGETHER: usize = 21;

/// `metadata.namespace` without a leading `garden-`; `local` when absent.
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
    if length > MOST_TOGETHER {
        let message = format!(
            "has {length} characters together with the project {project}, more than {MOST_TOGETHER}"
        );
        report
            .error(at_name, FindingKind::TooLong, "metadata/too-long", message)
            .hint("names of machines are made of both, and have to fit in 63 characters");
    }
    names::check_labels(&at.key("labels"), &metadata.labels, report);
    let at_annotations = at.key("annotations");
    names::check_annotations(&at_annotations, &metadata.annotations, report);
    expiry(metadata, &at_annotations.key(EXPIRES), report);
}

/// Gardener's annotation says when the shoot may be deleted by whoever cleans up.
fn expiry(metadata: &Metadata, at: &FieldCursor, report: &mut FindingSink) {
    let Some(text) = metadata.annotations.get(EXPIRES) else {
        return;
    };
    if text.parse::<Timestamp>().is_err() {
        let message = format!("{text:?} is no time");
        report
            .error(at, FindingKind::Invalid, "metadata/expiration", message)
            .hint("write it by RFC 3339, such as 2026-12-24T18:00:00Z");
    }
}

fn part(text: &str, code: &'static str, at: &FieldCursor, report: &mut FindingSink) {
    if text.is_empty() {
        return;
    }
    if !names::is_dns_label(text) && text.len() <= names::MOST_NAME {
        let message = format!("{text:?} is no DNS label");
        report
            .error(at, FindingKind::Invalid, code, message)
            .hint(names::DNS_LABEL);
    } else if text.contains("--") {
        let message = format!("{text:?} has two - in a row");
        report
            .error(at, FindingKind::Invalid, code, message)
            .hint("-- parts the project from the name in the names of objects");
    }
}
