//! Capacity check: quotas and limits of the namespace against the control plane and the machines to be created.

use crate::model::Quantity;
use crate::plan::control_plane::room;
use crate::state::desired::{self, instancetypes};
use crate::state::facts::Facts;
use crate::state::failure::{ErrorClass, Failure};
use crate::validate::{PoolSpec, ValidShoot};
use std::collections::BTreeMap;

const MACHINES: &str = "count/virtualmachines.kubevirt.io";
const CLAIMS: [&str; 2] = ["persistentvolumeclaims", "count/persistentvolumeclaims"];
const PODS: [&str; 2] = ["pods", "count/pods"];

/// Quotas and limits that the new control plane and the new machines exceed, as lower-case fragments with all numbers. The overhead of launcher
/// pods is not counted.
pub(crate) fn shortages(shoot: &ValidShoot, facts: &Facts) -> Vec<String> {
    let asked = asked(shoot, facts, Estimate::Likely);
    let pools = shoot.pools.iter().filter(|it| to_make(facts, it) > 0);
    let limits = pools.flat_map(|pool| too_large(shoot, facts, pool));
    exceeded(facts, &asked).into_iter().chain(limits).collect()
}

/// Quotas that the additional machines of rolling updates of some pools exceed, with all numbers. A pool that may lack
/// machines needs none.
pub(crate) fn surge_shortages(
    shoot: &ValidShoot,
    facts: &Facts,
    is_rolled: impl Fn(&PoolSpec) -> bool,
) -> Vec<String> {
    let mut asked: BTreeMap<String, f64> = BTreeMap::new();
    for pool in shoot.pools.iter().filter(|it| is_rolled(it)) {
        let size = desired::size(facts, pool);
        // One at a time is enough.
        let is_needed = size > 0 && pool.unavailable.rounded_down(size) == 0;
        let add = |name: &str, amount| *asked.entry(name.to_owned()).or_default() += amount;
        add_machines(
            add,
            shoot,
            facts,
            pool,
            f64::from(is_needed),
            Estimate::Likely,
        );
    }
    exceeded(facts, &asked)
}

/// Quotas that requests exceed.
fn exceeded(facts: &Facts, asked: &BTreeMap<String, f64>) -> Vec<String> {
    let quotas = facts.namespace_limits.quotas.iter().flat_map(|quota| {
        quota.hard.iter().filter_map(move |(resource, hard)| {
            let asked = asked.get(resource.as_str()).filter(|it| **it > 0.0)?;
            let used = quota.used.get(resource);
            let sum = used.map_or(0.0, |it| it.value) + asked;
            let used = used.map_or("0", Quantity::text);
            (sum > hard.value).then(|| {
                format!(
                    "quota {} would be exceeded for {resource}: used {used}, requested {}, limit {hard}",
                    quota.name,
                    format_amount(resource, *asked)
                )
            })
        })
    });
    quotas.collect()
}

/// Returns the failure of a shoot that lacks more than a quota allows even with nothing else in use. Nothing but another
/// quota or another manifest changes that, so a run that waits for it is useless.
///
/// Quotas for some of the pods only are left out, since KubeVirt decides which of them its pods belong to.
pub(crate) fn too_small_quota(shoot: &ValidShoot, facts: &Facts) -> Option<Failure> {
    let asked = asked(shoot, facts, Estimate::Least);
    let quotas = facts.namespace_limits.quotas.iter();
    let quotas = quotas.filter(|quota| !quota.is_scoped);
    let mut problems = quotas.flat_map(|quota| {
        let asked = &asked;
        quota.hard.iter().filter_map(move |(resource, hard)| {
            let asked = asked
                .get(resource.as_str())
                .filter(|it| **it > hard.value)?;
            let used = quota.used.get(resource).map_or("0", Quantity::text);
            Some(format!(
                "ResourceQuota {}: {resource} used {used}, requested {}, limit {hard}",
                quota.name,
                format_amount(resource, *asked)
            ))
        })
    });
    let problem = problems.next()?;
    Some(Failure::new(ErrorClass::Quota, problem))
}

