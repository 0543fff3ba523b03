//! Approval and denial of the kubelets' certificate signing requests.

use super::executor::Executor;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::resources;
use crate::cluster::objects::reader::read;
use crate::cluster::objects::signing_request::PartialSigningRequest;
use crate::cluster::observe::parse::signing_request::parse_signing_request;
use crate::state::action::Decision;
use crate::state::facts::SigningDecision;
use crate::state::facts::certificate_judgment::{Verdict, judge};
use crate::state::key::{ClusterSide, ObjectKey};
use serde_json::{Value, json};

/// Reason in the condition.
const REASON: &str = "KvshootJudgment";

impl Executor {
    /// Writes the decision, after the request was read and judged again.
    ///
    /// A request that is gone or decided counts as done.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if the judgment is another one by now.
    pub(crate) async fn decide(&self, key: &ObjectKey, decision: &Decision) -> Result<(), Error> {
        let scope = (ClusterSide::Shoot, key.kind);
        let client = self.client(ClusterSide::Shoot)?;
        let resource_ref = ResourceRef {
            name: Some(&key.name),
            ..ResourceRef::all(&resources::SIGNING_REQUEST, None)
        };
        let existing = match client.get(resource_ref).await {
            Err(Error::NotFound { .. }) => {
                self.forget(key, &decision.uid);
                return Ok(());
            }
            other => other?,
        };
        self.store_object(scope, &existing)?;
        let request: PartialSigningRequest = read(&resources::SIGNING_REQUEST, &existing)?;
        if request.metadata.uid != *decision.uid {
            return Ok(());
        }
        let Some(parsed) = parse_signing_request(&request) else {
            return Ok(());
        };
        if parsed.decision != SigningDecision::Pending {
            return Ok(());
        }
        let judged = judge(&key.name, &parsed, &self.observer.store.latest());
        let denied = match judged {
            Some((machine, Verdict::Approve)) if machine == decision.machine => None,
            Some((machine, Verdict::Deny(reason))) if machine == decision.machine => Some(reason),
            _ => {
                return Err(Error::Conflict {
                    what: resource_ref.request_info("update"),
                });
            }
        };
        if denied.is_some() != decision.denied.is_some() {
            return Err(Error::Conflict {
                what: resource_ref.request_info("update"),
            });
        }
        let decided = with_condition(existing, denied.as_deref());
        let limit = self.write_timeout()?;
        match client
            .replace_subresource(resource_ref, "approval", &decided, limit)
            .await
        {
            Ok(answer) => self.store_object(scope, &answer),
            Err(Error::NotFound { .. }) => {
                self.forget(key, &decision.uid);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

fn with_condition(mut request: Value, denied: Option<&str>) -> Value {
    let condition = match denied {
        None => json!({
            "type": "Approved", "status": "True", "reason": REASON,
            "message": "name, addresses and credentials are those of one machine",
        }),
        Some(why) => json!({
            "type": "Denied", "status": "True", "reason": REASON, "message": why,
        }),
    };
    // Pending requests have no conditions.
    request["status"]["conditions"] = json!([condition]);
    request
}
