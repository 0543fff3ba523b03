//! One file of a machine.

use serde_json::{Value, json};

/// Where the script finds what it may have to install.
pub(crate) const LIB: &str = "/usr/local/lib/kvshoot";

pub(crate) fn file(path: &str, permissions: &str, content: &str) -> Value {
    json!({ "path": path, "permissions": permissions, "content": content })
}
