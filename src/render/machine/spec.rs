//! What decides one machine's object.

use crate::state::desired::{Attachment, Golden};
use crate::state::hash::Hash;
use crate::state::site::Site;
use crate::validate::Pool;
use serde_json::Value;

/// All that decides one machine's object.
pub(crate) struct Machine<'a> {
    pub(crate) site: Site<'a>,
    pub(crate) region: &'a str,
    pub(crate) pool: &'a Pool,
    pub(crate) hash: Hash,
    /// Index in the pool's zones.
    pub(crate) zone: usize,
    pub(crate) name: &'a str,
    pub(crate) attachments: &'a [Attachment],
    pub(crate) golden: Option<&'a Golden>,
    /// What the pool names, as the VM has it.
    pub(crate) instancetype: Option<Value>,
    pub(crate) preference: Option<Value>,
}
