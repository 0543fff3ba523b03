//! Certificate signing requests of kubelets.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

/// The object, as far as plans depend on it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ObservedSigningRequest {
    pub(crate) uid: Arc<str>,
    pub(crate) request: Arc<KubeletRequest>,
}

/// The request of a kubelet, or of an attacker with its credentials. Only the user in it is trusted, which the API server
/// has authenticated.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KubeletRequest {
    pub(crate) signer: KubeletSigner,
    /// Authenticated user that created the request.
    pub(crate) username: Arc<str>,
    /// Seconds since 1970.
    pub(crate) created: i64,
    pub(crate) usages: BTreeSet<Arc<str>>,
    /// Requested lifetime in seconds.
    pub(crate) expiration: Option<i64>,
    /// Content of the PKCS#10 request, or why it is refused.
    pub(crate) content: Result<RequestedCertificate, Arc<str>>,
    pub(crate) decision: SigningDecision,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KubeletSigner {
    /// `kubernetes.io/kube-apiserver-client-kubelet`
    Client,
    /// `kubernetes.io/kubelet-serving`
    Serving,
}

impl KubeletSigner {
    /// None for signers that have nothing to do with kubelets.
    pub(crate) fn named(name: &str) -> Option<KubeletSigner> {
        match name {
            "kubernetes.io/kube-apiserver-client-kubelet" => Some(KubeletSigner::Client),
            "kubernetes.io/kubelet-serving" => Some(KubeletSigner::Serving),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RequestedCertificate {
    pub(crate) common_name: Arc<str>,
    pub(crate) organizations: Vec<Arc<str>>,
    pub(crate) dns_names: Vec<Arc<str>>,
    pub(crate) addresses: Vec<IpAddr>,
    /// Hash of the public key.
    pub(crate) key: Arc<str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SigningDecision {
    Pending,
    Approved,
    /// Denied, or failed at the signer.
    Refused,
}
