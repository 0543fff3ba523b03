//! Feature gates of KubeVirt and CDI, as each version interprets them: the same settings mean different things from one
//! version to the next (KubeVirt's `pkg/virt-config/featuregate`, CDI's `pkg/feature-gates`).

use super::check_result::{CheckResult, ShootRequirements, failed, passed, warning};
use super::version::parse_version;
use crate::cluster::objects::kubevirt::installation::{
    KubeVirtConfiguration, PartialCdiConfig, PartialKubeVirt, PodNetworkConfiguration,
};

type MinorVersion = (u32, u32);

/// From this version on, beta features are enabled unless disabled; before, nothing is enabled by default.
const BETA_ON_BY_DEFAULT: MinorVersion = (1, 9);

/// A feature gate with the first version of each stage.
struct FeatureGate {
    name: &'static str,
    alpha: MinorVersion,
    beta: Option<MinorVersion>,
    /// Always enabled; cannot be disabled.
    general: Option<MinorVersion>,
    deprecated: Option<MinorVersion>,
}

const HOTPLUG: FeatureGate = FeatureGate {
    deprecated: Some((1, 9)),
    ..alpha("HotplugVolumes", (0, 36))
};
const DECLARATIVE_HOTPLUG: FeatureGate = FeatureGate {
    beta: Some((1, 9)),
    ..alpha("DeclarativeHotplugVolumes", (1, 6))
};
/// Without it no node is labelled as able to provide dedicated CPUs.
const CPU_MANAGER: FeatureGate = alpha("CPUManager", (0, 0));
/// Without it KubeVirt's webhook rejects machines with host devices.
const HOST_DEVICES: FeatureGate = alpha("HostDevices", (0, 0));
const RESERVATION: FeatureGate = FeatureGate {
    general: Some((1, 9)),
    ..alpha("PersistentReservation", (1, 0))
};
/// Without it a machine does not notice that its volume has become larger, unless the volume is a block device.
const EXPAND_DISKS: FeatureGate = FeatureGate {
    general: Some((1, 9)),
    ..alpha("ExpandDisks", (0, 0))
};
/// Feature gate of CDI.
const FIRST_CONSUMER: &str = "HonorWaitForFirstConsumer";

const fn alpha(name: &'static str, since: MinorVersion) -> FeatureGate {
    FeatureGate {
        name,
        alpha: since,
        beta: None,
        general: None,
        deprecated: None,
    }
}

/// Feature gates in a KubeVirt object.
struct FeatureGateSettings<'a> {
    /// None if unknown; then only listed gates count.
    version: Option<MinorVersion>,
    on: &'a [String],
    off: &'a [String],
}

impl FeatureGateSettings<'_> {
    fn is_at_least(&self, at_least: Option<MinorVersion>) -> bool {
        at_least.is_some_and(|it| self.version.is_some_and(|version| version >= it))
    }

    fn is_off(&self, gate: &FeatureGate) -> bool {
        self.off.iter().any(|it| it == gate.name)
    }

    fn is_on(&self, gate: &FeatureGate) -> bool {
        let is_known = self.version.is_none_or(|it| it >= gate.alpha);
        let on_by_default =
            self.is_at_least(gate.beta) && self.is_at_least(Some(BETA_ON_BY_DEFAULT));
        let is_listed = self.on.iter().any(|it| it == gate.name);
        self.is_at_least(gate.general)
            || is_known && !self.is_off(gate) && (on_by_default || is_listed)
    }

    /// How to enable a gate in this version.
    fn remedy(&self, gate: &FeatureGate) -> String {
        let (verb, field) = match self.is_off(gate) {
            true => ("remove", "from developerConfiguration.disabledFeatureGates"),
            false => ("add", "to developerConfiguration.featureGates"),
        };
        format!("{verb} {} {field} of the KubeVirt object", gate.name)
    }
}

