//! Input of one machine's objects.

use crate::state::desired::machine_content::MachineContent;
use crate::state::desired::{ImageVolume, NetworkAttachment};
use crate::state::hash::Hash;
use crate::state::site::Site;
use crate::validate::PoolSpec;
use serde_json::Value;

/// Input of one machine's objects.
pub(crate) struct MachineContext<'a> {
    pub(crate) site: Site<'a>,
    pub(crate) region: &'a str,
    pub(crate) pool: &'a PoolSpec,
    pub(crate) hash: Hash,
    pub(crate) content: MachineContent,
    /// Index in the pool's zones.
    pub(crate) zone: usize,
    pub(crate) name: &'a str,
    /// MTU of its interfaces, unless the provider announces it.
    pub(crate) mtu: Option<u32>,
    pub(crate) attachments: Vec<NetworkAttachment>,
    pub(crate) golden: Option<ImageVolume>,
    /// Reference to the pool's instancetype, as in the VM.
    pub(crate) instancetype: Option<Value>,
    pub(crate) preference: Option<Value>,
}