/// How requests are estimated.
#[derive(Clone, Copy, PartialEq)]
enum Estimate {
    /// As the manifest says.
    Likely,
    /// Without CPU and memory of machines: KubeVirt may be configured to overcommit both.
    Least,
}

/// Number of machines that a pool lacks.
fn to_make(facts: &Facts, pool: &PoolSpec) -> usize {
    let there = facts
        .machines
        .get(pool.name.as_str())
        .map_or(0, BTreeMap::len);
    desired::size(facts, pool).saturating_sub(there)
}

/// Resources requested by the control plane and the machines to be created, by quota resource name. Empty without quotas:
/// most namespaces have none, and this renders the control plane.
fn asked(shoot: &ValidShoot, facts: &Facts, estimate: Estimate) -> BTreeMap<String, f64> {
    let mut all: BTreeMap<String, f64> = BTreeMap::new();
    if facts.namespace_limits.quotas.is_empty() {
        return all;
    }
    let mut add =
        |resource: &str, amount: f64| *all.entry(resource.to_owned()).or_default() += amount;
    for pool in &shoot.pools {
        #[expect(clippy::cast_precision_loss, reason = "far fewer machines than 2^52")]
        let machines = to_make(facts, pool) as f64;
        add_machines(&mut add, shoot, facts, pool, machines, estimate);
    }
    for workload in room::requested(shoot, facts) {
        for (name, amount) in &workload.amounts {
            add(name, *amount);
            // Quotas call requests by either name.
            if let Some(short) = name.strip_prefix("requests.") {
                add(short, *amount);
            }
        }
        PODS.iter().for_each(|it| add(it, workload.pods));
        if let Some((size, class)) = &workload.volume {
            add_volume(&mut add, class, workload.pods, *size);
        }
    }
    all
}

/// Requests of machines of a pool.
fn add_machines(
    mut add: impl FnMut(&str, f64),
    shoot: &ValidShoot,
    facts: &Facts,
    pool: &PoolSpec,
    machines: f64,
    estimate: Estimate,
) {
    let kind = &pool.machine_type;
    let memory = memory(shoot, facts, pool);
    let limit = |limit: &Option<Quantity>| limit.as_ref().map_or(0.0, |it| it.value);
    add(MACHINES, machines);
    for pods in PODS {
        add(pods, machines);
    }
    let compute = [
        (&["cpu", "requests.cpu"][..], kind.cpu.value),
        (&["memory", "requests.memory"], memory.value),
        (&["limits.cpu"], limit(&kind.cpu_limit)),
        (&["limits.memory"], limit(&kind.memory_limit)),
    ];
    let compute = compute.iter().filter(|_| estimate == Estimate::Likely);
    for (names, amount) in compute {
        names.iter().for_each(|it| add(it, machines * amount));
    }
    let data = pool.data.iter().map(|it| &it.volume);
    for volume in data.chain([&pool.root]) {
        add_volume(&mut add, &volume.class, machines, volume.size.value);
    }
}

/// Volumes of the same size; `class` is empty for the default class, whose own quotas are not known.
fn add_volume(add: &mut impl FnMut(&str, f64), class: &str, volumes: f64, size: f64) {
    CLAIMS.iter().for_each(|it| add(it, volumes));
    add("requests.storage", volumes * size);
    if !class.is_empty() {
        let of_class = format!("{class}.storageclass.storage.k8s.io");
        add(&format!("{of_class}/requests.storage"), volumes * size);
        add(&format!("{of_class}/persistentvolumeclaims"), volumes);
    }
}

/// Memory of a machine, from the shoot's own instancetype if it has one. KubeVirt decides how many CPUs it reserves.
fn memory(shoot: &ValidShoot, facts: &Facts, pool: &PoolSpec) -> Quantity {
    let own = instancetypes::memory(shoot, facts, pool);
    own.unwrap_or_else(|| pool.machine_type.memory.clone())
}

