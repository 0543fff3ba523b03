//! The writes of an action, in order, so that a run can be interrupted between them.

use super::simulation::{NOW, Simulation};
use crate::plan::item::{Action, Content, Issued, Key, Kind, Leaf, Side, Wanted};
use crate::plan::names::SPEC_HASH;
use crate::plan::observed::{Certificate, Fact, Import, Look, Machine, Rollout, Secret, Service};
use crate::plan::{Hash, NO_UID, desired, token, types};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

const YEAR: i64 = 365 * 24 * 60 * 60;

pub(super) enum Write {
    Object {
        key: Key,
        hash: Hash,
        fact: Fact,
    },
    Record {
        name: Arc<str>,
        hash: Hash,
    },
    Machine {
        pool: Arc<str>,
        name: Arc<str>,
        machine: Box<Machine>,
    },
    /// Metadata that kvshoot sets on a node.
    Node {
        name: Arc<str>,
        metadata: Arc<str>,
    },
    Delete {
        key: Key,
        uid: Arc<str>,
    },
}

impl Simulation<'_> {
    /// # Errors
    ///
    /// Fails for an action that a first apply must not contain.
    pub(super) fn writes(&mut self, action: &Action) -> Result<Vec<Write>, String> {
        match action {
            Action::Apply(wanted) => self.applied(wanted),
            Action::Delete(it) if it.key.kind == Kind::Token => Ok(vec![Write::Delete {
                key: it.key.clone(),
                uid: it.uid.clone(),
            }]),
            Action::Delete(it) | Action::Drain(it) => Err(format!("{} is deleted", it.key)),
        }
    }

    fn applied(&mut self, wanted: &Wanted) -> Result<Vec<Write>, String> {
        let Wanted { key, hash, content } = wanted;
        let one = |key: Key, hash: Hash, fact: Fact| vec![Write::Object { key, hash, fact }];
        let token = |machine: &Arc<str>| one(token::key(machine), Hash(1), Fact::None);
        Ok(match (content, key.kind) {
            (Content::Objects(objects), _) => {
                let writes = objects.iter().map(|it| object(key.side, it));
                writes.collect::<Result<_, _>>()?
            }
            (Content::Bundle(_), _) => return Err(format!("{key} does not belong to this shoot")),
            (Content::Issue(issue), _) => {
                let fact = Fact::Secret(self.issued(&issue.what)?);
                one(key.clone(), *hash, fact)
            }
            (Content::Plain, Kind::Record) => vec![Write::Record {
                name: key.name.clone(),
                hash: *hash,
            }],
            (Content::Plain, Kind::Image) => {
                one(key.clone(), *hash, Fact::Image(Import::default()))
            }
            (Content::Plain, _) => one(key.clone(), *hash, Fact::None),
            (Content::UserData { .. }, _) => one(key.clone(), *hash, Fact::None),
            (Content::Token { machine }, _) => token(machine),
            (Content::Metadata { pool, .. }, Kind::Node) => vec![Write::Node {
                name: key.name.clone(),
                metadata: self.metadata(pool),
            }],
            (Content::Metadata { .. }, _) => return Err(format!("{key} is created again")),
            (
                Content::Machine {
                    pool,
                    zone,
                    ordinal,
                },
                _,
            ) => {
                let data = Key::provider(Kind::UserData, key.name.clone());
                let mut writes = one(data, *hash, Fact::None);
                writes.extend(token(&key.name));
                writes.push(self.machine(pool, key, *hash, (*zone, *ordinal)));
                writes
            }
        })
    }

    fn machine(
        &mut self,
        pool: &Arc<str>,
        key: &Key,
        hash: Hash,
        (zone, ordinal): (usize, u32),
    ) -> Write {
        let uid = self.next();
        let mut pools = self.shoot.pools.iter();
        let wants = pools.find(|it| *it.name == **pool);
        let wants = wants.expect("only pools of the manifest get machines");
        let golden = desired::golden(self.shoot, &self.actual, wants, zone);
        let networks = desired::attachments(self.shoot, &self.actual);
        let machine = Machine {
            version: uid.clone(),
            born: self.clock,
            uid,
            hash,
            zone,
            ordinal,
            look: Look::Coming,
            runs: false,
            evacuating: false,
            since: Duration::ZERO,
            image: golden.map(|it| it.name),
            networks: networks.into_iter().map(|it| it.reference).collect(),
            types: types::of_machine(self.shoot, &self.actual, wants),
            metadata: self.metadata(pool),
            status: "Provisioning".into(),
            cause: None,
        };
        Write::Machine {
            pool: pool.clone(),
            name: key.name.clone(),
            machine: Box::new(machine),
        }
    }

    fn issued(&mut self, what: &Issued) -> Result<Secret, String> {
        self.clock += 1;
        let key = Hash(self.clock);
        let certificate = match what {
            Issued::SigningKey | Issued::EncryptionKey => None,
            Issued::Root { .. } => Some((Vec::new(), key, 10)),
            Issued::Leaf(leaf) => {
                let kubeconfig = leaf.kubeconfig.as_deref().unwrap_or_default();
                if kubeconfig.contains("//0.0.0.0") {
                    return Err(format!("{} has no address", leaf.common_name));
                }
                Some((leaf.names.clone(), self.key_of(leaf)?, 1))
            }
        };
        let is_root = matches!(what, Issued::Root { .. });
        Ok(Secret {
            checksum: key,
            certificate: certificate.map(|(names, issuer, years)| Certificate {
                names: names.iter().map(|it| it.as_str().into()).collect(),
                key,
                issuer,
                issued: NOW - 300,
                expires: NOW + years * YEAR,
            }),
            ca: is_root.then(|| "PEM".into()),
        })
    }

    fn key_of(&self, leaf: &Leaf) -> Result<Hash, String> {
        let root = Key::provider(Kind::Secret, leaf.root.clone());
        match self.actual.objects.get(&root).map(|it| &it.fact) {
            Some(Fact::Secret(Secret {
                certificate: Some(it),
                ..
            })) => Ok(it.key),
            _ => Err(format!("{} has no CA", leaf.common_name)),
        }
    }
}

