//! All names, labels and annotations that kvshoot sets.

use crate::state::hash::Hash;

pub(crate) const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
pub(crate) const KVSHOOT: &str = "kvshoot";
/// The technical ID of the shoot.
pub(crate) const PART_OF: &str = "app.kubernetes.io/part-of";
/// One of [`role`].
pub(crate) const COMPONENT: &str = "app.kubernetes.io/component";
/// UID of the record. Objects of an earlier shoot of the same name have a different one.
pub(crate) const SHOOT_UID: &str = "kvshoot.io/shoot-uid";
pub(crate) const POOL: &str = "kvshoot.io/pool";
/// Index of the zone in its pool, from 1, as in the machine's name.
pub(crate) const ZONE_INDEX: &str = "kvshoot.io/zone-index";

/// Annotations.
pub(crate) const SPEC_HASH: &str = "kvshoot.io/spec-hash";
/// Name of the zone, which may not be a valid label value.
pub(crate) const ZONE: &str = "kvshoot.io/zone";
/// Labels and annotations that the pool set on a machine, as canonical JSON.
pub(crate) const POOL_METADATA: &str = "kvshoot.io/pool-metadata";
/// Marks a machine chosen for removal. The decision is final.
pub(crate) const LEAVING: &str = "kvshoot.io/leaving";
/// On a machine: the hash of its size and the sizes of its disks in bytes, separated by commas, which a restart changes, and
/// the hash of everything else about it.
pub(crate) const SIZE_HASH: &str = "kvshoot.io/size-hash";
pub(crate) const DISK_SIZES: &str = "kvshoot.io/disk-sizes";
pub(crate) const FIXED_HASH: &str = "kvshoot.io/fixed-hash";
/// On a machine that takes new CAs in place, the ones that it trusts, and the hash of everything fixed but them. Its node
/// reports them with the first one.
pub(crate) const CERTIFICATE_AUTHORITIES: &str = "kvshoot.io/certificate-authorities";
pub(crate) const BASE_HASH: &str = "kvshoot.io/base-hash";
/// On the claim of a disk that was expanded: the size of the disk in bytes. The claim may be larger.
pub(crate) const DISK_SIZE: &str = "kvshoot.io/disk-size";
/// Marks a machine that is being halted, or is halted. The value is the time of that decision.
pub(crate) const HALTING: &str = "kvshoot.io/halting";
/// On a machine: when its restart was decided, and the UID of the instance that is restarted.
pub(crate) const RESTARTED_AT: &str = "kvshoot.io/restarted-at";
pub(crate) const RESTART_OF: &str = "kvshoot.io/restart-of";
/// Marks a machine that is to be replaced within the bounds of its pool. The value is the reason.
pub(crate) const REPLACE: &str = "kvshoot.io/replace";
/// On a machine that could not be migrated from a host that is being drained: the reason, and the eviction that asked for it.
pub(crate) const MIGRATION_FAILED: &str = "kvshoot.io/migration-failed";
pub(crate) const FAILED_EVICTION: &str = "kvshoot.io/failed-eviction";
/// The host that a migration moves a machine away from.
pub(crate) const EVACUATED_HOST: &str = "kvshoot.io/evacuated-host";
/// On a record: times of the last repairs of machines, in seconds since 1970, separated by commas.
pub(crate) const REPAIRS: &str = "kvshoot.io/repairs";
/// Name of the manifest set that an object of the shoot belongs to.
pub(crate) const BUNDLE: &str = "kvshoot.io/bundle";
/// Name and version of a golden volume's image.
pub(crate) const IMAGE: &str = "kvshoot.io/image";

