//! Backups and restores on servers that answer with too much, too deep, or not at all.

use super::answers::{deep_values, large_objects, many_values};
use super::fake_api::{Attack, FakeRequest, Target};
use super::scene::{Scene, endless, no_response, slow};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::fs;
use std::io::{self, Write};

const BACKUP: &str = "backup dev --to there --with-plain-keys --timeout 12s";
const RESTORE: &str = "restore dev --from there --yes --timeout 12s";

fn a_line_without_end(_: &FakeRequest, out: &mut dyn Write) -> io::Result<()> {
    endless(out, || vec![b'x'; 1 << 16])
}

const LISTS: [(&str, Attack); 6] = [
    ("many values", many_values),
    ("deep values", deep_values),
    ("large objects", large_objects),
    ("a line without end", a_line_without_end),
    ("no response", no_response),
    ("slow", slow),
];

/// What a backup and a restore ask for: objects, the data of Secrets, and connections to etcd.
const TARGETS: [(&str, Target); 3] = [
    ("lists", |it| it.is_list()),
    ("Secrets", |it| it.is_for("-ca")),
    ("connections", |it| it.is_for("/portforward")),
];

fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|it| format!("{it:02x}")).collect()
}

/// Writes a backup without keys, which is restored while the Secrets exist.
fn write_backup(scene: &Scene) {
    let name = "20261123T215652.104Z-x7k2p";
    let directory = scene
        .kvshoot
        .home()
        .join("there/shoots/shoot--local--dev")
        .join(name);
    fs::create_dir_all(&directory).unwrap();
    let record = &scene.fake.objects("/configmaps/shoot--local--dev")[0];
    let mut snapshot = vec![7; 512];
    snapshot.extend(Sha256::digest([7; 512]));
    let files = [
        ("README.txt", b"text".to_vec()),
        ("shoot.yaml", b"text".to_vec()),
        ("cloudprofile.yaml", b"text".to_vec()),
        ("record.json", record["data"].to_string().into_bytes()),
        ("etcd.snapshot", snapshot),
    ];
    let stored = |(name, bytes): &(&str, Vec<u8>)| {
        fs::write(directory.join(name), bytes).unwrap();
        json!({ "name": name, "bytes": bytes.len(), "sha256": sha256(bytes) })
    };
    let stored: Vec<Value> = files.iter().map(stored).collect();
    let index = json!({
        "formatVersion": 1, "kvshootVersion": "0.1.0", "created": "2026-11-23T21:56:52.104Z",
        "shoot": { "name": "dev", "namespace": "shoots", "id": "shoot--local--dev", "uid": record["metadata"]["uid"] },
        "kubernetesVersion": "1.20.0",
        "etcd": { "version": "3.4.0", "clusterId": "c", "revision": 1, "snapshotBytes": 544, "snapshotSha256": sha256(&[7; 512]) },
        "keys": "omitted", "recipients": [], "files": stored,
    });
    let text = serde_json::to_string_pretty(&index).unwrap();
    let covered = format!("{},\n", text.strip_suffix("\n}").unwrap());
    let text = format!(
        "{covered}  \"sha256\": \"{}\"\n}}\n",
        sha256(covered.as_bytes())
    );
    fs::write(directory.join("backup.json"), text).unwrap();
}

fn survives(line: &str) {
    for (target_name, target) in TARGETS {
        for (name, attack) in LISTS {
            let scene = Scene::new();
            write_backup(&scene);
            println!("{target_name}:");
            scene.suffers(target, (name, attack), line);
        }
    }
}

#[test]
fn a_backup_says_after_a_few_seconds_what_it_waits_for() {
    let scene = Scene::new();
    write_backup(&scene);
    for line in [BACKUP, RESTORE] {
        let text = scene.suffers(TARGETS[2].1, ("no response", no_response), line);
        assert!(
            text.contains("(create pods/portforward shoot--local--dev-etcd-"),
            "{text}"
        );
    }
}

#[test]
#[ignore = "second tier: each attack for some time; unit tests have the limits of responses"]
fn no_answer_uses_up_the_memory_of_a_backup() {
    survives(BACKUP);
}

#[test]
#[ignore = "second tier: each attack for some time; unit tests have the limits of responses"]
fn no_answer_uses_up_the_memory_of_a_restore() {
    survives(RESTORE);
}

#[test]
#[ignore = "second tier: each attack for some time; unit tests have the limits of a watch and of what is kept of it"]
fn no_watch_uses_up_the_memory_of_a_restore() {
    for attack in [
        ("many values", many_values as Attack),
        ("large objects", large_objects),
        ("no response", no_response),
    ] {
        let scene = Scene::new();
        write_backup(&scene);
        scene.suffers(|it| it.is_watch(), attack, RESTORE);
    }
}
