//! Text to model, and a place in the text for every field.
//!
//! Four steps, each of which tells everything that it finds: text to tree (`tree`), tree against schema (`check`), tree to types
//! (`read`, which cannot fail), and rules, which live in `validate` and come back with paths that `locate` finds in the tree.

#[cfg(test)]
mod bench;
mod check;
mod problem;
mod read;
mod scalar;
mod shape;
mod source;
#[cfg(test)]
mod tests;
mod tree;

use std::collections::HashSet;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::model::{
    CloudProfile, FieldPath, MachineDeployment, Secret, SecretBinding, Segment, Shoot, nearest,
};

pub(crate) use problem::{Kind, Problem};
pub(crate) use source::{Place, Source};

use check::Flaws;
use shape::Shapes;
use tree::{NodeId, NodeKind, Style, Tree};

/// Everything that was given with `-f`, read as one.
#[derive(Debug, Default)]
pub(crate) struct Manifest {
    sources: Vec<Source>,
    trees: Vec<Tree>,
    documents: Vec<Document>,
    problems: Vec<Problem>,
    warnings: Vec<Problem>,
}

#[derive(Debug)]
struct Document {
    source: usize,
    root: NodeId,
    flaws: Flaws,
    content: Content,
}

/// A document of a kind that is understood.
#[derive(Debug)]
pub(crate) enum Content {
    Shoot(Arc<Shoot>),
    CloudProfile(Arc<CloudProfile>),
    SecretBinding(Arc<SecretBinding>),
    Secret(Arc<Secret>),
    MachineDeployment(Arc<MachineDeployment>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct DocumentId(usize);

/// A kind of document: how it says what it is, its schema, and how it is read.
struct Known {
    api_version: &'static str,
    kind: &'static str,
    schema: fn() -> schemars::Schema,
    read: fn(read::Reader<'_>) -> Result<Content, read::Error>,
}

const KNOWN: &[Known] = &[
    Known {
        api_version: "core.gardener.cloud/v1beta1",
        kind: "Shoot",
        schema: schema::<Shoot>,
        read: |r| content(r, Content::Shoot),
    },
    Known {
        api_version: "core.gardener.cloud/v1beta1",
        kind: "CloudProfile",
        schema: schema::<CloudProfile>,
        read: |r| content(r, Content::CloudProfile),
    },
    Known {
        api_version: "core.gardener.cloud/v1beta1",
        kind: "SecretBinding",
        schema: schema::<SecretBinding>,
        read: |r| content(r, Content::SecretBinding),
    },
    Known {
        api_version: "v1",
        kind: "Secret",
        schema: schema::<Secret>,
        read: |r| content(r, Content::Secret),
    },
    Known {
        api_version: "cluster.k8s.io/v1alpha1",
        kind: "MachineDeployment",
        schema: schema::<MachineDeployment>,
        read: |r| content(r, Content::MachineDeployment),
    },
];

fn schema<T: schemars::JsonSchema>() -> schemars::Schema {
    schemars::generate::SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<T>()
}

fn content<T: DeserializeOwned>(
    reader: read::Reader<'_>,
    wrap: fn(Arc<T>) -> Content,
) -> Result<Content, read::Error> {
    T::deserialize(reader).map(|value| wrap(Arc::new(value)))
}

/// The kinds of documents that are understood.
pub(crate) fn kinds() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|known| known.kind)
}

/// The published schema of a kind: the one that documents are held against.
pub(crate) fn schema_of(kind: &str) -> Option<schemars::Schema> {
    let known = KNOWN
        .iter()
        .find(|known| known.kind.eq_ignore_ascii_case(kind))?;
    let mut schema = (known.schema)();
    schemars::transform::transform_subschemas(&mut close, &mut schema);
    schemars::transform::Transform::transform(&mut close, &mut schema);
    Some(schema)
}

/// Other readers of the schema have to be told that a struct has no keys but its own.
fn close(schema: &mut schemars::Schema) {
    if schema.get("properties").is_some() {
        schema.insert("additionalProperties".to_owned(), false.into());
    }
    schemars::transform::transform_subschemas(&mut close, schema);
}

impl Manifest {
    pub(crate) fn parse(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        let mut manifest = Self::default();
        for (name, bytes) in files {
            manifest.add(name, bytes);
        }
        manifest
    }

