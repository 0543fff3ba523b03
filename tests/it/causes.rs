//! What blocks a run is told by its deepest cause, for each fault that a sandbox can have.

use crate::kvshoot::{Kvshoot, Output};
use crate::life::Manifest;
use crate::provider::{self, Provider};
use serde_json::json;

/// One after the other, since a fault hits the whole sandbox, and on one shoot.
#[test]
fn each_fault_is_told_by_its_deepest_cause_and_the_next_apply_mends_it() {
    let provider = Provider::apart();
    let three = Manifest::named("faulty");
    let six = three.clone().sized(6);
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
    let output = faulty.kvshoot.run("delete faulty --yes --timeout 5m");
    assert_eq!(output.code, 0, "{output}");
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
        self.mended();
    }

    fn a_stuck_import_is_told_with_its_percentage(&self) {
        self.provider.fail("import-stuck");
        let output = self.kvshoot.run("apply -f other-image.yaml --timeout 20s");
        assert_eq!(output.code, 124, "{output}");
        assert!(last_line(&output).contains("12 % imported"), "{output}");
        self.mended();
    }

    fn a_full_zone_is_told_in_the_scheduler_s_words(&self) {
        self.provider.fail("no-room zone-b");
        let output = self.kvshoot.run("apply -f six.yaml --timeout 1m");
        assert_eq!(output.code, 124, "{output}");
        let told = last_line(&output);
        assert!(told.contains("nodes are available"), "{output}");
        let ready = self.kvshoot.run("nodes list -o json");
        let count = ready.out.matches("\"ready\": true").count();
        assert_eq!(count, 5, "other zones go on: {ready}");
        self.mended();
    }

    fn machines_that_crash_end_the_run(&self) {
        self.provider
            .fail("vm-crash shoot--local--faulty-worker-z2");
        let output = self.kvshoot.run("apply -f six.yaml --timeout 6m");
        assert_eq!(output.code, 9, "{output}");
        assert!(output.err.contains("failed here in this run"), "{output}");
        self.mended();
    }

    fn a_quota_is_told_with_its_numbers(&self) {
        self.provider
            .fail("quota count/virtualmachines.kubevirt.io=3");
        let output = self.kvshoot.run("apply -f six.yaml --timeout 2m");
        assert_eq!(output.code, 9, "{output}");
        for word in ["used: ", "requested: ", "limited: "] {
            assert!(output.err.contains(word), "{word} is missing: {output}");
        }
        self.mended();
    }

    /// Without the fault it goes on where it was.
    fn mended(&self) {
        self.provider.fail("none");
        let output = self.kvshoot.run("apply -f three.yaml --timeout 6m");
        assert_eq!(output.code, 0, "{output}");
        assert_eq!(self.provider.names(provider::VM).len(), 3, "{output}");
    }
}

fn last_line(output: &Output) -> &str {
    let lines = output.err.lines().filter(|it| !it.is_empty());
    lines
        .rev()
        .find(|it| !it.contains("to go on"))
        .unwrap_or_default()
}
