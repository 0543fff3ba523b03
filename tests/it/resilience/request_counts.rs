//! How many requests a run costs, counted at the API server itself and at the way to it.

use crate::support::audit::{self, AuditedWrite};
use crate::support::kvshoot::Kvshoot;
use crate::support::provider::{self, Provider};
use crate::support::proxy::{LEASES, Proxy, RecordedRequest};
use crate::support::small_shoots::Small;
use std::collections::{BTreeMap, HashSet};

/// Secrets of keys and certificates of a control plane.
const SECRETS: usize = 16;
/// Most writes that a control plane takes on the provider, with its Secrets and the record.
const CONTROL_PLANE: usize = 40;
/// Most writes inside the shoot, but for those for nodes.
const SYSTEM: usize = 60;

/// What nobody but kvshoot makes.
const POSTED: [&str; 5] = [
    "secrets",
    "configmaps",
    "virtualmachines.kubevirt.io",
    "network-attachment-definitions.k8s.cni.cncf.io",
    "datavolumes.cdi.kubevirt.io",
];

/// Objects of a kind, by name and version.
type Versions = Vec<(String, String)>;

struct Counted {
    provider: Provider,
    proxy: Proxy,
    kvshoot: Kvshoot,
}

impl Counted {
    /// What it costs at the provider, and what it writes into the shoot.
    fn run(&self, line: &str) -> (Vec<RecordedRequest>, Vec<AuditedWrite>) {
        self.proxy.forward_all();
        let before = audit::writes(&self.provider).len();
        let output = self.kvshoot.run(line);
        assert_eq!(output.code, 0, "{line}\n{output}");
        let inside = audit::writes(&self.provider).split_off(before);
        (self.proxy.requests(), inside)
    }

    fn versions(&self) -> Versions {
        let kinds = [
            provider::CONFIG_MAP,
            provider::SECRET,
            provider::DATA_VOLUME,
            provider::NETWORK,
            provider::VM,
            provider::CLAIM,
            provider::SERVICE,
            provider::DEPLOYMENT,
            provider::STATEFUL_SET,
        ];
        let objects = kinds.iter().flat_map(|it| self.provider.list(*it));
        objects
            .map(|it| {
                (
                    it.metadata.name.unwrap(),
                    it.metadata.resource_version.unwrap(),
                )
            })
            .collect()
    }
}

fn is_write(seen: &RecordedRequest) -> bool {
    seen.write > 0
}

/// By verb and resource, and printed as a table.
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
fn an_apply_costs_few_writes_a_machine_and_a_second_one_none() {
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
    let (first, inside) = counted.run("apply -f shoot.yaml");
    // Others write at the same time, hence at least.
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
    let besides = writes - 2 * machines;
    println!("  besides: {besides} writes");
    assert!(
        besides <= CONTROL_PLANE + 6 * pools,
        "{besides} writes besides"
    );
    let of_nodes = inside.iter().filter(|it| is_of_node(it)).count();
    println!("  inside: {} writes, {of_nodes} for nodes", inside.len());
    // A token that comes and goes, and what a node is called and is told.
    assert!((2 * machines..=6 * machines).contains(&of_nodes));
    assert!(inside.len() - of_nodes <= SYSTEM, "{inside:?}");
    made_once(&inside);
    reads_are_few(&first);

    let before = counted.versions();
    let (second, inside) = counted.run("apply -f shoot.yaml");
    table("a second apply", &second);
    assert_eq!(inside, []);
    assert_eq!(second.iter().filter(|it| is_write(it)).count(), 0);
    assert_eq!(counted.versions(), before);
    reads_are_few(&second);

    let (delete, _) = counted.run("delete count --yes");
    let counts = table("a delete", &delete);
    let of = |resource: &str, verb| counts.get(&(resource.to_owned(), verb)).copied();
    assert_eq!(of("virtualmachines.kubevirt.io", "delete"), Some(machines));
    let writes = delete.iter().filter(|it| is_write(it)).count();
    let most = 2 * machines + CONTROL_PLANE + 6 * pools;
    assert!(writes <= most, "{writes} writes");
}

fn is_of_node(written: &AuditedWrite) -> bool {
    matches!(&*written.resource, "secrets" | "nodes")
}

fn made_once(written: &[AuditedWrite]) {
    let mut made = HashSet::new();
    for it in written.iter().filter(|it| it.verb == "create") {
        let is_new = made.insert((&it.resource, &it.name));
        // Of these there may be some of one name in several namespaces.
        let is_namespaced = matches!(&*it.resource, "roles" | "rolebindings" | "configmaps");
        assert!(is_new || is_namespaced, "{it:?} twice");
    }
}

/// Each kind is listed once and watched once, and no object is asked for again and again.
fn reads_are_few(seen: &[RecordedRequest]) {
    let mut gets: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for it in seen
        .iter()
        .filter(|it| it.verb == "get" && it.resource != LEASES)
    {
        *gets.entry((&it.resource, &it.name)).or_default() += 1;
    }
    for (object, count) in gets {
        // Keys are not kept in memory, so each certificate that is issued looks at its root.
        let is_root = object.0 == "secrets" && object.1.ends_with("-ca");
        let most = if is_root { SECRETS } else { 3 };
        assert!(count <= most, "{object:?} is asked for {count} times");
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
                // It looks for causes, the more often the longer it takes.
                "datavolumes.cdi.kubevirt.io" if verb == "list" => 12,
                // Those of the control plane are looked at in another way than those of machines.
                "secrets" | "configmaps" => 2,
                _ => 1,
            };
            assert!((1..=most).contains(&count), "{count} times {verb} {kind}");
        }
    }
}

/// POSTs of Secrets, records, machines, networks and volumes, by the server's own metrics.
fn posts(provider: &Provider) -> usize {
    let request = http::Request::get("/metrics").body(Vec::new()).unwrap();
    let metrics = provider
        .block_on(provider.client().request_text(request))
        .unwrap();
    metrics
        .lines()
        .filter(|it| it.starts_with("apiserver_request_total") && it.contains("verb=\"POST\""))
        .filter(|it| it.contains("code=\"201\""))
        .filter(|it| {
            let plurals = POSTED.iter().filter_map(|it| it.split('.').next());
            plurals
                .into_iter()
                .any(|of| it.contains(&format!("resource=\"{of}\"")))
        })
        .filter_map(|it| it.rsplit_once(' ')?.1.parse::<f64>().ok())
        .map(|it| it as usize)
        .sum()
}
