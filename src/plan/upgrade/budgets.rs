//! PodDisruptionBudgets that keep nodes from being drained.

use super::finding::UpgradeFinding;
use crate::state::upgrade::{ObservedBudget, UpgradeCheck};
use std::collections::{BTreeMap, BTreeSet};

const CHECK: UpgradeCheck = UpgradeCheck::DisruptionBudget;

/// Findings about budgets with pods on nodes that are going to be drained.
pub(super) fn findings(
    budgets: &[ObservedBudget],
    is_drained: impl Fn(&str) -> bool,
) -> Vec<UpgradeFinding> {
    let concerns = |it: &&ObservedBudget| it.pods.iter().any(|pod| is_drained(&pod.node));
    let concerned: Vec<&ObservedBudget> = budgets.iter().filter(concerns).collect();
    let each = concerned.iter().filter_map(|it| of_one(it));
    each.chain(overlaps(&concerned, is_drained)).collect()
}

fn of_one(budget: &ObservedBudget) -> Option<UpgradeFinding> {
    let ObservedBudget {
        expected,
        desired,
        allowed,
        ..
    } = *budget;
    let object = format!("PodDisruptionBudget {}", budget.name);
    if expected > 0 && desired >= expected {
        let problem = format!(
            "requires {desired} healthy pods of {expected}, so that none can be evicted: each drain would last until its timeout"
        );
        let remedy = "lower minAvailable, raise maxUnavailable, or run more replicas";
        return Some(UpgradeFinding::error(CHECK, object, problem, remedy));
    }
    (allowed <= 0).then(|| {
        let problem = "allows no eviction now".to_owned();
        let remedy = "wait until its pods are healthy";
        UpgradeFinding::warning(CHECK, object, problem, remedy)
    })
}

/// The eviction of a pod with more than one budget is an error, whatever they allow. One finding for each combination.
fn overlaps(budgets: &[&ObservedBudget], is_drained: impl Fn(&str) -> bool) -> Vec<UpgradeFinding> {
    let mut of_pods: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for budget in budgets {
        for pod in budget.pods.iter().filter(|it| is_drained(&it.node)) {
            let names = of_pods.entry(&pod.name).or_default();
            names.insert(&budget.name);
        }
    }
    let mut known = BTreeSet::new();
    let mut findings = Vec::new();
    for (pod, budgets) in of_pods {
        if budgets.len() < 2 || !known.insert(budgets.clone()) {
            continue;
        }
        let names = Vec::from_iter(budgets).join(" and ");
        let object = format!("PodDisruptionBudgets {names}");
        let problem = format!("both select pod {pod}, which cannot be evicted for that reason");
        let remedy = "change the selector of one of them";
        findings.push(UpgradeFinding::error(CHECK, object, problem, remedy));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::upgrade::BudgetPod;

    fn budget(name: &str, (expected, desired, allowed): (i64, i64, i64)) -> ObservedBudget {
        let pod = |name: &str, node: &str| BudgetPod {
            name: name.to_owned(),
            node: node.to_owned(),
        };
        ObservedBudget {
            name: format!("default/{name}"),
            expected,
            desired,
            allowed,
            pods: vec![pod("default/one", "a"), pod("default/two", "b")],
        }
    }

    fn found(budgets: &[ObservedBudget], drained: &str) -> Vec<(String, bool)> {
        let all = findings(budgets, |it| it == drained).into_iter();
        all.map(|it| (format!("{} {}", it.object, it.problem), it.refuses))
            .collect()
    }

    #[test]
    fn a_budget_that_can_never_be_met_is_an_error_and_one_of_now_a_warning() {
        let never = budget("web", (2, 2, 0));
        let [(text, refuses)] = &found(std::slice::from_ref(&never), "a")[..] else {
            panic!("one finding");
        };
        assert!(refuses);
        assert_eq!(
            text,
            "PodDisruptionBudget default/web requires 2 healthy pods of 2, so that none can be evicted: each drain would last until its timeout"
        );
        assert_eq!(found(&[never], "c"), []);
        let now = found(&[budget("web", (2, 1, 0))], "b");
        let text = "PodDisruptionBudget default/web allows no eviction now".to_owned();
        assert_eq!(now, [(text, false)]);
        assert_eq!(found(&[budget("web", (2, 1, 1))], "a"), []);
        // Its pods have no controller.
        assert_eq!(found(&[budget("web", (0, 0, 1))], "a"), []);
    }

    #[test]
    fn two_budgets_of_one_pod_are_an_error() {
        let budgets = [budget("one", (2, 1, 1)), budget("two", (2, 1, 1))];
        let text = "PodDisruptionBudgets default/one and default/two both select pod default/one, which cannot be evicted for that reason";
        assert_eq!(found(&budgets, "a"), [(text.to_owned(), true)]);
    }
}
