//! A night of a cluster that `kvshoot keep` keeps, in a third of an hour: a drained host, a node and a zone that stop
//! reporting, a certificate near its end, a hibernation with a maintenance window that opens meanwhile.

use super::{uid, wait_at_most};
use crate::support::process::Running;
use crate::support::provider::certificates::{Certificates, annotation};
use crate::support::provider::drain::evict;
use crate::support::provider::{CONFIG_MAP, POD, Provider, VM, VMI};
use crate::support::shoot_api::{ShootApi, writer};
use crate::support::shoots::{Manifest, PATIENCE};
use jiff::{SignedDuration, Timestamp, ToSpan};
use kube::api::DynamicObject;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const NAME: &str = "night";
const OLD: &str = "1.34.1";
const NEW: &str = "1.34.2";
/// From a node that stops reporting until its machine has been restarted, on a computer with other work.
const RESTART: Duration = Duration::from_secs(15 * 60);

/// When the cluster hibernates, and when its maintenance window opens.
struct Schedule {
    evening: Timestamp,
    morning: Timestamp,
}

impl Schedule {
    /// The evening is the full minute after `wait`.
    fn after(wait: SignedDuration) -> Schedule {
        let minute = SignedDuration::from_mins(1);
        let evening = (Timestamp::now() + wait + minute).as_second() / 60 * 60;
        let evening = Timestamp::from_second(evening).unwrap();
        Schedule {
            evening,
            morning: evening + 6 * minute,
        }
    }

    fn write(&self, manifest: &mut Manifest) {
        let cron = |it: Timestamp| it.strftime("%M %H * * *").to_string();
        let bound = |it: Timestamp| it.strftime("%H%M%S+0000").to_string();
        let opens = self.evening + SignedDuration::from_mins(1);
        let closes = opens + SignedDuration::from_hours(3);
        let spec = &mut manifest.shoot["spec"];
        spec["hibernation"]["schedules"] =
            json!([{ "start": cron(self.evening), "end": cron(self.morning) }]);
        spec["maintenance"]["timeWindow"] = json!({ "begin": bound(opens), "end": bound(closes) });
        manifest.profile["spec"]["kubernetes"]["versions"] =
            json!([{ "version": NEW }, { "version": OLD }]);
    }
}

/// Two machines in each of two zones. The profile offers no other version yet.
fn manifest() -> Manifest {
    let pool = Manifest::named(NAME).with_size(4).pool(|it| {
        it["zones"] = json!(["zone-a", "zone-b"]);
        it["machineControllerManager"] = json!({ "machineHealthTimeout": "1m" });
        it["maxSurge"] = json!(1);
        it["maxUnavailable"] = json!(0);
    });
    pool.with(|it| {
        let spec = &mut it.shoot["spec"];
        spec["kubernetes"]["version"] = json!(OLD);
        spec["maintenance"]["autoUpdate"] = json!({ "kubernetesVersion": true });
        it.profile["spec"]["kubernetes"]["versions"] = json!([{ "version": OLD }]);
    })
}

struct Night<'a> {
    provider: &'a Provider,
    api: &'a ShootApi<'a>,
    keep: &'a Running,
    begun: Instant,
}

impl Drop for Night<'_> {
    fn drop(&mut self) {
        println!("{}", self.keep.stderr());
    }
}

