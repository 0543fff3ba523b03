//! What an installation of KubeVirt and CDI is set to do, judged as each version behaves: the same words in the same
//! field mean other things from one version to the next (KubeVirt's `pkg/virt-config/featuregate`, CDI's
//! `pkg/feature-gates`).

use super::finding::{Finding, Uses, failure, fine, warning};
use super::version::parsed;
use crate::cluster::json::{items, text};
use serde_json::Value;

type Version = (u32, u32);

/// From this version on what is beta is on unless it is turned off; before it, nothing is on by itself.
const BETA_IS_ON: Version = (1, 9);

/// A feature gate, and the first versions of its stages.
struct Gate {
    name: &'static str,
    alpha: Version,
    beta: Option<Version>,
    /// On for good, and without a way to turn it off.
    general: Option<Version>,
    deprecated: Option<Version>,
}

const HOTPLUG: Gate = Gate {
    deprecated: Some((1, 9)),
    ..alpha("HotplugVolumes", (0, 36))
};
const DECLARATIVE_HOTPLUG: Gate = Gate {
    beta: Some((1, 9)),
    ..alpha("DeclarativeHotplugVolumes", (1, 6))
};
/// Without it no host is marked as one that can give whole CPUs.
const CPU_MANAGER: Gate = alpha("CPUManager", (0, 0));
const RESERVATION: Gate = Gate {
    general: Some((1, 9)),
    ..alpha("PersistentReservation", (1, 0))
};
/// Of CDI.
const FIRST_CONSUMER: &str = "HonorWaitForFirstConsumer";

const fn alpha(name: &'static str, since: Version) -> Gate {
    Gate {
        name,
        alpha: since,
        beta: None,
        general: None,
        deprecated: None,
    }
}

/// As a KubeVirt object says it.
struct Settings<'a> {
    /// None when it does not say; then only what is listed is known.
    version: Option<Version>,
    on: &'a [Value],
    off: &'a [Value],
}

impl Settings<'_> {
    fn is(&self, at_least: Option<Version>) -> bool {
        at_least.is_some_and(|it| self.version.is_some_and(|version| version >= it))
    }

    fn is_off(&self, gate: &Gate) -> bool {
        self.off.iter().any(|it| it == gate.name)
    }

    fn is_on(&self, gate: &Gate) -> bool {
        let is_known = self.version.is_none_or(|it| it >= gate.alpha);
        let by_itself = self.is(gate.beta) && self.is(Some(BETA_IS_ON));
        let is_listed = self.on.iter().any(|it| it == gate.name);
        self.is(gate.general) || is_known && !self.is_off(gate) && (by_itself || is_listed)
    }

    /// What turns a gate on in this version.
    fn remedy(&self, gate: &Gate) -> String {
        let (verb, field) = match self.is_off(gate) {
            true => ("take", "out of developerConfiguration.disabledFeatureGates"),
            false => ("add", "to developerConfiguration.featureGates"),
        };
        format!("{verb} {} {field} of the KubeVirt object", gate.name)
    }
}

/// Of a KubeVirt object, for what `uses` says.
pub(crate) fn kubevirt(installation: &Value, uses: &Uses) -> Vec<Finding> {
    let configuration = &installation["spec"]["configuration"];
    let developer = &configuration["developerConfiguration"];
    let settings = Settings {
        version: parsed(text(&installation["status"]["observedKubeVirtVersion"])),
        on: items(&developer["featureGates"]),
        off: items(&developer["disabledFeatureGates"]),
    };
    let mut findings = vec![hotplug(&settings)];
    let needed = |gate: &Gate, subject, without: &str| Finding {
        hint: Some(settings.remedy(gate)),
        ..failure(
            subject,
            format!("feature gate {} is off: {without}", gate.name),
        )
    };
    if uses.whole_cpus && !settings.is_on(&CPU_MANAGER) {
        let without = "no host is known to give machines whole CPUs, and they would wait for one";
        findings.push(needed(&CPU_MANAGER, "dedicated CPUs", without));
    }
    if uses.reservations && !settings.is_on(&RESERVATION) {
        let without = "disks with a reservation are refused";
        findings.push(needed(&RESERVATION, "reservations", without));
    }
    findings.extend(pod_network(&configuration["network"], uses));
    findings
}

