//! Volumes: a DataVolume, the pod that fills it, the claim behind it, and that claim's class.

use super::cause_chain::{Advice, Chain, Link};
use super::index::{Around, Classes, condition, message};
use super::pod;
use crate::cluster::json::{items, text};
use serde_json::Value;

impl Around {
    /// Why a DataVolume has not got its content.
    pub(crate) fn image(&self, name: &str, classes: &Classes) -> Option<Chain> {
        let volume = self.volumes.get(name)?;
        let phase = text(&volume["status"]["phase"]);
        if phase == "Succeeded" {
            return None;
        }
        let own = || Link::new("DataVolume", name, phase);
        let claim = text(&volume["status"]["claimName"]);
        let claim = if claim.is_empty() { name } else { claim };
        let of_class = || {
            let spec = &volume["spec"];
            let class = [&spec["storage"], &spec["pvc"]].map(|it| text(&it["storageClassName"]));
            let class = class.into_iter().find(|it| !it.is_empty())?;
            no_class(own(), class, classes)
        };
        let of_itself = || {
            let message = condition(volume, "Running")
                .or_else(|| condition(volume, "Bound"))
                .or_else(|| message(self.warning("DataVolume", name)?))?;
            let chain = Chain::said(own(), message);
            Some(match stumbles(volume) {
                true => chain.advised(Advice::Image),
                false => chain,
            })
        };
        // A pod that waits for its claim says less than the claim does.
        let below = self
            .claim(claim, classes)
            .or_else(|| self.worker_pod(claim))
            .map(|it| it.under(own()));
        below.or_else(of_class).or_else(of_itself)
    }

    /// Why a claim has no volume.
    pub(crate) fn claim(&self, name: &str, classes: &Classes) -> Option<Chain> {
        let claim = self.claims.get(name)?;
        let phase = text(&claim["status"]["phase"]);
        if phase == "Bound" {
            return None;
        }
        let own = || Link::new("PersistentVolumeClaim", name, phase);
        let class = text(&claim["spec"]["storageClassName"]);
        no_class(own(), class, classes).or_else(|| {
            let warning = message(self.warning("PersistentVolumeClaim", name)?)?;
            Some(Chain::said(own(), warning))
        })
    }

    /// Importers and cloners belong to the claim, or to the one that CDI fills in its stead.
    fn worker_pod(&self, claim: &str) -> Option<Chain> {
        let uid = self
            .claims
            .get(claim)
            .map(|it| text(&it["metadata"]["uid"]));
        let stand_in = uid.map(|it| format!("prime-{it}"));
        let owners = [Some(claim.to_owned()), stand_in];
        owners.into_iter().flatten().find_map(|owner| {
            let pods = self.pods_of("PersistentVolumeClaim", &owner);
            let chain = pods.iter().find_map(pod::trouble)?;
            // What ended it was the image, unless it did not even begin.
            Some(match chain.advice {
                Some(Advice::Log { .. }) => chain.advised(Advice::Image),
                _ => chain,
            })
        })
    }
}

/// Its importer ran, and could not get at the image.
fn stumbles(volume: &Value) -> bool {
    let mut conditions = items(&volume["status"]["conditions"]).iter();
    conditions.any(|it| it["type"] == "Running" && it["reason"] == "Error")
}

/// None is known where classes may not be read.
fn no_class(link: Link, class: &str, classes: &Classes) -> Option<Chain> {
    let is_unknown = !class.is_empty() && !classes.is_empty() && !classes.contains_key(class);
    let message = || format!("storageclass \"{class}\" not found");
    is_unknown.then(|| Chain::of(link, message()).advised(Advice::Class))
}