/// Checks a KubeVirt object for the features that a shoot requires.
pub(crate) fn check_feature_gates(
    installation: &PartialKubeVirt,
    requirements: &ShootRequirements,
) -> Vec<CheckResult> {
    let configuration = &installation.spec.configuration;
    let developer = &configuration.developer_configuration;
    let settings = FeatureGateSettings {
        version: parse_version(&installation.status.observed_version),
        on: &developer.feature_gates,
        off: &developer.disabled_feature_gates,
    };
    let mut findings = vec![check_hotplug(&settings)];
    let needed = |gate: &FeatureGate, subject, without: &str| CheckResult {
        hint: Some(settings.remedy(gate)),
        ..failed(
            subject,
            format!("feature gate {} is disabled: {without}", gate.name),
        )
    };
    if requirements.dedicated_cpus && !settings.is_on(&CPU_MANAGER) {
        let without = "no node can provide dedicated CPUs, and machines would stay pending";
        findings.push(needed(&CPU_MANAGER, "dedicated CPUs", without));
    }
    if requirements.reservations && !settings.is_on(&RESERVATION) {
        let without = "disks with a reservation are rejected";
        findings.push(needed(&RESERVATION, "reservations", without));
    }
    if requirements.host_devices && !settings.is_on(&HOST_DEVICES) {
        let without = "machines with hostDevices are rejected";
        findings.push(needed(&HOST_DEVICES, "host devices", without));
    }
    if requirements.larger_disks && !settings.is_on(&EXPAND_DISKS) {
        let without = "machines with updateStrategy AutoInPlaceUpdate get larger volumes, and use them only if they are block devices";
        let finding = needed(&EXPAND_DISKS, "larger disks", without);
        findings.push(CheckResult {
            hint: finding.hint,
            ..warning(finding.subject, finding.message)
        });
    }
    findings.extend(check_devices(configuration, requirements));
    findings.extend(check_pod_network(&configuration.network, requirements));
    findings
}

/// KubeVirt offers only the devices that its configuration permits.
fn check_devices(
    configuration: &KubeVirtConfiguration,
    requirements: &ShootRequirements,
) -> Option<CheckResult> {
    let permitted = configuration.permitted_host_devices.resource_names();
    let is_missing = |it: &&str| !permitted.contains(it);
    let needed = requirements.devices.iter().map(String::as_str);
    let missing: Vec<&str> = needed.filter(is_missing).collect();
    let message = format!(
        "KubeVirt does not offer {}: machines would stay pending",
        missing.join(", ")
    );
    let hint = "add them to configuration.permittedHostDevices of the KubeVirt object";
    (!missing.is_empty()).then(|| CheckResult {
        hint: Some(hint.to_owned()),
        ..failed("devices", message)
    })
}

fn check_hotplug(settings: &FeatureGateSettings) -> CheckResult {
    const SUBJECT: &str = "volume hotplug";
    if settings.is_on(&HOTPLUG) {
        let more = match settings.is_at_least(HOTPLUG.deprecated) {
            true => format!(
                "; it is deprecated, and {} has no effect while it is enabled",
                DECLARATIVE_HOTPLUG.name
            ),
            false => String::new(),
        };
        return passed(
            SUBJECT,
            format!("feature gate {} is enabled{more}", HOTPLUG.name),
        );
    }
    if settings.is_on(&DECLARATIVE_HOTPLUG) {
        let message = format!("feature gate {} is enabled", DECLARATIVE_HOTPLUG.name);
        return passed(SUBJECT, message);
    }
    let gate = match settings.is_at_least(HOTPLUG.deprecated) {
        true => &DECLARATIVE_HOTPLUG,
        false => &HOTPLUG,
    };
    CheckResult {
        hint: Some(settings.remedy(gate)),
        ..warning(
            SUBJECT,
            "disabled: persistent volumes in shoots cannot be attached",
        )
    }
}

/// Machines use a bridge on it.
fn check_pod_network(
    network: &PodNetworkConfiguration,
    requirements: &ShootRequirements,
) -> Option<CheckResult> {
    const SUBJECT: &str = "pod network";
    if network.permit_bridge_interface_on_pod_network != Some(false) {
        return None;
    }
    let message =
        "permitBridgeInterfaceOnPodNetwork is false: machines on the pod network are rejected";
    let finding = match requirements.pod_network {
        true => failed(SUBJECT, message),
        false => warning(SUBJECT, message),
    };
    let hint = "set configuration.network.permitBridgeInterfaceOnPodNetwork of the KubeVirt object to true, or give the shoot a default tenant network";
    Some(CheckResult {
        hint: Some(hint.to_owned()),
        ..finding
    })
}

/// Checks Kubernetes against KubeVirt: the support matrix lists 1.(N+25) to 1.(N+27) for KubeVirt 1.N up to 1.5; later
/// versions are assumed to follow the same rule.
pub(crate) fn check_version_skew(kubernetes: &str, kubevirt: &str) -> Option<CheckResult> {
    let ((1, cluster), (1, minor)) = (parse_version(kubernetes)?, parse_version(kubevirt)?) else {
        return None;
    };
    let (oldest, newest) = (minor + 25, minor + 27);
    let message = format!(
        "KubeVirt 1.{minor} supports Kubernetes 1.{oldest} to 1.{newest} according to its support matrix; this is 1.{cluster}"
    );
    (!(oldest..=newest).contains(&cluster)).then(|| warning("versions", message))
}