/// Validity of the certificate in a Secret, so that its data need not be read. Seconds since 1970.
pub(crate) const NOT_BEFORE: &str = "kvshoot.io/not-before";
pub(crate) const NOT_AFTER: &str = "kvshoot.io/not-after";
/// DNS names and addresses, separated by commas.
pub(crate) const CERTIFICATE_NAMES: &str = "kvshoot.io/names";
/// Hashes of public keys: the certificate's own, and its issuer's.
pub(crate) const CERTIFICATE_KEY: &str = "kvshoot.io/key";
pub(crate) const CERTIFICATE_ISSUER: &str = "kvshoot.io/issuer";
/// Hash of the public key of the root before, while its certificates are trusted.
pub(crate) const PREVIOUS_KEY: &str = "kvshoot.io/previous-key";
/// Content of the Secret of a root or key that was rotated.
pub(crate) const GENERATION: &str = "kvshoot.io/generation";
/// Number of the service account key of a pod's token, on templates of system pods after a rotation.
pub(crate) const TOKEN_KEY: &str = "kvshoot.io/token-key";
/// Number of the CA that such a pod trusts, on the same templates.
pub(crate) const TRUSTED_CA: &str = "kvshoot.io/trusted-ca";
/// PEM of the CA certificates in a CA's Secret.
pub(crate) const CERTIFICATE_AUTHORITY: &str = "kvshoot.io/ca";
/// Hash of all data of a Secret; on pods as `checksum/<Secret>`.
pub(crate) const CHECKSUM: &str = "kvshoot.io/checksum";

/// Labels by which the KubeVirt cloud controller manager selects the endpoints of load balancers.
pub(crate) const CAPI_ROLE: &str = "cluster.x-k8s.io/role";
pub(crate) const CAPI_CLUSTER: &str = "cluster.x-k8s.io/cluster-name";
/// Technical ID, on the DataVolumes of a shoot's own volumes. The KubeVirt CSI driver touches no others.
pub(crate) const CSI_CLUSTER: &str = "csi-driver/cluster";
/// Placeholder in user data for the machine's bootstrap token, replaced when the Secret is written.
pub(crate) const TOKEN: &str = "<bootstrap-token>";
/// Name of the pool, on its nodes.
pub(crate) const WORKER_POOL: &str = "worker.gardener.cloud/pool";
/// Label by which KubeVirt's own tools find a machine.
pub(crate) const KUBEVIRT_VM: &str = "kubevirt.io/vm";

pub(crate) const REGION_LABEL: &str = "topology.kubernetes.io/region";
/// On a StorageClass of the provider: clusters have it too (Kubermatic).
pub(crate) const INITIALIZE_CLASS: &str = "kubevirt-initialization.k8c.io/initialize-sc";
pub(crate) const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";
pub(crate) const ZONE_LABEL: &str = "topology.kubernetes.io/zone";
/// `true` on nodes of pools that take what serves the cluster as a whole.
pub(crate) const SYSTEM_COMPONENTS: &str = "worker.gardener.cloud/system-components";
pub(crate) const HOSTNAME_LABEL: &str = "kubernetes.io/hostname";

/// Labels and annotations that a pool cannot take from us.
pub(crate) fn is_ours(key: &str) -> bool {
    [MANAGED_BY, PART_OF, COMPONENT, KUBEVIRT_VM].contains(&key) || key.starts_with("kvshoot.io/")
}

/// Label selector for objects of a role, of all shoots.
pub(crate) fn role_selector(role: &str) -> String {
    format!("{MANAGED_BY}={KVSHOOT},{COMPONENT}={role}")
}

/// Field manager of the objects that kvshoot writes.
pub(crate) const FIELD_MANAGER: &str = "kvshoot";

/// Label of pods that serve node groups to cluster autoscalers.
pub(crate) const SERVES: &str = "kvshoot.io/serves";
/// Its value, and the name of the port.
pub(crate) const NODE_GROUPS: &str = "node-groups";