    pub(crate) fn add(&mut self, name: String, bytes: Vec<u8>) {
        let number = source::offset(self.sources.len());
        let (text, fault) = match String::from_utf8(bytes) {
            Ok(text) => (text, None),
            Err(error) => {
                let valid = error.utf8_error().valid_up_to();
                let text = String::from_utf8_lossy(&error.into_bytes()).into_owned();
                (text, Some(source::offset(valid)))
            }
        };
        let source = Source::new(name, text);
        let (tree, problems) = match fault {
            None => tree::parse(number, &source),
            Some(at) => {
                let place = Place {
                    source: number,
                    start: at,
                    end: at,
                };
                let problem = Problem::new(
                    FieldPath::root(),
                    Kind::Syntax,
                    "yaml/encoding",
                    "is not UTF-8",
                )
                .at(place);
                (Tree::default(), vec![problem])
            }
        };
        let is_silent = problems.is_empty();
        self.problems.extend(problems);
        let roots: Vec<NodeId> = tree
            .roots
            .iter()
            .copied()
            .filter(|root| !tree.is_null(&source, *root))
            .collect();
        if roots.is_empty() && is_silent {
            let place = Place {
                source: number,
                start: 0,
                end: 0,
            };
            self.problems.push(
                Problem::new(
                    FieldPath::root(),
                    Kind::Required,
                    "manifest/empty",
                    "there is no document in this file",
                )
                .at(place),
            );
        }
        for root in roots {
            let (document, problems) = read_document(number, &source, &tree, root);
            self.problems.extend(problems);
            let unused = document
                .as_ref()
                .and_then(|it| unused(number, &tree, &it.flaws));
            self.warnings.extend(unused);
            self.documents.extend(document);
        }
        self.sources.push(source);
        self.trees.push(tree);
    }

    pub(crate) fn sources(&self) -> &[Source] {
        &self.sources
    }

    pub(crate) fn problems(&self) -> &[Problem] {
        &self.problems
    }

    pub(crate) fn documents(&self) -> impl Iterator<Item = (DocumentId, &Content)> {
        self.documents
            .iter()
            .enumerate()
            .map(|(i, document)| (DocumentId(i), &document.content))
    }

    /// What is done all the same, though perhaps not as it was meant.
    pub(crate) fn warnings(&self) -> &[Problem] {
        &self.warnings
    }

    /// Adds what a rule found, with its place; unless that part of the document is known to be broken.
    pub(crate) fn tell(&mut self, document: DocumentId, problem: Problem) {
        let problem = self.placed(document, problem);
        self.problems.extend(problem);
    }

    /// The same for what stops nothing.
    pub(crate) fn warn(&mut self, document: DocumentId, problem: Problem) {
        let problem = self.placed(document, problem);
        self.warnings.extend(problem);
    }

    /// Adds what a rule found in something that was not read from a text.
    pub(crate) fn tell_without_place(&mut self, problem: Problem, is_warning: bool) {
        if is_warning {
            self.warnings.push(problem);
        } else {
            self.problems.push(problem);
        }
    }

    /// Orders problems as they stand in the files.
    pub(crate) fn sort_problems(&mut self) {
        self.problems.sort_by_key(|it| it.place);
        self.warnings.sort_by_key(|it| it.place);
    }

    fn placed(&self, document: DocumentId, problem: Problem) -> Option<Problem> {
        let place = self.locate(document, &problem.path)?;
        Some(if problem.place.is_some() {
            problem
        } else {
            problem.at(place)
        })
    }

