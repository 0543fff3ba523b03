//! Secrets that let a machine join: its user data and the bootstrap token in it.

use super::executor::Executor;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::resources;
use crate::cluster::objects::core::secret::PartialSecret;
use crate::cluster::objects::reader::read;
use crate::pki;
use crate::state::action::{Desired, Payload};
use crate::state::json::SecretJson;
use crate::state::key::{ClusterSide, ObjectKind};
use crate::state::names::{self, COMPONENT, TOKEN, role};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use zeroize::Zeroizing;

/// Lifetime of a token in seconds: longer than a machine needs to join.
const TOKEN_LIFETIME: i64 = 60 * 60;

impl Executor {
    /// Writes the Secrets that a machine joins with, and returns the remaining objects.
    ///
    /// The token is that of an existing Secret, if any: a machine may have read it already.
    pub(crate) async fn write_join_secrets(
        &self,
        wanted: &Desired,
        objects: Vec<Value>,
    ) -> Result<Vec<Value>, Error> {
        let machine = match &wanted.payload {
            Payload::Machine { .. } | Payload::UserData { .. } => &wanted.key.name,
            Payload::Token { machine } => machine,
            _ => return Ok(objects),
        };
        let mut rest = Vec::new();
        let mut token = None;
        for object in objects {
            let role = object["metadata"]["labels"][COMPONENT].as_str();
            match role {
                Some(role::USER_DATA) => self.write_user_data(machine, &object).await?,
                Some(role::TOKEN) => token = Some(object),
                _ => rest.push(object),
            }
        }
        if let Some(token) = token {
            self.write_token(machine, &token).await?;
        }
        Ok(rest)
    }

    async fn write_user_data(&self, machine: &str, object: &Value) -> Result<(), Error> {
        let scope = (ClusterSide::Provider, ObjectKind::UserData);
        if self.exists(scope, machine) {
            return Ok(());
        }
        let (_, secret) = pki::bootstrap_token().map_err(|source| Error::Certificate {
            secret: machine.to_owned(),
            source,
        })?;
        let id = names::token_id(machine);
        let token = Zeroizing::new(format!("{id}.{}", secret.expose_secret()));
        let mut object = SecretJson::from(object.clone());
        for field in object["stringData"]
            .as_object_mut()
            .into_iter()
            .flat_map(|it| it.values_mut())
        {
            let filled = field.as_str().map(|it| it.replace(TOKEN, &token));
            *field = json!(filled);
        }
        self.create(scope, machine, &object).await
    }

    async fn write_token(&self, machine: &str, object: &Value) -> Result<(), Error> {
        let resource_ref = ResourceRef::one(&resources::SECRET, self.provider.namespace(), machine);
        let existing = self.provider.get_secret(resource_ref).await?;
        let existing: PartialSecret = read(&resources::SECRET, &existing)?;
        let token = existing.text("token");
        let token = token.as_ref().map(|it| it.expose_secret());
        let Some((id, secret)) = token.and_then(|it| it.split_once('.')) else {
            let message =
                format!("Secret {machine} has no bootstrap token; delete it to have it recreated");
            return Err(Error::Missing(message));
        };
        let now = self.provider.server_time().unwrap_or_default();
        let until = jiff::Timestamp::from_second(now + TOKEN_LIFETIME).unwrap_or_default();
        let mut object = SecretJson::from(object.clone());
        object["stringData"]["token-id"] = json!(id);
        object["stringData"]["token-secret"] = json!(secret);
        object["stringData"]["expiration"] = json!(until.to_string());
        let scope = (ClusterSide::Shoot, ObjectKind::BootstrapToken);
        let name = crate::cluster::observe::parse::object::key_name(ClusterSide::Shoot, &object);
        match self.exists(scope, &name) {
            true => self.replace(scope, &name, &object).await,
            false => self.create(scope, &name, &object).await,
        }
    }
}
