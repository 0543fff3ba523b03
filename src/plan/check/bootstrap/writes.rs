//! The writes of an action, in order, so that a run can be interrupted between them.

use super::world::{NOW, World};
use crate::plan::pool::token;
use crate::render::control_plane::etcd::EtcdShape;
use crate::render::instancetype;
use crate::state::action::{Action, Desired, KeyMaterial, LeafCertificate, Payload};
use crate::state::desired;
use crate::state::facts::{
    EtcdStart, ImageImport, MachinePhase, ObjectStatus, ObservedCertificate, ObservedMachine,
    ObservedSecret, ObservedService, Rollout,
};
use crate::state::hash::Hash;
use crate::state::key::{ClusterSide, ObjectKey, ObjectKind};
use crate::state::names::SPEC_HASH;
use crate::state::record::etcd::EtcdRecord;
use crate::state::site::NO_UID;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

const YEAR: i64 = 365 * 24 * 60 * 60;

pub(crate) enum Write {
    Object {
        key: ObjectKey,
        hash: Hash,
        fact: ObjectStatus,
    },
    Record {
        name: Arc<str>,
        hash: Hash,
    },
    Machine {
        pool: Arc<str>,
        name: Arc<str>,
        machine: Box<ObservedMachine>,
    },
    /// Metadata that kvshoot sets on a node.
    Node {
        name: Arc<str>,
        metadata: Arc<str>,
    },
    Gone {
        key: ObjectKey,
        uid: Arc<str>,
    },
    Etcd(EtcdWrite),
}

/// A write that etcd or its pods depend on.
pub(crate) enum EtcdWrite {
    Shape(EtcdShape),
    /// The API server, with the number of members that it knows.
    Client(u32),
    Restart(u32),
    Record(EtcdRecord),
}

impl World<'_> {
    /// # Errors
    ///
    /// Fails for an action that a first apply must not contain.
    pub(crate) fn writes(&mut self, action: &Action) -> Result<Vec<Write>, String> {
        match action {
            Action::Apply(wanted) => self.applied(wanted),
            Action::Delete(it) if it.key.kind == ObjectKind::BootstrapToken => {
                Ok(vec![Write::Gone {
                    key: it.key.clone(),
                    uid: it.uid.clone(),
                }])
            }
            Action::Delete(it) if it.key.kind == ObjectKind::Pod => {
                let ordinal = it
                    .key
                    .name
                    .rsplit('-')
                    .next()
                    .and_then(|it| it.parse().ok());
                let ordinal = ordinal.ok_or("it is not a member of etcd")?;
                Ok(vec![Write::Etcd(EtcdWrite::Restart(ordinal))])
            }
            Action::Delete(it) | Action::Drain(it) => Err(format!("{} is deleted", it.key)),
        }
    }

    fn applied(&mut self, wanted: &Desired) -> Result<Vec<Write>, String> {
        let Desired {
            key,
            hash,
            payload: content,
        } = wanted;
        let one = |key: ObjectKey, hash: Hash, fact: ObjectStatus| {
            vec![Write::Object { key, hash, fact }]
        };
        let token = |machine: &Arc<str>| one(token::key(machine), Hash(1), ObjectStatus::None);
        Ok(match (content, key.kind) {
            (Payload::Objects(objects), _) => {
                let writes = objects.iter().map(|it| object(key.side, it));
                let mut writes: Vec<Write> = writes.collect::<Result<_, _>>()?;
                writes.extend(objects.iter().filter_map(etcd_write).map(Write::Etcd));
                writes
            }
            (Payload::Manifests(_), _) => {
                return Err(format!("{key} does not belong to this shoot"));
            }
            (Payload::Issue(issue), _) => {
                let fact = ObjectStatus::Secret(self.issued(&issue.what)?);
                one(key.clone(), *hash, fact)
            }
            (Payload::Plain, ObjectKind::Record) => vec![Write::Record {
                name: key.name.clone(),
                hash: *hash,
            }],
            (Payload::Plain, ObjectKind::ImageVolume) => one(
                key.clone(),
                *hash,
                ObjectStatus::Image(ImageImport::default()),
            ),
            (Payload::Plain, _) => one(key.clone(), *hash, ObjectStatus::None),
            (Payload::UserData { .. }, _) => one(key.clone(), *hash, ObjectStatus::None),
            (Payload::Token { machine }, _) => token(machine),
            (Payload::Metadata { pool, .. }, ObjectKind::Node) => vec![Write::Node {
                name: key.name.clone(),
                metadata: self.metadata(pool),
            }],
            (Payload::EtcdRecord(etcd), _) => vec![Write::Etcd(EtcdWrite::Record(etcd.clone()))],
            (
                Payload::Decision(_)
                | Payload::Rotation(_)
                | Payload::Hibernation(_)
                | Payload::Repair(_)
                | Payload::Halt(_)
                | Payload::Migrate { .. }
                | Payload::CancelEvacuation { .. }
                | Payload::Start { .. }
                | Payload::Etcd(_),
                _,
            ) => {
                return Err(format!("{key} is not simulated"));
            }
            (Payload::Metadata { .. }, _) => return Err(format!("{key} is created again")),
            (
                Payload::Machine {
                    pool,
                    zone,
                    ordinal,
                },
                _,
            ) => {
                let data = ObjectKey::provider(ObjectKind::UserData, key.name.clone());
                let mut writes = one(data, *hash, ObjectStatus::None);
                writes.extend(token(&key.name));
                writes.push(self.machine(pool, key, *hash, (*zone, *ordinal)));
                writes
            }
        })
    }

    fn machine(
        &mut self,
        pool: &Arc<str>,
        key: &ObjectKey,
        hash: Hash,
        (zone, ordinal): (usize, u32),
    ) -> Write {
        let uid = self.next();
        let mut pools = self.shoot.pools.iter();
        let wants = pools.find(|it| *it.name == **pool);
        let wants = wants.expect("only pools of the manifest get machines");
        let golden = desired::image_volume(self.shoot, &self.truth, wants, zone);
        let networks = desired::attachments(self.shoot, &self.truth);
        let rotation = self.truth.record.as_ref().map(|it| &it.rotation);
        let content = desired::pool_hashes(self.shoot, wants, &networks, rotation).content;
        let machine = ObservedMachine {
            version: uid.clone(),
            born: self.clock,
            uid,
            hash,
            content: Some(content),
            zone,
            ordinal,
            phase: MachinePhase::Provisioning,
            runs: false,
            sleep: Default::default(),
            halted_at: None,
            evacuation: None,
            since: Duration::ZERO,
            unschedulable_since: None,
            image: golden.map(|it| it.name),
            networks: networks.into_iter().map(|it| it.reference).collect(),
            types: instancetype::of_machine(self.shoot, &self.truth, wants),
            metadata: self.metadata(pool),
            status: "Provisioning".into(),
            cause: None,
            placement: Default::default(),
            instance: Default::default(),
        };
        Write::Machine {
            pool: pool.clone(),
            name: key.name.clone(),
            machine: Box::new(machine),
        }
    }

    fn issued(&mut self, what: &KeyMaterial) -> Result<ObservedSecret, String> {
        self.clock += 1;
        let key = Hash(self.clock);
        let certificate = match what {
            KeyMaterial::SigningKey(_) | KeyMaterial::EncryptionKey(_) => None,
            KeyMaterial::Root { .. } => Some((Vec::new(), key, 10)),
            KeyMaterial::Leaf(leaf) => {
                let kubeconfig = leaf.kubeconfig.as_deref().unwrap_or_default();
                if kubeconfig.contains("//0.0.0.0") {
                    return Err(format!("{} has no address", leaf.common_name));
                }
                Some((leaf.names.clone(), self.key_of(leaf)?, 1))
            }
        };
        let is_root = matches!(what, KeyMaterial::Root { .. });
        Ok(ObservedSecret {
            checksum: key,
            certificate: certificate.map(|(names, issuer, years)| ObservedCertificate {
                names: names.iter().map(|it| it.as_str().into()).collect(),
                key,
                issuer,
                issued: NOW - 300,
                expires: NOW + years * YEAR,
            }),
            previous: None,
            ca: is_root.then(|| "PEM".into()),
        })
    }

    fn key_of(&self, leaf: &LeafCertificate) -> Result<Hash, String> {
        let root = ObjectKey::provider(ObjectKind::Secret, leaf.root.clone());
        match self.truth.objects.get(&root).map(|it| &it.status) {
            Some(ObjectStatus::Secret(ObservedSecret {
                certificate: Some(it),
                ..
            })) => Ok(it.key),
            _ => Err(format!("{} has no CA", leaf.common_name)),
        }
    }
}

