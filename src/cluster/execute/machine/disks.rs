//! Disks of machines that become larger.

use crate::cluster::client::error::Error;
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::resources;
use crate::cluster::execute::executor::Executor;
use crate::cluster::objects::reader::read;
use crate::cluster::objects::storage::PartialClaim;
use crate::cluster::observe::parse::image::bytes;
use crate::state::desired::machine_content::DiskGrowth;
use crate::state::names;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Longest wait for the storage provider; it has had the time that the machine was drained, too.
const EXPANSION_LIMIT: Duration = Duration::from_secs(10 * 60);
/// Interval between checks of the claims.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

impl Executor {
    /// Requests larger volumes for the disks of a machine.
    ///
    /// # Errors
    ///
    /// [`Error::Forbidden`] if the StorageClass does not allow it.
    pub(super) async fn request_larger_disks(&self, disks: &[DiskGrowth]) -> Result<(), Error> {
        for disk in disks {
            let claim = self.claim(disk).await?;
            let Some(size) = larger_request(&claim, disk) else {
                continue;
            };
            let patch = json!({
                "metadata": {
                    "uid": claim.metadata.uid,
                    "annotations": { names::DISK_SIZE: disk.to.to_string() },
                },
                "spec": { "resources": { "requests": { "storage": quantity(size) } } },
            });
            let limit = self.write_timeout()?;
            self.provider
                .patch(self.claim_ref(disk), &patch, limit)
                .await?;
        }
        Ok(())
    }

    /// Requests larger volumes for the disks of a halted machine, and returns when its next start will find them larger.
    ///
    /// # Errors
    ///
    /// [`Error::NotExpanded`] if the storage provider takes longer than ten minutes.
    pub(in crate::cluster::execute) async fn grow_disks(
        &self,
        uid: &Arc<str>,
        disks: &[DiskGrowth],
    ) -> Result<(), Error> {
        self.request_larger_disks(disks).await?;
        let ends = Instant::now() + EXPANSION_LIMIT;
        for disk in disks {
            while let Some(what) = open_expansion(&self.claim(disk).await?) {
                self.fence.remaining()?;
                if Instant::now() >= ends {
                    return Err(Error::NotExpanded(what));
                }
                self.observer.set_drain_status(uid, &what);
                sleep(POLL_INTERVAL).await;
            }
        }
        Ok(())
    }

    async fn claim(&self, disk: &DiskGrowth) -> Result<PartialClaim, Error> {
        let claim = self.provider.get_with_retry(self.claim_ref(disk)).await?;
        read(&resources::CLAIM, &claim)
    }

    fn claim_ref<'a>(&'a self, disk: &'a DiskGrowth) -> ResourceRef<'a> {
        ResourceRef::one(&resources::CLAIM, self.provider.namespace(), &disk.claim)
    }
}

/// The request of a claim, in bytes, that a larger disk needs. None if it has been made.
///
/// A claim can be larger than its disk, because CDI adds the overhead of a filesystem. So it grows by the same factor, and
/// its annotation has the size of the disk that its request is for.
fn larger_request(claim: &PartialClaim, disk: &DiskGrowth) -> Option<u64> {
    let requested = claim.spec.size().and_then(bytes).unwrap_or_default();
    let annotation = claim.metadata.annotation(names::DISK_SIZE);
    let before = annotation
        .and_then(|it| it.parse().ok())
        .unwrap_or(disk.from);
    if before >= disk.to {
        return None;
    }
    let exact = u128::from(requested) * u128::from(disk.to);
    let larger = exact.div_ceil(u128::from(before.max(1)));
    Some(u64::try_from(larger).unwrap_or(u64::MAX))
}