/// Values of [`COMPONENT`].
pub(crate) mod role {
    pub(crate) const RECORD: &str = "record";
    pub(crate) const LOCK: &str = "lock";
    /// The Lease of `kvshoot keep`.
    pub(crate) const KEEPER: &str = "keeper";
    /// The manifest of a shoot with user data.
    pub(crate) const MANIFEST: &str = "manifest";
    pub(crate) const NETWORK: &str = "network";
    pub(crate) const IMAGE: &str = "image";
    pub(crate) const INSTANCETYPE: &str = "instancetype";
    pub(crate) const PREFERENCE: &str = "preference";
    pub(crate) const USER_DATA: &str = "user-data";
    /// A root, a leaf or a key.
    pub(crate) const CERTIFICATE: &str = "certificate";
    pub(crate) const TOKEN: &str = "bootstrap-token";
    pub(crate) const MACHINE: &str = "machine";
    /// Disks of a machine: they come and go with it.
    pub(crate) const MACHINE_VOLUME: &str = "machine-volume";
}

/// Parts of a control plane, as they appear in names after the technical ID.
pub(crate) mod part {
    /// The root of the API server.
    pub(crate) const CA: &str = "ca";
    pub(crate) const ETCD: &str = "etcd";
    pub(crate) const API_SERVER: &str = "kube-apiserver";
    /// The Service by which the API server is reached from outside.
    pub(crate) const EXTERNAL: &str = "kube-apiserver-external";
    /// It makes and removes load balancers.
    pub(crate) const CLOUD_CONTROLLER: &str = "cloud-controller-manager";
    /// It makes and removes volumes.
    pub(crate) const CSI_CONTROLLER: &str = "csi-controller";
    /// NetworkPolicy that keeps machines off private addresses, by its name in Kubermatic, as the next one.
    pub(crate) const ISOLATION: &str = "cluster-isolation";
    /// The same for importers.
    pub(crate) const IMPORTER: &str = "allow-kubevirt-importer";
}

/// On a record: protects it from deletion. The value is the reason.
pub(crate) const PROTECTED: &str = "kvshoot.io/protected";

/// On a record: the rotations that `kvshoot rotate` asked for, until they are carried out.
pub(crate) const OPERATION: &str = "kvshoot.io/operation";

pub(crate) use crate::validate::EXPIRES;
pub(crate) use crate::validate::control_plane::{API_PORT, Address};

/// On a Service of type NodePort: the address given in the manifest.
pub(crate) const ADDRESS: &str = "kvshoot.io/address";

/// Name of the Lease of a `kvshoot keep` of one shoot, or of all shoots of the namespace.
pub(crate) fn keeper(id: Option<&str>) -> String {
    match id {
        Some(id) => format!("kvshoot-keep-{}", id.strip_prefix("shoot--").unwrap_or(id)),
        None => "kvshoot-keep".to_owned(),
    }
}

/// `shoot--<project>--<name>`, as in Gardener.
pub(crate) fn technical_id(project: &str, name: &str) -> String {
    format!("shoot--{project}--{name}")
}

/// Returns the technical ID for a name, `project/name`, or the ID itself.
pub(crate) fn id_of(name: &str) -> String {
    if name.starts_with("shoot--") {
        return name.to_owned();
    }
    let (project, name) = name.split_once('/').unwrap_or(("local", name));
    technical_id(project.strip_prefix("garden-").unwrap_or(project), name)
}

/// Splits a technical ID into project and name.
pub(crate) fn parts(id: &str) -> (&str, &str) {
    let rest = id.strip_prefix("shoot--").unwrap_or(id);
    rest.split_once("--").unwrap_or(("local", rest))
}

/// Short name of a shoot for people, the inverse of [`id_of`].
pub(crate) fn display_name(id: &str) -> String {
    match parts(id) {
        ("local", name) => name.to_owned(),
        (project, name) => format!("{project}/{name}"),
    }
}

/// Label selector of all objects of a shoot.
pub(crate) fn selector(id: &str) -> String {
    format!("{MANAGED_BY}={KVSHOOT},{PART_OF}={id}")
}

