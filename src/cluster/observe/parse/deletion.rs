//! What somebody deleted and is still there.
use crate::cluster::json::{arc, items};
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Going {
    /// As the server wrote it down.
    since: Arc<str>,
    finalizers: Arc<[Arc<str>]>,
}

impl Going {
    /// None of what is to stay.
    pub(crate) fn of(object: &Value) -> Option<Going> {
        let metadata = &object["metadata"];
        let since = metadata["deletionTimestamp"].as_str()?;
        Some(Going {
            since: since.into(),
            finalizers: items(&metadata["finalizers"]).iter().map(arc).collect(),
        })
    }

    /// By somebody who has nothing to do with Kubernetes and KubeVirt.
    pub(crate) fn is_kept(&self) -> bool {
        self.finalizers.iter().any(|it| is_foreign(it))
    }
}

impl fmt::Display for Going {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "deleted at {}", self.since)?;
        if !self.finalizers.is_empty() {
            write!(f, ", kept by {}", self.finalizers.join(", "))?;
        }
        Ok(())
    }
}

/// Whether a finalizer is none of those that Kubernetes, KubeVirt and CDI put on and take off by themselves.
pub(crate) fn is_foreign(finalizer: &str) -> bool {
    const PLAIN: [&str; 3] = [
        "foregroundDeletion",
        "orphan",
        "foregroundDeleteVirtualMachine",
    ];
    const DOMAINS: [&str; 3] = ["kubernetes.io", "k8s.io", "kubevirt.io"];
    let domain = finalizer.split_once('/').map_or("", |it| it.0);
    let is_in = |it: &str| domain == it || domain.ends_with(&format!(".{it}"));
    !PLAIN.contains(&finalizer) && !DOMAINS.into_iter().any(is_in)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finalizers_of_kubernetes_and_kubevirt_go_by_themselves() {
        let all = [
            ("foregroundDeleteVirtualMachine", false),
            ("kubevirt.io/virtualMachineControllerFinalize", false),
            ("cdi.kubevirt.io/dataVolumeFinalizer", false),
            ("kubernetes.io/pvc-protection", false),
            ("example.com/hold", true),
            ("hold", true),
        ];
        for (name, expected) in all {
            assert_eq!(is_foreign(name), expected, "{name}");
        }
    }
}
