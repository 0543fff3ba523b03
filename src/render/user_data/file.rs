//! One file of a machine.

use serde_json::{Value, json};

/// Directory of the files that the script may have to install.
pub(crate) const LIB: &str = "/usr/local/lib/kvshoot";

pub(crate) fn file(path: &str, permissions: &str, content: &str) -> Value {
    json!({ "path": path, "permissions": permissions, "content": content })
}
