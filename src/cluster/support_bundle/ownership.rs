//! What in a namespace is a shoot's: its own objects, and what others make for these. Pure.
use crate::cluster::json::{items, text};
use crate::state::names::{CAPI_CLUSTER, CSI_CLUSTER, PART_OF};
use serde_json::Value;
use std::collections::HashSet;

/// Labels that name the shoot: ours, the cloud controller manager's, the CSI driver's.
const LABELS: [&str; 3] = [PART_OF, CAPI_CLUSTER, CSI_CLUSTER];
/// Letters of a UID.
const UID: usize = 36;

/// Of one shoot, among others of its namespace.
#[derive(Debug)]
pub(crate) struct Family {
    id: String,
    /// Technical IDs of the others.
    others: Vec<String>,
    uids: HashSet<String>,
}

impl Family {
    pub(crate) fn new(id: &str, others: impl IntoIterator<Item = String>) -> Family {
        Family {
            id: id.to_owned(),
            others: others.into_iter().filter(|it| it != id).collect(),
            uids: HashSet::new(),
        }
    }

    /// Learns who belongs to it, over all kinds: pods of pods' owners, claims of importers.
    pub(crate) fn learn(&mut self, objects: &[&Value]) {
        loop {
            let before = self.uids.len();
            for object in objects {
                if self.has(object) {
                    self.uids
                        .insert(text(&object["metadata"]["uid"]).to_owned());
                }
            }
            if self.uids.len() == before {
                return;
            }
        }
    }

    pub(crate) fn has(&self, object: &Value) -> bool {
        let metadata = &object["metadata"];
        let labels = &metadata["labels"];
        let owner = LABELS.iter().filter_map(|it| labels[*it].as_str());
        let mut owner = owner.filter(|it| it.starts_with("shoot--"));
        if let Some(owner) = owner.next() {
            return owner == self.id;
        }
        let mut owners = items(&metadata["ownerReferences"]).iter();
        let name = text(&metadata["name"]);
        self.uids.contains(text(&metadata["uid"]))
            || owners.any(|it| self.uids.contains(text(&it["uid"])))
            || self.is_named(name)
            || self.holds_uid(name)
    }

    /// Whether an event is about something of the shoot, which may be gone by now.
    pub(crate) fn is_about(&self, event: &Value) -> bool {
        let about = &event["involvedObject"];
        let name = text(&about["name"]);
        self.uids.contains(text(&about["uid"])) || self.is_named(name) || self.holds_uid(name)
    }

    /// Whether the shoot's ID stands in a name, and not that of another which begins the same.
    fn is_named(&self, name: &str) -> bool {
        holds(name, &self.id)
            && !self
                .others
                .iter()
                .any(|it| it.len() > self.id.len() && holds(name, it))
    }

    /// CDI names what it makes for a claim by the claim's UID.
    fn holds_uid(&self, name: &str) -> bool {
        let starts = 0..=name.len().saturating_sub(UID);
        let mut parts = starts.filter_map(|it| name.get(it..it + UID));
        parts.any(|it| self.uids.contains(it))
    }
}

/// Whether an ID stands in a name as a part of it.
fn holds(name: &str, id: &str) -> bool {
    name.match_indices(id).any(|(at, _)| {
        let (before, after) = (&name[..at], &name[at + id.len()..]);
        (before.is_empty() || before.ends_with('-')) && (after.is_empty() || after.starts_with('-'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(name: &str, uid: &str) -> Value {
        json!({ "metadata": { "name": name, "uid": uid } })
    }

    #[test]
    fn what_is_made_for_a_shoot_is_the_shoot_s() {
        let claim = "11111111-2222-3333-4444-555555555555";
        let record = object("shoot--local--dev", "r");
        let volume = object("shoot--local--dev-ubuntu", claim);
        let importer = object(&format!("importer-prime-{claim}"), "i");
        let launcher = object("virt-launcher-shoot--local--dev-worker-z1-1-0-x", "l");
        let mut owned = object("anything", "o");
        owned["metadata"]["ownerReferences"] = json!([{ "uid": "i" }]);
        let other = object("shoot--local--dev-2-etcd", "e");
        let stranger = object("shoot--local--devil", "s");
        let mut disk = object("pvc-1", "d");
        disk["metadata"]["labels"] = json!({ CSI_CLUSTER: "shoot--local--dev" });
        let mut foreign = object("shoot--local--dev-x", "f");
        foreign["metadata"]["labels"] = json!({ PART_OF: "shoot--local--other" });
        let all = [
            &owned, &importer, &volume, &record, &launcher, &other, &stranger, &disk, &foreign,
        ];
        let mut family = Family::new("shoot--local--dev", ["shoot--local--dev-2".to_owned()]);
        family.learn(&all);
        let ours: Vec<bool> = all.iter().map(|it| family.has(it)).collect();
        let expected = [true, true, true, true, true, false, false, true, false];
        assert_eq!(ours, expected);
        let event = |name: &str| json!({ "involvedObject": { "name": name, "uid": "gone" } });
        assert!(family.is_about(&event(&format!("importer-prime-{claim}"))));
        assert!(!family.is_about(&event("shoot--local--dev-2")));
    }
}
