//! Ownership of objects in a namespace: the shoot's own, and those that controllers create for them. Pure functions.
use crate::cluster::objects::core::event::InvolvedObject;
use crate::cluster::objects::metadata::PartialObjectMeta;
use crate::cluster::objects::storage::ClaimReference;
use crate::state::names::{CAPI_CLUSTER, CSI_CLUSTER, PART_OF};
use std::collections::HashSet;

/// Labels with the shoot's ID: of kvshoot, the cloud controller manager and the CSI driver.
const LABELS: [&str; 3] = [PART_OF, CAPI_CLUSTER, CSI_CLUSTER];
/// Length of a UID.
const UID_LENGTH: usize = 36;

/// Selects the objects of one shoot among others of its namespace.
#[derive(Debug)]
pub(crate) struct OwnershipFilter {
    id: String,
    /// Technical IDs of other shoots.
    others: Vec<String>,
    uids: HashSet<String>,
}

impl OwnershipFilter {
    pub(crate) fn new(id: &str, others: impl IntoIterator<Item = String>) -> OwnershipFilter {
        OwnershipFilter {
            id: id.to_owned(),
            others: others.into_iter().filter(|it| it != id).collect(),
            uids: HashSet::new(),
        }
    }

    /// Learns the shoot's objects of all kinds, including indirectly owned ones.
    pub(crate) fn learn(&mut self, objects: &[&PartialObjectMeta]) {
        loop {
            let before = self.uids.len();
            for object in objects {
                if self.owns(object) {
                    self.uids.insert(object.uid.clone());
                }
            }
            if self.uids.len() == before {
                return;
            }
        }
    }

    pub(crate) fn owns(&self, object: &PartialObjectMeta) -> bool {
        let owner = LABELS.iter().filter_map(|it| object.label(it));
        let mut owner = owner.filter(|it| it.starts_with("shoot--"));
        if let Some(owner) = owner.next() {
            return owner == self.id;
        }
        let mut owners = object.owner_references.iter();
        owners.any(|it| self.uids.contains(&it.uid)) || self.is_known(&object.uid, &object.name)
    }

    /// True if a volume is bound to a claim of the shoot.
    pub(crate) fn owns_claim(&self, claim: &ClaimReference) -> bool {
        self.is_known(&claim.uid, &claim.name)
    }

    /// True if an event is about an object of the shoot, which may be gone by now.
    pub(crate) fn is_about(&self, object: &InvolvedObject) -> bool {
        self.is_known(&object.uid, &object.name)
    }

    fn is_known(&self, uid: &str, name: &str) -> bool {
        self.uids.contains(uid) || self.is_named(name) || self.contains_uid(name)
    }

    /// True if a name contains the shoot's ID, but not the longer ID of another shoot.
    fn is_named(&self, name: &str) -> bool {
        contains_id(name, &self.id)
            && !self
                .others
                .iter()
                .any(|it| it.len() > self.id.len() && contains_id(name, it))
    }

    /// CDI's helper objects have the UID of a claim in their name.
    fn contains_uid(&self, name: &str) -> bool {
        let starts = 0..=name.len().saturating_sub(UID_LENGTH);
        let mut parts = starts.filter_map(|it| name.get(it..it + UID_LENGTH));
        parts.any(|it| self.uids.contains(it))
    }
}

/// True if `name` contains `id` between dashes.
fn contains_id(name: &str, id: &str) -> bool {
    name.match_indices(id).any(|(at, _)| {
        let (before, after) = (&name[..at], &name[at + id.len()..]);
        (before.is_empty() || before.ends_with('-')) && (after.is_empty() || after.starts_with('-'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::objects::metadata::{PartialObject, PartialOwnerReference};
    use crate::cluster::objects::testing;
    use serde_json::json;

    fn object(name: &str, uid: &str) -> PartialObjectMeta {
        let object = json!({ "metadata": { "name": name, "uid": uid } });
        testing::object::<PartialObject>(object).metadata
    }

    fn labeled(name: &str, uid: &str, label: &str, value: &str) -> PartialObjectMeta {
        let mut object = object(name, uid);
        object.labels.insert(label.to_owned(), value.to_owned());
        object
    }

    #[test]
    fn objects_created_for_a_shoot_belong_to_it() {
        let claim = "11111111-2222-3333-4444-555555555555";
        let record = object("shoot--local--dev", "r");
        let volume = object("shoot--local--dev-ubuntu", claim);
        let importer = object(&format!("importer-prime-{claim}"), "i");
        let launcher = object("virt-launcher-shoot--local--dev-worker-z1-1-0-x", "l");
        let mut owned = object("anything", "o");
        owned.owner_references = vec![PartialOwnerReference {
            kind: "Pod".to_owned(),
            name: importer.name.clone(),
            uid: "i".to_owned(),
        }];
        let other = object("shoot--local--dev-2-etcd", "e");
        let stranger = object("shoot--local--devil", "s");
        let disk = labeled("pvc-1", "d", CSI_CLUSTER, "shoot--local--dev");
        let foreign = labeled("shoot--local--dev-x", "f", PART_OF, "shoot--local--other");
        let all = [
            &owned, &importer, &volume, &record, &launcher, &other, &stranger, &disk, &foreign,
        ];
        let mut ownership =
            OwnershipFilter::new("shoot--local--dev", ["shoot--local--dev-2".to_owned()]);
        ownership.learn(&all);
        let ours: Vec<bool> = all.iter().map(|it| ownership.owns(it)).collect();
        let expected = [true, true, true, true, true, false, false, true, false];
        assert_eq!(ours, expected);
        let event = |name: &str| InvolvedObject {
            uid: "gone".to_owned(),
            name: name.to_owned(),
            ..InvolvedObject::default()
        };
        assert!(ownership.is_about(&event(&format!("importer-prime-{claim}"))));
        assert!(!ownership.is_about(&event("shoot--local--dev-2")));
    }
}
