//! Execution of single actions; the result is stored before it is returned.

use super::adopt::{Adoption, classify, merge_onto, with_preconditions};
use super::machine::migrations::Migrations;
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::{ResourceRef, WRITE_TIMEOUT};
use crate::cluster::client::resources::ResourceScope;
use crate::cluster::client::resources::{self, Resource};
use crate::cluster::json::text;
use crate::cluster::lock::fence::Fence;
use crate::cluster::objects::condition::PartialCondition;
use crate::cluster::objects::core::node::PartialNode;
use crate::cluster::objects::kubevirt::virtual_machine::PartialVirtualMachine;
use crate::cluster::objects::metadata::{PartialObject, PartialObjectMeta};
use crate::cluster::objects::reader::read;
use crate::cluster::observe::parse::object;
use crate::cluster::observe::parse::types;
use crate::cluster::observer::Observer;
use crate::state::action::{DeleteTarget, Desired, Payload, RenderedAction};
use crate::state::facts::ObservedRecord;
use crate::state::json::SecretJson;
use crate::state::key::{ClusterSide, ObjectKey, ObjectKind};
use crate::state::names;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

const RECORD_SCOPE: ResourceScope = (ClusterSide::Provider, ObjectKind::Record);

/// Executes the actions of one run, in the provider cluster and the shoot.
pub(crate) struct Executor {
    pub(crate) provider: ApiClient,
    pub(crate) observer: Arc<Observer>,
    /// Value of the annotation on machines that this run chose to remove.
    pub(crate) run_id: Arc<str>,
    pub(crate) fence: Fence,
    pub(crate) migrations: Migrations,
}

/// Returns true if the next step of etcd depends on the result of an action.
fn is_about_etcd(action: &RenderedAction) -> bool {
    let (key, payload) = match action {
        RenderedAction::Apply(desired, _) => (&desired.key, Some(&desired.payload)),
        RenderedAction::Delete(target) | RenderedAction::Drain(target) => (&target.key, None),
    };
    let is_request = matches!(payload, Some(Payload::Etcd(_) | Payload::EtcdRecord(_)));
    let is_component = key.kind == ObjectKind::Component && &*key.name == names::part::ETCD;
    let is_member = matches!(
        key.kind,
        ObjectKind::Pod | ObjectKind::PersistentVolumeClaim
    );
    key.side == ClusterSide::Provider && (is_request || is_component || is_member)
}

impl Executor {
    /// Executes an action once.
    ///
    /// An object that already has the desired content counts as done. The result is in the published facts when this
    /// returns, so the next plan does not repeat the action.
    ///
    /// # Errors
    ///
    /// See [`Error::retryability`]. Nothing is retried here.
    pub(crate) async fn execute(&self, action: RenderedAction) -> Result<(), Error> {
        let is_about_etcd = is_about_etcd(&action);
        let result = match action {
            RenderedAction::Apply(wanted, objects) => self.apply(&wanted, objects).await,
            RenderedAction::Delete(target) => self.delete(&target).await,
            RenderedAction::Drain(target) => self.drain(&target).await,
        };
        if is_about_etcd {
            self.observer.etcd.observe_if_possible().await;
        }
        self.observer.store.wait_published().await;
        result
    }

    /// Patches informational data of the record, for example the progress of the run. Null removes a key.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if the record was replaced.
    pub(crate) async fn patch_record(
        &self,
        record: &ObservedRecord,
        data: &Value,
    ) -> Result<(), Error> {
        let patch = json!({ "metadata": { "uid": &*record.uid }, "data": data });
        self.patch_record_object(record, &patch).await
    }

    /// `patch` has the UID of the record.
    pub(super) async fn patch_record_object(
        &self,
        record: &ObservedRecord,
        patch: &Value,
    ) -> Result<(), Error> {
        let resource_ref = self.resource_ref(RECORD_SCOPE, &record.name);
        match self
            .provider
            .patch(resource_ref, patch, self.write_timeout()?)
            .await
        {
            Ok(answer) => {
                self.store_object(RECORD_SCOPE, &answer)?;
                self.observer.store.wait_published().await;
                Ok(())
            }
            Err(Error::NotFound { what }) => Err(Error::Conflict { what }),
            Err(error) => Err(error),
        }
    }

