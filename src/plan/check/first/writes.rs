//! What an action comes to: one write after the other, so that a run can be cut off between them.

use super::world::{NOW, World};
use crate::plan::pool::token;
use crate::render::instancetype;
use crate::state::action::{Action, Content, Issued, Leaf, Wanted};
use crate::state::desired;
use crate::state::facts::{Certificate, Fact, Import, Look, Machine, Rollout, Secret, Service};
use crate::state::hash::Hash;
use crate::state::key::{Key, Kind, Side};
use crate::state::names::SPEC_HASH;
use crate::state::site::NO_UID;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

const YEAR: i64 = 365 * 24 * 60 * 60;

pub(crate) enum Write {
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
    /// What kvshoot puts on a node.
    Node {
        name: Arc<str>,
        metadata: Arc<str>,
    },
    Gone {
        key: Key,
        uid: Arc<str>,
    },
}

impl World<'_> {
    /// # Errors
    ///
    /// Nothing of the kind has a place where everything is new.
    pub(crate) fn writes(&mut self, action: &Action) -> Result<Vec<Write>, String> {
        match action {
            Action::Apply(wanted) => self.applied(wanted),
            Action::Delete(it) if it.key.kind == Kind::Token => Ok(vec![Write::Gone {
                key: it.key.clone(),
                uid: it.uid.clone(),
            }]),
            Action::Delete(it) | Action::Drain(it) => Err(format!("{} has to go", it.key)),
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
            (Content::Bundle(_), _) => return Err(format!("{key} is nobody's here")),
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
            (Content::Metadata { .. }, _) => return Err(format!("{key} is made anew")),
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
        let golden = desired::golden(self.shoot, &self.truth, wants, zone);
        let networks = desired::attachments(self.shoot, &self.truth);
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
            types: instancetype::of_machine(self.shoot, &self.truth, wants),
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
                    return Err(format!("{} leads nowhere", leaf.common_name));
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
        match self.truth.objects.get(&root).map(|it| &it.fact) {
            Some(Fact::Secret(Secret {
                certificate: Some(it),
                ..
            })) => Ok(it.key),
            _ => Err(format!("{} has no root", leaf.common_name)),
        }
    }
}

/// An object of a component, as it is when it has just been made.
fn object(side: Side, object: &Value) -> Result<Write, String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &object["metadata"];
    let kind = Kind::generic(&text(&object["kind"])).expect("components hold nothing else");
    let name = match (side, metadata["namespace"].as_str()) {
        (Side::Shoot, Some(namespace)) => format!("{namespace}/{}", text(&metadata["name"])),
        _ => text(&metadata["name"]),
    };
    let written = object.to_string();
    if written.contains(NO_UID) || written.contains("0.0.0.0:6443") {
        return Err(format!("{kind} {name} is sent before all of it is known"));
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
        hash: hash.expect("every object has its hash on it"),
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
