//! `kvshoot keep` that is killed at its writes, and two of them: the next one continues what was decided.

use super::autoscaler::{self, assert_settled, workload};
use super::uid;
use crate::support::cron_job::{documents, resource};
use crate::support::kvshoot::Kvshoot;
use crate::support::provider::drain::evict;
use crate::support::provider::{DEPLOYMENT, POD, Provider, VM};
use crate::support::proxy::{Phase, Proxy, Reaction};
use crate::support::shoot_api::ShootApi;
use crate::support::shoots::{Manifest, PATIENCE};
use kube::api::DeleteParams;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const PHASES: [Phase; 3] = [Phase::Before, Phase::Unanswered, Phase::Answered];
const MAX_KILLS: usize = 200;
const OLD: &str = "1.34.1";
const NEW: &str = "1.34.2";
/// Detection, and three minutes of looking, for each of three keepers.
const REPAIR_LIMIT: Duration = Duration::from_secs(30 * 60);

struct Killed {
    provider: Provider,
    proxy: Proxy,
    /// Connected through the proxy.
    keeper: Kvshoot,
    manifest: Manifest,
}

impl Killed {
    fn new(manifest: Manifest) -> Killed {
        let provider = Provider::new();
        provider.assert_applied(&manifest, "created");
        let proxy = Proxy::new(&provider);
        Killed {
            keeper: proxy.kvshoot(&provider),
            provider,
            proxy,
            manifest,
        }
    }

    /// Runs keep, and kills each at its first write, until a state is reached and nothing is left to do. Returns the number
    /// of kills.
    fn walk(&self, is_reached: impl Fn() -> bool) -> usize {
        let name = self.manifest.name();
        let kvshoot = self.provider.kvshoot_with(&self.manifest);
        let settled = format!("No changes. Shoot {name} matches the manifest.\n");
        let is_done = || is_reached() && kvshoot.run("plan -f shoot.yaml").out.ends_with(&settled);
        for (kills, phase) in PHASES.into_iter().cycle().take(MAX_KILLS).enumerate() {
            self.proxy.script(move |request| match request.write {
                1 => Reaction::Kill(phase),
                _ => Reaction::Forward,
            });
            let mut keep = self.keeper.start(&format!("keep {name}"));
            self.proxy.victim(keep.pid());
            let output = keep.wait_or_kill(PATIENCE, is_done);
            assert_eq!(output.code, 128 + 9, "{output}");
            if is_done() {
                return kills;
            }
        }
        panic!("it is incomplete after {MAX_KILLS} kills");
    }

    /// Runs a command that is killed once its first write is done: the decision.
    fn decide(&self, line: &str) {
        self.proxy.script(|request| match request.write {
            1 => Reaction::Kill(Phase::Answered),
            _ => Reaction::Forward,
        });
        let mut run = self.keeper.start(line);
        self.proxy.victim(run.pid());
        let output = run.wait_at_most(PATIENCE);
        assert_eq!(output.code, 128 + 9, "{output}");
    }

    fn annotate(&self, machine: &str, annotations: &Value) {
        let patch = json!({ "metadata": { "annotations": annotations } });
        self.provider.patch(VM, machine, &patch);
    }
}