fn hotplug(settings: &Settings) -> Finding {
    const SUBJECT: &str = "hotplug of volumes";
    if settings.is_on(&HOTPLUG) {
        let more = match settings.is(HOTPLUG.deprecated) {
            true => format!(
                "; it is deprecated, and {} does nothing beside it",
                DECLARATIVE_HOTPLUG.name
            ),
            false => String::new(),
        };
        return fine(
            SUBJECT,
            format!("feature gate {} is on{more}", HOTPLUG.name),
        );
    }
    if settings.is_on(&DECLARATIVE_HOTPLUG) {
        let message = format!("feature gate {} is on", DECLARATIVE_HOTPLUG.name);
        return fine(SUBJECT, message);
    }
    let gate = match settings.is(HOTPLUG.deprecated) {
        true => &DECLARATIVE_HOTPLUG,
        false => &HOTPLUG,
    };
    Finding {
        hint: Some(settings.remedy(gate)),
        ..warning(
            SUBJECT,
            "off: persistent volumes inside shoots cannot be attached",
        )
    }
}

/// Machines are bridged to it.
fn pod_network(network: &Value, uses: &Uses) -> Option<Finding> {
    const SUBJECT: &str = "pod network";
    if network["permitBridgeInterfaceOnPodNetwork"] != false {
        return None;
    }
    let message = "permitBridgeInterfaceOnPodNetwork is false: machines on it are refused";
    let finding = match uses.pod_network {
        true => failure(SUBJECT, message),
        false => warning(SUBJECT, message),
    };
    let hint = "set configuration.network.permitBridgeInterfaceOnPodNetwork of the KubeVirt object to true, or give the shoot a default tenant network";
    Some(Finding {
        hint: Some(hint.to_owned()),
        ..finding
    })
}

/// Kubernetes beside KubeVirt: its support matrix has 1.(N+25) to 1.(N+27) for 1.N, up to 1.5; that it goes on so is
/// taken from that.
pub(crate) fn pair(kubernetes: &str, kubevirt: &str) -> Option<Finding> {
    let ((1, cluster), (1, minor)) = (parsed(kubernetes)?, parsed(kubevirt)?) else {
        return None;
    };
    let (oldest, newest) = (minor + 25, minor + 27);
    let message = format!(
        "KubeVirt 1.{minor} goes with Kubernetes 1.{oldest} to 1.{newest} by the rule of its support matrix, and this is 1.{cluster}"
    );
    (!(oldest..=newest).contains(&cluster)).then(|| warning("versions", message))
}

