//! A night of a cluster that `kvshoot keep` keeps, in a third of an hour, as the clock is moved: a drained host, a node and a
//! zone that stop reporting, a certificate near its end, a hibernation from 20:00 to 7:00 with a maintenance window that opens
//! meanwhile, and an update of Kubernetes and of the image.

use super::{uid, wait_at_most};
use crate::support::process::Running;
use crate::support::provider::certificates::{Certificates, annotation};
use crate::support::provider::drain::evict;
use crate::support::provider::{CONFIG_MAP, POD, Provider, VM, VMI};
use crate::support::shoot_api::{ShootApi, writer};
use crate::support::shoots::{Manifest, PATIENCE};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};
use kube::api::DynamicObject;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const NAME: &str = "night";
const OLD: &str = "1.34.1";
const NEW: &str = "1.34.2";
const OLD_IMAGE: &str = "22.04";
const NEW_IMAGE: &str = "24.04";
/// For which a cluster that hibernates is observed after its maintenance window has opened.
const WINDOW: Duration = Duration::from_secs(60);
/// Between the first node of a zone that reports again and the last one.
const APART: Duration = Duration::from_secs(20);
/// From a node that stops reporting until its machine has been restarted, on a computer with other work.
const RESTART: Duration = Duration::from_secs(15 * 60);

/// The evening on which the cluster hibernates at 20:00. It wakes at 7:00, in a maintenance window that opens at 5:00.
struct Evening(Date);

impl Evening {
    /// The first evening after `now`.
    fn after(now: Timestamp) -> Evening {
        let today = now.to_zoned(TimeZone::UTC).date();
        let evening = Evening(today);
        match evening.at(19, 0, 0) > now {
            true => evening,
            false => Evening(today.tomorrow().unwrap()),
        }
    }

    fn at(&self, hour: i8, minute: i8, second: i8) -> Timestamp {
        let time = self.0.at(hour, minute, second, 0);
        time.to_zoned(TimeZone::UTC).unwrap().timestamp()
    }

    fn morning(&self) -> Evening {
        Evening(self.0.tomorrow().unwrap())
    }
}

/// Two machines in each of two zones. The profile offers no other version of Kubernetes yet, unless it is `offered`.
fn manifest(offered: bool) -> Manifest {
    let pool = Manifest::named(NAME).with_size(4).pool(|it| {
        it["zones"] = json!(["zone-a", "zone-b"]);
        it["machineControllerManager"] = json!({ "machineHealthTimeout": "1m" });
        it["maxSurge"] = json!(1);
        it["maxUnavailable"] = json!(0);
        it["machine"]["image"]["version"] = json!(OLD_IMAGE);
    });
    pool.with(|it| {
        let spec = &mut it.shoot["spec"];
        spec["kubernetes"]["version"] = json!(OLD);
        spec["maintenance"] = json!({
            "autoUpdate": { "kubernetesVersion": true, "machineImageVersion": offered },
            "timeWindow": { "begin": "050000+0000", "end": "100000+0000" },
        });
        spec["hibernation"]["schedules"] =
            json!([{ "start": "00 20 * * *", "end": "00 07 * * *" }]);
        let versions = match offered {
            true => json!([{ "version": NEW }, { "version": OLD }]),
            false => json!([{ "version": OLD }]),
        };
        it.profile["spec"]["kubernetes"]["versions"] = versions;
    })
}

struct Night<'a> {
    provider: &'a Provider,
    api: &'a ShootApi<'a>,
    keep: &'a Running,
}

impl Drop for Night<'_> {
    fn drop(&mut self) {
        println!("{}", self.keep.stderr());
    }
}

