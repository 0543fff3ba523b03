//! Root causes of blocked runs, for each fault that the sandbox can inject.

use crate::support::kvshoot::{Kvshoot, Output};
use crate::support::provider::{self, Provider};
use crate::support::shoots::{Manifest, PATIENCE};
use serde_json::json;

#[test]
#[ignore = "second tier: the first tier has the causes of a quota, of a guest and of remaining objects; unit tests have each"]
fn a_missing_class_and_a_blocked_deletion_are_reported_with_their_root_cause() {
    let faulty = Faulty::new(Provider::new());
    faulty.apply_three();
    faulty.a_missing_class_is_reported_with_its_volume_claim_and_orphans_can_be_deleted();
    faulty.a_blocked_deletion_is_reported_with_its_finalizer();
}

/// One after the other, because a fault affects the entire sandbox, and on one shoot.
#[test]
#[ignore = "second tier: a second sandbox, and faults that last for minutes; unit tests have each cause"]
fn each_fault_is_reported_with_its_root_cause_and_the_next_apply_recovers() {
    let faulty = Faulty::new(Provider::with_own_sandbox());
    faulty.a_missing_image_is_reported_with_the_message_of_the_importer();
    faulty.a_stuck_import_is_reported_with_its_percentage();
    faulty.a_full_zone_is_reported_with_the_message_of_the_scheduler();
    faulty.crashing_machines_fail_the_run();
    faulty.an_exceeded_quota_is_reported_with_its_numbers();
}

struct Faulty {
    provider: Provider,
    kvshoot: Kvshoot,
}

impl Faulty {
    fn new(provider: Provider) -> Faulty {
        let three = Manifest::named("faulty");
        let six = three.clone().with_size(6);
        let other_image = three
            .clone()
            .pool(|it| it["machine"]["image"]["version"] = json!("22.04"));
        let kvshoot = provider
            .kvshoot()
            .file("three.yaml", &three.text())
            .file("six.yaml", &six.text())
            .file("other-image.yaml", &other_image.text());
        Faulty { provider, kvshoot }
    }

    fn apply_three(&self) {
        let output = self.kvshoot.run("apply -f three.yaml --timeout 6m");
        assert_eq!(output.code, 0, "{output}");
        assert_eq!(self.provider.names(provider::VM).len(), 3, "{output}");
    }

    fn a_missing_image_is_reported_with_the_message_of_the_importer(&self) {
        self.provider.fail("import-404");
        let output = self.kvshoot.run("apply -f three.yaml --timeout 5m");
        assert_eq!(output.code, 9, "{output}");
        assert!(output.err.contains("404"), "{output}");
        let machines = self.provider.names(provider::VM);
        assert_eq!(machines, Vec::<String>::new(), "{output}");
        self.assert_cause(&["DataVolume shoot--local--faulty-ubuntu-24-04-", "404"]);
        self.assert_recovers();
    }

    fn a_stuck_import_is_reported_with_its_percentage(&self) {
        self.provider.fail("import-stuck");
        let output = self.kvshoot.run("apply -f other-image.yaml --timeout 40s");
        assert_eq!(output.code, 124, "{output}");
        assert!(last_line(&output).contains("import at 12%"), "{output}");
        self.assert_cause(&[
            "DataVolume shoot--local--faulty-ubuntu-22-04-",
            ": import at 12%",
        ]);
        self.assert_recovers();
    }

    fn a_full_zone_is_reported_with_the_message_of_the_scheduler(&self) {
        self.provider.fail("no-room zone-b");
        let output = self.kvshoot.run("apply -f six.yaml --timeout 100s");
        assert_eq!(output.code, 124, "{output}");
        assert!(
            last_line(&output).contains("nodes are available"),
            "{output}"
        );
        self.provider.wait_for("machines in the other zones", |_| {
            let ready = self.kvshoot.run("nodes list -o json");
            ready.out.matches("\"ready\": true").count() == 5
        });
        self.assert_cause(&[
            "Machine shoot--local--faulty-worker-z2-",
            ": VirtualMachine ErrorUnschedulable <- Pod virt-launcher-",
            "nodes are available",
        ]);
        self.assert_recovers();
    }

    fn crashing_machines_fail_the_run(&self) {
        self.provider
            .fail("vm-crash shoot--local--faulty-worker-z2");
        let output = self.kvshoot.run("apply -f six.yaml --timeout 12m");
        assert_eq!(output.code, 9, "{output}");
        assert!(
            output.err.contains("failed in this zone during this run"),
            "{output}"
        );
        self.assert_cause(&[
            "Machine shoot--local--faulty-worker-z2-",
            ": VirtualMachine missing: 4 machines failed in this zone",
            "CrashLoopBackOff",
        ]);
        self.assert_recovers();
    }

    fn an_exceeded_quota_is_reported_with_its_numbers(&self) {
        self.provider
            .fail("quota count/virtualmachines.kubevirt.io=3");
        let output = self.kvshoot.run("apply -f six.yaml --timeout 8m");
        assert_eq!(output.code, 9, "{output}");
        for word in ["used: ", "requested: ", "limited: "] {
            assert!(output.err.contains(word), "{word} is missing: {output}");
        }
        self.assert_cause(&[
            ": VirtualMachine missing: exceeded quota: kvshoot-sandbox-fault, requested: ",
            "used: ",
            "limited: ",
        ]);
        self.assert_recovers();
    }

