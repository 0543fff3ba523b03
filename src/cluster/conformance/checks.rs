//! The list of checks.

use super::outcome::{CheckFailure, CheckOutcome};
use super::testbed::Testbed;
use super::{cluster, names, network, pods, services, storage, workloads};
use futures::future::LocalBoxFuture;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// A check, and what it means if it fails.
#[derive(Clone, Copy)]
pub(crate) struct ConformanceCheck {
    /// Unique, in kebab case.
    pub(crate) name: &'static str,
    /// The consequence of a failure for users, and where to look.
    pub(crate) meaning: &'static str,
    run: for<'a> fn(&'a Testbed) -> LocalBoxFuture<'a, Result<CheckOutcome, CheckFailure>>,
}

impl ConformanceCheck {
    /// Runs the check until the deadline of the testbed. Returns the time that it took, too.
    pub(crate) async fn run(&self, testbed: &Testbed) -> (CheckOutcome, Duration) {
        let begun = Instant::now();
        let outcome = timeout_at(testbed.deadline(), (self.run)(testbed)).await;
        let outcome = match outcome {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(CheckFailure(text))) => CheckOutcome::Failed(text),
            Err(_) => CheckOutcome::Failed("not finished in time".to_owned()),
        };
        (outcome, begun.elapsed())
    }
}

/// Lists the checks: the name, what it means if it fails, and the function.
macro_rules! checks {
    ($(#[$doc:meta] $list:ident { $($name:literal, $function:path, $meaning:literal;)* })*) => {
        $(#[$doc] pub(crate) const $list: &[ConformanceCheck] = &[$(ConformanceCheck {
            name: $name,
            meaning: $meaning,
            run: |testbed| Box::pin($function(testbed)),
        }),*];)*
    };
}

checks! {
    /// Checks that need no pods of their own.
    CLUSTER_CHECKS {
        "api-server", cluster::api_server, "clients cannot use the cluster, or an upgrade is not finished";
        "nodes", cluster::nodes, "pods have fewer nodes than the cluster has machines";
        "system-pods", cluster::system_pods, "DNS, the pod network or metrics may not work";
        "api-services", cluster::api_services, "the API server does not reach APIs that pods serve, such as metrics";
        "node-metrics", cluster::node_metrics, "kubectl top and autoscaling by CPU or memory do not work";
    }
    /// Checks that need the pods of the testbed.
    POD_CHECKS {
        "logs", pods::logs, "kubectl logs does not work: konnectivity or the kubelet does not answer";
        "exec", pods::exec, "kubectl exec does not work: konnectivity or the kubelet does not answer";
        "port-forward", pods::port_forward, "kubectl port-forward does not work";
        "configuration", pods::configuration, "pods do not get the values of ConfigMaps, Secrets or their own metadata";
        "shared-volume", pods::shared_volume, "containers of a pod cannot share files, or init containers do not run first";
        "service-account-token", pods::service_account_token, "programs in pods cannot prove who they are to the API server or to others";
        "restart", pods::restart, "containers that hang are not restarted";
        "job", workloads::job, "Jobs and CronJobs do not finish";
        "rolling-update", workloads::rolling_update, "an update of a Deployment interrupts its users";
        "disruption-budget", workloads::disruption_budget, "a drain of a node does not respect PodDisruptionBudgets";
        "autoscaling", workloads::autoscaling, "HorizontalPodAutoscalers have no metrics";
        "dns-services", names::services, "pods do not find Services by name: CoreDNS or the way to it fails";
        "dns-pods", names::headless, "StatefulSets and other users of headless Services do not find their pods";
        "pod-to-pod", network::pod_to_pod, "pods on different nodes do not reach each other: the pod network fails";
        "large-packets", network::large_packets, "large responses hang: the MTU of the pod network is too large for the network below";
        "network-policy", network::network_policy, "NetworkPolicies have no effect: every pod reaches every other";
        "api-from-pods", network::api_from_pods, "controllers and operators in pods do not reach the API server";
        "service-tcp", services::tcp, "pods do not reach Services: kube-proxy or its replacement fails";
        "service-udp", services::udp, "pods do not reach Services by UDP, which DNS uses";
        "hairpin", services::hairpin, "a pod does not reach itself through its own Service";
        "session-affinity", services::session_affinity, "Services with sessionAffinity spread the requests of one client";
        "node-port", services::node_port, "Services are not reached at the nodes, and load balancers rely on that";
        "load-balancer", services::load_balancer, "users do not reach Services from outside of the cluster";
        "volume", storage::volume, "pods have no persistent storage: the CSI driver or the StorageClass fails";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn checks_have_unique_names_that_fit_in_a_column() {
        let all = || CLUSTER_CHECKS.iter().chain(POD_CHECKS);
        let names: BTreeSet<&str> = all().map(|it| it.name).collect();
        assert_eq!(names.len(), all().count());
        for name in names {
            assert!(name.len() <= 22, "{name}");
            let is_kebab = |it: char| it.is_ascii_lowercase() || it == '-';
            assert!(name.chars().all(is_kebab), "{name}");
        }
    }
}
