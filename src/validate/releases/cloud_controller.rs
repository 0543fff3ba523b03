//! Feature gates of KubeVirt's cloud controller manager.

use std::collections::BTreeMap;

use crate::model::FindingKind;
use crate::validate::report::{FieldCursor, FindingSink};

/// Gates that the cloud controller manager registers. From the features of apiserver, component-base and
/// controller-manager in Kubernetes 1.26 and 1.27, which version 0.5.1 is built with: those that both have.
const KNOWN: [&str; 25] = [
    "APIListChunking",
    "APIPriorityAndFairness",
    "APIResponseCompression",
    "APIServerIdentity",
    "APIServerTracing",
    "AdvancedAuditing",
    "AggregatedDiscoveryEndpoint",
    "ComponentSLIs",
    "ContextualLogging",
    "CustomResourceValidationExpressions",
    "DryRun",
    "EfficientWatchResumption",
    "KMSv2",
    "LoggingAlphaOptions",
    "LoggingBetaOptions",
    "OpenAPIEnums",
    "OpenAPIV3",
    "RemainingItemCount",
    "RemoveSelfLink",
    "ServerSideApply",
    "ServerSideFieldValidation",
    "StorageVersionAPI",
    "StorageVersionHash",
    "ValidatingAdmissionPolicy",
    "WatchBookmark",
];

/// Gates of [`KNOWN`] that cannot be disabled.
const LOCKED: [&str; 8] = [
    "AdvancedAuditing",
    "DryRun",
    "EfficientWatchResumption",
    "OpenAPIV3",
    "RemoveSelfLink",
    "ServerSideApply",
    "ServerSideFieldValidation",
    "WatchBookmark",
];

const STAGES: [&str; 2] = ["AllAlpha", "AllBeta"];

/// Returns the gates that the cloud controller manager accepts, and warns about the others: it would exit at start, and
/// no node would become ready. Manifests for older versions set such gates, such as Gardener's own example.
pub(crate) fn known_gates(
    given: &BTreeMap<String, bool>,
    at: &FieldCursor,
    report: &mut FindingSink,
) -> BTreeMap<String, bool> {
    let mut accepted = BTreeMap::new();
    for (name, value) in given {
        let is_known = KNOWN.iter().chain(&STAGES).any(|it| it == name);
        let why = match is_known {
            false => "the cloud controller manager does not know it",
            true if LOCKED.contains(&name.as_str()) && !value => {
                "the cloud controller manager cannot disable it"
            }
            true => {
                accepted.insert(name.clone(), *value);
                continue;
            }
        };
        let message = format!("feature gate {name:?} is not set: {why}");
        let code = "control-plane/feature-gate";
        report
            .warning(&at.key(name), FindingKind::NotSupported, code, message)
            .hint("remove it");
    }
    accepted
}
