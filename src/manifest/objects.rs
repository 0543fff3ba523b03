//! Kubernetes objects of any kind, read without a schema.
//!
//! Scalars have the values that kubectl reads, which uses YAML 1.1: `0644` is a number and `yes` a boolean.

use super::decode;
use super::problem::{FindingKind, Problem};
use super::scalar::ScalarValue;
use super::source::{FileSpan, SourceFile, offset};
use super::tree::{NodeId, NodeKind, ParseLimits, Tree};
use crate::model::FieldPath;
use serde_json::{Map, Number, Value};

/// Schemas in CustomResourceDefinitions are deep, and some add-ons consist of hundreds of objects.
const BOUNDS: ParseLimits = ParseLimits {
    depth: 96,
    documents: 2_000,
};

/// All objects of some files, with their spans.
#[derive(Debug, Default)]
pub(crate) struct ManifestObjects {
    pub(crate) sources: Vec<SourceFile>,
    pub(crate) problems: Vec<Problem>,
    pub(crate) all: Vec<(FileSpan, Value)>,
}

impl ManifestObjects {
    /// Reads a file; returns false if it has problems.
    pub(crate) fn add(&mut self, name: String, bytes: Vec<u8>) -> bool {
        let number = offset(self.sources.len());
        let before = (self.problems.len(), self.all.len());
        let (source, tree, problems) = decode::parse(number, name, bytes, BOUNDS);
        self.problems.extend(problems);
        for root in &tree.roots {
            if !tree.is_null(&source, *root) {
                self.document(number, &source, &tree, *root);
            }
        }
        if before == (self.problems.len(), self.all.len()) {
            let place = FileSpan {
                source: number,
                start: 0,
                end: 0,
            };
            self.report("addons/empty", "file contains no objects", place);
        }
        self.sources.push(source);
        self.problems.len() == before.0
    }

    /// Adds a problem of an object.
    pub(crate) fn report(&mut self, code: &'static str, message: impl Into<String>, at: FileSpan) {
        let problem = Problem::new(FieldPath::root(), FindingKind::Invalid, code, message);
        self.problems.push(problem.at(at));
    }

    fn document(&mut self, number: u32, source: &SourceFile, tree: &Tree, root: NodeId) {
        let items = tree.entry(source, root, "items").map(|it| it.1);
        let is_list = text(tree, source, root, "kind").is_some_and(|it| it.ends_with("List"));
        match items.map(|it| tree.kind(it)) {
            Some(NodeKind::List(items)) if is_list => {
                for item in items {
                    self.document(number, source, tree, *item);
                }
            }
            _ => self.object(number, source, tree, root),
        }
    }

    fn object(&mut self, number: u32, source: &SourceFile, tree: &Tree, root: NodeId) {
        let place = tree.place(number, root);
        if !matches!(tree.kind(root), NodeKind::Map(_)) {
            return self.report("addons/no-object", "not a Kubernetes object", place);
        }
        let metadata = tree.entry(source, root, "metadata").map(|it| it.1);
        let name = metadata.and_then(|it| text(tree, source, it, "name"));
        for (field, given) in [
            ("apiVersion", text(tree, source, root, "apiVersion")),
            ("kind", text(tree, source, root, "kind")),
            ("metadata.name", name),
        ] {
            if given.is_none_or(str::is_empty) {
                let message = format!("{field} is required");
                return self.report("addons/no-object", message, place);
            }
        }
        self.all.push((place, value(tree, source, root)));
    }
}

/// Reads one document as a value, within the limits of manifests and at most `most` bytes; None if it has problems.
pub(crate) fn read_value(text: &str, most: usize) -> Option<Value> {
    if text.len() > most {
        return None;
    }
    let (source, tree, problems) = decode::parse(0, String::new(), text.into(), BOUNDS);
    match tree.roots.as_slice() {
        [root] if problems.is_empty() => Some(value(&tree, &source, *root)),
        _ => None,
    }
}

fn text<'a>(tree: &'a Tree, source: &'a SourceFile, map: NodeId, key: &str) -> Option<&'a str> {
    let (_, value) = tree.entry(source, map, key)?;
    tree.text(source, value).map(|it| it.0)
}

