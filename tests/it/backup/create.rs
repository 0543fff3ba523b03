//! A shoot is backed up; its backups are listed, verified and pruned.

use crate::support::kvshoot::Kvshoot;
use crate::support::provider::{CONFIG_MAP, Provider, SECRET};
use crate::support::shoot_api::ShootApi;
use crate::support::shoots::Manifest;
use age::secrecy::ExposeSecret as _;
use age::x25519::Identity;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const NAME: &str = "safe";
/// In a ConfigMap and in a Secret of the shoot.
const PUBLIC: &str = "marker-of-a-config-map";
const SECRET_VALUE: &str = "marker-of-a-secret";

fn shoot_with_data(provider: &Provider, kvshoot: &Kvshoot) {
    provider.assert_applied(&Manifest::small(NAME), "created");
    let api = ShootApi::connect(provider, kvshoot, NAME);
    let metadata = json!({ "name": "data" });
    let public = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "a": PUBLIC } });
    api.create(CONFIG_MAP, "default", public);
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": { "a": SECRET_VALUE } });
    api.create(SECRET, "default", secret);
}

/// Runs a command that succeeds, and parses its output.
fn json_of(kvshoot: &Kvshoot, line: &str) -> Value {
    let output = kvshoot.run(line);
    assert_eq!(output.code, 0, "{output}");
    serde_json::from_str(&output.out).unwrap()
}

/// Files of a backup by name.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let names = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|it| it == text.as_bytes())
}

/// The hash that etcd appends, as `etcdutl snapshot restore` checks it.
fn assert_snapshot(bytes: &[u8]) {
    assert_eq!(bytes.len() % 512, 32);
    let (database, hash) = bytes.split_at(bytes.len() - 32);
    assert_eq!(Sha256::digest(database).as_slice(), hash);
    assert!(contains(database, PUBLIC));
    // kvshoot lets the API server encrypt Secrets.
    assert!(!contains(database, SECRET_VALUE));
}

#[test]
fn a_shoot_is_backed_up_and_its_backups_are_verified_and_pruned() {
    let provider = Provider::new();
    let identity = Identity::generate();
    let kvshoot = provider
        .kvshoot()
        .file("key.txt", identity.to_string().expose_secret());
    shoot_with_data(&provider, &kvshoot);
    let status = kvshoot.run(&format!("status {NAME}"));
    let advice = format!("backup           none; to create one: kvshoot backup {NAME}");
    assert!(status.out.contains(&advice), "{status}");
    let encrypted = an_encrypted_backup(&provider, &kvshoot, &identity);
    let plain = backups_without_recipients(&kvshoot);
    verification_finds_a_flipped_byte(&kvshoot, &encrypted);
    prune_keeps_the_newest_intact_backup(&provider, &kvshoot, &plain);
    let missing = kvshoot.run("backup other --to elsewhere");
    assert_eq!(missing.code, 7, "{missing}");
    assert!(!kvshoot.home().join("elsewhere").exists());
}