impl Night<'_> {
    /// Prints a line of the timeline, with the number of runs that `keep` has made so far.
    fn note(&self, what: &str) {
        let (time, runs) = (self.now().strftime("%H:%M:%S"), self.runs());
        println!("{time}  {what} (runs: {runs})");
    }

    /// The time in the sandbox.
    fn now(&self) -> Timestamp {
        time(&self.provider.move_clock(""))
    }

    fn move_clock_to(&self, moment: Timestamp) {
        self.provider.move_clock(&format!("--to {moment}"));
        self.note("the clock is moved");
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
    /// in which one machine would have been restarted, nor while they report again one after another.
    fn a_zone_is_silent(&self, time: Duration) {
        let before = self.instances();
        let zone = self.provider.names(VM).into_iter();
        let zone: Vec<String> = zone.filter(|it| it.contains("-z2")).collect();
        assert_eq!(zone.len(), 2);
        self.note(&format!("nodes {} stop reporting", zone.join(", ")));
        for machine in &zone {
            self.provider.fail(&format!("node-silent {machine}"));
        }
        self.assert_untouched(&before, time);
        assert_eq!(
            self.api.nodes_with("Unknown"),
            2,
            "the fault reached the cluster"
        );
        let [first, last] = [&zone[0], &zone[1]];
        self.provider.fail(&format!("none {first}"));
        wait_at_most(PATIENCE, "the first node of the zone", || {
            self.api.nodes_with("True") == 3
        });
        // The other one is alone now, and silent for long enough to be restarted.
        self.assert_untouched(&before, APART);
        self.provider.fail(&format!("none {last}"));
        self.wait_for_ready_nodes();
        assert_eq!(self.instances(), before);
        self.note("nothing was restarted or replaced, and the zone reports again");
    }

    /// Looks for `time`.
    fn assert_untouched(&self, instances: &BTreeMap<String, String>, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            assert_eq!(self.instances(), *instances);
            std::thread::sleep(Duration::from_secs(1));
        }
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
        let today = self.now().to_zoned(TimeZone::UTC).date();
        certificates.replace(self.provider, leaf, today + begin, today + end);
        self.note(&format!("certificate {name} expires soon"));
        let month = SignedDuration::from_hours(30 * 24);
        wait_at_most(PATIENCE, "the certificate to be renewed", || {
            let certificates = Certificates::of(self.provider);
            let leaf = certificates.leaves.iter().find(is_scheduler).unwrap();
            let end: i64 = annotation(leaf, "kvshoot.io/not-after").parse().unwrap();
            end > (self.now() + month).as_second()
        });
        self.note("it is renewed");
    }

    fn hibernation(&self) -> Value {
        let record = self
            .provider
            .get(CONFIG_MAP, &manifest(false).id())
            .unwrap();
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
    fn it_sleeps_and_is_updated_in_the_morning(&self, evening: &Evening) {
        self.move_clock_to(evening.at(19, 59, 40));
        wait_at_most(2 * PATIENCE, "the hibernation", || {
            self.hibernation()["complete"] == json!(true)
        });
        assert_eq!(self.provider.names(POD), [""; 0]);
        self.note("it hibernates, without any pod");
        let morning = evening.morning();
        self.move_clock_to(morning.at(4, 59, 40));
        let window = Instant::now() + WINDOW;
        while Instant::now() < window {
            assert_eq!(self.provider.names(POD), [""; 0], "woken by the window");
            std::thread::sleep(Duration::from_secs(1));
        }
        assert_eq!(self.version(), OLD);
        self.note("the maintenance window is open, and it sleeps");
        self.move_clock_to(morning.at(6, 59, 40));
        wait_at_most(2 * PATIENCE, "the morning", || {
            !self.provider.names(POD).is_empty()
        });
        assert!(self.now() >= morning.at(7, 0, 0));
        self.note("it wakes");
        let updated = format!("shoot.core.gardener.cloud/{NAME} updated\n");
        wait_at_most(3 * PATIENCE, "the update", || {
            self.keep.stdout().contains(&updated)
        });
        assert_eq!(self.version(), NEW);
        let machines = serde_json::to_string(&self.provider.list(VM)).unwrap();
        assert!(!machines.contains("ubuntu-22-04"), "{machines}");
        self.note(&format!(
            "Kubernetes is updated to {NEW}, and the image to {NEW_IMAGE}"
        ));
    }
}

#[test]
#[ignore = "second tier: a third of an hour, nearly all of it waiting; each duty has shorter tests"]
fn a_night_with_faults_a_hibernation_and_an_update_loses_nothing() {
    let provider = Provider::with_clock();
    let first = manifest(false);
    let evening = Evening::after(time(&provider.move_clock("")));
    provider.move_clock(&format!("--to {}", evening.at(19, 0, 0)));
    provider.assert_applied(&first, "created");
    let kvshoot = provider.kvshoot_with(&first);
    let api = ShootApi::connect(&provider, &kvshoot, NAME);
    let mut keep = provider.kvshoot().start(&format!("keep {NAME}"));
    keep.wait_for("keeping 1 shoot", PATIENCE);
    let night = Night {
        provider: &provider,
        api: &api,
        keep: &keep,
    };
    let last = manifest(true);
    let writer = writer::write_during(&api, "night", || {
        night.a_certificate_nears_its_end();
        night.a_host_is_drained();
        let took = night.a_node_is_killed();
        night.a_zone_is_silent(took.mul_f32(1.2));
        provider.assert_applied(&last, "configured");
        night.it_sleeps_and_is_updated_in_the_morning(&evening);
    });
    assert_eq!(writer::lost_or_reordered(&api, &[writer]), [""; 0]);
    drop(night);
    keep.interrupt();
    assert_eq!(keep.wait().code, 130);
    // The update is in the record, which an older manifest does not undo.
    provider.assert_unchanged(&last);
    provider.assert_deleted(NAME);
}

/// The first word of the output of `kvshoot sandbox clock`.
fn time(clock: &str) -> Timestamp {
    let time = clock.split([',', '\n']).next().unwrap();
    time.parse().unwrap()
}
