//! kill -9 at writes of an apply, a rolling update and a delete: the result is that of an undisturbed run.

use super::etcd::lose_member;
use super::rotation::{PATCHED, assert_patched};
use crate::change::migrate::{self, Mover};
use crate::support::audit;
use crate::support::kvshoot::Kvshoot;
use crate::support::provider::drain::evict;
use crate::support::provider::{self, Provider, Resource};
use crate::support::proxy::{Phase, Proxy, Reaction, wait_until};
use crate::support::shoot_api::ShootApi;
use crate::support::small_shoots::{Small, assert_user_data, inventory};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const MIGRATION: Resource = Resource("kubevirt.io", "v1", "VirtualMachineInstanceMigration");
const LIMIT: Duration = Duration::from_secs(180);
/// Limit of killed runs.
const MAX_RUNS: usize = 600;
const PHASES: [Phase; 3] = [Phase::Before, Phase::Unanswered, Phase::Answered];

/// A shoot, the proxy to its provider, and statistics.
struct Walk {
    provider: Provider,
    proxy: Proxy,
    kvshoot: Kvshoot,
    start: Instant,
    kills: usize,
    /// Returns the number of the write at which the next run is killed.
    next_write: fn(usize) -> usize,
}

/// At every write, since each run is killed at its first one.
fn first_write(_: usize) -> usize {
    1
}