/// Machines and volumes larger than a LimitRange allows.
fn too_large(shoot: &ValidShoot, facts: &Facts, pool: &PoolSpec) -> Vec<String> {
    let (cpu, memory) = (&pool.machine_type.cpu, &memory(shoot, facts, pool));
    let data = pool.data.iter().map(|it| &it.volume.size);
    let largest = data
        .chain([&pool.root.size])
        .max_by(|a, b| a.value.total_cmp(&b.value));
    let machine = [("cpu", cpu), ("memory", memory)];
    let mut messages = Vec::new();
    for limit in &facts.namespace_limits.limits {
        let asked: Vec<(&str, &Quantity)> = match &*limit.of {
            "PersistentVolumeClaim" => largest.map(|it| ("storage", it)).into_iter().collect(),
            "Container" | "Pod" => machine.to_vec(),
            _ => continue,
        };
        for (resource, asked) in asked {
            if let Some(most) = limit.most.get(resource).filter(|it| asked.value > it.value) {
                messages.push(format!(
                    "limit range {} allows {} at most {most} of {resource}: pool {} requests {asked}",
                    limit.name, limit.of, pool.name
                ));
            }
            // KubeVirt gives the pod of a VM a limit only if a quota asks for one.
            let is_limited = match resource {
                "cpu" => pool.machine_type.cpu_limit.is_some(),
                _ => pool.machine_type.memory_limit.is_some(),
            };
            if let Some(usual) = limit.usual.get(resource)
                && !is_limited
                && asked.value > usual.value
            {
                messages.push(format!(
                    "limit range {} limits {} to {usual} of {resource} by default: pool {} requests {asked}; set limits in machineTypes of the CloudProfileConfig",
                    limit.name, limit.of, pool.name
                ));
            }
        }
    }
    messages
}

