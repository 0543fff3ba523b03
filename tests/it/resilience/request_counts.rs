//! Number of requests of a run, counted by a proxy and by the API server.

use crate::support::audit::{self, AuditedWrite};
use crate::support::kvshoot::Kvshoot;
use crate::support::provider::Provider;
use crate::support::proxy::{LEASES, Proxy, RecordedRequest};
use crate::support::small_shoots::Small;
use std::collections::{BTreeMap, HashSet};

/// Number of Secrets with keys and certificates of a control plane.
const SECRETS: usize = 16;
/// Limit of writes to the provider for a control plane, including its Secrets and the record.
const MAX_CONTROL_PLANE_WRITES: usize = 40;
/// Limit of writes to the shoot, without those for nodes.
const MAX_SYSTEM_WRITES: usize = 60;

/// Requests of kubelets for certificates, which are approved.
const REQUESTS: &str = "certificatesigningrequests";

/// Resources that only kvshoot creates.
const POSTED: [&str; 5] = [
    "secrets",
    "configmaps",
    "virtualmachines.kubevirt.io",
    "network-attachment-definitions.k8s.cni.cncf.io",
    "datavolumes.cdi.kubevirt.io",
];

struct Counted {
    provider: Provider,
    proxy: Proxy,
    kvshoot: Kvshoot,
}

impl Counted {
    /// Runs a command line. Returns the requests to the provider and the writes to the shoot.
    fn run(&self, line: &str) -> (Vec<RecordedRequest>, Vec<AuditedWrite>) {
        self.proxy.forward_all();
        let before = audit::writes(&self.provider).len();
        let output = self.kvshoot.run(line);
        assert_eq!(output.code, 0, "{line}\n{output}");
        let shoot_writes = audit::writes(&self.provider).split_off(before);
        (self.proxy.requests(), shoot_writes)
    }
}

fn is_write(seen: &RecordedRequest) -> bool {
    seen.write > 0
}

/// Counts requests by resource and verb, and prints them as a table.
fn table(title: &str, seen: &[RecordedRequest]) -> BTreeMap<(String, &'static str), usize> {
    let mut counts = BTreeMap::new();
    for it in seen {
        *counts.entry((it.resource.clone(), it.verb)).or_default() += 1;
    }
    println!("{title}");
    for ((resource, verb), count) in &counts {
        println!("  {count:>4}  {verb:<6} {resource}");
    }
    counts
}

#[test]
fn an_apply_needs_few_writes_per_machine_and_a_second_apply_none() {
    let provider = Provider::new();
    let proxy = Proxy::new(&provider);
    let shoot = Small {
        pools: vec![("one", 6), ("two", 4)],
        ..Small::new("count")
    };
    let (machines, pools) = (10, 2);
    let kvshoot = proxy
        .kvshoot(&provider)
        .file("shoot.yaml", &shoot.manifest());
    let counted = Counted {
        provider,
        proxy,
        kvshoot,
    };

    let before = posts(&counted.provider);
    let (first, shoot_writes) = counted.run("apply -f shoot.yaml");
    // Other tests write at the same time, so the count of the server may be higher.
    let posted = posts(&counted.provider) - before;
    let sent = first
        .iter()
        .filter(|it| is_write(it) && it.verb == "create");
    let sent = sent.filter(|it| POSTED.contains(&&*it.resource)).count();
    assert!(
        posted >= sent,
        "the server counted {posted}, the proxy {sent}"
    );
    let counts = table("a first apply of 10 machines in 2 pools", &first);
    let of = |resource: &str, verb| counts.get(&(resource.to_owned(), verb)).copied();
    assert_eq!(of("secrets", "create"), Some(SECRETS + machines));
    assert_eq!(of("virtualmachines.kubevirt.io", "create"), Some(machines));
    let writes = first.iter().filter(|it| is_write(it)).count();
    let others = writes - 2 * machines;
    println!("  others: {others} writes");
    assert!(
        others <= MAX_CONTROL_PLANE_WRITES + 6 * pools,
        "{others} other writes"
    );
    // A client certificate and a serving certificate.
    let approvals = shoot_writes.iter().filter(|it| it.resource == REQUESTS);
    assert_eq!(approvals.count(), 2 * machines, "{shoot_writes:?}");
    let shoot_writes: Vec<AuditedWrite> = shoot_writes
        .into_iter()
        .filter(|it| it.resource != REQUESTS)
        .collect();
    let of_nodes = shoot_writes.iter().filter(|it| is_of_node(it)).count();
    println!(
        "  shoot_writes: {} writes, {of_nodes} for nodes",
        shoot_writes.len()
    );
    // Create and delete of a token, and labels and taints of a node.
    assert!((2 * machines..=6 * machines).contains(&of_nodes));
    assert!(
        shoot_writes.len() - of_nodes <= MAX_SYSTEM_WRITES,
        "{shoot_writes:?}"
    );
    assert_created_once(&shoot_writes);
    assert_few_reads(&first);

    let before = counted.provider.contents();
    let (second, shoot_writes) = counted.run("apply -f shoot.yaml");
    table("a second apply", &second);
    assert_eq!(shoot_writes, []);
    assert_eq!(second.iter().filter(|it| is_write(it)).count(), 0);
    assert_eq!(counted.provider.contents(), before);
    assert_few_reads(&second);

    let (delete, _) = counted.run("delete count --yes");
    let counts = table("a delete", &delete);
    let of = |resource: &str, verb| counts.get(&(resource.to_owned(), verb)).copied();
    assert_eq!(of("virtualmachines.kubevirt.io", "delete"), Some(machines));
    let writes = delete.iter().filter(|it| is_write(it)).count();
    let most = 2 * machines + MAX_CONTROL_PLANE_WRITES + 6 * pools;
    assert!(writes <= most, "{writes} writes");
}