/// An object of a component in its initial state.
fn object(side: ClusterSide, object: &Value) -> Result<Write, String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &object["metadata"];
    let kind =
        ObjectKind::generic(&text(&object["kind"])).expect("components consist of these kinds");
    let name = match (side, metadata["namespace"].as_str()) {
        (ClusterSide::Shoot, Some(namespace)) => format!("{namespace}/{}", text(&metadata["name"])),
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
        ObjectKind::Service => ObjectStatus::Service(service(spec)),
        ObjectKind::Deployment | ObjectKind::StatefulSet | ObjectKind::DaemonSet => {
            ObjectStatus::Rollout(Rollout {
                why: Some("0 of 1 pods available".into()),
                available: 0,
                etcd: None,
            })
        }
        ObjectKind::ApiService => ObjectStatus::Answer(Some("it has not been tried yet".into())),
        _ => ObjectStatus::None,
    };
    let hash = Hash::parse(&text(&metadata["annotations"][SPEC_HASH]));
    Ok(Write::Object {
        key: ObjectKey {
            side,
            kind,
            name: name.into(),
        },
        hash: hash.expect("every object carries its hash"),
        fact,
    })
}

/// What etcd gets to know by an object of a component.
fn etcd_write(object: &Value) -> Option<EtcdWrite> {
    let command = object["spec"]["template"]["spec"]["containers"][0]["command"].as_array()?;
    let flag = |name: &str| {
        let mut flags = command.iter().filter_map(Value::as_str);
        flags.find_map(|it| it.strip_prefix(name))
    };
    if let Some(servers) = flag("--etcd-servers=") {
        let members = servers.split(',').count();
        return Some(EtcdWrite::Client(members as u32));
    }
    let start = match flag("--initial-cluster-state=")? {
        "new" => EtcdStart::New,
        _ => EtcdStart::Sealed,
    };
    Some(EtcdWrite::Shape(EtcdShape {
        replicas: object["spec"]["replicas"].as_u64()? as u32,
        start,
        voters: Vec::new(),
        incarnation: 1,
        snapshot: 0,
    }))
}

fn service(spec: &Value) -> ObservedService {
    let is_headless = spec["clusterIP"] == "None";
    let on_nodes = spec["type"] == "NodePort";
    let ports = spec["ports"].as_array().into_iter().flatten();
    let ports = ports.zip(30_001_u16..).filter(|_| on_nodes);
    ObservedService {
        cluster_ip: (!is_headless).then(|| "10.43.0.7".into()),
        ingress: None,
        node_ports: ports
            .map(|(port, free)| {
                let given = port["nodePort"].as_u64().and_then(|it| it.try_into().ok());
                let name = port["name"].as_str().unwrap_or_default();
                (name.into(), given.unwrap_or(free))
            })
            .collect(),
    }
}