/// A pseudorandom write, the same in each test run: of the first sixteen of a run.
fn sampled_write(kills: usize) -> usize {
    let mixed = (kills as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    1 + (mixed >> 60) as usize
}

impl Walk {
    fn new(manifests: &[(&str, &Small)], next_write: fn(usize) -> usize) -> Walk {
        let files = manifests.iter().map(|(file, it)| (*file, it.manifest()));
        Walk::with_files(files.collect(), next_write)
    }

    /// Each file has a name and a text.
    fn with_files(files: Vec<(&str, String)>, next_write: fn(usize) -> usize) -> Walk {
        let provider = Provider::new();
        let proxy = Proxy::new(&provider);
        let mut kvshoot = proxy.kvshoot(&provider);
        for (file, text) in files {
            kvshoot = kvshoot.file(file, &text);
        }
        Walk {
            provider,
            proxy,
            kvshoot,
            start: Instant::now(),
            kills: 0,
            next_write,
        }
    }

    /// Creates a shoot with one machine; later runs are killed at their first write.
    fn one_machine() -> Walk {
        let one = Small {
            pools: vec![("one", 1)],
            network: false,
            ..Small::new("cut")
        };
        let walk = Walk::new(&[("one.yaml", &one)], first_write);
        walk.run("apply -f one.yaml");
        walk
    }

    /// Runs undisturbed, and returns the number of writes.
    fn run(&self, line: &str) -> usize {
        self.proxy.forward_all();
        let output = self.kvshoot.start(line).wait_at_most(LIMIT);
        assert_eq!(output.code, 0, "{line}\n{output}\n{}", self.trace());
        self.proxy.writes().len()
    }

    /// Asserts that another run writes nothing.
    fn assert_unchanged(&self, line: &str) {
        self.proxy.forward_all();
        let output = self.kvshoot.start(line).wait_at_most(LIMIT);
        let is_unchanged = output.code == 0 && output.out.ends_with(" unchanged\n");
        assert!(is_unchanged, "{line}\n{output}");
        assert_eq!(self.proxy.writes(), []);
    }

    /// Repeats a run and kills it at a write to either API server, until a run completes. Returns the number of writes.
    fn walk(&mut self, line: &str) -> usize {
        let before = audit::writes(&self.provider).len();
        let mut writes = 0;
        for phase in PHASES.into_iter().cycle().take(MAX_RUNS) {
            if !self.kill(line, phase) {
                let shoot_writes = audit::writes(&self.provider).split_off(before);
                self.print(line, writes, shoot_writes.len());
                return writes;
            }
            // All requests after that write are blocked, so the number of writes is the same on every computer. Writes to the
            // shoot are concurrent; a run that was killed at one of them may have no write here.
            let sent = self.proxy.writes().len();
            writes += sent.saturating_sub(usize::from(phase == Phase::Before));
        }
        panic!(
            "`{line}` is incomplete after {MAX_RUNS} runs\n{}",
            self.trace()
        );
    }

    /// Applies a file with kills, and asserts that etcd has so many members after at least so many writes.
    fn members(&mut self, file: &str, count: usize, at_least: usize) {
        let line = format!("apply -f {file}");
        let writes = self.walk(&line);
        assert!(writes >= at_least, "{line}: {writes} writes");
        let claims = self.provider.names(provider::CLAIM).into_iter();
        assert_eq!(claims.filter(|it| it.contains("-etcd-")).count(), count);
        self.assert_unchanged(&line);
        self.assert_complete();
    }

    /// Kills a run at a write. Returns false if it completed with fewer writes.
    fn kill(&mut self, line: &str, phase: Phase) -> bool {
        let write = (self.next_write)(self.kills);
        self.proxy
            .script(move |request| match request.write == write {
                true => Reaction::Kill(phase),
                false => Reaction::Forward,
            });
        let shoot_writes = audit::writes(&self.provider).len();
        let mut running = self.kvshoot.start(line);
        self.proxy.victim(running.pid());
        let output = running.wait_or_kill(LIMIT, || {
            // Writes to the shoot bypass the proxy: the kill follows the audit event.
            audit::writes(&self.provider).len() >= shoot_writes + write
        });
        let was_killed = output.code == 128 + 9;
        assert!(
            was_killed || output.code == 0,
            "{line}, {phase:?}\n{output}"
        );
        self.kills += usize::from(was_killed);
        was_killed
    }

    fn trace(&self) -> String {
        let line = |it: &crate::support::proxy::RecordedRequest| {
            format!("{} {} {}\n", it.verb, it.resource, it.name)
        };
        self.proxy.writes().iter().map(line).collect()
    }

    fn print(&self, line: &str, writes: usize, shoot_writes: usize) {
        let kills = self.kills;
        let seconds = self.start.elapsed().as_secs();
        println!(
            "{line}: killed at {writes} writes, {shoot_writes} writes to the shoot; {kills} kills, {seconds} s"
        );
    }

    fn assert_deleted(&self) {
        assert_eq!(inventory(&self.provider), Vec::<String>::new());
        // The garbage collector deletes the lease with its owner, the record.
        wait_until(|| self.provider.names(provider::LEASE).is_empty());
    }

    /// Asserts that machines and nodes have the same names, and that no bootstrap token remains.
    fn assert_complete(&self) {
        assert_user_data(&self.provider);
        let api = ShootApi::connect(&self.provider, &self.kvshoot, "cut");
        assert_eq!(api.nodes(), self.provider.names(provider::VM));
        assert_eq!(api.tokens(), Vec::<String>::new());
    }
}

const OLD: &str = "apply -f old.yaml";
const NEW: &str = "apply -f new.yaml";
const DELETE: &str = "delete cut --yes --ignore-not-found";

fn old() -> Small {
    Small {
        pools: vec![("one", 1), ("two", 1)],
        user_data: Some("#cloud-config\npackages: [jq]\n"),
        ..Small::new("cut")
    }
}

fn new() -> Small {
    Small {
        machine_type: "medium",
        user_data: Some("#cloud-config\npackages: [vim]\n"),
        ..old()
    }
}

/// The numbers of the writes are the same in each test run.
#[test]
fn runs_killed_at_some_of_their_writes_are_resumed_and_create_nothing_twice() {
    let mut walk = Walk::new(&[("old.yaml", &old()), ("new.yaml", &new())], sampled_write);
    let mut wanted = None;
    for line in [OLD, NEW] {
        walk.walk(line);
        walk.assert_unchanged(line);
        walk.assert_complete();
        // The objects after the rolling update are as many as after the first apply.
        let found = kinds(&walk.provider);
        assert_eq!(*wanted.get_or_insert(found.clone()), found);
    }
    walk.walk(DELETE);
    walk.assert_deleted();
    assert!(walk.kills >= 8, "{} kills", walk.kills);
}

/// On one shoot, because creating its control plane takes longer than the killed runs.
#[test]
#[ignore = "second tier: hundreds of runs; the first tier kills some of them"]
fn a_run_killed_at_every_write_is_resumed_and_creates_nothing_twice() {
    let undisturbed = Walk::new(&[("old.yaml", &old())], first_write);
    let written = undisturbed.run(OLD);
    let wanted = kinds(&undisturbed.provider);
    drop(undisturbed);

    let mut walk = Walk::new(&[("old.yaml", &old()), ("new.yaml", &new())], first_write);
    // Without the writes at the end of a run.
    let most = written - written / 10;
    for (line, at_least) in [(OLD, most), (NEW, 8)] {
        let writes = walk.walk(line);
        assert!(writes >= at_least, "{line}: {writes} writes");
        assert_eq!(kinds(&walk.provider), wanted);
        walk.assert_unchanged(line);
        walk.assert_complete();
    }
    let writes = walk.walk(DELETE);
    assert!(writes >= 20, "{writes} writes delete a shoot");
    walk.assert_deleted();
}

/// Requests to etcd are between the writes.
#[test]
#[ignore = "second tier: hundreds of runs; the search over decisions is in the first tier"]
fn members_of_etcd_join_are_replaced_and_leave_although_each_run_is_killed_at_its_first_write() {
    let one = Small {
        pools: vec![("one", 1)],
        network: false,
        ..Small::new("cut")
    };
    let three = Small {
        tolerance: "node",
        ..one.clone()
    };
    let kind = "    kind: CloudProfileConfig\n";
    let images = format!("{kind}    componentImages: {{ etcd: '{PATCHED}' }}\n");
    let patched = three.manifest().replace(kind, &images);
    assert!(patched.contains(PATCHED));
    let files = vec![
        ("one.yaml", one.manifest()),
        ("three.yaml", three.manifest()),
        ("patched.yaml", patched),
    ];
    let mut walk = Walk::with_files(files, first_write);
    walk.run("apply -f one.yaml");
    walk.members("three.yaml", 3, 15);
    for ordinal in 0..3 {
        lose_member(&walk.provider, &format!("shoot--local--cut-etcd-{ordinal}"));
        walk.members("three.yaml", 3, 3);
    }
    walk.members("patched.yaml", 3, 3);
    assert_patched(&walk.provider);
    walk.members("one.yaml", 1, 15);
}

#[test]
#[ignore = "second tier: dozens of restores; tests of backups restore without kills"]
fn a_restore_goes_on_although_each_run_is_killed_at_its_first_write() {
    let mut walk = Walk::one_machine();
    let machines = walk.provider.names(provider::VM);
    let from = walk.kvshoot.home().join("there").display().to_string();
    let backup = walk
        .provider
        .kvshoot()
        .run(&format!("backup cut --to {from} --with-plain-keys"));
    assert_eq!(backup.code, 0, "{backup}");
    let line = format!("restore cut --from {from} --yes");
    for phase in PHASES.into_iter().cycle().take(MAX_RUNS) {
        // A restore after the end of the first one would be another one.
        if !walk.kill(&line, phase) || etcd_of_record(&walk).0 {
            break;
        }
    }
    println!("{} kills, {} s", walk.kills, walk.start.elapsed().as_secs());
    assert!(walk.kills >= 10);
    // Each attempt has a data directory of its own; a run that is killed does not begin another one.
    assert_eq!(etcd_of_record(&walk), (true, 2));
    assert_eq!(walk.provider.names(provider::VM), machines);
    walk.assert_unchanged("apply -f one.yaml");
    walk.assert_complete();
    walk.run("delete cut --yes");
    walk.assert_deleted();
}

#[test]
#[ignore = "second tier: dozens of runs; each state that they leave is one of plan::hibernation"]
fn a_shoot_hibernates_and_wakes_although_each_run_is_killed_at_its_first_write() {
    let mut walk = Walk::one_machine();
    let (wanted, machines) = (kinds(&walk.provider), walk.provider.uids());
    for (line, at_least) in [("hibernate cut", 8), ("wake cut", 8)] {
        let writes = walk.walk(line);
        assert!(writes >= at_least, "{line}: {writes} writes");
        let has_pods = !walk.provider.names(provider::POD).is_empty();
        assert_eq!(has_pods, line == "wake cut", "{line}");
        walk.assert_unchanged(line);
        walk.assert_unchanged("apply -f one.yaml");
        assert_eq!(walk.provider.uids(), machines);
    }
    walk.assert_complete();
    assert_eq!(kinds(&walk.provider), wanted);
    walk.run("delete cut --yes");
    walk.assert_deleted();
}

#[test]
#[ignore = "second tier: dozens of runs; the first tier plays histories of such restarts"]
fn machines_get_another_size_although_each_run_is_killed_at_its_first_write() {
    let small = Small {
        pools: vec![("one", 2)],
        network: false,
        surge: 0,
        in_place: true,
        ..Small::new("cut")
    };
    let medium = Small {
        machine_type: "medium",
        root_disk: "30Gi",
        ..small.clone()
    };
    let mut walk = Walk::new(
        &[("small.yaml", &small), ("medium.yaml", &medium)],
        first_write,
    );
    walk.run("apply -f small.yaml");
    let (wanted, machines) = (kinds(&walk.provider), walk.provider.uids());
    let line = "apply -f medium.yaml";
    // The disk of each of the two becomes larger, and it is marked, cordoned, halted, uncordoned and started.
    let writes = walk.walk(line);
    assert!(writes >= 8, "{line}: {writes} writes");
    walk.assert_unchanged(line);
    assert_eq!(walk.provider.uids(), machines);
    assert_eq!(kinds(&walk.provider), wanted);
    walk.run("delete cut --yes");
    walk.assert_deleted();
}

#[test]
#[ignore = "second tier: a dozen runs; which migrations count is in the unit tests"]
fn machines_migrate_once_although_each_run_is_killed_at_its_first_write() {
    let manifest = migrate::manifest("cut", 2, Mover::Kvshoot);
    let mut walk = Walk::with_files(vec![("two.yaml", manifest.text())], first_write);
    walk.run("apply -f two.yaml");
    let (wanted, machines) = (kinds(&walk.provider), walk.provider.uids());
    for machine in machines.values() {
        evict(&walk.provider, machine);
    }
    // Each migration is created by one write.
    let writes = walk.walk("evacuate");
    assert!(writes >= machines.len(), "{writes} writes");
    assert_eq!(walk.provider.uids(), machines);
    assert_eq!(walk.provider.list(MIGRATION).len(), machines.len());
    assert_eq!(kinds(&walk.provider), wanted);
    walk.assert_unchanged("apply -f two.yaml");
    walk.run("delete cut --yes");
    walk.assert_deleted();
}

#[test]
#[ignore = "second tier: a hundred runs that replace machines; who trusts whom in each step is in the first tier"]
fn rotations_of_cas_go_on_although_each_run_is_killed_at_its_first_write() {
    let mut walk = Walk::one_machine();
    walk.rotate(&[("etcd-ca", 8), ("ca", 20)]);
    walk.run("delete cut --yes");
    walk.assert_deleted();
}

#[test]
#[ignore = "second tier: dozens of runs that wait for kubelets; the first tier has the plan of each step"]
fn machines_take_new_cas_in_place_although_each_run_is_killed_at_its_first_write() {
    let one = Small {
        pools: vec![("one", 1)],
        network: false,
        surge: 0,
        in_place: true,
        ..Small::new("cut")
    };
    let mut walk = Walk::new(&[("one.yaml", &one)], first_write);
    walk.run("apply -f one.yaml");
    let uids = |walk: &Walk| [provider::VM, provider::VMI].map(|it| walk.provider.uids_of(it));
    let machines = uids(&walk);
    walk.rotate(&[("ca", 20)]);
    assert_eq!(uids(&walk), machines, "they were replaced or restarted");
    walk.run("delete cut --yes");
    walk.assert_deleted();
}

#[test]
#[ignore = "second tier: dozens of runs; the first tier rotates without kills"]
fn rotations_of_keys_go_on_although_each_run_is_killed_at_its_first_write() {
    let mut walk = Walk::one_machine();
    let machines = walk.provider.names(provider::VM);
    walk.rotate(&[("service-account-key", 3), ("encryption-key", 3)]);
    assert_eq!(walk.provider.names(provider::VM), machines);
    walk.run("delete cut --yes");
    walk.assert_deleted();
}

impl Walk {
    /// Rotates each of the credentials, with at least so many writes in each phase.
    fn rotate(&mut self, credentials: &[(&str, usize)]) {
        let wanted = kinds(&self.provider);
        for (credential, at_least) in credentials {
            for phase in ["--start", "--complete --yes"] {
                let before = ShootApi::connect(&self.provider, &self.kvshoot, "cut").kubeconfig;
                let line = format!("rotate cut {credential} {phase}");
                let writes = self.walk(&line);
                assert!(writes >= *at_least, "{line}: {writes} writes");
                self.assert_unchanged("apply -f one.yaml");
                self.assert_complete();
                assert_eq!(kinds(&self.provider), wanted);
                // It was issued in the phase before.
                let before = ShootApi::of_kubeconfig(&self.provider, before);
                assert!(before.responds("/api/v1/nodes", LIMIT));
            }
        }
        let record = self.provider.get(provider::CONFIG_MAP, "shoot--local--cut");
        let record = record.unwrap().data["data"]["rotation.json"].clone();
        let rotations: serde_json::Value = serde_json::from_str(record.as_str().unwrap()).unwrap();
        for (credential, _) in credentials {
            assert_eq!(rotations[credential]["generation"], 1, "{rotations}");
            assert_eq!(rotations[credential]["step"], "Completed", "{rotations}");
        }
    }
}

/// Returns whether no restore is under way after the first, and the incarnation of etcd.
fn etcd_of_record(walk: &Walk) -> (bool, u64) {
    let record = walk.provider.get(provider::CONFIG_MAP, "shoot--local--cut");
    let record = record.unwrap().data["data"]["etcd.json"].clone();
    let etcd: serde_json::Value = serde_json::from_str(record.as_str().unwrap()).unwrap();
    let incarnation = etcd["incarnation"].as_u64().unwrap();
    (etcd["restore"].is_null() && incarnation > 1, incarnation)
}

/// Numbers of objects by kind.
fn kinds(provider: &Provider) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    for object in inventory(provider) {
        let (kind, _) = object.split_once(' ').unwrap();
        *kinds.entry(kind.to_owned()).or_default() += 1;
    }
    kinds
}
