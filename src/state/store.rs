//! Store of the objects of one kind in one cluster, fed in any order by LISTs, WATCH events and responses to our own
//! writes. The newest fact about a name wins, and deleted objects stay deleted.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A resourceVersion: a positive decimal, longer than any number of a processor. Comparable within one
/// kind on one server, by promise since Kubernetes 1.35 and in fact ever since etcd.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ResourceVersion(Arc<str>);

/// Digits of a resourceVersion.
const MAX_DIGITS: usize = 100;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StoredObject<T> {
    pub(crate) name: Arc<str>,
    pub(crate) uid: Arc<str>,
    pub(crate) version: ResourceVersion,
    pub(crate) fact: T,
}

#[derive(Debug)]
pub(crate) struct Store<T> {
    names: HashMap<Arc<str>, Newest<T>>,
    /// UIDs are never reused.
    dead: HashSet<Arc<str>>,
    /// Version of the latest LIST: older objects that it did not contain are deleted.
    listed: ResourceVersion,
}

#[derive(Debug)]
struct Newest<T> {
    version: ResourceVersion,
    object: Option<StoredObject<T>>,
}

impl<T> Store<T> {
    /// Applies a LIST. Objects known to be newer than it stay.
    pub(crate) fn list(&mut self, version: ResourceVersion, objects: Vec<StoredObject<T>>) {
        let there: HashSet<Arc<str>> = objects.iter().map(|it| it.name.clone()).collect();
        for object in objects {
            self.put(object);
        }
        for (name, newest) in &mut self.names {
            if !there.contains(name) && newest.version <= version {
                newest.bury(&mut self.dead);
                newest.version = version.clone();
            }
        }
        self.listed = self.listed.clone().max(version);
    }

    /// Applies an object from a LIST, an ADDED or MODIFIED event or a response to our own write.
    pub(crate) fn put(&mut self, object: StoredObject<T>) {
        let known = self
            .names
            .get(&object.name)
            .map_or(&self.listed, |it| &it.version);
        if object.version <= *known || self.dead.contains(&object.uid) {
            return;
        }
        if let Some(newest) = self.names.get_mut(&object.name)
            && newest
                .object
                .as_ref()
                .is_some_and(|it| it.uid != object.uid)
        {
            newest.bury(&mut self.dead);
        }
        self.names.insert(
            object.name.clone(),
            Newest {
                version: object.version.clone(),
                object: Some(object),
            },
        );
    }

    /// Applies a DELETED event. Its version is that of the deletion.
    pub(crate) fn gone(&mut self, name: Arc<str>, uid: Arc<str>, version: ResourceVersion) {
        self.dead.insert(uid);
        let newest = self.names.entry(name).or_insert(Newest {
            version: self.listed.clone(),
            object: None,
        });
        if newest.version < version {
            newest.bury(&mut self.dead);
            newest.version = version;
        }
    }

    /// Applies a response that reports deletion without a version: a Status, or NotFound.
    pub(crate) fn gone_by_answer(&mut self, name: &Arc<str>, uid: Arc<str>) {
        if let Some(newest) = self.names.get_mut(name)
            && newest.object.as_ref().is_some_and(|it| it.uid == uid)
        {
            newest.object = None;
        }
        self.dead.insert(uid);
    }

    /// True after the first LIST.
    pub(crate) fn is_listed(&self) -> bool {
        &*self.listed.0 != "0"
    }

    pub(crate) fn get(&self, name: &str) -> Option<&StoredObject<T>> {
        self.names.get(name)?.object.as_ref()
    }

    /// True for the name of an object that was ever seen.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.names.contains_key(name)
    }

    /// Number of names that were ever seen, and of objects that are deleted.
    pub(crate) fn known(&self) -> (usize, usize) {
        (self.names.len(), self.dead.len())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &StoredObject<T>> {
        self.names.values().filter_map(|it| it.object.as_ref())
    }
}

impl<T> Default for Store<T> {
    fn default() -> Self {
        Store {
            names: HashMap::new(),
            dead: HashSet::new(),
            listed: ResourceVersion("0".into()),
        }
    }
}

impl<T> Newest<T> {
    fn bury(&mut self, dead: &mut HashSet<Arc<str>>) {
        dead.extend(self.object.take().map(|it| it.uid));
    }
}

impl ResourceVersion {
    /// Returns None if the text is not a version. Such a server is rejected.
    pub(crate) fn parse(text: &str) -> Option<ResourceVersion> {
        let is_number = (1..=MAX_DIGITS).contains(&text.len())
            && text.bytes().all(|it| it.is_ascii_digit())
            && !text.starts_with('0');
        is_number.then(|| ResourceVersion(text.into()))
    }

    pub(crate) fn text(&self) -> &Arc<str> {
        &self.0
    }
}

impl Ord for ResourceVersion {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.0.len(), &self.0).cmp(&(other.0.len(), &other.0))
    }
}

impl PartialOrd for ResourceVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(number: u32) -> ResourceVersion {
        ResourceVersion::parse(&number.to_string()).expect("not zero")
    }

    fn object(name: &str, uid: &str, at: u32) -> StoredObject<()> {
        StoredObject {
            name: name.into(),
            uid: uid.into(),
            version: version(at),
            fact: (),
        }
    }

    /// All objects, as `name uid@version`.
    fn shown(store: &Store<()>) -> String {
        let one = |it: &StoredObject<()>| format!("{} {}@{}", it.name, it.uid, it.version.0);
        let mut all: Vec<String> = store.iter().map(one).collect();
        all.sort();
        all.join(", ")
    }

    #[test]
    fn versions_are_compared_as_numbers_of_any_length() {
        assert!(version(9) < version(10));
        let long = |text| ResourceVersion::parse(text).expect("a number");
        assert!(long("99999999999999999999999") < long("100000000000000000000000"));
    }

    #[test]
    fn invalid_versions_are_rejected() {
        for text in [
            "",
            "0",
            "01",
            "-1",
            "+1",
            "1.0",
            "abc",
            "١",
            &"1".repeat(101),
        ] {
            assert_eq!(ResourceVersion::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_list_deletes_missing_objects_except_newer_ones() {
        let mut store = Store::default();
        store.list(version(5), vec![object("a", "1", 3), object("b", "2", 4)]);
        store.put(object("b", "2", 9));
        store.put(object("c", "3", 8));
        store.list(version(7), vec![]);
        assert_eq!(shown(&store), "b 2@9, c 3@8");
    }

    #[test]
    fn an_old_event_about_an_unknown_name_is_ignored() {
        let mut store = Store::default();
        store.list(version(5), vec![]);
        store.put(object("a", "1", 4));
        assert_eq!(shown(&store), "");
    }

    #[test]
    fn a_late_deletion_of_a_predecessor_keeps_the_current_object() {
        let mut store = Store::default();
        store.list(version(5), vec![object("a", "1", 3)]);
        store.put(object("a", "2", 8));
        store.gone("a".into(), "1".into(), version(7));
        store.gone_by_answer(&"a".into(), "1".into());
        assert_eq!(shown(&store), "a 2@8");
    }

    #[test]
    fn an_object_deleted_by_response_does_not_come_back() {
        let mut store = Store::default();
        store.list(version(5), vec![object("a", "1", 3)]);
        store.gone_by_answer(&"a".into(), "1".into());
        // Written by another client before the deletion, delivered only now.
        store.put(object("a", "1", 6));
        assert_eq!(shown(&store), "");
        store.put(object("a", "2", 8));
        assert_eq!(shown(&store), "a 2@8");
    }
}