/// An object of a component in its initial state.
fn object(side: Side, object: &Value) -> Result<Write, String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &object["metadata"];
    let kind = Kind::generic(&text(&object["kind"])).expect("components consist of these kinds");
    let name = match (side, metadata["namespace"].as_str()) {
        (Side::Shoot, Some(namespace)) => format!("{namespace}/{}", text(&metadata["name"])),
        _ => text(&metadata["name"]),
    };
    let written = object.to_string();
    if written.contains(NO_UID) || written.contains("0.0.0.0:6443") {
        return Err(format!(
            "{kind} {name} is sent before all its values are known"
        ));
    }
    let spec = &object["spec"];
    let fact = match kind {
        Kind::Service => Fact::Service(service(spec)),
        Kind::Deployment | Kind::StatefulSet | Kind::DaemonSet => Fact::Rollout(Rollout {
            why: Some("0 of 1 pods are available".into()),
            available: 0,
        }),
        Kind::ApiService => Fact::Answer(Some("it has not been tried yet".into())),
        _ => Fact::None,
    };
    let hash = Hash::parse(&text(&metadata["annotations"][SPEC_HASH]));
    Ok(Write::Object {
        key: Key {
            side,
            kind,
            name: name.into(),
        },
        hash: hash.expect("every object carries its hash"),
        fact,
    })
}

fn service(spec: &Value) -> Service {
    let is_headless = spec["clusterIP"] == "None";
    let on_nodes = spec["type"] == "NodePort";
    let ports = spec["ports"].as_array().into_iter().flatten();
    let ports = ports.zip(30_001_u16..).filter(|_| on_nodes);
    Service {
        cluster_ip: (!is_headless).then(|| "10.43.0.7".into()),
        ingress: None,
        node_ports: ports
            .map(|(it, free)| {
                let given = it["nodePort"].as_u64().and_then(|it| it.try_into().ok());
                let name = it["name"].as_str().unwrap_or_default();
                (name.into(), given.unwrap_or(free))
            })
            .collect(),
    }
}