    fn a_missing_class_is_reported_with_its_volume_claim_and_orphans_can_be_deleted(&self) {
        let classless = Manifest::small("classless")
            .with(|it| it.profile["spec"]["volumeTypes"][0]["class"] = json!("fast"));
        let kvshoot = self.provider.kvshoot_with(&classless);
        let mut run = kvshoot.start("apply -f shoot.yaml --timeout 5m");
        run.wait_for("Pending: storageclass \"fast\" not found", PATIENCE);
        let mut output = kvshoot.run("wait classless --timeout 10s");
        assert_eq!(output.code, 124, "{output}");
        for part in [
            "DataVolume shoot--local--classless-ubuntu-24-04-",
            ": Pending <- PersistentVolumeClaim shoot--local--classless-ubuntu-24-04-",
            "storageclass \"fast\" not found",
            "hint: list the storage classes: kubectl get storageclasses",
        ] {
            assert!(output.err.contains(part), "{part}: {output}");
        }
        // The interrupted shoot still has a record; without it, only orphans remain.
        run.interrupt();
        let _ = run.wait();
        output = kvshoot.run("why classless");
        let unfinished = ["Shoot classless: not finished: remaining steps: "];
        assert!(has_line_with(&output, &unfinished), "{output}");
        let hint = "hint: to resume: kvshoot get classless -o yaml | kvshoot apply -f -";
        assert!(output.err.contains(hint), "{output}");
        let name = "shoot--local--classless";
        let secret = format!("{name}-ca");
        let no_owner = json!({ "metadata": { "ownerReferences": null } });
        self.provider.patch(provider::SECRET, &secret, &no_owner);
        self.provider.delete(provider::CONFIG_MAP, name);
        self.provider.wait_for("only orphans", |provider| {
            let names = provider.names(provider::DEPLOYMENT);
            !names.iter().any(|deployment| deployment.starts_with(name))
        });
        output = kvshoot.run("why classless");
        assert_eq!(output.code, 7, "{output}");
        assert!(
            output
                .err
                .contains("hint: to delete them: kvshoot gc --orphans"),
            "{output}"
        );
        output = kvshoot.run("gc --orphans --timeout 10m");
        assert_eq!(output.code, 0, "{output}");
        output = kvshoot.run("why classless");
        assert!(output.code == 7 && !output.err.contains("gc"), "{output}");
    }

    fn a_blocked_deletion_is_reported_with_its_finalizer(&self) {
        let name = self.provider.names(provider::VMI).remove(0);
        let held = ["foregroundDeleteVirtualMachine", "example.com/hold"];
        self.provider.patch(
            provider::VMI,
            &name,
            &json!({ "metadata": { "finalizers": held } }),
        );
        let mut run = self.kvshoot.start("delete faulty --yes --timeout 5m");
        run.wait_for(
            "VirtualMachine Deleting <- VirtualMachineInstance Deleting",
            PATIENCE,
        );
        run.wait_for("held by finalizer example.com/hold", PATIENCE);
        let because = &[
            &*format!(
                "Machine {name}: VirtualMachine Deleting <- VirtualMachineInstance Deleting: "
            ),
            "held by finalizer example.com/hold",
        ];
        let why = self.kvshoot.run("why faulty");
        assert!(has_line_with(&why, because), "{why}");
        let hint = format!(
            "hint: the owner of the finalizer has to remove it from VirtualMachineInstance {name}"
        );
        assert!(why.err.contains(&hint), "{why}");
        let wait = self.kvshoot.run("wait faulty --for deleted --timeout 1s");
        assert!(wait.code == 124 && wait.err.contains(because[0]), "{wait}");
        let no_finalizers = json!({ "metadata": { "finalizers": [] } });
        self.provider.patch(provider::VMI, &name, &no_finalizers);
        let output = run.wait_at_most(PATIENCE);
        assert_eq!(output.code, 0, "{output}");
        assert_eq!(self.provider.names(provider::VM), Vec::<String>::new());
    }

    /// Waits until one line of `why` contains all parts.
    fn assert_cause(&self, parts: &[&str]) {
        // On a busy computer, the last observation of a run may be outdated.
        self.provider
            .wait_for(&format!("{parts:?} to be reported"), |_| {
                let why = self.kvshoot.run("why faulty");
                println!("{why}");
                why.code == 1 && has_line_with(&why, parts)
            });
    }

    /// Removes the fault and asserts that the next apply succeeds.
    fn assert_recovers(&self) {
        self.provider.fail("none");
        self.apply_three();
        self.provider.wait_for("the shoot to be healthy", |_| {
            let why = self.kvshoot.run("why faulty");
            println!("{why}");
            why.out == "Shoot faulty is healthy.\n"
        });
    }
}

/// Returns true if one line contains all parts.
fn has_line_with(output: &Output, parts: &[&str]) -> bool {
    let mut lines = output.out.lines();
    lines.any(|line| parts.iter().all(|part| line.contains(part)))
}

/// Returns the last line of stderr, without the hint.
fn last_line(output: &Output) -> &str {
    let lines = output.err.lines().filter(|it| !it.is_empty());
    lines
        .rev()
        .find(|it| !it.contains("To resume"))
        .unwrap_or_default()
}
