//! What blocks a run is told by its deepest cause, for each fault that a sandbox can have.

use crate::support::kvshoot::{Kvshoot, Output};
use crate::support::provider::{self, Provider};
use crate::support::shoots::{Manifest, PATIENCE};
use serde_json::json;

/// One after the other, since a fault hits the whole sandbox, and on one shoot.
#[test]
fn each_fault_is_told_by_its_deepest_cause_and_the_next_apply_mends_it() {
    let provider = Provider::with_own_sandbox();
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
    let faulty = Faulty { provider, kvshoot };
    faulty.a_missing_image_is_told_in_the_importer_s_words();
    faulty.a_stuck_import_is_told_with_its_percentage();
    faulty.a_full_zone_is_told_in_the_scheduler_s_words();
    faulty.machines_that_crash_end_the_run();
    faulty.a_quota_is_told_with_its_numbers();
    faulty.a_class_that_is_not_there_is_told_by_its_claim_and_an_orphan_is_no_shoot();
    faulty.a_machine_that_is_kept_is_told_by_its_finalizer();
    assert_eq!(faulty.provider.names(provider::VM), Vec::<String>::new());
}

struct Faulty {
    provider: Provider,
    kvshoot: Kvshoot,
}

impl Faulty {
    fn a_missing_image_is_told_in_the_importer_s_words(&self) {
        self.provider.fail("import-404");
        let output = self.kvshoot.run("apply -f three.yaml --timeout 5m");
        assert_eq!(output.code, 9, "{output}");
        assert!(output.err.contains("404"), "{output}");
        let machines = self.provider.names(provider::VM);
        assert_eq!(machines, Vec::<String>::new(), "{output}");
        self.because(&["DataVolume shoot--local--faulty-ubuntu-24-04-", "404"]);
        self.mended();
    }

    fn a_stuck_import_is_told_with_its_percentage(&self) {
        self.provider.fail("import-stuck");
        let output = self.kvshoot.run("apply -f other-image.yaml --timeout 40s");
        assert_eq!(output.code, 124, "{output}");
        assert!(last_line(&output).contains("12 % imported"), "{output}");
        self.because(&[
            "DataVolume shoot--local--faulty-ubuntu-22-04-",
            ": 12 % imported",
        ]);
        self.mended();
    }

    fn a_full_zone_is_told_in_the_scheduler_s_words(&self) {
        self.provider.fail("no-room zone-b");
        let output = self.kvshoot.run("apply -f six.yaml --timeout 100s");
        assert_eq!(output.code, 124, "{output}");
        let told = last_line(&output);
        assert!(told.contains("nodes are available"), "{output}");
        self.provider.wait_for("other zones to go on", |_| {
            let ready = self.kvshoot.run("nodes list -o json");
            ready.out.matches("\"ready\": true").count() == 5
        });
        self.because(&[
            "Machine shoot--local--faulty-worker-z2-",
            ": VirtualMachine ErrorUnschedulable <- Pod virt-launcher-",
            "nodes are available",
        ]);
        self.mended();
    }

    fn machines_that_crash_end_the_run(&self) {
        self.provider
            .fail("vm-crash shoot--local--faulty-worker-z2");
        let output = self.kvshoot.run("apply -f six.yaml --timeout 12m");
        assert_eq!(output.code, 9, "{output}");
        assert!(output.err.contains("failed here in this run"), "{output}");
        self.because(&[
            "Machine shoot--local--faulty-worker-z2-",
            ": VirtualMachine missing: 4 machines failed here",
            "CrashLoopBackOff",
        ]);
        self.mended();
    }

    fn a_quota_is_told_with_its_numbers(&self) {
        self.provider
            .fail("quota count/virtualmachines.kubevirt.io=3");
        let output = self.kvshoot.run("apply -f six.yaml --timeout 8m");
        assert_eq!(output.code, 9, "{output}");
        for word in ["used: ", "requested: ", "limited: "] {
            assert!(output.err.contains(word), "{word} is missing: {output}");
        }
        self.because(&[
            ": VirtualMachine missing: exceeded quota: kvshoot-sandbox-fault, requested: ",
            "used: ",
            "limited: ",
        ]);
        self.mended();
    }