/// Of CDI's configuration, where some of the classes wait for who uses their volumes.
pub(crate) fn first_consumer(configuration: &Value, waiting: &[String]) -> Option<Finding> {
    let gates = items(&configuration["spec"]["featureGates"]);
    if waiting.is_empty() || gates.iter().any(|it| it == FIRST_CONSUMER) {
        return None;
    }
    let hint = format!("add {FIRST_CONSUMER} to config.featureGates of the CDI object");
    Some(Finding {
        hint: Some(hint),
        ..warning(
            "first consumers",
            format!(
                "feature gate {FIRST_CONSUMER} of CDI is off: disks of {} are made before their machine has a host",
                waiting.join(", ")
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::doctor::finding::Grade;
    use serde_json::json;

    fn installed(version: &str, on: &[&str], off: &[&str]) -> Value {
        json!({
            "spec": { "configuration": { "developerConfiguration": {
                "featureGates": on, "disabledFeatureGates": off,
            } } },
            "status": { "observedKubeVirtVersion": version },
        })
    }

    fn told(installation: &Value, uses: &Uses) -> Vec<String> {
        let one = |it: Finding| {
            let hint = it.hint.map(|it| format!(" [{it}]")).unwrap_or_default();
            format!("{:?} {}: {}{hint}", it.grade, it.subject, it.message)
        };
        kubevirt(installation, uses).into_iter().map(one).collect()
    }

    #[test]
    fn hotplug_is_on_as_each_version_has_it() {
        let cases: [(&str, &[&str], &[&str], bool); 11] = [
            ("v1.2.0", &["HotplugVolumes"], &[], true),
            ("v1.2.0", &[], &[], false),
            // A gate that this version does not know does nothing.
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
            let finding = kubevirt(&installed(version, on, off), &Uses::default()).remove(0);
            let wanted = if is_on { Grade::Fine } else { Grade::Warning };
            assert_eq!(
                finding.grade, wanted,
                "{version} {on:?} {off:?}: {finding:?}"
            );
        }
    }

    #[test]
    fn the_remedy_is_that_of_the_version() {
        let uses = Uses::default();
        let old = told(&installed("v1.8.4", &[], &[]), &uses).remove(0);
        assert!(
            old.ends_with(
                "[add HotplugVolumes to developerConfiguration.featureGates of the KubeVirt object]"
            ),
            "{old}"
        );
        let off = ["DeclarativeHotplugVolumes"];
        let new = told(&installed("v1.9.0", &[], &off), &uses).remove(0);
        assert!(
            new.contains(
                "[take DeclarativeHotplugVolumes out of developerConfiguration.disabledFeatureGates"
            ),
            "{new}"
        );
    }

    #[test]
    fn what_no_pool_uses_is_not_asked_for() {
        let nothing = installed("v1.8.4", &["HotplugVolumes"], &[]);
        assert_eq!(told(&nothing, &Uses::default()).len(), 1);
        let uses = Uses {
            whole_cpus: true,
            reservations: true,
            ..Uses::default()
        };
        let all = told(&nothing, &uses).join("\n");
        assert!(
            all.contains("Failure dedicated CPUs: feature gate CPUManager is off"),
            "{all}"
        );
        assert!(
            all.contains("Failure reservations: feature gate PersistentReservation is off"),
            "{all}"
        );
        let on = ["HotplugVolumes", "CPUManager", "PersistentReservation"];
        assert_eq!(told(&installed("v1.8.4", &on, &[]), &uses).len(), 1);
        // General since 1.9: listing it is harmless, and not needed.
        let newer = installed("v1.9.0", &["CPUManager"], &[]);
        assert_eq!(told(&newer, &uses).len(), 1);
    }

    #[test]
    fn machines_on_the_pod_network_need_a_bridge_there() {
        let mut forbidden = installed("v1.8.4", &["HotplugVolumes"], &[]);
        assert_eq!(told(&forbidden, &Uses::default()).len(), 1);
        forbidden["spec"]["configuration"]["network"] =
            json!({ "permitBridgeInterfaceOnPodNetwork": false });
        let uses = Uses {
            pod_network: true,
            ..Uses::default()
        };
        assert!(told(&forbidden, &uses)[1].starts_with("Failure pod network"));
        assert!(told(&forbidden, &Uses::default())[1].starts_with("Warning pod network"));
    }

    #[test]
    fn versions_go_together_by_the_rule_of_the_support_matrix() {
        assert_eq!(pair("v1.31.4", "v1.5.0"), None);
        assert_eq!(pair("v1.33.1-eks-5", "v1.8.4"), None);
        let told = pair("v1.36.3", "v1.8.4")
            .expect("newer than it knows")
            .message;
        assert_eq!(
            told,
            "KubeVirt 1.8 goes with Kubernetes 1.33 to 1.35 by the rule of its support matrix, and this is 1.36"
        );
        assert!(pair("v1.27.1", "v1.8.4").is_some());
        assert_eq!(pair("", "v1.8.4"), None);
    }

    #[test]
    fn volumes_wait_for_their_machine_only_where_cdi_lets_them() {
        let configuration = |gates: &[&str]| json!({ "spec": { "featureGates": gates } });
        let waiting = ["local".to_owned()];
        assert_eq!(
            first_consumer(&configuration(&[FIRST_CONSUMER]), &waiting),
            None
        );
        assert_eq!(first_consumer(&configuration(&[]), &[]), None);
        let told = first_consumer(&configuration(&[]), &waiting).expect("it is off");
        assert!(told.message.contains("disks of local"), "{}", told.message);
    }
}
