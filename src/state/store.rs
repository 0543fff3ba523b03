//! Everything heard about one kind on one side, in whatever order it arrives:
//! LISTs, WATCH events, answers to our own writes. The newest fact about a name
//! wins, and what is gone stays gone.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A resourceVersion: a positive decimal of any length. Comparable within one
/// kind on one server, by promise since Kubernetes 1.35 and in fact ever since etcd.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Version(Arc<str>);

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Object<T> {
    pub(crate) name: Arc<str>,
    pub(crate) uid: Arc<str>,
    pub(crate) version: Version,
    pub(crate) fact: T,
}

#[derive(Debug)]
pub(crate) struct Store<T> {
    names: HashMap<Arc<str>, Newest<T>>,
    /// A uid never comes back.
    dead: HashSet<Arc<str>>,
    /// Of the newest LIST: what is older and was not in it is gone.
    listed: Version,
}

#[derive(Debug)]
struct Newest<T> {
    version: Version,
    object: Option<Object<T>>,
}

impl<T> Store<T> {
    /// A LIST, first or later. What we know to be newer than it stays.
    pub(crate) fn list(&mut self, version: Version, objects: Vec<Object<T>>) {
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

    /// An object that a LIST, an ADDED or MODIFIED event or an answer of ours shows.
    pub(crate) fn put(&mut self, object: Object<T>) {
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

    /// A DELETED event; its version is that of the deletion.
    pub(crate) fn gone(&mut self, name: Arc<str>, uid: Arc<str>, version: Version) {
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

    /// An answer that says "gone" and no version: a Status, or NotFound.
    pub(crate) fn gone_by_answer(&mut self, name: &Arc<str>, uid: Arc<str>) {
        if let Some(newest) = self.names.get_mut(name)
            && newest.object.as_ref().is_some_and(|it| it.uid == uid)
        {
            newest.object = None;
        }
        self.dead.insert(uid);
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Object<T>> {
        self.names.get(name)?.object.as_ref()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Object<T>> {
        self.names.values().filter_map(|it| it.object.as_ref())
    }
}

impl<T> Default for Store<T> {
    fn default() -> Self {
        Store {
            names: HashMap::new(),
            dead: HashSet::new(),
            listed: Version("0".into()),
        }
    }
}

impl<T> Newest<T> {
    fn bury(&mut self, dead: &mut HashSet<Arc<str>>) {
        dead.extend(self.object.take().map(|it| it.uid));
    }
}

impl Version {
    /// None for what is no version at all: such a server is refused, not guessed at.
    pub(crate) fn parse(text: &str) -> Option<Version> {
        let is_number = !text.is_empty()
            && text.bytes().all(|it| it.is_ascii_digit())
            && !text.starts_with('0');
        is_number.then(|| Version(text.into()))
    }

    pub(crate) fn text(&self) -> &Arc<str> {
        &self.0
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.0.len(), &self.0).cmp(&(other.0.len(), &other.0))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(number: u32) -> Version {
        Version::parse(&number.to_string()).expect("not zero")
    }

    fn object(name: &str, uid: &str, at: u32) -> Object<()> {
        Object {
            name: name.into(),
            uid: uid.into(),
            version: version(at),
            fact: (),
        }
    }

    /// All that is there, as `name uid@version`.
    fn shown(store: &Store<()>) -> String {
        let one = |it: &Object<()>| format!("{} {}@{}", it.name, it.uid, it.version.0);
        let mut all: Vec<String> = store.iter().map(one).collect();
        all.sort();
        all.join(", ")
    }

    #[test]
    fn versions_are_compared_as_numbers_of_any_length() {
        assert!(version(9) < version(10));
        let long = |text| Version::parse(text).expect("a number");
        assert!(long("99999999999999999999999") < long("100000000000000000000000"));
    }

    #[test]
    fn what_is_no_version_is_refused() {
        for text in ["", "0", "01", "-1", "+1", "1.0", "abc", "١"] {
            assert_eq!(Version::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_list_buries_what_is_not_in_it_but_not_what_is_newer() {
        let mut store = Store::default();
        store.list(version(5), vec![object("a", "1", 3), object("b", "2", 4)]);
        store.put(object("b", "2", 9));
        store.put(object("c", "3", 8));
        store.list(version(7), vec![]);
        assert_eq!(shown(&store), "b 2@9, c 3@8");
    }

    #[test]
    fn an_old_event_about_a_name_never_seen_is_old() {
        let mut store = Store::default();
        store.list(version(5), vec![]);
        store.put(object("a", "1", 4));
        assert_eq!(shown(&store), "");
    }

    #[test]
    fn a_late_deletion_of_the_one_before_leaves_the_one_there() {
        let mut store = Store::default();
        store.list(version(5), vec![object("a", "1", 3)]);
        store.put(object("a", "2", 8));
        store.gone("a".into(), "1".into(), version(7));
        store.gone_by_answer(&"a".into(), "1".into());
        assert_eq!(shown(&store), "a 2@8");
    }

    #[test]
    fn who_is_gone_by_answer_does_not_come_back() {
        let mut store = Store::default();
        store.list(version(5), vec![object("a", "1", 3)]);
        store.gone_by_answer(&"a".into(), "1".into());
        // Written by somebody before it went; told only now.
        store.put(object("a", "1", 6));
        assert_eq!(shown(&store), "");
        store.put(object("a", "2", 8));
        assert_eq!(shown(&store), "a 2@8");
    }
}
