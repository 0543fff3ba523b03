//! Deletion of objects that still exist.
use crate::cluster::objects::metadata::PartialObjectMeta;
use std::fmt;
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Deletion {
    /// Timestamp as written by the server.
    since: Arc<str>,
    finalizers: Arc<[Arc<str>]>,
}

impl Deletion {
    /// None if the object is not being deleted.
    pub(crate) fn of(metadata: &PartialObjectMeta) -> Option<Deletion> {
        let finalizers = metadata.finalizers.iter();
        Some(Deletion {
            since: metadata.deletion_timestamp.as_deref()?.into(),
            finalizers: finalizers.map(|it| it.as_str().into()).collect(),
        })
    }

    /// True if a finalizer of a third party holds the object.
    pub(crate) fn is_blocked(&self) -> bool {
        self.finalizers.iter().any(|it| is_foreign_finalizer(it))
    }
}

impl fmt::Display for Deletion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "deleted at {}", self.since)?;
        if !self.finalizers.is_empty() {
            write!(f, ", held by finalizer {}", self.finalizers.join(", "))?;
        }
        Ok(())
    }
}

/// True unless the finalizer is one that Kubernetes, KubeVirt or CDI sets and removes itself.
pub(crate) fn is_foreign_finalizer(finalizer: &str) -> bool {
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
    fn finalizers_of_kubernetes_and_kubevirt_are_not_foreign() {
        let all = [
            ("foregroundDeleteVirtualMachine", false),
            ("kubevirt.io/virtualMachineControllerFinalize", false),
            ("cdi.kubevirt.io/dataVolumeFinalizer", false),
            ("kubernetes.io/pvc-protection", false),
            ("example.com/hold", true),
            ("hold", true),
        ];
        for (name, expected) in all {
            assert_eq!(is_foreign_finalizer(name), expected, "{name}");
        }
    }
}