#[test]
#[ignore = "second tier: dozens of keepers; unit tests hold the steps"]
fn what_was_decided_is_done_although_each_keep_is_killed_at_its_first_write() {
    let name = "killed";
    let manifest = Manifest::small(name).pool(|it| {
        it["maximum"] = json!(2);
        it["maxSurge"] = json!(1);
    });
    let killed = Killed::new(manifest);
    let provider = &killed.provider;
    let first = provider.names(VM).remove(0);

    // As a repair writes it.
    let instance = uid(provider, &first).unwrap();
    let now = jiff::Timestamp::now().to_string();
    let restart = json!({ "kvshoot.io/restarted-at": now, "kvshoot.io/restart-of": instance });
    killed.annotate(&first, &restart);
    let is_restarted = || uid(provider, &first).is_some_and(|it| it != instance);
    let kills = killed.walk(is_restarted);
    assert_eq!(provider.names(VM), [first.as_str()]);
    println!("restart: {kills} kills");
    assert!(kills >= 1, "{kills} kills");

    killed.annotate(&first, &json!({ "kvshoot.io/replace": "node not ready" }));
    let is_replaced = || {
        let machines = provider.names(VM);
        machines.len() == 1 && machines[0] != first
    };
    let kills = killed.walk(is_replaced);
    println!("replacement: {kills} kills");
    assert!(kills >= 6, "{kills} kills");

    // The size is decided, and the run that decided it does nothing else.
    for size in [2, 1] {
        killed.decide(&format!("scale {name} worker={size}"));
        let kills = killed.walk(|| provider.names(VM).len() == size);
        println!("size {size}: {kills} kills");
        assert!(kills >= 3, "{kills} kills");
    }
    provider.assert_unchanged(&killed.manifest);
}

#[test]
#[ignore = "second tier: dozens of keepers; unit tests hold the steps"]
fn drains_sleep_and_updates_go_on_although_each_keep_is_killed_at_its_first_write() {
    let name = "kept-alive";
    let manifest = Manifest::small(name)
        .pool(|it| it["maxSurge"] = json!(1))
        .with(|it| {
            it.shoot["spec"]["kubernetes"]["version"] = json!(OLD);
            it.profile["spec"]["kubernetes"]["versions"] =
                json!([{ "version": NEW }, { "version": OLD }]);
        });
    let mut killed = Killed::new(manifest);
    let provider = &killed.provider;
    let drained = provider.names(VM).remove(0);
    evict(provider, &drained);
    let is_replaced = || {
        let machines = provider.names(VM);
        machines.len() == 1 && machines[0] != drained
    };
    let kills = killed.walk(is_replaced);
    println!("drain: {kills} kills");
    assert!(kills >= 6, "{kills} kills");

    let uids = provider.uids();
    for (verb, has_pods) in [("hibernate", false), ("wake", true)] {
        killed.decide(&format!("{verb} {name}"));
        let kills = killed.walk(|| provider.names(POD).is_empty() != has_pods);
        println!("{verb}: {kills} kills");
        assert!(kills >= 8, "{kills} kills");
        assert_eq!(provider.uids(), uids, "{verb}");
    }

    killed.manifest = killed.manifest.clone().with(|it| {
        it.shoot["spec"]["maintenance"] = json!({ "autoUpdate": { "kubernetesVersion": true } });
    });
    let provider = &killed.provider;
    provider.assert_applied(&killed.manifest, "configured");
    let list = provider.kvshoot();
    let is_updated = || {
        let list = list.run(&format!("upgrade {name} --list -o json"));
        let versions: Value = serde_json::from_str(&list.out).unwrap();
        let mut components = versions["components"].as_array().unwrap().iter();
        components.all(|it| it["version"] == NEW)
    };
    let kills = killed.walk(is_updated);
    println!("update: {kills} kills");
    assert!(kills >= 10, "{kills} kills");
    assert_ne!(provider.uids(), uids);
}

