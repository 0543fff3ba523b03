//! How many requests a run costs, counted at the API server itself and at the way to it.

use crate::kvshoot::Kvshoot;
use crate::provider::{self, Provider};
use crate::proxy::{LEASES, Proxy, Seen};
use crate::small::Small;
use std::collections::BTreeMap;

/// Objects of a kind, by name and version.
type Versions = Vec<(String, String)>;

struct Counted {
    provider: Provider,
    proxy: Proxy,
    kvshoot: Kvshoot,
}

impl Counted {
    fn run(&self, line: &str) -> Vec<Seen> {
        self.proxy.calm();
        let output = self.kvshoot.run(line);
        assert_eq!(output.code, 0, "{line}\n{output}");
        self.proxy.seen()
    }

    fn versions(&self) -> Versions {
        let kinds = [
            provider::CONFIG_MAP,
            provider::SECRET,
            provider::DATA_VOLUME,
            provider::NETWORK,
            provider::VM,
            provider::CLAIM,
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

fn is_write(seen: &Seen) -> bool {
    seen.write > 0
}

/// By verb and resource, and printed as a table.
fn table(title: &str, seen: &[Seen]) -> BTreeMap<(String, &'static str), usize> {
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
fn an_apply_costs_two_writes_a_machine_and_a_second_one_none() {
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

    let first = counted.run("apply -f shoot.yaml");
    let counts = table("a first apply of 10 machines in 2 pools", &first);
    let of = |resource: &str, verb| counts.get(&(resource.to_owned(), verb)).copied();
    assert_eq!(of("secrets", "create"), Some(machines));
    assert_eq!(of("virtualmachines.kubevirt.io", "create"), Some(machines));
    let writes = first.iter().filter(|it| is_write(it)).count();
    let besides = writes - 2 * machines;
    println!("  besides: {besides} writes");
    assert!(besides <= 12 + 6 * pools, "{besides} writes besides");
    reads_are_few(&first);

    let before = counted.versions();
    let second = counted.run("apply -f shoot.yaml");
    table("a second apply", &second);
    assert_eq!(second.iter().filter(|it| is_write(it)).count(), 0);
    assert_eq!(counted.versions(), before);
    reads_are_few(&second);

    let delete = counted.run("delete count --yes");
    let counts = table("a delete", &delete);
    let of = |resource: &str, verb| counts.get(&(resource.to_owned(), verb)).copied();
    assert_eq!(of("virtualmachines.kubevirt.io", "delete"), Some(machines));
    let writes = delete.iter().filter(|it| is_write(it)).count();
    assert!(writes <= 2 * machines + 12 + 6 * pools, "{writes} writes");
}

/// Each kind is listed once and watched once, and no object is asked for again and again.
fn reads_are_few(seen: &[Seen]) {
    let mut gets: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for it in seen
        .iter()
        .filter(|it| it.verb == "get" && it.resource != LEASES)
    {
        *gets.entry((&it.resource, &it.name)).or_default() += 1;
    }
    for (object, count) in gets {
        assert!(count <= 3, "{object:?} is asked for {count} times");
    }
    for kind in [
        "virtualmachines.kubevirt.io",
        "datavolumes.cdi.kubevirt.io",
        "network-attachment-definitions.k8s.cni.cncf.io",
        "secrets",
        "configmaps",
    ] {
        for verb in ["list", "watch"] {
            let of = |it: &&Seen| it.resource == kind && it.verb == verb;
            let count = seen.iter().filter(of).count();
            let looks_for_causes = kind == "datavolumes.cdi.kubevirt.io" && verb == "list";
            let most = if looks_for_causes { 4 } else { 1 };
            assert!((1..=most).contains(&count), "{count} times {verb} {kind}");
        }
    }
}

/// What the server counts is what went through the proxy.
#[test]
fn the_server_counts_the_same_writes_as_the_proxy() {
    let provider = Provider::new();
    let proxy = Proxy::new(&provider);
    let shoot = Small::new("count").manifest();
    let kvshoot = proxy.kvshoot(&provider).file("shoot.yaml", &shoot);
    // Nobody but kvshoot writes these; the sandbox's other tests write more of them, hence at least.
    let before = posts(&provider);
    let output = kvshoot.run("apply -f shoot.yaml");
    assert_eq!(output.code, 0, "{output}");
    let sent = proxy
        .writes()
        .iter()
        .filter(|it| it.verb == "create")
        .count();
    let counted = posts(&provider) - before;
    assert!(
        counted >= sent,
        "the server counted {counted}, the proxy {sent}"
    );
}

/// POSTs of Secrets, records, machines, networks and volumes, by the server's own metrics.
fn posts(provider: &Provider) -> usize {
    let request = http::Request::get("/metrics").body(Vec::new()).unwrap();
    let metrics = provider
        .block_on(provider.client().request_text(request))
        .unwrap();
    let resources = [
        "secrets",
        "configmaps",
        "virtualmachines",
        "network-attachment-definitions",
        "datavolumes",
    ];
    metrics
        .lines()
        .filter(|it| it.starts_with("apiserver_request_total") && it.contains("verb=\"POST\""))
        .filter(|it| it.contains("code=\"201\""))
        .filter(|it| {
            resources
                .iter()
                .any(|of| it.contains(&format!("resource=\"{of}\"")))
        })
        .filter_map(|it| it.rsplit_once(' ')?.1.parse::<f64>().ok())
        .map(|it| it as usize)
        .sum()
}
