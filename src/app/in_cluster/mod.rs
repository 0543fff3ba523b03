//! Manifests of workloads that run kvshoot inside a cluster, with a ServiceAccount of minimal permissions.

pub(crate) mod account;
pub(crate) mod cronjob;
pub(crate) mod pod;

use super::context::Context;

/// The default image. It is not published: only a sandbox has it, other clusters need `--image`.
pub(crate) const IMAGE: &str = concat!("kvshoot:", env!("CARGO_PKG_VERSION"));

/// Hints on how to apply printed manifests.
pub(crate) fn hint(has_default_image: bool, context: &Context) {
    let namespace = context.provider.namespace.as_deref();
    let ui = &context.ui;
    let flag = namespace.map_or(String::new(), |it| format!(" -n {it}"));
    ui.hint(&format!("to apply it: pipe it to kubectl{flag} apply -f -"));
    if has_default_image {
        ui.hint("pass --image with an image that your cluster can pull; docs/guide.md shows how to build one");
    }
}

/// A JSON string, which is also valid YAML.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// # Errors
///
/// The text is not an image reference.
pub(crate) fn parse_image(text: &str) -> Result<String, String> {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "._-/:@".contains(it);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => Ok(text.to_owned()),
        false => Err("is not a valid image reference".to_owned()),
    }
}

/// # Errors
///
/// The text is not the name of an object.
pub(crate) fn parse_object_name(text: &str) -> Result<String, String> {
    let is_plain = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || b".-".contains(&it);
    match !text.is_empty() && text.bytes().all(is_plain) {
        true => Ok(text.to_owned()),
        false => Err("is not a valid name of an object".to_owned()),
    }
}