fn an_encrypted_backup(provider: &Provider, kvshoot: &Kvshoot, identity: &Identity) -> PathBuf {
    let recipient = identity.to_public();
    let created = json_of(
        kvshoot,
        &format!("backup {NAME} --to there --recipient {recipient} -o json"),
    );
    let index = &created["index"];
    assert_eq!(created["state"], "Complete");
    assert_eq!(index["keys"], "encrypted");
    assert_eq!(index["shoot"]["namespace"], provider.namespace.as_str());
    assert_eq!(index["recipients"], json!([recipient.to_string()]));
    assert!(index["etcd"]["revision"].as_u64().unwrap() > 100);
    let directory = kvshoot.home().join(created["location"].as_str().unwrap());
    assert_eq!(
        names(&directory),
        [
            "README.txt",
            "backup.json",
            "cloudprofile.yaml",
            "etcd.snapshot.age",
            "record.json",
            "secrets.age",
            "shoot.yaml",
        ]
    );
    let ca = provider
        .get(SECRET, &format!("shoot--local--{NAME}-ca"))
        .unwrap();
    let key = ca.data["data"]["tls.key"].as_str().unwrap();
    let secrets = age::decrypt(identity, &fs::read(directory.join("secrets.age")).unwrap());
    let secrets: Value = serde_json::from_slice(&secrets.unwrap()).unwrap();
    let items = secrets["items"].as_array().unwrap();
    assert_eq!(items.len(), 5);
    assert!(items.iter().any(|it| it["data"]["tls.key"] == key));
    // Line breaks of PEM do not hide it.
    let pem = String::from_utf8(STANDARD.decode(key).unwrap()).unwrap();
    let line = pem.lines().nth(1).unwrap();
    for name in names(&directory) {
        let bytes = fs::read(directory.join(name)).unwrap();
        assert!(!contains(&bytes, key) && !contains(&bytes, line));
        assert!(!contains(&bytes, PUBLIC));
    }
    let sealed = fs::read(directory.join("etcd.snapshot.age")).unwrap();
    assert_snapshot(&age::decrypt(identity, &sealed).unwrap());
    let line = format!("backups verify {NAME} --from there --identity key.txt -o json");
    let verified = json_of(kvshoot, &line);
    assert_eq!(verified["items"][0]["state"], "Verified");
    let status = json_of(kvshoot, &format!("status {NAME} -o json"));
    assert_eq!(status["lastBackup"]["location"], created["location"]);
    directory
}

/// Returns the directory of the newest backup.
fn backups_without_recipients(kvshoot: &Kvshoot) -> PathBuf {
    let without = kvshoot.run(&format!("backup {NAME} --to there"));
    assert_eq!(without.code, 0, "{without}");
    assert!(without.err.contains("has no keys"), "{without}");
    let directory = kvshoot.home().join(without.out.trim_end());
    assert!(!names(&directory).contains(&"secrets.json".to_owned()));
    assert_snapshot(&fs::read(directory.join("etcd.snapshot")).unwrap());
    // As its README explains.
    let check = "jq -r '.files[] | \"\\(.sha256)  \\(.name)\"' backup.json | sha256sum -c --quiet";
    let mut shell = Command::new("sh");
    let status = shell.args(["-c", check]).current_dir(&directory).status();
    assert!(status.unwrap().success());

    let plain = kvshoot.run(&format!("backup {NAME} --to there --with-plain-keys"));
    assert_eq!(plain.code, 0, "{plain}");
    let directory = kvshoot.home().join(plain.out.trim_end());
    let secrets = fs::read(directory.join("secrets.json")).unwrap();
    assert!(contains(&secrets, "tls.key"));
    directory
}

fn verification_finds_a_flipped_byte(kvshoot: &Kvshoot, backup: &Path) {
    let name = backup.file_name().unwrap().to_str().unwrap();
    let line = format!("backups verify {NAME} {name} --from there");
    assert_eq!(kvshoot.run(&line).code, 0);
    let file = backup.join("etcd.snapshot.age");
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&file, bytes).unwrap();
    let damaged = kvshoot.run(&line);
    assert_eq!(damaged.code, 1, "{damaged}");
    assert!(
        damaged
            .out
            .contains("Damaged: etcd.snapshot.age is damaged"),
        "{damaged}"
    );
}

fn prune_keeps_the_newest_intact_backup(provider: &Provider, kvshoot: &Kvshoot, newest: &Path) {
    let list = |line: &str| json_of(kvshoot, line)["items"].as_array().unwrap().len();
    let all = "backups list --from there -o json";
    assert_eq!(list(all), 3);
    assert_eq!(list(&format!("{all} --namespace elsewhere")), 0);
    assert_eq!(
        list(&format!("{all} --namespace {}", provider.namespace)),
        3
    );
    let prune = format!("backups prune {NAME} --from there --keep-last 1");
    assert_eq!(kvshoot.run(&format!("{prune} --dry-run")).code, 1);
    assert_eq!(list(all), 3);
    let pruned = kvshoot.run(&prune);
    assert_eq!(pruned.code, 0, "{pruned}");
    assert!(pruned.err.contains("Deleted 2 backups"), "{pruned}");
    assert_eq!(list(all), 1);
    assert!(newest.exists());
    let again = kvshoot.run(&prune);
    assert!(again.err.contains("nothing to delete"), "{again}");
}