    fn a_class_that_is_not_there_is_told_by_its_claim_and_an_orphan_is_no_shoot(&self) {
        let classless = Manifest::small("classless")
            .with(|it| it.profile["spec"]["volumeTypes"][0]["class"] = json!("fast"));
        let kvshoot = self.provider.kvshoot_with(&classless);
        let mut run = kvshoot.start("apply -f shoot.yaml --timeout 5m");
        run.wait_for("Pending: storageclass \"fast\" not found", PATIENCE);
        let mut because = kvshoot.run("wait classless --timeout 10s");
        assert_eq!(because.code, 124, "{because}");
        for told in [
            "DataVolume shoot--local--classless-ubuntu-24-04-",
            ": Pending <- PersistentVolumeClaim shoot--local--classless-ubuntu-24-04-",
            "storageclass \"fast\" not found",
            "hint: kubectl get storageclasses",
        ] {
            assert!(because.err.contains(told), "{told}: {because}");
        }
        // What is left is a shoot cut off, and without its record it is none.
        run.interrupt();
        let _ = run.wait();
        because = kvshoot.run("why classless");
        let unfinished = ["Shoot classless: not finished: still to do: Make machine "];
        assert!(is_told(&because, &unfinished), "{because}");
        let hint = "hint: to go on: kvshoot get classless -o yaml | kvshoot apply -f -";
        assert!(because.err.contains(hint), "{because}");
        let name = "shoot--local--classless";
        let secret = format!("{name}-ca");
        let nobody = json!({ "metadata": { "ownerReferences": null } });
        self.provider.patch(provider::SECRET, &secret, &nobody);
        self.provider.delete(provider::CONFIG_MAP, name);
        self.provider.wait_for("only orphans", |it| {
            it.names(provider::DEPLOYMENT)
                .iter()
                .all(|it| !it.starts_with(name))
        });
        because = kvshoot.run("why classless");
        assert_eq!(because.code, 7, "{because}");
        assert!(
            because.err.contains("hint: kvshoot gc --orphans"),
            "{because}"
        );
        let output = kvshoot.run("gc --orphans --timeout 10m");
        assert_eq!(output.code, 0, "{output}");
        because = kvshoot.run("why classless");
        assert!(
            because.code == 7 && !because.err.contains("gc"),
            "{because}"
        );
    }

    fn a_machine_that_is_kept_is_told_by_its_finalizer(&self) {
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
        run.wait_for("kept by example.com/hold", PATIENCE);
        let because = &[
            &*format!(
                "Machine {name}: VirtualMachine Deleting <- VirtualMachineInstance Deleting: "
            ),
            "kept by example.com/hold",
        ];
        let why = self.kvshoot.run("why faulty");
        assert!(is_told(&why, because), "{why}");
        let told =
            format!("hint: whoever put the finalizer onto VirtualMachineInstance {name} has to");
        assert!(why.err.contains(&told), "{why}");
        let wait = self.kvshoot.run("wait faulty --for deleted --timeout 1s");
        assert!(wait.code == 124 && wait.err.contains(because[0]), "{wait}");
        let nobody = json!({ "metadata": { "finalizers": [] } });
        self.provider.patch(provider::VMI, &name, &nobody);
        let output = run.wait_at_most(PATIENCE);
        assert_eq!(output.code, 0, "{output}");
    }

    /// Why it is not as it should be, in one line that has all of this.
    fn because(&self, told: &[&str]) {
        // On a busy computer the last look of a run is older than what comes to be known.
        self.provider
            .wait_for(&format!("{told:?} to be told"), |_| {
                let why = self.kvshoot.run("why faulty");
                println!("{why}");
                why.code == 1 && is_told(&why, told)
            });
    }

    /// Without the fault it goes on where it was.
    fn mended(&self) {
        self.provider.fail("none");
        let output = self.kvshoot.run("apply -f three.yaml --timeout 6m");
        assert_eq!(output.code, 0, "{output}");
        assert_eq!(self.provider.names(provider::VM).len(), 3, "{output}");
        self.provider.wait_for("nothing to be wrong", |_| {
            let why = self.kvshoot.run("why faulty");
            println!("{why}");
            why.out == "nothing is wrong with shoot faulty\n"
        });
    }
}

/// In one line, all of it.
fn is_told(output: &Output, told: &[&str]) -> bool {
    let mut lines = output.out.lines();
    lines.any(|line| told.iter().all(|it| line.contains(it)))
}

fn last_line(output: &Output) -> &str {
    let lines = output.err.lines().filter(|it| !it.is_empty());
    lines
        .rev()
        .find(|it| !it.contains("to go on"))
        .unwrap_or_default()
}
