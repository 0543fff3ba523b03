//! Small shoots for the CloudProfile of the sandbox, and the objects of one.

use super::provider::{self, Provider, Resource};

/// A shoot with two pools, a tenant network and a golden volume.
#[derive(Clone)]
pub(crate) struct Small {
    pub(crate) name: &'static str,
    /// Name and size.
    pub(crate) pools: Vec<(&'static str, usize)>,
    pub(crate) machine_type: &'static str,
    pub(crate) root_disk: &'static str,
    pub(crate) network: bool,
    /// maxSurge of each pool.
    pub(crate) surge: usize,
    /// Type of the failure tolerance of the control plane.
    pub(crate) tolerance: &'static str,
    /// Another machine type, or a larger disk, restarts machines.
    pub(crate) in_place: bool,
    /// Cloud-config of each pool.
    pub(crate) user_data: Option<&'static str>,
}

impl Small {
    pub(crate) fn new(name: &'static str) -> Small {
        Small {
            name,
            pools: vec![("one", 2), ("two", 1)],
            machine_type: "small",
            root_disk: "20Gi",
            network: true,
            surge: 1,
            tolerance: "none",
            in_place: false,
            user_data: None,
        }
    }

    /// Returns the Shoot and the CloudProfile.
    pub(crate) fn manifest(&self) -> String {
        let example = std::fs::read_to_string("examples/three-zones.yaml").unwrap();
        let (_, profile) = example.split_once("\n---\n").unwrap();
        let workers: Vec<_> = self.pools.iter().map(|it| self.pool(it.0, it.1)).collect();
        let networks = serde_json::json!({ "networks": { "tenantNetworks": [{
            "name": "lan", "config": r#"{"cniVersion":"0.4.0","type":"bridge","bridge":"br0"}"#,
        }] } });
        let mut infrastructure = serde_json::json!({
            "apiVersion": "kubevirt.provider.extensions.gardener.cloud/v1alpha1",
            "kind": "InfrastructureConfig",
        });
        if self.network {
            infrastructure["networks"] = networks["networks"].clone();
        }
        let shoot = serde_json::json!({
            "apiVersion": "core.gardener.cloud/v1beta1",
            "kind": "Shoot",
            "metadata": { "name": self.name },
            "spec": {
                "cloudProfileName": "sandbox",
                "region": "sandbox",
                "controlPlane": {
                    "highAvailability": { "failureTolerance": { "type": self.tolerance } },
                },
                "provider": {
                    "type": "kubevirt",
                    "infrastructureConfig": infrastructure,
                    "workers": workers,
                },
                "networking": {
                    "type": "flannel",
                    "nodes": "10.64.0.0/12", "pods": "100.96.0.0/11", "services": "100.64.0.0/13",
                },
                "kubernetes": { "version": "1.34" },
            },
        });
        format!("{}---\n{profile}", serde_yaml::to_string(&shoot).unwrap())
    }

    fn pool(&self, name: &str, size: usize) -> serde_json::Value {
        // System components need a machine in each zone.
        let zones = &["zone-a", "zone-b"][..size.min(2)];
        let mut pool = serde_json::json!({
            "name": name,
            "machine": { "type": self.machine_type, "image": { "name": "ubuntu", "version": "24.04" } },
            "minimum": size, "maximum": size, "maxSurge": self.surge, "maxUnavailable": 1,
            "volume": { "type": "standard", "size": self.root_disk },
            "zones": zones,
        });
        if self.in_place {
            pool["updateStrategy"] = "AutoInPlaceUpdate".into();
        }
        if let Some(user_data) = self.user_data {
            pool["providerConfig"] = serde_json::json!({
                "apiVersion": "kubevirt.provider.extensions.gardener.cloud/v1alpha1",
                "kind": "WorkerConfig",
                "userData": user_data,
            });
        }
        pool
    }
}

/// Lists kind and name of the objects in the namespace of a shoot. Ordinals of machines are left out, because machines
/// of a pool are interchangeable.
pub(crate) fn inventory(provider: &Provider) -> Vec<String> {
    const KINDS: [Resource; 9] = [
        provider::CONFIG_MAP,
        provider::NETWORK,
        provider::DATA_VOLUME,
        provider::SECRET,
        provider::VM,
        provider::SERVICE,
        provider::DEPLOYMENT,
        provider::STATEFUL_SET,
        provider::NETWORK_POLICY,
    ];
    let mut objects = Vec::new();
    for kind in KINDS {
        for object in provider.list(kind) {
            let name = object.metadata.name.unwrap();
            let mut labels = object.metadata.labels.iter().flatten();
            let is_of_pool = labels.any(|it| it.0 == "kvshoot.io/pool");
            let name = match name.rsplit_once('-') {
                Some((prefix, _)) if is_of_pool => prefix,
                _ => &name,
            };
            // Clones for machines are owned by their machine and have its name.
            let of_machine = kind.2 == "DataVolume"
                && !object
                    .metadata
                    .owner_references
                    .iter()
                    .flatten()
                    .all(|it| it.kind == "ConfigMap");
            if name != "kube-root-ca.crt" && !of_machine {
                objects.push(format!("{} {name}", kind.2));
            }
        }
    }
    objects.sort();
    objects
}

/// Asserts that machines and Secrets with user data have the same names.
pub(crate) fn assert_user_data(provider: &Provider) {
    assert_eq!(provider.names(provider::VM), provider.user_data());
}