/// A number of bytes as people write it, such as 30Gi, if it has no remainder.
fn quantity(bytes: u64) -> String {
    let units = [("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10)];
    let unit = units
        .iter()
        .find(|it| bytes > 0 && bytes.is_multiple_of(1 << it.1));
    match unit {
        Some((suffix, shift)) => format!("{}{suffix}", bytes >> shift),
        None => bytes.to_string(),
    }
}

/// Words for a volume that the storage provider is still expanding. The rest of the work, on its filesystem, is done when the
/// machine starts.
fn open_expansion(claim: &PartialClaim) -> Option<String> {
    let requested = claim.spec.size().and_then(bytes)?;
    let capacity = claim.status.capacity().and_then(bytes).unwrap_or_default();
    let condition = claim.status.resizing();
    let is_left_to_start = condition.is_some_and(|it| it.kind == "FileSystemResizePending");
    if capacity >= requested || is_left_to_start {
        return None;
    }
    let name = &claim.metadata.name;
    let why = condition.and_then(|it| it.message());
    let why = why.map(|it| format!(": {it}")).unwrap_or_default();
    Some(format!("volume {name} is being expanded{why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::objects::testing::object;
    use serde_json::{Value, json};

    const GI: u64 = 1 << 30;

    fn claim(requested: &str, annotation: Option<u64>, status: Value) -> PartialClaim {
        let claim = json!({
            "metadata": {
                "name": "m",
                "annotations": annotation.map(|it| json!({ names::DISK_SIZE: it.to_string() })).unwrap_or(json!({})),
            },
            "spec": { "resources": { "requests": { "storage": requested } } },
            "status": status,
        });
        object(claim)
    }

    fn growth(from: u64, to: u64) -> DiskGrowth {
        DiskGrowth {
            claim: "m".into(),
            from: from * GI,
            to: to * GI,
        }
    }

    #[test]
    fn a_claim_grows_with_its_disk_once() {
        let request = |requested, annotation, from, to| {
            larger_request(&claim(requested, annotation, json!({})), &growth(from, to))
        };
        assert_eq!(request("20Gi", None, 20, 40), Some(40 * GI));
        // With an overhead of a tenth.
        assert_eq!(request("22Gi", None, 20, 40), Some(44 * GI));
        assert_eq!(request("44Gi", Some(40 * GI), 20, 40), None);
        // A run was killed before the machine started, and then the manifest got a larger disk.
        assert_eq!(request("44Gi", Some(40 * GI), 20, 80), Some(88 * GI));
        // A disk that grew, whose size in the manifest was taken back meanwhile.
        assert_eq!(request("44Gi", Some(40 * GI), 20, 30), None);
        assert_eq!(request("0", None, 0, 40), Some(0));
        assert_eq!(request("16Pi", None, 1, 2000), Some(u64::MAX));
    }

    #[test]
    fn requests_are_written_as_people_write_them() {
        let all = [30 << 30, 1536 << 30, 1 << 40, 1000, 0].map(quantity);
        assert_eq!(all, ["30Gi", "1536Gi", "1Ti", "1000", "0"]);
        assert_eq!(bytes(&quantity(44 << 20)), Some(44 << 20));
    }

    #[test]
    fn the_rest_of_an_expansion_is_left_to_the_start_of_the_machine() {
        let open = |capacity: &str, condition: Option<(&str, &str)>| {
            let conditions = condition.map(
                |(kind, message)| json!([{ "type": kind, "status": "True", "message": message }]),
            );
            let status = json!({
                "capacity": { "storage": capacity },
                "conditions": conditions.unwrap_or(json!([])),
            });
            open_expansion(&claim("40Gi", None, status))
        };
        assert_eq!(open("40Gi", None), None);
        assert_eq!(open("50Gi", None), None);
        assert_eq!(
            open("20Gi", None).as_deref(),
            Some("volume m is being expanded")
        );
        let resizing = Some(("Resizing", "the pool is full"));
        assert_eq!(
            open("20Gi", resizing).as_deref(),
            Some("volume m is being expanded: the pool is full")
        );
        let pending = Some(("FileSystemResizePending", "waiting for a pod"));
        assert_eq!(open("20Gi", pending), None);
    }
}
