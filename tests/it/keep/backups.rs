//! `kvshoot keep` makes the backups that a manifest schedules.

use crate::support::kvshoot::Kvshoot;
use crate::support::provider::{CONFIG_MAP, Provider};
use crate::support::proxy::{Phase, Proxy, Reaction};
use crate::support::shoots::{Manifest, PATIENCE};
use serde_json::json;
use std::fs;
use std::path::Path;

const NAME: &str = "dated";

fn manifest(destination: &str) -> Manifest {
    Manifest::small(NAME).control_plane(json!({
        "backup": {
            "schedule": "* * * * *",
            "destination": destination,
            "withPlainKeys": true,
            "retention": { "last": 1 },
        },
    }))
}

/// Names of the complete backups in a volume.
fn backups(volume: &Path, provider: &Provider) -> Vec<String> {
    let shoot = volume
        .join(&provider.namespace)
        .join(format!("shoot--local--{NAME}"));
    let found = fs::read_dir(shoot).into_iter().flatten();
    let found = found.map(|it| it.unwrap().path());
    let complete = found.filter(|it| it.join("backup.json").exists());
    let mut names: Vec<String> = complete
        .map(|it| it.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

fn assert_verified(kvshoot: &Kvshoot, volume: &Path) {
    let volume = volume.display();
    let verified = kvshoot.run(&format!("backups verify {NAME} --from {volume}"));
    assert_eq!(verified.code, 0, "{verified}");
}

#[test]
#[ignore = "second tier: a control plane and more than a minute; unit tests have the times, and the first tier has a backup by the command"]
fn keep_makes_scheduled_backups_and_keeps_the_newest() {
    let provider = Provider::new();
    let manifest = manifest("pvc:volume");
    provider.assert_applied(&manifest, "created");
    let kvshoot = provider.kvshoot_with(&manifest);
    let warned = kvshoot.run(&format!("status {NAME}"));
    assert_eq!(warned.code, 0, "{warned}");
    assert!(warned.err.contains("has no verified backup"), "{warned}");

    let mut keep = kvshoot.start("keep --claims-dir volumes");
    let missed = "PersistentVolumeClaim \"volume\" is not mounted at volumes/volume";
    keep.wait_for(missed, PATIENCE);
    let volume = kvshoot.home().join("volumes/volume");
    fs::create_dir_all(&volume).unwrap();
    provider.wait_for("the first backup", |_| {
        backups(&volume, &provider).len() == 1
    });
    let first = backups(&volume, &provider);
    provider.wait_for("the second backup instead of the first one", |_| {
        let found = backups(&volume, &provider);
        found.len() == 1 && found != first
    });
    let status = kvshoot.run(&format!("status {NAME}"));
    assert_eq!(status.code, 0, "{status}");
    assert!(!status.err.contains("verified backup"), "{status}");
    assert!(status.out.contains(" ago, volumes/volume/"), "{status}");
    let record = provider.get(CONFIG_MAP, &manifest.id()).unwrap();
    let history = record.data["data"]["history.json"].as_str().unwrap();
    assert!(
        !history.contains(r#""verb":"keep""#),
        "the shoot was not changed: {history}"
    );
    assert_verified(&kvshoot, &volume);
    drop(keep);
    provider.assert_deleted(NAME);
}

#[test]
#[ignore = "second tier: a backup each minute; unit tests cut backups at any byte"]
fn a_keep_that_is_killed_when_it_notes_a_backup_leaves_whole_ones_for_the_next() {
    let provider = Provider::new();
    let manifest = manifest("pvc:volume");
    provider.assert_applied(&manifest, "created");
    let proxy = Proxy::new(&provider);
    let kvshoot = proxy.kvshoot(&provider);
    let volume = kvshoot.home().join("volumes/volume");
    fs::create_dir_all(&volume).unwrap();
    let last_backup = || {
        let record = provider.get(CONFIG_MAP, &manifest.id()).unwrap();
        let annotations = record.metadata.annotations.unwrap();
        annotations.get("kvshoot.io/last-backup").cloned()
    };
    for (phase, is_noted) in [(Phase::Before, false), (Phase::Unanswered, true)] {
        let (before, noted) = (backups(&volume, &provider).len(), last_backup());
        proxy.script(move |request| match request.write {
            1 => Reaction::Kill(phase),
            _ => Reaction::Forward,
        });
        let mut keep = kvshoot.start("keep --claims-dir volumes");
        proxy.victim(keep.pid());
        let killed = keep.wait_at_most(PATIENCE);
        assert_eq!(killed.code, 137, "{killed}");
        // It is noted once it is complete, and earlier ones are deleted after that.
        assert_eq!(backups(&volume, &provider).len(), before + 1, "{killed}");
        assert_eq!(last_backup() != noted, is_noted, "{phase:?}");
    }
    proxy.forward_all();
    let keep = kvshoot.start("keep --claims-dir volumes");
    provider.wait_for("the newest backup to be the only one", |_| {
        backups(&volume, &provider).len() == 1
    });
    assert_verified(&kvshoot, &volume);
    drop(keep);
    provider.assert_deleted(NAME);
}