/// Label selector of all objects of several shoots.
pub(crate) fn selector_of_any(ids: &[String]) -> String {
    format!("{MANAGED_BY}={KVSHOOT},{PART_OF} in ({})", ids.join(","))
}

/// Name of an object of the control plane, such as `<id>-kube-apiserver`.
pub(crate) fn control_plane(id: &str, part: &str) -> String {
    format!("{id}-{part}")
}

/// Name of the inventory of a manifest set, in kube-system of the shoot.
pub(crate) fn inventory(bundle: &str) -> String {
    format!("kvshoot-bundle-{bundle}")
}

/// Returns true if an object is such an inventory, by its name in keys. Its objects stay when their add-on is no longer given.
pub(crate) fn is_inventory(name: &str) -> bool {
    name.starts_with("kube-system/kvshoot-bundle-")
}

/// Name of the Secret with this manifest of a shoot.
pub(crate) fn manifest_secret(id: &str, manifest: Hash) -> String {
    format!("{id}-manifest-{manifest}")
}

/// Returns true for names of [`manifest_secret`].
pub(crate) fn is_manifest_secret(name: &str) -> bool {
    let parts = name.rsplit_once("-manifest-");
    parts.is_some_and(|it| Hash::parse(it.1).is_some())
}

pub(crate) fn tenant_network(id: &str, network: &str) -> String {
    format!("{id}-{network}")
}

pub(crate) fn network_policy(id: &str, policy: &str) -> String {
    format!("{id}-{policy}")
}

/// Name of the shoot's own instancetype or preference. KubeVirt uses it as a label value, so long names are cut and
/// made unique by five digits.
pub(crate) fn own_type(id: &str, name: &str) -> String {
    let whole = format!("{id}-{name}");
    if whole.len() <= 63 {
        return whole;
    }
    let beginning = whole[..57].trim_matches(['-', '.']);
    format!("{beginning}-{}", Hash::of(&name).short())
}

/// The five digits differ when URL, size, class or zone differ.
pub(crate) fn golden_volume(id: &str, image: &str, version: &str, hash: Hash) -> String {
    let plain = |text: &str| {
        text.to_lowercase()
            .replace(|it: char| !it.is_ascii_alphanumeric() && it != '-', "-")
    };
    // PersistentVolumeClaims, importer pods and labels reuse the name, so it must be a DNS label.
    let middle = format!("{}-{}", plain(image), plain(version));
    let room = 63 - id.len() - 1 - 6;
    let middle = middle[..middle.len().min(room)].trim_matches('-');
    format!("{id}-{middle}-{}", hash.short())
}

/// Name of a machine; also that of its VMI, user data Secret, host name and node.
pub(crate) fn machine(id: &str, pool: &str, zone: usize, hash: Hash, ordinal: u32) -> String {
    format!("{id}-{pool}-z{}-{}-{ordinal}", zone + 1, hash.short())
}

/// Group of bootstrap tokens, the default of `kubeadm token create`.
pub(crate) const TOKEN_GROUP: &str = "system:bootstrappers:kubeadm:default-node-token";

/// On a bootstrap token: its machine.
pub(crate) const TOKEN_MACHINE: &str = "kvshoot.io/machine";

/// First part of a machine's bootstrap token. Not secret, and unique per machine.
pub(crate) fn token_id(machine: &str) -> String {
    use sha2::{Digest as _, Sha256};
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let digest = Sha256::digest(machine);
    let digits = digest[..6]
        .iter()
        .map(|it| DIGITS[usize::from(*it) % DIGITS.len()]);
    digits.map(char::from).collect()
}

/// The ordinal at the end of a machine's name.
pub(crate) fn ordinal(machine: &str) -> Option<u32> {
    machine.rsplit('-').next()?.parse().ok()
}

/// Parts of a machine's name. Labels can be overwritten, and then two machines would claim one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MachineName<'a> {
    pub(crate) pool: &'a str,
    /// Index of the zone in the pool.
    pub(crate) zone: usize,
    /// Five digits.
    hash: &'a str,
}