    async fn apply(&self, wanted: &Desired, objects: Vec<Value>) -> Result<(), Error> {
        if let Payload::Issue(issue) = &wanted.payload {
            return self.issue(&wanted.key, issue).await;
        }
        if let Payload::Decision(decision) = &wanted.payload {
            return self.decide(&wanted.key, decision).await;
        }
        match &wanted.payload {
            Payload::Etcd(request) => return self.change_members(request).await,
            Payload::EtcdRecord(etcd) => return self.record_etcd(etcd).await,
            Payload::Repair(repair) => return self.repair(&wanted.key, repair).await,
            Payload::Rotation(change) => return self.change_rotation(change).await,
            Payload::Hibernation(change) => return self.change_hibernation(change).await,
            Payload::Halt(halt) => return self.halt(&wanted.key, halt).await,
            Payload::Migrate { uid } => return self.migrate(&wanted.key, uid).await,
            Payload::CancelEvacuation { uid } => {
                return self.cancel_evacuation(&wanted.key, uid).await;
            }
            Payload::Start { uid, resize } => {
                let disks = resize.as_ref().map_or(&[][..], |it| &it.disks);
                self.grow_disks(uid, disks).await?;
                let size = objects.into_iter().next();
                return self.start(&wanted.key, uid, size).await;
            }
            _ => {}
        }
        if let Payload::Manifests(bundle) = &wanted.payload {
            return self.apply_manifests(bundle).await;
        }
        let objects = &self.write_join_secrets(wanted, objects).await?;
        for object in objects {
            if let Payload::Metadata { uid, .. } = &wanted.payload {
                self.patch_metadata(&wanted.key, uid, object).await?;
                continue;
            }
            let Some(scope) = resources::scope_of(&wanted.key, object) else {
                let kind = text(&object["kind"]);
                return Err(Error::Missing(format!("kind {kind} cannot be applied")));
            };
            let name = object::key_name(scope.0, object);
            match (scope.1, self.exists(scope, &name)) {
                // The name includes the hash, so its content is right.
                (ObjectKind::UserData | ObjectKind::Machine, true) => {}
                (_, true) => self.replace(scope, &name, object).await?,
                (_, false) => self.create(scope, &name, object).await?,
            }
        }
        Ok(())
    }

    /// POST; reads the object if it exists already or the response was lost.
    pub(crate) async fn create(
        &self,
        scope: ResourceScope,
        name: &str,
        object: &Value,
    ) -> Result<(), Error> {
        let (client, resource_ref) = (self.client(scope.0)?, self.resource_ref(scope, name));
        let limit = self.write_timeout()?;
        let error = match client.create(resource_ref, object, limit).await {
            Ok(answer) => return self.store_object(scope, &answer),
            Err(error @ Error::AlreadyExists { .. }) => error,
            Err(error) if error.is_ambiguous() => error,
            Err(error) => return Err(error),
        };
        // Not found means deleted again, or never created.
        let Ok(existing) = client.get(resource_ref).await else {
            return Err(error);
        };
        match classify(scope.1, &read_metadata(scope, &existing)?, object) {
            Adoption::Foreign => Err(Error::NotOwned {
                what: resource_ref.request_info("create"),
            }),
            Adoption::Matches => self.store_object(scope, &existing),
            Adoption::Differs => {
                self.store_object(scope, &existing)?;
                Err(Error::Conflict {
                    what: resource_ref.request_info("create"),
                })
            }
        }
    }

