//! The supported kinds of documents, with their schemas and readers.

use std::sync::{Arc, LazyLock};

use serde::de::DeserializeOwned;

use crate::model::{
    CloudProfile, CredentialsBinding, FieldPath, MachineDeployment, Secret, SecretBinding, Shoot,
    suggest,
};

use super::content::Content;
use super::problem::{FindingKind, Problem};
use super::read;
use super::schema::CompiledSchema;
use super::source::SourceFile;
use super::tree::{NodeId, NodeKind, Tree};

/// A supported kind of document, with its schema and reader.
pub(super) struct KnownKind {
    api_version: &'static str,
    kind: &'static str,
    schema: fn() -> schemars::Schema,
    /// Compiled when the first document of the kind is read.
    pub(super) compiled: LazyLock<CompiledSchema>,
    pub(super) read: fn(read::TreeReader<'_>) -> Result<Content, read::DeserializeError>,
}

static KNOWN: [KnownKind; 6] = [
    KnownKind {
        api_version: "core.gardener.cloud/v1beta1",
        kind: "Shoot",
        schema: schema::<Shoot>,
        compiled: LazyLock::new(compiled::<Shoot>),
        read: |r| content(r, Content::Shoot),
    },
    KnownKind {
        api_version: "core.gardener.cloud/v1beta1",
        kind: "CloudProfile",
        schema: schema::<CloudProfile>,
        compiled: LazyLock::new(compiled::<CloudProfile>),
        read: |r| content(r, Content::CloudProfile),
    },
    KnownKind {
        api_version: "core.gardener.cloud/v1beta1",
        kind: "SecretBinding",
        schema: schema::<SecretBinding>,
        compiled: LazyLock::new(compiled::<SecretBinding>),
        read: |r| content(r, Content::SecretBinding),
    },
    KnownKind {
        api_version: "security.gardener.cloud/v1alpha1",
        kind: "CredentialsBinding",
        schema: schema::<CredentialsBinding>,
        compiled: LazyLock::new(compiled::<CredentialsBinding>),
        read: |r| content(r, Content::CredentialsBinding),
    },
    KnownKind {
        api_version: "v1",
        kind: "Secret",
        schema: schema::<Secret>,
        compiled: LazyLock::new(compiled::<Secret>),
        read: |r| content(r, Content::Secret),
    },
    KnownKind {
        api_version: "cluster.k8s.io/v1alpha1",
        kind: "MachineDeployment",
        schema: schema::<MachineDeployment>,
        compiled: LazyLock::new(compiled::<MachineDeployment>),
        read: |r| content(r, Content::MachineDeployment),
    },
];

fn schema<T: schemars::JsonSchema>() -> schemars::Schema {
    schemars::generate::SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<T>()
}

fn compiled<T: schemars::JsonSchema>() -> CompiledSchema {
    CompiledSchema::of(schema::<T>().as_value())
}

fn content<T: DeserializeOwned>(
    reader: read::TreeReader<'_>,
    wrap: fn(Arc<T>) -> Content,
) -> Result<Content, read::DeserializeError> {
    T::deserialize(reader).map(|value| wrap(Arc::new(value)))
}

/// Names of the supported kinds.
pub(crate) fn kinds() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|known| known.kind)
}

/// Schema of a kind, as published and as used for checking.
pub(crate) fn schema_of(kind: &str) -> Option<schemars::Schema> {
    let known = KNOWN
        .iter()
        .find(|known| known.kind.eq_ignore_ascii_case(kind))?;
    let mut schema = (known.schema)();
    schemars::transform::transform_subschemas(&mut close, &mut schema);
    schemars::transform::Transform::transform(&mut close, &mut schema);
    Some(schema)
}

/// Forbids additional properties of structs, for other readers of the schema.
fn close(schema: &mut schemars::Schema) {
    if schema.get("properties").is_some() {
        schema.insert("additionalProperties".to_owned(), false.into());
    }
    schemars::transform::transform_subschemas(&mut close, schema);
}

pub(super) fn known(
    number: u32,
    source: &SourceFile,
    tree: &Tree,
    root: NodeId,
) -> Result<&'static KnownKind, Box<Problem>> {
    let field = |name: &str| {
        let (key, value) = tree.entry(source, root, name)?;
        Some((key, value, tree.text(source, value)?.0))
    };
    let wrong = |kind, code, message: String, node| {
        Box::new(Problem::new(FieldPath::root(), kind, code, message).at(tree.place(number, node)))
    };
    if !matches!(tree.kind(root), NodeKind::Map(_)) {
        return Err(wrong(
            FindingKind::Invalid,
            "manifest/no-object",
            "not a Kubernetes object".to_owned(),
            root,
        ));
    }
    let Some((_, kind_node, kind)) = field("kind") else {
        return Err(wrong(
            FindingKind::Required,
            "manifest/kind",
            "kind is required".to_owned(),
            root,
        ));
    };
    let Some((_, version_node, api_version)) = field("apiVersion") else {
        return Err(wrong(
            FindingKind::Required,
            "manifest/api-version",
            "apiVersion is required".to_owned(),
            kind_node,
        ));
    };
    let Some(known) = KNOWN.iter().find(|known| known.kind == kind) else {
        let kinds = || KNOWN.iter().map(|known| known.kind);
        let hint = match suggest(kind, kinds()) {
            _ if kind == "List" => "write its items as documents, separated by ---".to_owned(),
            Some(meant) => format!("did you mean {meant:?}?"),
            None => format!(
                "supported values: {}",
                kinds().collect::<Vec<_>>().join(", ")
            ),
        };
        return Err(Box::new(
            wrong(
                FindingKind::NotSupported,
                "manifest/kind",
                format!("unsupported kind \"{api_version}/{kind}\""),
                kind_node,
            )
            .hint(Some(hint)),
        ));
    };
    if known.api_version != api_version {
        let problem = wrong(
            FindingKind::NotSupported,
            "manifest/api-version",
            format!("unsupported kind \"{api_version}/{kind}\""),
            version_node,
        );
        let group = |it: &str| it.split('/').next().unwrap_or_default().to_owned();
        let hint = match group(api_version) == group(known.api_version) {
            true => format!("did you mean {}?", known.api_version),
            // Another API of the same kind, such as that of Cluster API.
            false => format!("the supported {kind} is that of {}", known.api_version),
        };
        return Err(Box::new(problem.hint(Some(hint))));
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn each_unused_field_says_why_it_has_no_effect() {
        let mut unused = 0;
        for kind in kinds() {
            let schema = schema_of(kind).expect("the kind is supported");
            unused += check(schema.as_value(), kind);
        }
        assert!(unused > 60, "{unused} unused fields found");
    }

    /// Returns the number of unused fields of a schema and its subschemas.
    fn check(schema: &Value, path: &str) -> usize {
        let children: Vec<(String, &Value)> = match schema {
            Value::Object(members) => members.iter().map(|(k, v)| (k.clone(), v)).collect(),
            Value::Array(items) => items.iter().map(|v| (String::new(), v)).collect(),
            _ => Vec::new(),
        };
        let is_unused = schema.get("x-unused").is_some();
        if is_unused {
            let description = schema["description"].as_str().unwrap_or_default();
            assert!(description.starts_with("No effect: "), "{path}");
        }
        let below = children
            .iter()
            .map(|(name, child)| check(child, &format!("{path}.{name}")));
        below.sum::<usize>() + usize::from(is_unused)
    }
}
