//! Objects of users that verify servers with a CA that is about to end.

use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::resources;
use crate::cluster::objects::ca_bundle::PartialBundleUser;
use crate::cluster::objects::core::secret::PartialSecret;
use crate::cluster::objects::reader::{read, read_valid};
use crate::pki::certificates;
use crate::state::names;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::ExposeSecret as _;
use std::collections::BTreeSet;

/// Part of the name of the Secret with the CA.
const CA: &str = "ca";

impl ApiClient {
    /// Names of webhook configurations, APIServices and CustomResourceDefinitions in a shoot that trust the old CA of a
    /// prepared rotation, and not the new one, such as `APIService v1.example.org`. None if no rotation is prepared.
    ///
    /// # Errors
    ///
    /// The shoot does not answer.
    pub(crate) async fn users_of_old_ca(&self, id: &str) -> Result<Vec<String>, Error> {
        let secret = names::control_plane(id, CA);
        let resource_ref = ResourceRef::one(&resources::SECRET, self.namespace(), &secret);
        let secret = self.get_secret(resource_ref).await?;
        let secret: PartialSecret = read(&resources::SECRET, &secret)?;
        let roots = ["old.crt", "tls.crt"].map(|key| secret.text(key));
        let [Some(old), Some(new)] = roots else {
            return Ok(Vec::new());
        };
        let [old, new] = [old, new].map(|it| certificates(it.expose_secret()));
        let shoot = self.shoot_client(id).await?;
        let mut found = Vec::new();
        for resource in [
            &resources::VALIDATING_WEBHOOK,
            &resources::MUTATING_WEBHOOK,
            &resources::API_SERVICE,
            &resources::CUSTOM_RESOURCE_DEFINITION,
        ] {
            let listed = shoot.list(ResourceRef::all(resource, None), None).await?;
            let users: Vec<PartialBundleUser> = read_valid(resource, &listed.items);
            let users = users.iter();
            let outdated = users.filter(|it| it.bundles().any(|it| is_outdated(it, &old, &new)));
            found.extend(outdated.map(|it| format!("{} {}", resource.kind, it.metadata.name)));
        }
        Ok(found)
    }
}

/// Returns true if a bundle, in base64, has a certificate of the old CA and none of the new one.
fn is_outdated(bundle: &str, old: &BTreeSet<Vec<u8>>, new: &BTreeSet<Vec<u8>>) -> bool {
    let Ok(pem) = STANDARD.decode(bundle) else {
        return false;
    };
    let trusted = certificates(&String::from_utf8_lossy(&pem));
    !trusted.is_disjoint(old) && trusted.is_disjoint(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pem(body: &str) -> String {
        format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n")
    }

    #[test]
    fn a_bundle_is_outdated_if_it_has_only_the_old_ca() {
        let (old, new) = (pem("b2xk\nb2xk"), pem("bmV3"));
        let sets = [&old, &new].map(|it| certificates(it));
        for (bundle, expected) in [
            (old.clone(), true),
            // With other line breaks, and another CA beside.
            (pem("b2xkb2xk") + &pem("b3RoZXI="), true),
            (format!("{old}{new}"), false),
            (new.clone(), false),
            (pem("b3RoZXI="), false),
            (String::new(), false),
        ] {
            let coded = STANDARD.encode(&bundle);
            assert_eq!(
                is_outdated(&coded, &sets[0], &sets[1]),
                expected,
                "{bundle}"
            );
        }
        assert!(!is_outdated("#", &sets[0], &sets[1]));
    }
}
