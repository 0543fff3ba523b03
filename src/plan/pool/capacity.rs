//! Whether the namespace has room for the machines that are to be made, by its quotas and limits.

use crate::model::Quantity;
use crate::state::desired::{self, instancetypes};
use crate::state::facts::Facts;
use crate::validate::{Pool, ValidShoot};
use std::collections::BTreeMap;

const MACHINES: &str = "count/virtualmachines.kubevirt.io";
const CLAIMS: [&str; 2] = ["persistentvolumeclaims", "count/persistentvolumeclaims"];
const PODS: [&str; 2] = ["pods", "count/pods"];

/// What there is too little room for, as lower-case fragments with all numbers; what machines ask for beside that, such
/// as for their launchers, is not counted.
pub(crate) fn shortages(shoot: &ValidShoot, facts: &Facts) -> Vec<String> {
    let asked = asked(shoot, facts);
    let quotas = facts.bounds.quotas.iter().flat_map(|quota| {
        let asked = &asked;
        quota.hard.iter().filter_map(move |(resource, hard)| {
            let asked = asked.get(resource.as_str()).filter(|it| **it > 0.0)?;
            let used = quota.used.get(resource);
            let sum = used.map_or(0.0, |it| it.value) + asked;
            let used = used.map_or("0", Quantity::text);
            (sum > hard.value).then(|| {
                format!(
                    "quota {} has no room for {resource}: used {used}, asked {}, allowed {hard}",
                    quota.name,
                    told(resource, *asked)
                )
            })
        })
    });
    let pools = shoot.pools.iter().filter(|it| to_make(facts, it) > 0);
    let limits = pools.flat_map(|pool| too_large(shoot, facts, pool));
    quotas.chain(limits).collect()
}

/// How many machines a pool lacks.
fn to_make(facts: &Facts, pool: &Pool) -> usize {
    let there = facts
        .machines
        .get(pool.name.as_str())
        .map_or(0, BTreeMap::len);
    desired::size(facts, pool).saturating_sub(there)
}

/// What the machines to be made ask for, by the names that quotas have for it.
fn asked(shoot: &ValidShoot, facts: &Facts) -> BTreeMap<String, f64> {
    let mut all: BTreeMap<String, f64> = BTreeMap::new();
    let mut add =
        |resource: &str, amount: f64| *all.entry(resource.to_owned()).or_default() += amount;
    for pool in &shoot.pools {
        #[expect(clippy::cast_precision_loss, reason = "nobody has so many machines")]
        let machines = to_make(facts, pool) as f64;
        let kind = &pool.machine_type;
        let memory = memory(shoot, facts, pool);
        let limit = |it: &Option<Quantity>| it.as_ref().map_or(0.0, |it| it.value);
        add(MACHINES, machines);
        for pods in PODS {
            add(pods, machines);
        }
        for (names, amount) in [
            (&["cpu", "requests.cpu"][..], kind.cpu.value),
            (&["memory", "requests.memory"], memory.value),
            (&["limits.cpu"], limit(&kind.cpu_limit)),
            (&["limits.memory"], limit(&kind.memory_limit)),
        ] {
            names.iter().for_each(|it| add(it, machines * amount));
        }
        let data = pool.data.iter().map(|it| &it.volume);
        for volume in data.chain([&pool.root]) {
            CLAIMS.iter().for_each(|it| add(it, machines));
            let storage = machines * volume.size.value;
            add("requests.storage", storage);
            let of_class = format!("{}.storageclass.storage.k8s.io", volume.class);
            add(&format!("{of_class}/requests.storage"), storage);
            add(&format!("{of_class}/persistentvolumeclaims"), machines);
        }
    }
    all
}

/// Of each machine, as far as it is known: an instancetype of the shoot's own says it. How many of its CPUs are reserved,
/// KubeVirt decides.
fn memory(shoot: &ValidShoot, facts: &Facts, pool: &Pool) -> Quantity {
    let own = instancetypes::memory(shoot, facts, pool);
    own.unwrap_or_else(|| pool.machine_type.memory.clone())
}

