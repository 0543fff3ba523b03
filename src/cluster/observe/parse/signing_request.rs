//! Parsing of the kubelets' certificate signing requests.

use crate::cluster::objects::signing_request::PartialSigningRequest;
use crate::pki::SigningRequestInfo;
use crate::state::facts::{KubeletRequest, KubeletSigner, RequestedCertificate, SigningDecision};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::sync::Arc;

/// Largest field `spec.request` that is decoded, in characters of base64.
const MAX_REQUEST: usize = 32 * 1024;

/// None for requests to signers that have nothing to do with kubelets.
pub(crate) fn parse_signing_request(request: &PartialSigningRequest) -> Option<KubeletRequest> {
    let spec = &request.spec;
    let conditions = &request.status.conditions;
    let has = |kind: &str| conditions.iter().any(|it| it.kind == kind);
    Some(KubeletRequest {
        signer: KubeletSigner::named(&spec.signer_name)?,
        username: spec.username.as_str().into(),
        created: request.metadata.created().unwrap_or_default(),
        usages: spec.usages.iter().map(|it| it.as_str().into()).collect(),
        expiration: spec.expiration_seconds,
        content: parse_content(&spec.request).map_err(Into::into),
        decision: match (has("Denied") || has("Failed"), has("Approved")) {
            (true, _) => SigningDecision::Refused,
            (false, true) => SigningDecision::Approved,
            (false, false) => SigningDecision::Pending,
        },
    })
}

fn parse_content(base64: &str) -> Result<RequestedCertificate, String> {
    if base64.len() > MAX_REQUEST {
        return Err("the request is larger than 32 KiB".into());
    }
    let pem = STANDARD.decode(base64);
    let pem = pem.map_err(|_| "the request is not base64")?;
    let info = SigningRequestInfo::parse(&pem).map_err(|it| it.to_string())?;
    let texts = |all: &[String]| all.iter().map(|it| Arc::from(it.as_str())).collect();
    Ok(RequestedCertificate {
        common_name: info.common_name.as_str().into(),
        organizations: texts(&info.organizations),
        dns_names: texts(&info.dns_names),
        addresses: info.addresses,
        key: info.pin.as_str().into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::objects::testing::object;
    use serde_json::{Value, json};

    fn parsed(spec: Value, conditions: &[&str]) -> Option<KubeletRequest> {
        let conditions: Vec<Value> = conditions.iter().map(|it| json!({ "type": it })).collect();
        parse_signing_request(&object(json!({
            "metadata": { "name": "csr-1", "creationTimestamp": "2026-01-02T00:00:01Z" },
            "spec": spec,
            "status": { "conditions": conditions },
        })))
    }

    #[test]
    fn requests_to_other_signers_are_not_parsed() {
        let spec = json!({ "signerName": "example.com/own", "request": "" });
        assert_eq!(parsed(spec, &[]), None);
    }

    #[test]
    fn a_request_has_a_decision_and_a_malformed_one_a_reason() {
        let spec = |request: &str| {
            json!({
                "signerName": "kubernetes.io/kubelet-serving",
                "username": "system:node:m-0",
                "usages": ["server auth", "digital signature"],
                "expirationSeconds": 600,
                "request": request,
            })
        };
        for (conditions, decision) in [
            (&[][..], SigningDecision::Pending),
            (&["Approved"], SigningDecision::Approved),
            (&["Denied"], SigningDecision::Refused),
            (&["Approved", "Failed"], SigningDecision::Refused),
        ] {
            let request = parsed(spec(""), conditions).expect("a kubelet's request");
            assert_eq!(request.decision, decision, "{conditions:?}");
        }
        let long = "A".repeat(MAX_REQUEST + 1);
        for (text, reason) in [
            ("", "not PEM"),
            ("!", "base64"),
            (long.as_str(), "32 KiB"),
            ("LS0t", "not PEM"),
        ] {
            let request = parsed(spec(text), &[]).expect("a kubelet's request");
            assert_eq!(request.signer, KubeletSigner::Serving);
            assert_eq!(request.expiration, Some(600));
            assert_eq!(request.usages.len(), 2);
            let why = request.content.expect_err("malformed");
            assert!(why.contains(reason), "{why}");
        }
    }
}