    /// PUT of the complete content, so that keys which are no longer desired vanish; labels, annotations, owners and
    /// finalizers of others stay.
    pub(crate) async fn replace(
        &self,
        scope: ResourceScope,
        name: &str,
        object: &Value,
    ) -> Result<(), Error> {
        let (client, resource_ref) = (self.client(scope.0)?, self.resource_ref(scope, name));
        let existing = match client.get(resource_ref).await {
            Err(Error::NotFound { what }) => return Err(Error::Conflict { what }),
            other => other?,
        };
        let metadata = read_metadata(scope, &existing)?;
        match classify(scope.1, &metadata, object) {
            Adoption::Foreign => {
                return Err(Error::NotOwned {
                    what: resource_ref.request_info("update"),
                });
            }
            Adoption::Matches => return self.store_object(scope, &existing),
            Adoption::Differs if metadata.is_deleting() => {
                self.store_object(scope, &existing)?;
                return Err(Error::Conflict {
                    what: resource_ref.request_info("update"),
                });
            }
            Adoption::Differs => {}
        }
        // A Secret may be among them.
        let merged = SecretJson::from(merge_onto(&existing, object));
        match client
            .replace(resource_ref, &merged, self.write_timeout()?)
            .await
        {
            Ok(answer) => self.store_object(scope, &answer),
            Err(error) if error.is_ambiguous() => {
                self.confirm_write(resource_ref, scope, object, error).await
            }
            Err(error) => Err(error),
        }
    }

    /// The response was lost: reads the object to find out whether the write was carried out.
    async fn confirm_write(
        &self,
        resource_ref: ResourceRef<'_>,
        scope: ResourceScope,
        wanted: &Value,
        error: Error,
    ) -> Result<(), Error> {
        let Ok(existing) = self.client(scope.0)?.get(resource_ref).await else {
            return Err(error);
        };
        self.store_object(scope, &existing)?;
        match classify(scope.1, &read_metadata(scope, &existing)?, wanted) {
            Adoption::Matches => Ok(()),
            Adoption::Differs | Adoption::Foreign => Err(error),
        }
    }

    async fn patch_metadata(
        &self,
        key: &ObjectKey,
        uid: &Arc<str>,
        patch: &Value,
    ) -> Result<(), Error> {
        let scope = (key.side, key.kind);
        let (client, resource_ref) = (self.client(key.side)?, self.resource_ref(scope, &key.name));
        let known = self.observer.store.read(|cache| {
            cache
                .get(scope, &key.name)
                .filter(|it| it.uid == *uid)
                .map(|it| it.version.text().clone())
        });
        let Some(version) = known else {
            return Err(Error::Conflict {
                what: resource_ref.request_info("patch"),
            });
        };
        let patch = with_preconditions(patch.clone(), uid, &version);
        match client
            .patch(resource_ref, &patch, self.write_timeout()?)
            .await
        {
            Ok(answer) => self.store_object(scope, &answer),
            Err(Error::NotFound { what }) => Err(Error::Conflict { what }),
            Err(error) => Err(error),
        }
    }

    async fn delete(&self, target: &DeleteTarget) -> Result<(), Error> {
        if target.key.kind == ObjectKind::Node {
            self.ensure_no_machine(&target.key.name).await?;
        }
        if self.leave_used_class(target).await? {
            return Ok(());
        }
        let ObjectKey { side, kind, name } = &target.key;
        let scope = &(*side, *kind);
        let (client, resource_ref) = (self.client(*side)?, self.resource_ref(*scope, name));
        if let Some(failure) = &target.zone_failure {
            self.keep_console(name, failure).await;
        }
        let current = self.recheck_not_ready(target).await?;
        let limit = self.write_timeout()?;
        let answer = client
            .delete(resource_ref, &target.uid, current.as_deref(), limit)
            .await;
        match answer {
            Ok(answer) => self.record_deletion(target, &answer),
            Err(Error::NotFound { .. }) => {
                self.store_removal(target);
                Ok(())
            }
            // A precondition failed: the object was replaced or changed.
            Err(Error::Conflict { what }) => match self.read_target(target).await? {
                Some(_) => Err(Error::Conflict { what }),
                None => Ok(()),
            },
            Err(error) if error.is_ambiguous() => match self.read_target(target).await {
                Ok(Some(existing)) if !existing.is_deleting() => Err(error),
                Ok(_) => Ok(()),
                Err(_) => Err(error),
            },
            Err(error) => Err(error),
        }
    }