/// Checks CDI's configuration if some StorageClasses bind late.
pub(crate) fn check_first_consumer(
    configuration: &PartialCdiConfig,
    waiting: &[String],
) -> Option<CheckResult> {
    let gates = &configuration.spec.feature_gates;
    if waiting.is_empty() || gates.iter().any(|it| it == FIRST_CONSUMER) {
        return None;
    }
    let hint = format!("add {FIRST_CONSUMER} to config.featureGates of the CDI object");
    Some(CheckResult {
        hint: Some(hint),
        ..warning(
            "late binding",
            format!(
                "feature gate {FIRST_CONSUMER} of CDI is disabled: disks of StorageClass {} are created before their machine is scheduled",
                waiting.join(", ")
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::doctor::check_result::CheckStatus;
    use crate::cluster::objects::testing::object;
    use serde_json::json;

    fn installed(version: &str, on: &[&str], off: &[&str]) -> PartialKubeVirt {
        object(json!({
            "spec": { "configuration": { "developerConfiguration": {
                "featureGates": on, "disabledFeatureGates": off,
            } } },
            "status": { "observedKubeVirtVersion": version },
        }))
    }

    fn reported(installation: &PartialKubeVirt, requirements: &ShootRequirements) -> Vec<String> {
        let one = |it: CheckResult| {
            let hint = it.hint.map(|it| format!(" [{it}]")).unwrap_or_default();
            format!("{:?} {}: {}{hint}", it.status, it.subject, it.message)
        };
        check_feature_gates(installation, requirements)
            .into_iter()
            .map(one)
            .collect()
    }

    #[test]
    fn hotplug_is_enabled_as_each_version_defines() {
        let cases: [(&str, &[&str], &[&str], bool); 11] = [
            ("v1.2.0", &["HotplugVolumes"], &[], true),
            ("v1.2.0", &[], &[], false),
            // A gate that this version does not know has no effect.
            ("v1.5.2", &["DeclarativeHotplugVolumes"], &[], false),
            ("v1.8.4", &["DeclarativeHotplugVolumes"], &[], true),
            ("v1.8.4", &[], &[], false),
            ("v1.9.0", &[], &[], true),
            ("v1.9.0", &[], &["DeclarativeHotplugVolumes"], false),
            (
                "v1.9.0",
                &["HotplugVolumes"],
                &["DeclarativeHotplugVolumes"],
                true,
            ),
            ("v1.10.1", &[], &[], true),
            ("", &["HotplugVolumes"], &[], true),
            ("", &[], &[], false),
        ];
        for (version, on, off, is_on) in cases {
            let finding =
                check_feature_gates(&installed(version, on, off), &ShootRequirements::default())
                    .remove(0);
            let wanted = if is_on {
                CheckStatus::Passed
            } else {
                CheckStatus::Warning
            };
            assert_eq!(
                finding.status, wanted,
                "{version} {on:?} {off:?}: {finding:?}"
            );
        }
    }

    #[test]
    fn the_hint_fits_the_version() {
        let requirements = ShootRequirements::default();
        let old = reported(&installed("v1.8.4", &[], &[]), &requirements).remove(0);
        assert!(
            old.ends_with(
                "[add HotplugVolumes to developerConfiguration.featureGates of the KubeVirt object]"
            ),
            "{old}"
        );
        let off = ["DeclarativeHotplugVolumes"];
        let new = reported(&installed("v1.9.0", &[], &off), &requirements).remove(0);
        assert!(
            new.contains(
                "[remove DeclarativeHotplugVolumes from developerConfiguration.disabledFeatureGates"
            ),
            "{new}"
        );
    }

    #[test]
    fn unused_features_are_not_required() {
        let nothing = installed("v1.8.4", &["HotplugVolumes"], &[]);
        assert_eq!(reported(&nothing, &ShootRequirements::default()).len(), 1);
        let requirements = ShootRequirements {
            dedicated_cpus: true,
            reservations: true,
            ..ShootRequirements::default()
        };
        let all = reported(&nothing, &requirements).join("\n");
        assert!(
            all.contains("Failed dedicated CPUs: feature gate CPUManager is disabled"),
            "{all}"
        );
        assert!(
            all.contains("Failed reservations: feature gate PersistentReservation is disabled"),
            "{all}"
        );
        let on = ["HotplugVolumes", "CPUManager", "PersistentReservation"];
        assert_eq!(
            reported(&installed("v1.8.4", &on, &[]), &requirements).len(),
            1
        );
        let larger = ShootRequirements {
            larger_disks: true,
            ..ShootRequirements::default()
        };
        let off = reported(&nothing, &larger).join("\n");
        assert!(
            off.contains("Warning larger disks: feature gate ExpandDisks is disabled"),
            "{off}"
        );
        for (version, on) in [
            ("v1.8.4", &["HotplugVolumes", "ExpandDisks"][..]),
            ("v1.9.0", &["HotplugVolumes"]),
        ] {
            assert_eq!(
                reported(&installed(version, on, &[]), &larger).len(),
                1,
                "{version}"
            );
        }
        // GA since 1.9: listing it has no effect.
        let newer = installed("v1.9.0", &["CPUManager"], &[]);
        assert_eq!(reported(&newer, &requirements).len(), 1);
    }

    #[test]
    fn devices_of_hosts_have_to_be_permitted() {
        let requirements = ShootRequirements {
            devices: ["nvidia.com/T4", "intel.com/qat"].map(str::to_owned).into(),
            host_devices: true,
            ..ShootRequirements::default()
        };
        let mut given = json!({
            "spec": { "configuration": {
                "developerConfiguration": { "featureGates": ["HotplugVolumes"] },
                "permittedHostDevices": { "mediatedDevices": [{ "resourceName": "nvidia.com/T4" }] },
            } },
            "status": { "observedKubeVirtVersion": "v1.8.4" },
        });
        let all = reported(&object(given.clone()), &requirements);
        assert_eq!(
            all[1..],
            [
                "Failed host devices: feature gate HostDevices is disabled: machines with hostDevices are rejected [add HostDevices to developerConfiguration.featureGates of the KubeVirt object]",
                "Failed devices: KubeVirt does not offer intel.com/qat: machines would stay pending [add them to configuration.permittedHostDevices of the KubeVirt object]",
            ]
        );
        let configuration = &mut given["spec"]["configuration"];
        configuration["developerConfiguration"]["featureGates"] =
            json!(["HotplugVolumes", "HostDevices"]);
        configuration["permittedHostDevices"]["pciHostDevices"] =
            json!([{ "resourceName": "intel.com/qat" }]);
        assert_eq!(reported(&object(given), &requirements).len(), 1);
    }

    #[test]
    fn machines_on_the_pod_network_need_bridge_binding() {
        let mut forbidden = installed("v1.8.4", &["HotplugVolumes"], &[]);
        assert_eq!(reported(&forbidden, &ShootRequirements::default()).len(), 1);
        let network = &mut forbidden.spec.configuration.network;
        network.permit_bridge_interface_on_pod_network = Some(false);
        let requirements = ShootRequirements {
            pod_network: true,
            ..ShootRequirements::default()
        };
        assert!(reported(&forbidden, &requirements)[1].starts_with("Failed pod network"));
        assert!(
            reported(&forbidden, &ShootRequirements::default())[1]
                .starts_with("Warning pod network")
        );
    }

    #[test]
    fn version_skew_follows_the_support_matrix() {
        assert_eq!(check_version_skew("v1.31.4", "v1.5.0"), None);
        assert_eq!(check_version_skew("v1.33.1-eks-5", "v1.8.4"), None);
        let reported = check_version_skew("v1.36.3", "v1.8.4")
            .expect("the skew is too large")
            .message;
        assert_eq!(
            reported,
            "KubeVirt 1.8 supports Kubernetes 1.33 to 1.35 according to its support matrix; this is 1.36"
        );
        assert!(check_version_skew("v1.27.1", "v1.8.4").is_some());
        assert_eq!(check_version_skew("", "v1.8.4"), None);
    }

    #[test]
    fn late_binding_needs_the_feature_gate_of_cdi() {
        let configuration = |gates: &[&str]| -> PartialCdiConfig {
            object(json!({ "spec": { "featureGates": gates } }))
        };
        let waiting = ["local".to_owned()];
        assert_eq!(
            check_first_consumer(&configuration(&[FIRST_CONSUMER]), &waiting),
            None
        );
        assert_eq!(check_first_consumer(&configuration(&[]), &[]), None);
        let reported =
            check_first_consumer(&configuration(&[]), &waiting).expect("the gate is disabled");
        assert!(
            reported.message.contains("disks of StorageClass local"),
            "{}",
            reported.message
        );
    }
}
