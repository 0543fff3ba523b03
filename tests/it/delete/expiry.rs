//! Expiry and protection of shoots, and `gc`.

use crate::support::accounts::{as_account, rules_in};
use crate::support::cron_job::documents;
use crate::support::provider::{self, Provider};
use crate::support::shoots::Manifest;
use kube::api::{DeleteParams, PropagationPolicy};
use serde_json::json;

const PAST: &str = "2026-01-01T00:00:00Z";

/// Names of the Secrets of a shoot.
fn secrets_of(provider: &Provider, name: &str) -> Vec<String> {
    let mut names = provider.names(provider::SECRET);
    names.retain(|it| it.starts_with(&format!("shoot--local--{name}-")));
    names
}

#[test]
fn gc_deletes_only_expired_shoots_and_those_without_a_record() {
    let provider = Provider::new();
    let foreign = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shoot--local--foreign"}});
    provider.create(provider::CONFIG_MAP, foreign);
    let empty = provider.dump();
    let kvshoot = provider.kvshoot();
    let code = |line: &str, code: i32| {
        let output = kvshoot.run(line);
        assert_eq!(output.code, code, "{line}: {output}");
        output
    };
    provider.begin(&Manifest::small("old"));
    provider.assert_applied(&Manifest::small("kept"), "created");
    assert_eq!(code("gc", 0).err, "nothing to delete\n");

    assert_eq!(code("ttl old", 0).out, "Shoot old has no expiry.\n");
    assert!(code("ttl old 90m", 0).out.contains(", in 90m"));
    for name in ["old", "kept"] {
        let _ = code(&format!("ttl {name} --until {PAST}"), 0);
    }
    let protect = ["protect", "kept", "--reason", "demo of Friday"];
    assert_eq!(kvshoot.args(protect).code, 0);
    let refused = code("delete kept --yes", 12);
    assert!(refused.err.contains("demo of Friday"), "{refused}");
    // A run that writes the record keeps expiry and protection.
    let edited = Manifest::small("kept").pool(|it| it["labels"] = json!({"a": "b"}));
    provider.assert_applied(&edited, "configured");

    let dry = code("gc --dry-run", 1);
    assert_eq!(dry.out, "shoot.core.gardener.cloud/old\n");
    // The account of the CronJob has no permission on Secrets.
    let role = std::fs::read_to_string("examples/gc.yaml").unwrap();
    let account = as_account(&provider, "gc", &rules_in(&documents(&role).remove(1)));
    let first = account.start("gc");
    let second = account.run("gc");
    let first = first.wait();
    assert_eq!((first.code, second.code), (0, 0), "{first}\n{second}");
    let deleted = "(0 objects remain; Kubernetes deletes the Secrets with the record)";
    let is_deleted = first.err.contains(deleted) || second.err.contains(deleted);
    assert!(is_deleted, "{first}\n{second}");
    provider.wait_for("the Secrets to be deleted", |it| {
        secrets_of(it, "old").is_empty()
    });
    let names = |line: &str| code(line, 0).out;
    assert_eq!(names("list -o name"), "shoot.core.gardener.cloud/kept\n");

    let orphan = DeleteParams {
        propagation_policy: Some(PropagationPolicy::Orphan),
        ..DeleteParams::default()
    };
    let records = provider.api(provider::CONFIG_MAP);
    let _ = provider
        .block_on(records.delete("shoot--local--kept", &orphan))
        .unwrap();
    provider.wait_for("the record to be deleted", |it| {
        it.get(provider::CONFIG_MAP, "shoot--local--kept").is_none()
    });
    let orphaned = code("gc --dry-run", 1);
    assert!(orphaned.err.contains("has no record"), "{orphaned}");
    let _ = code("gc --expired", 0);
    let _ = code("gc", 0);
    assert_eq!(provider.dump(), empty);
}

#[test]
fn protection_and_expiry_of_a_missing_shoot_are_errors() {
    let provider = Provider::new();
    for line in ["protect none", "unprotect none", "ttl none 2h"] {
        let output = provider.kvshoot().run(line);
        assert_eq!(output.code, 7, "{line}: {output}");
    }
    let output = provider.kvshoot().run("ttl none soon");
    assert_eq!(output.code, 2, "{output}");
}