fn is_of_node(written: &AuditedWrite) -> bool {
    matches!(&*written.resource, "secrets" | "nodes")
}

fn assert_created_once(written: &[AuditedWrite]) {
    let mut created = HashSet::new();
    for it in written.iter().filter(|it| it.verb == "create") {
        let is_new = created.insert((&it.resource, &it.name));
        // These may have the same name in several namespaces.
        let is_namespaced = matches!(&*it.resource, "roles" | "rolebindings" | "configmaps");
        assert!(is_new || is_namespaced, "{it:?} twice");
    }
}

/// Asserts that each kind is listed and watched once, and that no object is read repeatedly.
fn assert_few_reads(seen: &[RecordedRequest]) {
    let mut gets: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for it in seen
        .iter()
        .filter(|it| it.verb == "get" && it.resource != LEASES)
    {
        *gets.entry((&it.resource, &it.name)).or_default() += 1;
    }
    for (object, count) in gets {
        // Keys are not kept in memory, so each certificate reads its CA.
        let is_ca = object.0 == "secrets" && object.1.ends_with("-ca");
        let most = match object.0 {
            _ if is_ca => SECRETS,
            // A member of etcd starts twice in a new shoot, and refuses connections until it listens.
            "pods/portforward" => 12,
            _ => 3,
        };
        assert!(count <= most, "{object:?} is read {count} times");
    }
    for kind in [
        "virtualmachines.kubevirt.io",
        "datavolumes.cdi.kubevirt.io",
        "network-attachment-definitions.k8s.cni.cncf.io",
        "secrets",
        "configmaps",
    ] {
        for verb in ["list", "watch"] {
            let of = |it: &&RecordedRequest| it.resource == kind && it.verb == verb;
            let count = seen.iter().filter(of).count();
            let most = match kind {
                // The diagnosis lists them repeatedly.
                "datavolumes.cdi.kubevirt.io" if verb == "list" => 12,
                // Those of the control plane and those of machines have separate watches.
                "secrets" | "configmaps" => 2,
                _ => 1,
            };
            assert!((1..=most).contains(&count), "{count} times {verb} {kind}");
        }
    }
}

/// Number of successful POST requests for the resources of kvshoot, from the metrics of the server.
fn posts(provider: &Provider) -> usize {
    let request = http::Request::get("/metrics").body(Vec::new()).unwrap();
    let metrics = provider
        .block_on(provider.client().request_text(request))
        .unwrap();
    metrics
        .lines()
        .filter(|it| it.starts_with("apiserver_request_total") && it.contains("verb=\"POST\""))
        .filter(|it| it.contains("code=\"201\""))
        .filter(|line| {
            let mut plurals = POSTED
                .iter()
                .filter_map(|resource| resource.split('.').next());
            plurals.any(|plural| line.contains(&format!("resource=\"{plural}\"")))
        })
        .filter_map(|it| it.rsplit_once(' ')?.1.parse::<f64>().ok())
        .map(|it| it as usize)
        .sum()
}
