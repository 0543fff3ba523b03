//! Private keys of clusters in the memory of `kvshoot keep`.

use crate::support::process::{contains, writable_memory};
use crate::support::provider::{Provider, SECRET};
use crate::support::shoots::{Manifest, PATIENCE};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The time after which the HTTP client closes connections that are not used.
const UNUSED_CONNECTION: Duration = Duration::from_secs(90);
/// Where the private number is in a P-256 key in PKCS#8; what is before it is the same in all keys.
const NUMBER: std::ops::Range<usize> = 36..68;
/// The same in the first line of its PEM, and in the PEM of a Secret, which is encoded once more.
const IN_PEM: std::ops::Range<usize> = 48..64;
const IN_SECRET: std::ops::Range<usize> = 104..124;

/// The forms in which a key may be in memory.
fn forms(encoded: &str) -> [(&'static str, Vec<u8>); 3] {
    let pem = STANDARD.decode(encoded).unwrap();
    let text = std::str::from_utf8(&pem).unwrap();
    let body: String = text.lines().filter(|it| !it.starts_with('-')).collect();
    let der = STANDARD.decode(&body).unwrap();
    [
        ("Secret", encoded.as_bytes()[IN_SECRET].into()),
        ("PEM", body.as_bytes()[IN_PEM].into()),
        ("number", der[NUMBER].into()),
    ]
}

#[test]
#[ignore = "second tier: a run of keep; unit tests hold the types that overwrite themselves"]
fn keep_has_no_keys_of_certificate_authorities_in_memory_after_a_run() {
    let provider = Provider::new();
    let manifest = Manifest::small("kept");
    provider.assert_applied(&manifest, "created");
    let kvshoot = provider.kvshoot();
    let mut keep = kvshoot.start("keep kept");
    keep.wait_for("keeping 1 shoot", PATIENCE);
    // Signed by one of the authorities.
    let certificate = "shoot--local--kept-kube-scheduler";
    assert!(provider.get(SECRET, certificate).is_some());
    provider.delete(SECRET, certificate);
    provider.wait_for("the run of keep to end", |_| {
        keep.stdout().contains(" kept\n")
    });
    assert!(provider.get(SECRET, certificate).is_some());

    let process = keep.pid().as_raw_nonzero().get().unsigned_abs();
    let memory = writable_memory(process);
    assert!(
        contains(&memory, manifest.id().as_bytes()),
        "its ID is known"
    );
    let keys: Vec<_> = ["ca", "etcd-ca", "front-proxy-ca"]
        .into_iter()
        .flat_map(|name| {
            let secret = provider.get(SECRET, &format!("{}-{name}", manifest.id()));
            let secret = secret.unwrap();
            let key = secret.data["data"]["tls.key"].as_str().unwrap();
            forms(key).map(|(form, bytes)| (format!("{name}: {form}"), bytes))
        })
        .collect();
    // Connections are closed in the background, but long before an unused one would be.
    let end = Instant::now() + UNUSED_CONNECTION / 3;
    loop {
        let memory = writable_memory(process);
        let found = keys.iter().find(|(_, bytes)| contains(&memory, bytes));
        let Some((key, _)) = found else { break };
        assert!(Instant::now() < end, "{key} is in memory");
        sleep(Duration::from_millis(100));
    }
    keep.interrupt();
    assert_eq!(keep.wait().code, 130);
}
