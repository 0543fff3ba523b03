//! Causes of volumes: a DataVolume, the pod that fills it, its PersistentVolumeClaim, and the StorageClass.

use super::cause_chain::{Advice, Cause, CauseChain};
use super::cause_index::{CauseIndex, StorageClasses, event_message, failed_condition};
use super::pod;
use crate::cluster::objects::kubevirt::data_volume::PartialDataVolume;

impl CauseIndex {
    /// Why a DataVolume is not filled.
    pub(crate) fn data_volume_chain(
        &self,
        name: &str,
        classes: &StorageClasses,
    ) -> Option<CauseChain> {
        let volume = self.volumes.get(name)?;
        let phase = volume.status.phase.as_str();
        if phase == "Succeeded" {
            return None;
        }
        let own = || Cause::new("DataVolume", name, phase);
        let claim = volume.status.claim_name.as_deref();
        let claim = claim.filter(|it| !it.is_empty()).unwrap_or(name);
        let of_class = || missing_class(own(), volume.storage_class()?, classes);
        let of_itself = || {
            let conditions = &volume.status.conditions;
            let message = failed_condition(conditions, "Running")
                .or_else(|| failed_condition(conditions, "Bound"))
                .or_else(|| event_message(self.warning("DataVolume", name)?))?;
            let chain = CauseChain::reported(own(), message);
            Some(match import_failed(volume) {
                true => chain.with_advice(Advice::Image),
                false => chain,
            })
        };
        // A pod that waits for its claim explains less than the claim.
        let below = self
            .claim_chain(claim, classes)
            .or_else(|| self.worker_pod_chain(claim))
            .map(|it| it.under(own()));
        below.or_else(of_class).or_else(of_itself)
    }

    /// Why a PersistentVolumeClaim is not bound.
    pub(crate) fn claim_chain(&self, name: &str, classes: &StorageClasses) -> Option<CauseChain> {
        let claim = self.claims.get(name)?;
        let phase = claim.status.phase.as_str();
        if phase == "Bound" {
            return None;
        }
        let own = || Cause::new("PersistentVolumeClaim", name, phase);
        let class = claim.spec.storage_class().unwrap_or_default();
        missing_class(own(), class, classes).or_else(|| {
            let warning = event_message(self.warning("PersistentVolumeClaim", name)?)?;
            Some(CauseChain::reported(own(), warning))
        })
    }

    /// Importers and cloners are owned by the claim, or by the temporary claim that CDI fills instead.
    fn worker_pod_chain(&self, claim: &str) -> Option<CauseChain> {
        let uid = self.claims.get(claim).map(|it| &it.metadata.uid);
        let stand_in = uid.map(|it| format!("prime-{it}"));
        let owners = [Some(claim.to_owned()), stand_in];
        owners.into_iter().flatten().find_map(|owner| {
            let pods = self.pods_of("PersistentVolumeClaim", &owner);
            let chain = pods.iter().find_map(pod::pod_chain)?;
            // A container that ran has failed at the image.
            Some(match chain.advice {
                Some(Advice::Log { .. }) => chain.with_advice(Advice::Image),
                _ => chain,
            })
        })
    }
}

/// True if the importer ran and could not read the image.
fn import_failed(volume: &PartialDataVolume) -> bool {
    let running = volume.condition("Running");
    running.is_some_and(|it| it.reason == "Error")
}

/// None if StorageClasses may not be listed.
fn missing_class(link: Cause, class: &str, classes: &StorageClasses) -> Option<CauseChain> {
    let is_unknown = !class.is_empty() && !classes.is_empty() && !classes.contains_key(class);
    let message = || format!("storageclass \"{class}\" not found");
    is_unknown.then(|| CauseChain::new(link, message()).with_advice(Advice::Class))
}
