//! `kvshoot keep` in a terminal.

use crate::support::audit;
use crate::support::process::Running;
use crate::support::provider::{CONFIG_MAP, DEPLOYMENT, LEASE, Provider, VM};
use crate::support::proxy::{LEASES, Phase, Proxy, Reaction, RecordedRequest, wait_until};
use crate::support::shoots::{Manifest, PATIENCE};
use rustix::process::Signal;
use serde_json::json;

const KEEPER: &str = "kvshoot-keep";
const MANAGER: &str = "shoot--local--kept-kube-controller-manager";
/// Renewals of a Lease to wait for: half a minute.
const RENEWALS: usize = 6;

fn renewals(proxy: &Proxy, lease: &str) -> usize {
    let is_renewal = |it: &&RecordedRequest| it.resource == LEASES && it.name == lease;
    let requests = proxy.requests();
    requests
        .iter()
        .filter(is_renewal)
        .filter(|it| it.verb == "patch")
        .count()
}

fn wait_for_kept(provider: &Provider, keep: &Running, times: usize) {
    provider.wait_for("the run of keep to end", |_| {
        keep.stdout().matches(" kept\n").count() >= times
    });
}

#[test]
#[ignore = "second tier: half a minute of idleness, and two runs; the first tier runs the printed Deployment"]
fn keep_creates_what_is_missing_and_writes_nothing_while_idle() {
    let provider = Provider::new();
    let manifest = Manifest::small("kept");
    provider.assert_applied(&manifest, "created");
    let proxy = Proxy::new(&provider);
    let kvshoot = proxy.kvshoot(&provider);
    let mut keep = kvshoot.start("keep kept");
    keep.wait_for("keeping 1 shoot", PATIENCE);

    proxy.forward_all();
    let (lease, shoot_writes) = ("kvshoot-keep-local--kept", audit::writes(&provider).len());
    provider.wait_for("the Lease to be renewed", |_| {
        renewals(&proxy, lease) >= RENEWALS
    });
    assert_eq!(proxy.writes(), [], "writes of an idle keep");
    let leases = proxy
        .requests()
        .into_iter()
        .filter(|it| it.resource == LEASES);
    let others: Vec<_> = leases
        .filter(|it| it.name != lease && it.verb == "patch")
        .collect();
    assert_eq!(others, [], "the shoot is locked only for a run");
    assert_eq!(
        audit::writes(&provider).len(),
        shoot_writes,
        "writes to the shoot"
    );

    let status = provider.kvshoot().run("status kept");
    assert!(status.out.contains("  kept             by "), "{status}");

    provider.delete(DEPLOYMENT, MANAGER);
    wait_for_kept(&provider, &keep, 1);
    assert!(provider.get(DEPLOYMENT, MANAGER).is_some());
    let machine = provider.names(VM).remove(0);
    provider.delete(VM, &machine);
    wait_for_kept(&provider, &keep, 2);
    assert_eq!(provider.names(VM).len(), 1);
    let history = provider.get(CONFIG_MAP, &manifest.id()).unwrap();
    let history = history.data["data"]["history.json"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(history.contains(r#""verb":"keep""#), "{history}");

    keep.interrupt();
    let output = keep.wait();
    assert_eq!(output.code, 130, "{output}");
    assert!(provider.get(LEASE, lease).is_none());
    let status = provider.kvshoot().run("status kept");
    assert!(!status.out.contains("  kept "), "{status}");
    provider.assert_unchanged(&manifest);
}

#[test]
fn keep_ends_with_a_signal_while_it_lists_the_clusters() {
    let provider = Provider::new();
    let proxy = Proxy::new(&provider);
    let is_second_list =
        |it: &RecordedRequest| it.verb == "list" && it.resource == "configmaps" && it.nth == 2;
    proxy.script(move |request| match is_second_list(request) {
        true => Reaction::Swallow { forwarded: false },
        false => Reaction::Forward,
    });
    let kvshoot = proxy.kvshoot(&provider);
    let mut keep = kvshoot.start("keep");
    keep.wait_for("keeping 0 shoots", PATIENCE);
    wait_until(|| proxy.requests().iter().any(is_second_list));
    keep.interrupt();
    let output = keep.wait_at_most(PATIENCE);
    assert_eq!(output.code, 130, "{output}");
}

#[test]
#[ignore = "second tier: expiry of a Lease; the Lease itself is tested in the first tier"]
fn a_second_keep_waits_and_takes_over_and_a_deletion_is_not_undone() {
    let provider = Provider::new();
    let manifest = Manifest::small("kept");
    provider.assert_applied(&manifest, "created");
    let kvshoot = provider.kvshoot();
    let mut first = kvshoot.start("keep --skip=objects");
    first.wait_for("keeping 1 shoot", PATIENCE);
    let mut second = kvshoot.start("keep --all");
    second.wait_for("waiting for another kvshoot keep", PATIENCE);
    provider.delete(DEPLOYMENT, MANAGER);
    // The first one leaves out missing objects, so that only the second one creates it.
    first.signal(Signal::TERM);
    let output = first.wait();
    assert_eq!(output.code, 143, "{output}");
    assert_eq!(output.out, "");
    wait_for_kept(&provider, &second, 1);
    assert!(provider.get(DEPLOYMENT, MANAGER).is_some());

    // A finalizer stops the deletion; keep must not create again what is gone.
    let machine = provider.names(VM).remove(0);
    let hold = json!({ "metadata": { "finalizers": ["example.org/hold"] } });
    provider.patch(VM, &machine, &hold);
    let stopped = kvshoot.run("delete kept --yes --timeout 20s");
    assert_eq!(stopped.code, 11, "{stopped}");
    let free = json!({ "metadata": { "finalizers": null } });
    provider.patch(VM, &machine, &free);
    provider.wait_for("the machine to be removed", |it| it.names(VM).is_empty());
    provider.wait_for("keep to look again", |it| {
        let lease = it.get(LEASE, KEEPER).unwrap();
        lease.data["spec"]["renewTime"] != json!(null)
    });
    let deleted = kvshoot.run("delete kept --yes");
    assert_eq!(deleted.code, 0, "{deleted}");
    assert_eq!(second.stdout().matches(" kept\n").count(), 1);
    second.interrupt();
    assert_eq!(second.wait().code, 130);
}

#[test]
#[ignore = "second tier: a cluster of its own; the first tier holds the rules of expiry"]
fn keep_deletes_expired_clusters_unless_told_otherwise() {
    let provider = Provider::new();
    provider.assert_applied(&Manifest::small("kept"), "created");
    let kvshoot = provider.kvshoot();
    let expired = kvshoot.run("ttl kept --until 2026-01-01T00:00:00Z");
    assert_eq!(expired.code, 0, "{expired}");
    let mut careful = kvshoot.start("keep --skip=expiry");
    careful.wait_for("keeping 1 shoot", PATIENCE);
    careful.interrupt();
    assert_eq!(careful.wait().code, 130);
    assert_eq!(kvshoot.run("get kept").code, 0);
    let mut keep = kvshoot.start("keep");
    keep.wait_for("Deleted shoot kept in ", PATIENCE);
    keep.interrupt();
    assert_eq!(keep.wait().code, 130);
    assert_eq!(kvshoot.run("get kept").code, 7);
    assert_eq!(provider.names(VM), Vec::<String>::new());
}

/// True if the machine is ready, and what was deleted is there again.
fn is_whole(provider: &Provider) -> bool {
    let machines = provider.list(VM);
    let is_ready = machines.len() == 1 && machines[0].data["status"]["ready"] == json!(true);
    is_ready && provider.get(DEPLOYMENT, MANAGER).is_some()
}

#[test]
#[ignore = "second tier: a kill at every write; the first tier kills applies, which keep runs"]
fn a_keep_that_is_killed_at_every_write_is_resumed_by_the_next() {
    const MAX_RUNS: usize = 100;
    let provider = Provider::new();
    let manifest = Manifest::small("kept");
    provider.assert_applied(&manifest, "created");
    let proxy = Proxy::new(&provider);
    let kvshoot = proxy.kvshoot(&provider);
    provider.delete(DEPLOYMENT, MANAGER);
    provider.delete(VM, &provider.names(VM).remove(0));
    provider.wait_for("the machine to be removed", |it| it.names(VM).is_empty());
    let phases = [Phase::Before, Phase::Unanswered, Phase::Answered];
    for (kills, phase) in phases.into_iter().cycle().take(MAX_RUNS).enumerate() {
        proxy.script(move |request| match request.write {
            1 => Reaction::Kill(phase),
            _ => Reaction::Forward,
        });
        let mut keep = kvshoot.start("keep kept");
        proxy.victim(keep.pid());
        let ended = keep.wait_or_kill(PATIENCE, || {
            proxy.writes().is_empty() && is_whole(&provider)
        });
        assert_eq!(ended.code, 137, "{ended}");
        if proxy.writes().is_empty() {
            println!("{kills} kills");
            // One that was not sent, and both that were.
            assert!(kills >= 3, "{kills}");
            // The last run was killed as well, and a complete one finds what is left.
            let output = provider.apply(&manifest);
            assert_eq!(output.code, 0, "{output}");
            return provider.assert_unchanged(&manifest);
        }
    }
    panic!("not complete after {MAX_RUNS} runs");
}