    /// Where a field stands: its value when that is a scalar, else its key; its parent's key when it is absent.
    /// Nothing when it is below something broken, about which all has been said.
    pub(crate) fn locate(&self, document: DocumentId, path: &FieldPath) -> Option<Place> {
        let Document {
            source,
            root,
            flaws,
            ..
        } = &self.documents[document.0];
        let (text, tree) = (&self.sources[*source], &self.trees[*source]);
        let (mut node, mut shown) = (*root, *root);
        let mut is_resolved = true;
        for segment in path.segments() {
            let target = tree.target(node);
            if flaws.broken.contains(&target) {
                return None;
            }
            let next = match segment {
                Segment::Index(index) => match tree.kind(target) {
                    NodeKind::List(items) => items.get(*index).map(|item| (*item, *item)),
                    _ => None,
                },
                Segment::Key(key) => {
                    if flaws
                        .missing
                        .get(&target)
                        .is_some_and(|missing| missing.contains(key))
                    {
                        return None;
                    }
                    tree.entry(text, target, key)
                }
            };
            let Some((key, value)) = next else {
                is_resolved = false;
                break;
            };
            (node, shown) = (value, key);
        }
        if flaws.broken.contains(&node) || flaws.broken.contains(&tree.target(node)) {
            return None;
        }
        if is_resolved && self.is_broken_below(document, node) {
            return None;
        }
        let is_scalar = tree
            .text(text, node)
            .is_some_and(|(value, _)| !value.is_empty());
        Some(tree.place(
            source::offset(*source),
            if is_scalar { node } else { shown },
        ))
    }

    /// What is judged as a whole has to be whole.
    fn is_broken_below(&self, document: DocumentId, node: NodeId) -> bool {
        let Document { source, flaws, .. } = &self.documents[document.0];
        if flaws.broken.is_empty() && flaws.missing.is_empty() {
            return false;
        }
        let tree = &self.trees[*source];
        let mut left = vec![node];
        let mut shared = HashSet::new();
        while let Some(node) = left.pop() {
            let target = tree.target(node);
            if target != node && !shared.insert(target) {
                continue;
            }
            if flaws.broken.contains(&target) || flaws.missing.contains_key(&target) {
                return true;
            }
            match tree.kind(target) {
                NodeKind::List(items) => left.extend(items.iter().copied()),
                NodeKind::Map(entries) => {
                    for (key, value) in entries {
                        if flaws.broken.contains(key) {
                            return true;
                        }
                        left.push(*value);
                    }
                }
                NodeKind::Scalar { .. } | NodeKind::Alias(_) => {}
            }
        }
        false
    }

