//! Lists and watches that answer a run with too much, too deep or too often: of the provider cluster, and of the shoot.

use super::fake_api::{Attack, FakeRequest};
use super::scene::{DELETE, KEEP, NUMBER, Scene, endless, no_response};
use serde_json::json;
use std::io::{self, Write};
use std::sync::atomic::Ordering;

/// An object of any kind that has the wanted labels, and a field of `size` bytes.
fn event(request: &FakeRequest, kind: &str, name: &str, size: usize) -> Vec<u8> {
    let version = NUMBER.fetch_add(1, Ordering::Relaxed);
    let text = "x".repeat(size);
    let object = json!({
        "metadata": {
            "name": name, "namespace": "shoots", "uid": format!("u-{name}"), "resourceVersion": version.to_string(),
            "labels": request.selected_labels(), "annotations": { "kvshoot.io/pool-metadata": text },
        },
        "spec": {}, "status": { "conditions": [{ "type": "Ready", "status": "False", "message": text }] },
    });
    (json!({ "type": kind, "object": object }).to_string() + "\n").into_bytes()
}

fn new_name() -> String {
    format!("o{}", NUMBER.fetch_add(1, Ordering::Relaxed))
}

fn new_objects(request: &FakeRequest, out: &mut dyn Write) -> io::Result<()> {
    endless(out, || event(request, "ADDED", &new_name(), 10))
}

pub(super) fn large_objects(request: &FakeRequest, out: &mut dyn Write) -> io::Result<()> {
    endless(out, || event(request, "ADDED", &new_name(), 1 << 20))
}

fn deleted_objects(request: &FakeRequest, out: &mut dyn Write) -> io::Result<()> {
    endless(out, || event(request, "DELETED", &new_name(), 10))
}

fn one_object(request: &FakeRequest, out: &mut dyn Write) -> io::Result<()> {
    endless(out, || event(request, "MODIFIED", "same", 10))
}

fn a_line_without_end(_: &FakeRequest, out: &mut dyn Write) -> io::Result<()> {
    endless(out, || vec![b'x'; 1 << 16])
}

fn empty_lines(_: &FakeRequest, out: &mut dyn Write) -> io::Result<()> {
    endless(out, || vec![b'\n'; 1 << 16])
}

pub(super) fn deep_values(_: &FakeRequest, out: &mut dyn Write) -> io::Result<()> {
    endless(out, || ("[".repeat(100_000) + "\n").into_bytes())
}

pub(super) fn many_values(_: &FakeRequest, out: &mut dyn Write) -> io::Result<()> {
    let line = format!(
        "{{\"type\":\"ADDED\",\"object\":[{}0]}}\n",
        "{\"\":0},".repeat(500_000)
    );
    endless(out, || line.clone().into_bytes())
}

fn expired(_: &FakeRequest, out: &mut dyn Write) -> io::Result<()> {
    let status = json!({ "kind": "Status", "code": 410, "reason": "Expired", "message": "x".repeat(1 << 20) });
    let line = json!({ "type": "ERROR", "object": status }).to_string() + "\n";
    endless(out, || line.clone().into_bytes())
}

const ATTACKS: [(&str, Attack); 10] = [
    ("new objects", new_objects),
    ("large objects", large_objects),
    ("deleted objects", deleted_objects),
    ("one object", one_object),
    ("a line without end", a_line_without_end),
    ("empty lines", empty_lines),
    ("deep lines", deep_values),
    ("many values", many_values),
    ("expired", expired),
    ("no response", no_response),
];

const APPLY: &str = "apply -f shoot.yaml --timeout 12s";

#[test]
#[ignore = "second tier: each attack for some time; unit tests have the limits of a watch and of what is kept of it"]
fn no_watch_of_the_provider_uses_up_the_memory_of_an_apply() {
    for attack in ATTACKS {
        Scene::new().suffers(|it| it.is_watch() && !it.of_shoot, attack, APPLY);
    }
}

#[test]
#[ignore = "second tier: each attack for some time; unit tests have the limits of a watch and of what is kept of it"]
fn no_watch_of_the_shoot_uses_up_the_memory_of_keep() {
    for attack in ATTACKS {
        Scene::new().suffers(|it| it.is_watch() && it.of_shoot, attack, KEEP);
    }
}

#[test]
#[ignore = "second tier: each attack for some time; unit tests have the limits of a watch and of what is kept of it"]
fn no_list_and_no_watch_uses_up_the_memory_of_a_delete() {
    for attack in ATTACKS {
        Scene::new().suffers(|it| it.is_watch(), attack, DELETE);
        Scene::new().suffers(|it| it.is_list(), attack, DELETE);
    }
}
