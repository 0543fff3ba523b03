//! Everything besides the manifests that a judgement depends on.

use std::collections::HashMap;

use jiff::Timestamp;

use crate::model::{CloudProfile, KeyReference, Shoot};
use crate::validate::machine_deployment::ResolvedValue;

/// A Shoot as it was last applied, with its CloudProfile.
pub(crate) type LastApplied = (Shoot, CloudProfile);

/// A file of the profile directory: its path and content.
pub(crate) type ProfileFile = (String, Vec<u8>);

/// Everything besides the manifests that a judgement depends on.
#[derive(Debug, Clone)]
pub(crate) struct LoadContext {
    /// CloudProfiles of the configuration directory.
    pub(crate) profiles: Vec<ProfileFile>,
    /// The records of shoots that already exist, by technical ID.
    pub(crate) records: HashMap<String, LastApplied>,
    /// Values that MachineDeployments take from Secrets and ConfigMaps.
    pub(crate) values: FetchedValues,
    /// Accepts MachineDeployments without a Shoot.
    pub(crate) allow_without_shoot: bool,
    /// Treatment of bindings that are not among the manifests.
    pub(crate) bindings: BindingLookup,
    /// Names of the add-ons, one of which may be the pod network; None if that is not to be judged.
    pub(crate) addons: Option<Vec<String>>,
    /// Accepts kubeconfigs that run programs or read local files.
    pub(crate) allow_exec: bool,
    /// Decides which versions have expired.
    pub(crate) now: Timestamp,
}

/// Values of Secrets and ConfigMaps, or the reason why there are none.
#[derive(Debug, Clone)]
pub(crate) enum FetchedValues {
    /// The command works without a provider cluster: a reference is an error.
    Offline,
    /// The command works without a provider cluster: a reference is a warning.
    Skipped,
    /// The values could not be fetched yet: fields that depend on them are not judged.
    Pending,
    /// By technical ID of the Shoot that the MachineDeployment belongs to, since each Shoot has its own provider
    /// cluster. The ID is empty for a reference that decides which Shoot that is.
    Fetched(HashMap<(String, KeyReference), ResolvedValue>),
}

/// Treatment of bindings that are not among the manifests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BindingLookup {
    /// Bindings are not used: an option selects the provider cluster, or it is known already. Problems of kubeconfigs
    /// in the manifests are warnings.
    Skipped,
    /// The command does not connect: a missing binding is a warning.
    Advisory,
    /// A missing binding is an error.
    Required,
}

impl LoadContext {
    /// A context without profiles, records and values.
    pub(crate) fn at(now: Timestamp) -> LoadContext {
        LoadContext {
            profiles: Vec::new(),
            records: HashMap::new(),
            values: FetchedValues::Offline,
            allow_without_shoot: false,
            bindings: BindingLookup::Skipped,
            addons: None,
            allow_exec: false,
            now,
        }
    }
}

impl FetchedValues {
    /// Resolves a reference of a MachineDeployment of the Shoot with this technical ID.
    pub(super) fn resolve(&self, shoot: &str, reference: &KeyReference) -> ResolvedValue {
        match self {
            FetchedValues::Offline => ResolvedValue::Offline,
            FetchedValues::Skipped => ResolvedValue::Skipped,
            FetchedValues::Pending => ResolvedValue::Pending,
            FetchedValues::Fetched(values) => values
                .get(&(shoot.to_owned(), reference.clone()))
                .cloned()
                .unwrap_or(ResolvedValue::Offline),
        }
    }
}