    /// The place of a line and column (from 1) inside a text, such as an error in the JSON of a block scalar.
    pub(crate) fn locate_inside(
        &self,
        document: DocumentId,
        path: &FieldPath,
        line: usize,
        column: usize,
    ) -> Option<Place> {
        let place = self.locate(document, path)?;
        let source = &self.sources[place.source as usize];
        let Document { root, .. } = &self.documents[document.0];
        let tree = &self.trees[place.source as usize];
        let node = path
            .segments()
            .iter()
            .try_fold(*root, |node, segment| match segment {
                Segment::Key(key) => tree.entry(source, node, key).map(|(_, value)| value),
                Segment::Index(index) => match tree.kind(node) {
                    NodeKind::List(items) => items.get(*index).copied(),
                    _ => None,
                },
            })?;
        let place = tree.place(place.source, tree.target(node));
        let (value, style) = tree.text(source, node)?;
        inside(source, place, value, style, line, column).or(Some(place))
    }
}

/// Exact for literal blocks and for texts on one line without escapes; for the rest the whole text is the answer.
fn inside(
    source: &Source,
    place: Place,
    value: &str,
    style: Style,
    line: usize,
    column: usize,
) -> Option<Place> {
    let wanted = value.split('\n').nth(line - 1)?;
    let at = |start: u32| Place {
        source: place.source,
        start,
        end: start + 1,
    };
    if style == Style::Literal {
        // The place begins at the first line that is not blank.
        let blank = value.bytes().take_while(|b| *b == b'\n').count();
        let line = (source.line_column(place.start).0 + line).checked_sub(blank + 1)?;
        let indentation = source.line(line).len().checked_sub(wanted.len())?;
        let start = source.line_range(line).start;
        return Some(at(start
            + source::offset(
                indentation + column.saturating_sub(1).min(wanted.len()),
            )));
    }
    let raw = &source.text[place.start as usize..place.end as usize];
    let skipped = raw.find(value)?;
    (line == 1).then(|| {
        at(place.start + source::offset(skipped + column.saturating_sub(1).min(value.len())))
    })
}

fn read_document(
    number: u32,
    source: &Source,
    tree: &Tree,
    root: NodeId,
) -> (Option<Document>, Vec<Problem>) {
    let known = match known(number, source, tree, root) {
        Ok(known) => known,
        Err(problem) => return (None, vec![*problem]),
    };
    let schema = (known.schema)();
    let shapes = Shapes::of(schema.as_value());
    let (flaws, mut problems) = check::check(number, source, tree, root, &shapes);
    let reader = read::Reader {
        source,
        tree,
        flaws: &flaws,
        node: root,
    };
    match (known.read)(reader) {
        Ok(content) => (
            Some(Document {
                source: number as usize,
                root,
                flaws,
                content,
            }),
            problems,
        ),
        Err(error) => {
            // The schema allows what the types refuse: our fault, but the person has to be told something.
            let problem = Problem::new(
                FieldPath::root(),
                Kind::Invalid,
                "schema/unreadable",
                error.to_string(),
            )
            .at(tree.place(number, root));
            problems.push(problem);
            (None, problems)
        }
    }
}

/// One warning of a document for all that is given and has no effect.
fn unused(number: u32, tree: &Tree, flaws: &Flaws) -> Option<Problem> {
    const SHOWN: usize = 12;
    let first = flaws
        .unused
        .values()
        .map(|key| tree.place(number, *key))
        .min()?;
    let mut names: Vec<&str> = flaws.unused.keys().map(String::as_str).collect();
    let more = names.len().saturating_sub(SHOWN);
    names.truncate(SHOWN);
    let mut message = format!("kvshoot does not use {}", names.join(", "));
    if more > 0 {
        message += &format!(" and {more} more");
    }
    let problem = Problem::new(
        FieldPath::root(),
        Kind::NotSupported,
        "manifest/unused",
        message,
    );
    Some(problem.at(first))
}

fn known(
    number: u32,
    source: &Source,
    tree: &Tree,
    root: NodeId,
) -> Result<&'static Known, Box<Problem>> {
    let field = |name: &str| {
        let (key, value) = tree.entry(source, root, name)?;
        Some((key, value, tree.text(source, value)?.0))
    };
    let wrong = |kind, code, message: String, node| {
        Box::new(Problem::new(FieldPath::root(), kind, code, message).at(tree.place(number, node)))
    };
    if !matches!(tree.kind(root), NodeKind::Map(_)) {
        return Err(wrong(
            Kind::Invalid,
            "manifest/no-object",
            "is no Kubernetes object".to_owned(),
            root,
        ));
    }
    let Some((_, kind_node, kind)) = field("kind") else {
        return Err(wrong(
            Kind::Required,
            "manifest/kind",
            "kind is required".to_owned(),
            root,
        ));
    };
    let Some((_, version_node, api_version)) = field("apiVersion") else {
        return Err(wrong(
            Kind::Required,
            "manifest/api-version",
            "apiVersion is required".to_owned(),
            kind_node,
        ));
    };
    let Some(known) = KNOWN.iter().find(|known| known.kind == kind) else {
        let kinds = || KNOWN.iter().map(|known| known.kind);
        let hint = nearest(kind, kinds()).map_or_else(
            || format!("one of {}", kinds().collect::<Vec<_>>().join(", ")),
            |meant| format!("did you mean {meant}?"),
        );
        return Err(Box::new(
            wrong(
                Kind::NotSupported,
                "manifest/kind",
                format!("{kind} {api_version} is not read here"),
                kind_node,
            )
            .hint(Some(hint)),
        ));
    };
    if known.api_version != api_version {
        let problem = wrong(
            Kind::NotSupported,
            "manifest/api-version",
            format!("{kind} {api_version} is not read here"),
            version_node,
        );
        return Err(Box::new(
            problem.hint(Some(format!("did you mean {}?", known.api_version))),
        ));
    }
    Ok(known)
}
