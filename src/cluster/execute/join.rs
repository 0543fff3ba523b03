//! What lets a machine join: its user data, and the bootstrap token in it.

use super::executor::Performer;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::Place;
use crate::cluster::client::resources;
use crate::pki;
use crate::state::action::{Content, Wanted};
use crate::state::key::{Kind, Side};
use crate::state::names::{self, COMPONENT, TOKEN, role};
use base64::Engine as _;
use serde_json::{Value, json};

/// How long a token holds: longer than a machine may take, and not for ever.
const TOKEN_LIFE: i64 = 60 * 60;

impl Performer {
    /// Applies what a machine joins with, and leaves the rest of `objects`.
    ///
    /// The token is what stands in the Secret that is there, whoever wrote it: a machine may have read it already.
    pub(crate) async fn prepare(
        &self,
        wanted: &Wanted,
        objects: &[Value],
    ) -> Result<Vec<Value>, Error> {
        let machine = match &wanted.content {
            Content::Machine { .. } | Content::UserData { .. } => &wanted.key.name,
            Content::Token { machine } => machine,
            _ => return Ok(objects.to_vec()),
        };
        let mut rest = Vec::new();
        let mut token = None;
        for object in objects {
            let role = object["metadata"]["labels"][COMPONENT].as_str();
            match role {
                Some(role::USER_DATA) => self.write_user_data(machine, object).await?,
                Some(role::TOKEN) => token = Some(object),
                _ => rest.push(object.clone()),
            }
        }
        if let Some(token) = token {
            self.write_token(machine, token).await?;
        }
        Ok(rest)
    }

    async fn write_user_data(&self, machine: &str, object: &Value) -> Result<(), Error> {
        let source = (Side::Provider, Kind::UserData);
        if self.is_there(source, machine) {
            return Ok(());
        }
        let (_, secret) = pki::bootstrap_token().map_err(|source| Error::Keys {
            secret: machine.to_owned(),
            source,
        })?;
        let token = format!("{}.{secret}", names::token_id(machine));
        let mut object = object.clone();
        for field in object["stringData"]
            .as_object_mut()
            .into_iter()
            .flat_map(|it| it.values_mut())
        {
            let filled = field.as_str().map(|it| it.replace(TOKEN, &token));
            *field = json!(filled);
        }
        self.create(source, machine, &object).await
    }

    async fn write_token(&self, machine: &str, object: &Value) -> Result<(), Error> {
        let place = Place::one(&resources::SECRET, self.provider.namespace(), machine);
        let data = self.provider.get_secret(place).await?;
        let coded = data["data"]["token"].as_str().unwrap_or_default();
        let token = base64::engine::general_purpose::STANDARD
            .decode(coded)
            .ok()
            .and_then(|it| String::from_utf8(it).ok());
        let Some((id, secret)) = token.as_deref().and_then(|it| it.split_once('.')) else {
            let message = format!("Secret {machine} holds no bootstrap token; delete it");
            return Err(Error::Missing(message));
        };
        let now = self.provider.server_time().unwrap_or_default();
        let until = jiff::Timestamp::from_second(now + TOKEN_LIFE).unwrap_or_default();
        let mut object = object.clone();
        object["stringData"]["token-id"] = json!(id);
        object["stringData"]["token-secret"] = json!(secret);
        object["stringData"]["expiration"] = json!(until.to_string());
        let source = (Side::Shoot, Kind::Token);
        let name = crate::cluster::observe::parse::object::name_of(Side::Shoot, &object);
        match self.is_there(source, &name) {
            true => self.replace(source, &name, &object).await,
            false => self.create(source, &name, &object).await,
        }
    }
}