fn value(tree: &Tree, source: &SourceFile, id: NodeId) -> Value {
    match tree.kind(id) {
        NodeKind::List(items) => items.iter().map(|it| value(tree, source, *it)).collect(),
        NodeKind::Map(entries) => {
            let entry = |(key, it): &(NodeId, NodeId)| {
                let key = tree.text(source, *key).map_or("", |it| it.0);
                (key.to_owned(), value(tree, source, *it))
            };
            Value::Object(entries.iter().map(entry).collect::<Map<_, _>>())
        }
        NodeKind::Scalar { .. } | NodeKind::Alias(_) => scalar(tree, source, id),
    }
}

fn scalar(tree: &Tree, source: &SourceFile, id: NodeId) -> Value {
    let text = tree.text(source, id).map_or("", |it| it.0);
    match tree.scalar_value(source, id) {
        None | Some(ScalarValue::Null) => Value::Null,
        Some(ScalarValue::Bool(it)) => it.into(),
        Some(ScalarValue::Int(it)) => it.into(),
        Some(ScalarValue::Float(it)) => Number::from_f64(it).map_or(text.into(), Value::Number),
        Some(ScalarValue::Text) => text.into(),
        Some(ScalarValue::Ambiguous) => ambiguous(text),
    }
}

/// Value of an ambiguous scalar in YAML 1.1.
fn ambiguous(text: &str) -> Value {
    match text.to_ascii_lowercase().as_str() {
        "y" | "n" => return text.into(),
        "yes" | "on" => return true.into(),
        "no" | "off" => return false.into(),
        _ => {}
    }
    let digits = text.replace('_', "");
    let (digits, base) = match digits.as_str() {
        it if it.starts_with("0b") => (&it[2..], 2),
        it if it.starts_with("0o") => (&it[2..], 8),
        it if it.starts_with('0') => (it, 8),
        it => (it, 10),
    };
    i64::from_str_radix(digits, base).map_or(text.into(), Value::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(text: &str) -> ManifestObjects {
        let mut objects = ManifestObjects::default();
        objects.add("a.yaml".into(), text.as_bytes().to_vec());
        objects
    }

    #[test]
    fn scalars_have_the_values_that_kubectl_reads() {
        let text = "apiVersion: v1\nkind: A\nmetadata: {name: a}\nmode: 0644\nflag: yes\ntext: \"0644\"\nhex: 0x10\nname: y\n";
        let read = read(text);
        assert_eq!(read.problems, []);
        let expected = json!({
            "apiVersion": "v1", "kind": "A", "metadata": { "name": "a" },
            "mode": 420, "flag": true, "text": "0644", "hex": 16, "name": "y",
        });
        assert_eq!(read.all[0].1, expected);
    }

    #[test]
    fn documents_and_lists_are_read_in_order() {
        let text = "---\n# nothing\n---\napiVersion: v1\nkind: A\nmetadata: {name: a}\n---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: B, metadata: {name: b}}\n- {apiVersion: v1, kind: C, metadata: {name: c}}\n";
        let read = read(text);
        assert_eq!(read.problems, []);
        let kinds: Vec<&Value> = read.all.iter().map(|it| &it.1["kind"]).collect();
        assert_eq!(kinds, ["A", "B", "C"]);
    }

    #[test]
    fn problems_have_their_line() {
        let good = "apiVersion: v1\nkind: A\nmetadata: {name: a}\n---\n";
        for (text, line, message) in [
            ("- 1\n", 5, "not a Kubernetes object"),
            ("kind: A\n", 5, "apiVersion is required"),
            (
                "apiVersion: v1\nkind: A\nmetadata: {}\n",
                5,
                "metadata.name is required",
            ),
            ("apiVersion: v1\nkind: A\nkind: B\n", 7, ""),
            ("apiVersion: [\n", 6, ""),
        ] {
            let read = read(&format!("{good}{text}"));
            let problem = read.problems.first().expect(text);
            assert!(problem.message.contains(message), "{problem:?}");
            let place = problem.span.expect("available: a place");
            let (found, _) = read.sources[0].line_column(place.start);
            assert!(found.abs_diff(line) <= 1, "{text}: line {found}");
        }
        assert_eq!(read("# nothing\n").problems.len(), 1);
    }
}