    /// Reads and stores the object of a deletion; None once it is gone, or another one has its name.
    async fn read_target(&self, target: &DeleteTarget) -> Result<Option<PartialObjectMeta>, Error> {
        let scope = (target.key.side, target.key.kind);
        let resource_ref = self.resource_ref(scope, &target.key.name);
        match self.client(scope.0)?.get(resource_ref).await {
            Ok(existing) => {
                let metadata = read_metadata(scope, &existing)?;
                if metadata.uid == *target.uid {
                    self.store_object(scope, &existing)?;
                    return Ok(Some(metadata));
                }
            }
            Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
        self.store_removal(target);
        Ok(None)
    }

    /// Handles the response of a DELETE: a Status, or the object, which has a deletion timestamp while finalizers hold
    /// it.
    fn record_deletion(&self, target: &DeleteTarget, answer: &Value) -> Result<(), Error> {
        let scope = (target.key.side, target.key.kind);
        let object = read_metadata(scope, answer).ok();
        let object = object.filter(|it| it.uid == *target.uid);
        if object.is_some_and(|it| it.is_deleting() || !it.finalizers.is_empty()) {
            return self.store_object(scope, answer);
        }
        self.store_removal(target);
        Ok(())
    }

    /// Marks the machine: this write is the decision, and a later run resumes from it.
    async fn drain(&self, target: &DeleteTarget) -> Result<(), Error> {
        let ObjectKey { side, kind, name } = &target.key;
        let resource_ref = self.resource_ref((*side, *kind), name);
        if !self.is_marked(target) {
            let current = self.recheck_not_ready(target).await?;
            let version = current.as_deref().unwrap_or(&target.version);
            let mark = json!({ "metadata": { "annotations": { names::LEAVING: &*self.run_id } } });
            let mark = with_preconditions(mark, &target.uid, version);
            match self
                .provider
                .patch(resource_ref, &mark, self.write_timeout()?)
                .await
            {
                Ok(answer) => self.store_object((*side, *kind), &answer)?,
                Err(Error::NotFound { .. }) => {
                    self.store_removal(target);
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        self.drain_node(target).await?;
        self.fence.remaining()?;
        self.observer.set_drained(&target.uid);
        Ok(())
    }

    /// Reads a machine that is to be removed because it is not ready; returns the version that this was verified for.
    async fn recheck_not_ready(&self, target: &DeleteTarget) -> Result<Option<String>, Error> {
        if !target.unless_ready || target.key.kind != ObjectKind::Machine {
            return Ok(None);
        }
        let scope = (target.key.side, target.key.kind);
        let resource_ref = self.resource_ref(scope, &target.key.name);
        let existing = match self.provider.get(resource_ref).await {
            Err(Error::NotFound { .. }) => {
                self.store_removal(target);
                return Ok(None);
            }
            other => other?,
        };
        self.store_object(scope, &existing)?;
        let machine: PartialVirtualMachine = read(&resources::VIRTUAL_MACHINE, &existing)?;
        if machine.metadata.uid != *target.uid {
            return Ok(None);
        }
        if machine.is_ready() && self.is_node_ready(&target.key.name).await? {
            return Err(Error::MachineReady(target.key.name.to_string()));
        }
        Ok(Some(machine.metadata.resource_version))
    }

    /// Reads the node of a machine. In doubt it is ready: nothing that works is removed.
    async fn is_node_ready(&self, machine: &str) -> Result<bool, Error> {
        let Some(shoot) = self.observer.shoot_client() else {
            return Ok(true);
        };
        let scope = (ClusterSide::Shoot, ObjectKind::Node);
        let node = match shoot.get(self.resource_ref(scope, machine)).await {
            Err(Error::NotFound { .. }) => return Ok(false),
            other => other?,
        };
        self.store_object(scope, &node)?;
        let node: PartialNode = read(&resources::NODE, &node)?;
        Ok(node
            .ready_condition()
            .is_some_and(PartialCondition::is_true))
    }

    /// Verifies with the provider that a node has no machine that runs: the facts of one side may be older than those of the
    /// other, and a kubelet does not register again.
    async fn ensure_no_machine(&self, node: &Arc<str>) -> Result<(), Error> {
        let scope = (ClusterSide::Provider, ObjectKind::Machine);
        let resource_ref = self.resource_ref(scope, node);
        match self.provider.get(resource_ref).await {
            Err(Error::NotFound { .. }) => Ok(()),
            Ok(machine) if self.release_node(&machine, node).await? => Ok(()),
            Ok(machine) => {
                self.store_object(scope, &machine)?;
                Err(Error::Conflict {
                    what: resource_ref.request_info("delete"),
                })
            }
            Err(error) => Err(error),
        }
    }

    /// Client of a side.
    pub(crate) fn client(&self, side: ClusterSide) -> Result<ApiClient, Error> {
        match side {
            ClusterSide::Provider => Ok(self.provider.clone()),
            ClusterSide::Shoot => self.observer.shoot_client().ok_or(Error::ShootNotReached),
        }
    }

    pub(super) fn resource_ref<'a>(
        &'a self,
        (side, kind): ResourceScope,
        name: &'a str,
    ) -> ResourceRef<'a> {
        let resource = Resource::of(kind);
        match (side, name.split_once('/')) {
            (ClusterSide::Provider, _) => {
                ResourceRef::one(resource, self.provider.namespace(), name)
            }
            (ClusterSide::Shoot, Some((namespace, name))) => {
                ResourceRef::one(resource, namespace, name)
            }
            (ClusterSide::Shoot, None) => ResourceRef {
                namespace: None,
                name: Some(name),
                ..ResourceRef::all(resource, None)
            },
        }
    }

    /// Timeout of a write: it ends before the lease can be taken by another run.
    pub(crate) fn write_timeout(&self) -> Result<Duration, Error> {
        Ok(self.fence.remaining()?.min(WRITE_TIMEOUT))
    }

    pub(crate) fn exists(&self, scope: ResourceScope, name: &str) -> bool {
        let facts = self.observer.store.latest();
        let shoot = facts.record.as_ref().map(|it| it.uid.clone());
        self.observer.store.read(|cache| {
            cache
                .get(scope, name)
                .is_some_and(|it| scope == RECORD_SCOPE || it.fact.shoot == shoot)
        })
    }

    fn is_marked(&self, target: &DeleteTarget) -> bool {
        self.observer.store.read(|cache| {
            cache
                .get((target.key.side, target.key.kind), &target.key.name)
                .is_some_and(|it| match &it.fact.body {
                    types::ParsedBody::Machine(vm) => vm.drain_requested && it.uid == target.uid,
                    _ => false,
                })
        })
    }

    pub(crate) fn store_object(&self, scope: ResourceScope, object: &Value) -> Result<(), Error> {
        let time = self.provider.server_time();
        self.observer
            .store
            .change(|cache, now| cache.put(scope, object, now, time))
    }

    fn store_removal(&self, target: &DeleteTarget) {
        self.forget(&target.key, &target.uid);
    }

    /// Stores that an object is gone.
    pub(crate) fn forget(&self, key: &ObjectKey, uid: &Arc<str>) {
        let ObjectKey { side, kind, name } = key;
        self.observer
            .store
            .change(|cache, _| cache.remove_confirmed((*side, *kind), name, uid.clone()));
    }
}

fn read_metadata((_, kind): ResourceScope, object: &Value) -> Result<PartialObjectMeta, Error> {
    let object: PartialObject = read(Resource::of(kind), object)?;
    Ok(object.metadata)
}