#[test]
#[ignore = "second tier: a quarter of an hour; the first tier plays histories of faults"]
fn a_silent_node_is_restarted_once_although_keep_is_killed_at_its_decisions() {
    // Faults of machines are by name, whatever their namespace.
    let name = "silenced";
    let manifest = Manifest::named(name).with_size(3).pool(|it| {
        it["machineControllerManager"] = json!({ "machineHealthTimeout": "2m" });
    });
    let killed = Killed::new(manifest);
    let provider = &killed.provider;
    let machines = provider.names(VM);
    let victim = &machines[0];
    let instance = uid(provider, victim).unwrap();
    provider.fail(&format!("node-silent {victim}"));
    // The count of repairs, and then the decision.
    for write in 1..=2 {
        killed
            .proxy
            .script(move |request| match request.write == write {
                true => Reaction::Kill(Phase::Unanswered),
                false => Reaction::Forward,
            });
        let mut keep = killed.keeper.start(&format!("keep {name}"));
        killed.proxy.victim(keep.pid());
        let output = keep.wait_at_most(REPAIR_LIMIT);
        assert_eq!(output.code, 128 + 9, "{output}");
        assert_eq!(uid(provider, victim).as_ref(), Some(&instance));
    }
    killed.proxy.forward_all();
    let keep = killed.keeper.start(&format!("keep {name}"));
    let begun = Instant::now();
    provider.wait_for("the restart that was decided", |it| {
        uid(it, victim).is_some_and(|it| it != instance)
    });
    println!("restarted after {:.1?}", begun.elapsed());
    assert_eq!(provider.names(VM), machines);
    drop(keep);
}

/// The Deployment has one replica; a second one waits for the Lease of the first.
#[test]
#[ignore = "second tier: minutes with two keepers; the first tier scales with one"]
fn two_keepers_that_are_killed_again_and_again_follow_the_autoscaler() {
    let provider = Provider::new();
    let manifest = autoscaler::manifest();
    provider.assert_applied(&manifest, "created");
    let kvshoot = provider.kvshoot_with(&manifest);
    let printed = kvshoot.run(&format!("keep --print -n {}", provider.namespace));
    for mut object in documents(&printed.out) {
        if object["kind"] == "Deployment" {
            object["spec"]["replicas"] = json!(2);
        }
        provider.create(resource(&object), object);
    }
    let shoot = ShootApi::connect(&provider, &kvshoot, autoscaler::NAME);
    let mut kills = 0;
    for replicas in [[2, 1], [0, 0], [2, 1], [0, 0]] {
        for (pool, replicas) in ["worker", "batch"].into_iter().zip(replicas) {
            let wanted = json!({ "spec": { "replicas": replicas } });
            if !shoot.is_patched(DEPLOYMENT, ("default", pool), &wanted) {
                shoot.create(DEPLOYMENT, "default", workload(pool, replicas));
            }
        }
        let nodes = match replicas {
            [0, 0] => 1,
            _ => 4,
        };
        kills += kill_until(&provider, &format!("{nodes} nodes"), || {
            let machines = provider.names(VM).len();
            assert!((1..=4).contains(&machines), "{machines} machines");
            machines == nodes && shoot.nodes_with("True") == nodes
        });
        assert_settled(&provider, &manifest);
    }
    println!("{kills} keepers were killed");
    assert!(kills >= 4, "{kills} kills");
    provider.delete(DEPLOYMENT, autoscaler::KEEP);
}

/// Kills one of the keepers after another, in pseudorandom intervals, until a state is reached. Returns the number of kills.
fn kill_until(provider: &Provider, what: &str, is_reached: impl Fn() -> bool) -> usize {
    let end = Instant::now() + 2 * PATIENCE;
    let (mut kills, mut next) = (0, Instant::now() + Duration::from_secs(5));
    while !is_reached() {
        assert!(
            Instant::now() < end,
            "timed out waiting for {what} after {kills} kills"
        );
        if Instant::now() >= next {
            let pods = provider.names(POD);
            let keepers: Vec<_> = pods
                .iter()
                .filter(|it| it.starts_with("kvshoot-keep-"))
                .collect();
            if let Some(keeper) = keepers.get(kills % keepers.len().max(1)) {
                let params = DeleteParams::default().grace_period(0);
                // It may be gone by itself.
                let _ = provider.block_on(provider.api(POD).delete(keeper, &params));
                kills += 1;
            }
            // The Lease of a keeper that was killed expires after 15 seconds.
            next = Instant::now() + Duration::from_secs(18 + 6 * (kills as u64 % 4));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    kills
}