/// Machines and volumes that are larger than a LimitRange lets one be.
fn too_large(shoot: &ValidShoot, facts: &Facts, pool: &Pool) -> Vec<String> {
    let (cpu, memory) = (&pool.machine_type.cpu, &memory(shoot, facts, pool));
    let data = pool.data.iter().map(|it| &it.volume.size);
    let largest = data
        .chain([&pool.root.size])
        .max_by(|a, b| a.value.total_cmp(&b.value));
    let machine = [("cpu", cpu), ("memory", memory)];
    let mut told = Vec::new();
    for limit in &facts.bounds.limits {
        let asked: Vec<(&str, &Quantity)> = match &*limit.of {
            "PersistentVolumeClaim" => largest.map(|it| ("storage", it)).into_iter().collect(),
            "Container" | "Pod" => machine.to_vec(),
            _ => continue,
        };
        for (resource, asked) in asked {
            let Some(most) = limit.most.get(resource).filter(|it| asked.value > it.value) else {
                continue;
            };
            told.push(format!(
                "limit range {} lets no {} have more {resource} than {most}: pool {} asks for {asked}",
                limit.name, limit.of, pool.name
            ));
        }
    }
    told
}

/// In the unit in which people write such a resource.
fn told(resource: &str, amount: f64) -> String {
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
    use serde_json::Value;

    const TYPED: &str = "      minimum: 3
      providerConfig:
        apiVersion: kubevirt.provider.extensions.gardener.cloud/v1alpha1
        kind: WorkerConfig
        instancetype: {name: standard-4}
";

    fn amounts(of: &[(&str, &str)]) -> BTreeMap<String, Quantity> {
        let of = of
            .iter()
            .map(|(name, it)| ((*name).to_owned(), Value::from(*it)));
        crate::state::facts::amounts(&Value::Object(of.collect()))
    }

    #[test]
    fn a_shortage_is_told_with_all_numbers() {
        let shoot = valid_for_tests(&SHOOT.replace("imum: 1", "imum: 3"));
        let quota = Quota {
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
        };
        let mut facts = Facts::default();
        assert_eq!(shortages(&shoot, &facts), Vec::<String>::new());
        facts.bounds.quotas.push(quota);
        facts.bounds.limits.push(limit);
        assert_eq!(
            shortages(&shoot, &facts),
            [
                "quota few has no room for count/virtualmachines.kubevirt.io: used 2, asked 3, allowed 4",
                "quota few has no room for requests.storage: used 50Gi, asked 60Gi, allowed 100Gi",
                "limit range small lets no PersistentVolumeClaim have more storage than 10Gi: pool cpu asks for 20Gi",
            ]
        );
    }

    #[test]
    fn the_memory_of_a_type_that_the_shoot_keeps_is_asked_for() {
        let shoot = SHOOT.replace("maximum: 1", "maximum: 3");
        let shoot = valid_for_tests(&shoot.replace("      minimum: 1\n", TYPED));
        let quota = Quota {
            name: "few".to_owned(),
            hard: amounts(&[("requests.memory", "40Gi"), ("requests.cpu", "1")]),
            used: amounts(&[]),
        };
        let limit = Limit {
            name: "small".to_owned(),
            of: "Container".to_owned(),
            most: amounts(&[("memory", "8Gi")]),
        };
        let mut facts = Facts::default();
        facts.bounds.quotas.push(quota);
        facts.bounds.limits.push(limit);
        assert_eq!(
            shortages(&shoot, &facts),
            [
                "quota few has no room for requests.memory: used 0, asked 48Gi, allowed 40Gi",
                "limit range small lets no Container have more memory than 8Gi: pool cpu asks for 16Gi",
            ]
        );
    }
}