/// Formats an amount in the usual unit of the resource.
fn format_amount(resource: &str, amount: f64) -> String {
    const GIBI: f64 = 1_073_741_824.0;
    match resource.ends_with("memory") || resource.ends_with("storage") {
        true => format!("{}Gi", (amount / GIBI * 10.0).round() / 10.0),
        false => format!("{amount}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::facts::{Limit, Quota};
    use crate::validate::testing::{SHOOT, valid_for_tests};

    const TYPED: &str = "      minimum: 3
      providerConfig:
        apiVersion: kubevirt.provider.extensions.gardener.cloud/v1alpha1
        kind: WorkerConfig
        instancetype: {name: standard-4}
";

    fn amounts(of: &[(&str, &str)]) -> BTreeMap<String, Quantity> {
        let of = of
            .iter()
            .map(|(name, amount)| ((*name).to_owned(), (*amount).to_owned()));
        crate::state::facts::amounts(&of.collect())
    }

    #[test]
    fn a_shortage_is_reported_with_all_numbers() {
        let shoot = valid_for_tests(&SHOOT.replace("imum: 1", "imum: 3"));
        let quota = Quota {
            is_scoped: false,
            name: "few".to_owned(),
            hard: amounts(&[
                (MACHINES, "4"),
                ("requests.storage", "100Gi"),
                ("requests.memory", "1Ti"),
                ("secrets", "1"),
            ]),
            used: amounts(&[(MACHINES, "2"), ("requests.storage", "50Gi")]),
        };
        let limit = Limit {
            name: "small".to_owned(),
            of: "PersistentVolumeClaim".to_owned(),
            most: amounts(&[("storage", "10Gi")]),
            ..Limit::default()
        };
        let mut facts = Facts::default();
        assert_eq!(shortages(&shoot, &facts), Vec::<String>::new());
        facts.namespace_limits.quotas.push(quota);
        facts.namespace_limits.limits.push(limit);
        assert_eq!(
            shortages(&shoot, &facts),
            [
                "quota few would be exceeded for count/virtualmachines.kubevirt.io: used 2, requested 3, limit 4",
                "quota few would be exceeded for requests.storage: used 50Gi, requested 70Gi, limit 100Gi",
                "limit range small allows PersistentVolumeClaim at most 10Gi of storage: pool cpu requests 20Gi",
            ]
        );
    }

    #[test]
    fn a_quota_below_what_the_shoot_lacks_fails_and_one_that_others_use_does_not() {
        let shoot = valid_for_tests(&SHOOT.replace("imum: 1", "imum: 3"));
        let found = |hard: &[(&str, &str)], used: &[(&str, &str)], is_scoped| {
            let mut facts = Facts::default();
            facts.namespace_limits.quotas.push(Quota {
                name: "compute".to_owned(),
                is_scoped,
                hard: amounts(hard),
                used: amounts(used),
            });
            too_small_quota(&shoot, &facts)
        };
        let failure = found(&[(MACHINES, "2")], &[(MACHINES, "1")], false);
        let message =
            "ResourceQuota compute: count/virtualmachines.kubevirt.io used 1, requested 3, limit 2";
        assert_eq!(failure, Some(Failure::new(ErrorClass::Quota, message)));
        let failure = found(&[("pods", "3")], &[], false).unwrap();
        assert!(
            failure.message.contains("pods used 0, requested"),
            "{failure:?}"
        );
        let failure = found(&[("requests.storage", "50Gi")], &[], false).unwrap();
        let storage = "requests.storage used 0, requested 70Gi, limit 50Gi";
        assert!(failure.message.ends_with(storage), "{failure:?}");
        // Others may release it.
        assert_eq!(found(&[(MACHINES, "3")], &[(MACHINES, "3")], false), None);
        // Other pods than those of the shoot, as far as is known.
        assert_eq!(found(&[("pods", "0")], &[], true), None);
        // Machines of KubeVirt may request less than they have.
        assert_eq!(found(&[("requests.memory", "40Gi")], &[], false), None);
    }

    #[test]
    fn the_control_plane_counts_with_its_cpu_and_memory() {
        let shoot = valid_for_tests(SHOOT);
        let mut facts = Facts::default();
        facts.namespace_limits.quotas.push(Quota {
            name: "compute".to_owned(),
            hard: amounts(&[("requests.memory", "16Mi")]),
            ..Quota::default()
        });
        let failure = too_small_quota(&shoot, &facts).unwrap();
        let begin = "ResourceQuota compute: requests.memory used 0, requested ";
        assert!(failure.message.starts_with(begin), "{failure:?}");
    }

    #[test]
    fn the_memory_of_an_owned_instancetype_is_counted() {
        let shoot = SHOOT.replace("maximum: 1", "maximum: 3");
        let shoot = valid_for_tests(&shoot.replace("      minimum: 1\n", TYPED));
        let quota = Quota {
            is_scoped: false,
            name: "few".to_owned(),
            hard: amounts(&[("requests.memory", "40Gi"), ("requests.cpu", "1")]),
            used: amounts(&[]),
        };
        let limit = Limit {
            name: "small".to_owned(),
            of: "Container".to_owned(),
            most: amounts(&[("memory", "8Gi")]),
            usual: amounts(&[("memory", "512Mi")]),
            ..Limit::default()
        };
        let mut facts = Facts::default();
        facts.namespace_limits.quotas.push(quota);
        facts.namespace_limits.limits.push(limit);
        assert_eq!(
            shortages(&shoot, &facts),
            [
                "quota few would be exceeded for requests.memory: used 0, requested 49.5Gi, limit 40Gi",
                "limit range small allows Container at most 8Gi of memory: pool cpu requests 16Gi",
                "limit range small limits Container to 512Mi of memory by default: pool cpu requests 16Gi; set limits in machineTypes of the CloudProfileConfig",
            ]
        );
    }
}