impl Night<'_> {
    /// Prints a line of the timeline, with the number of runs that `keep` has made so far.
    fn note(&self, what: &str) {
        let seconds = self.begun.elapsed().as_secs();
        let (minutes, runs) = (seconds / 60, self.runs());
        println!("{minutes:02}:{:02}  {what} (runs: {runs})", seconds % 60);
    }

    fn runs(&self) -> usize {
        self.keep.stdout().lines().count()
    }

    fn wait_for_ready_nodes(&self) {
        wait_at_most(PATIENCE, "four ready nodes", || {
            self.api.nodes_with("True") == 4
        });
    }

    fn instances(&self) -> BTreeMap<String, String> {
        let all = self.provider.list(VMI).into_iter();
        all.map(|it| (it.metadata.name.unwrap(), it.metadata.uid.unwrap()))
            .collect()
    }

    /// The machine leaves the host, and no other is touched.
    fn a_host_is_drained(&self) {
        let before = self.instances();
        let machine = self.provider.names(VM).remove(0);
        self.note(&format!("a host is drained, with machine {machine}"));
        evict(self.provider, &machine);
        wait_at_most(PATIENCE, "the machine to be replaced", || {
            self.provider.get(VM, &machine).is_none()
        });
        self.wait_for_ready_nodes();
        let after = self.instances();
        let kept = before.iter().filter(|it| after.get(it.0) == Some(it.1));
        assert_eq!((after.len(), kept.count()), (4, 3));
        self.note("it is replaced, the others are untouched");
    }

    /// The machine is restarted, which helps. Returns the time that it took.
    fn a_node_is_killed(&self) -> Duration {
        let begun = Instant::now();
        let machine = self.provider.names(VM).remove(1);
        let instance = uid(self.provider, &machine);
        let before = self.provider.names(VM);
        self.note(&format!("node {machine} stops reporting"));
        self.provider.fail(&format!("node-silent {machine}"));
        wait_at_most(RESTART, "the machine to be restarted", || {
            let now = uid(self.provider, &machine);
            now.is_some() && now != instance
        });
        let took = begun.elapsed();
        self.provider.fail(&format!("none {machine}"));
        self.wait_for_ready_nodes();
        assert_eq!(self.provider.names(VM), before, "not replaced");
        self.note("its machine is restarted, none is replaced");
        took
    }

    /// Half of the nodes stop reporting: the network is more likely than that many machines. Nothing is done for `time`,
    /// in which one machine would have been restarted.
    fn a_zone_is_silent(&self, time: Duration) {
        let before = self.instances();
        let zone = self.provider.names(VM).into_iter();
        let zone: Vec<String> = zone.filter(|it| it.contains("-z2")).collect();
        assert_eq!(zone.len(), 2);
        self.note(&format!("nodes {} stop reporting", zone.join(", ")));
        for machine in &zone {
            self.provider.fail(&format!("node-silent {machine}"));
        }
        let end = Instant::now() + time;
        while Instant::now() < end {
            assert_eq!(self.instances(), before);
            std::thread::sleep(Duration::from_secs(1));
        }
        assert_eq!(
            self.api.nodes_with("Unknown"),
            2,
            "the fault reached the cluster"
        );
        for machine in &zone {
            self.provider.fail(&format!("none {machine}"));
        }
        self.wait_for_ready_nodes();
        assert_eq!(self.instances(), before);
        self.note("nothing was restarted or replaced, and the zone reports again");
    }

    fn a_certificate_nears_its_end(&self) {
        let certificates = Certificates::of(self.provider);
        let is_scheduler = |it: &&DynamicObject| {
            let name = it.metadata.name.as_deref();
            name.is_some_and(|it| it.contains("scheduler"))
        };
        let leaf = certificates.leaves.iter().find(is_scheduler).unwrap();
        let name = leaf.metadata.name.as_deref().unwrap();
        let (begin, end) = (-300.days(), 2.days());
        let today = jiff::Zoned::now().date();
        certificates.replace(self.provider, leaf, today + begin, today + end);
        self.note(&format!("certificate {name} expires soon"));
        let month = SignedDuration::from_hours(30 * 24);
        wait_at_most(PATIENCE, "the certificate to be renewed", || {
            let certificates = Certificates::of(self.provider);
            let leaf = certificates.leaves.iter().find(is_scheduler).unwrap();
            let end: i64 = annotation(leaf, "kvshoot.io/not-after").parse().unwrap();
            end > (Timestamp::now() + month).as_second()
        });
        self.note("it is renewed");
    }

    fn hibernation(&self) -> Value {
        let record = self.provider.get(CONFIG_MAP, &manifest().id()).unwrap();
        let text = record.data["data"]["hibernation.json"].as_str();
        text.map_or(Value::Null, |it| serde_json::from_str(it).unwrap())
    }

    fn version(&self) -> String {
        let kvshoot = self.provider.kvshoot();
        let list = kvshoot.run(&format!("upgrade {NAME} --list -o json"));
        let versions: Value = serde_json::from_str(&list.out).unwrap();
        versions["components"][0]["version"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// The window opens while the cluster hibernates, which does not wake it; it is updated once it is awake.
    fn it_sleeps_and_is_updated_in_the_morning(&self, schedule: &Schedule) {
        let machines = self.provider.uids();
        self.note(&format!("hibernation is due at {}", schedule.evening));
        let until = |it: Timestamp| {
            let left = it.duration_since(Timestamp::now());
            Duration::try_from(left).unwrap_or_default() + PATIENCE
        };
        wait_at_most(until(schedule.evening), "the hibernation", || {
            self.hibernation()["complete"] == json!(true)
        });
        let now = Timestamp::now();
        assert!(now >= schedule.evening && now < schedule.morning, "{now}");
        assert_eq!(self.provider.names(POD), [""; 0]);
        assert_eq!(self.version(), OLD);
        self.note("it hibernates, without any pod");
        wait_at_most(until(schedule.morning), "the morning", || {
            let now = Timestamp::now();
            let sleeps = self.provider.names(POD).is_empty();
            assert!(sleeps || now >= schedule.morning, "awake at {now}");
            !sleeps
        });
        self.note("it wakes");
        let updated = format!("shoot.core.gardener.cloud/{NAME} updated\n");
        wait_at_most(3 * PATIENCE, "the update", || {
            self.keep.stdout().contains(&updated)
        });
        assert_eq!(self.version(), NEW);
        assert_eq!(self.provider.uids().len(), machines.len());
        self.note(&format!("Kubernetes is updated to {NEW}"));
    }
}

#[test]
#[ignore = "second tier: a third of an hour, nearly all of it waiting; each duty has shorter tests"]
fn a_night_with_faults_a_hibernation_and_an_update_loses_nothing() {
    let provider = Provider::new();
    let manifest = manifest();
    provider.assert_applied(&manifest, "created");
    let kvshoot = provider.kvshoot_with(&manifest);
    let api = ShootApi::connect(&provider, &kvshoot, NAME);
    let mut keep = provider.kvshoot().start(&format!("keep {NAME}"));
    keep.wait_for("keeping 1 shoot", PATIENCE);
    let night = Night {
        provider: &provider,
        api: &api,
        keep: &keep,
        begun: Instant::now(),
    };
    let mut last = manifest;
    let writer = writer::write_during(&api, "night", || {
        night.a_certificate_nears_its_end();
        night.a_host_is_drained();
        let took = night.a_node_is_killed();
        night.a_zone_is_silent(took.mul_f32(1.2));
        let schedule = Schedule::after(SignedDuration::from_mins(1));
        schedule.write(&mut last);
        provider.assert_applied(&last, "configured");
        night.it_sleeps_and_is_updated_in_the_morning(&schedule);
    });
    assert_eq!(writer::lost(&api, &[writer]), [""; 0]);
    drop(night);
    keep.interrupt();
    assert_eq!(keep.wait().code, 130);
    // The update is in the record, which an older manifest does not undo.
    provider.assert_unchanged(&last);
    provider.assert_deleted(NAME);
}