impl<'a> MachineName<'a> {
    /// Returns None if it is not the name of a machine of this shoot.
    pub(crate) fn parse(id: &str, machine: &'a str) -> Option<MachineName<'a>> {
        let mut parts = machine
            .strip_prefix(id)?
            .strip_prefix('-')?
            .rsplitn(4, '-')
            .skip(1);
        let hash = parts.next().filter(|it| it.len() == 5)?;
        let zone: usize = parts.next()?.strip_prefix('z')?.parse().ok()?;
        let (zone, pool) = (zone.checked_sub(1)?, parts.next()?);
        Some(MachineName { pool, zone, hash })
    }

    /// Returns the written hash if it matches the name; otherwise a hash that differs from any desired one.
    pub(crate) fn hash(&self, written: Option<Hash>) -> Hash {
        let named = || u64::from_str_radix(self.hash, 16).map(Hash::of_tag);
        match written {
            Some(hash) if hash.short() == self.hash => hash,
            _ => named().unwrap_or_default(),
        }
    }
}

/// Name of the disk of a data volume, and of the volume's DataVolume: `index` from 0.
pub(crate) fn data_disk(index: usize) -> String {
    format!("disk{index}")
}

pub(crate) fn data_volume(machine: &str, index: usize) -> String {
    format!("{machine}-{index}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_contain_their_parts() {
        let hash = Hash(0xabcd_e123_4567_89ab);
        assert_eq!(
            machine("shoot--dev--a", "cpu", 0, hash, 2),
            "shoot--dev--a-cpu-z1-abcde-2"
        );
        assert_eq!(ordinal("shoot--dev--a-cpu-z1-abcde-2"), Some(2));
        let name = MachineName::parse("shoot--dev--a", "shoot--dev--a-cpu-big-z3-abcde-2");
        let expected = MachineName {
            pool: "cpu-big",
            zone: 2,
            hash: "abcde",
        };
        assert_eq!(name, Some(expected));
        assert_eq!(
            MachineName::parse("shoot--dev--b", "shoot--dev--a-cpu-z3-abcde-2"),
            None
        );
        assert_eq!(
            MachineName::parse("shoot--dev--a", "shoot--dev--a-cpu-z0-abcde-2"),
            None
        );
        assert_eq!(
            golden_volume(
                "shoot--dev--a",
                "ubuntu",
                "24.04",
                Hash(0xabcd_e123_4567_89ab)
            ),
            "shoot--dev--a-ubuntu-24-04-abcde"
        );
    }

    #[test]
    fn a_shoot_is_found_by_each_form_of_its_name() {
        for name in ["a", "local/a", "garden-local/a", "shoot--local--a"] {
            assert_eq!(id_of(name), "shoot--local--a", "{name}");
        }
        assert_eq!(parts(&id_of("dev/a-b")), ("dev", "a-b"));
        assert_eq!(display_name(&id_of("dev/a-b")), "dev/a-b");
        assert_eq!(display_name(&id_of("a")), "a");
    }

    #[test]
    fn long_type_names_stay_unique_in_a_label() {
        let id = "shoot--local--a";
        assert_eq!(own_type(id, "standard-2"), "shoot--local--a-standard-2");
        let long = |end: &str| own_type(id, &format!("{}.{end}", "x".repeat(40)));
        assert_eq!(long("a").len(), 58);
        assert_ne!(long("a-long-end"), long("a-long-ens"));
        assert!(long("a-long-end").len() <= 63 && !long("a-long-end").contains(".-"));
    }

    #[test]
    fn the_longest_golden_volume_is_still_a_dns_label() {
        let id = technical_id("abcdefghij", "abcdefghijk");
        let name = golden_volume(&id, &"x".repeat(60), &"9.".repeat(40), Hash(1));
        assert!(name.len() <= 63 && !name.contains("--0"), "{name}");
    }
}
