//! Malicious files: each is rejected quickly and with little memory.

use crate::fuzz::cpu_time;
use crate::load::{LoadContext, judge};
use crate::manifest::Manifest;
use crate::validate::testing::{PROFILE, SHOOT, today};

/// The codes of the first problems, each once.
fn codes(bytes: Vec<u8>) -> String {
    let begun = cpu_time();
    let context = LoadContext::at(today());
    let loaded = judge(Manifest::parse([("h.yaml".to_owned(), bytes)]), &context);
    let seconds = (cpu_time() - begun).as_secs_f64();
    assert!(seconds < 20.0, "it took {seconds} s");
    let mut codes: Vec<&str> = loaded
        .manifest
        .problems()
        .iter()
        .map(|it| it.code)
        .collect();
    codes.dedup();
    codes.truncate(3);
    codes.join(" ")
}

fn head(rest: &str) -> Vec<u8> {
    format!("apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata: {{name: a}}\n{rest}")
        .into_bytes()
}

#[test]
fn expansion_is_limited() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for i in 1..9 {
        let line = vec![format!("*a{}", i - 1); 10].join(", ");
        bomb += &format!("a{i}: &a{i} [{line}]\n");
    }
    assert_eq!(codes(head(&bomb)), "yaml/too-many-nodes");
    assert_eq!(
        codes(head(&format!("spec: {}", "[".repeat(100_000)))),
        "yaml/syntax"
    );
    assert_eq!(
        codes(head(&format!("spec: {}x", "- ".repeat(100_000)))),
        "yaml/syntax"
    );
    assert_eq!(
        codes("---\na: 1\n".repeat(1_000).into_bytes()),
        "manifest/kind yaml/too-many-documents"
    );
    let anchors: String = (0..100_001)
        .map(|it| format!("a{it}: &a{it} x\n"))
        .collect();
    assert_eq!(codes(head(&anchors)), "yaml/too-many-anchors");
    assert_eq!(codes(vec![b' '; (16 << 20) + 1]), "yaml/too-large");
}

#[test]
fn invalid_documents_are_rejected() {
    assert_eq!(codes(Vec::new()), "manifest/empty");
    assert_eq!(codes(b"# nothing\n---\n".to_vec()), "manifest/empty");
    assert_eq!(codes(b"kind: \xff".to_vec()), "yaml/encoding");
    assert_eq!(codes(b"\0\0\0".to_vec()), "yaml/syntax");
    assert_eq!(codes(b"[]".to_vec()), "manifest/no-object");
    assert_eq!(
        codes(b"kind: Shoo\napiVersion: core.gardener.cloud/v1beta1".to_vec()),
        "manifest/kind"
    );
    assert_eq!(
        codes(b"kind: Shoot\napiVersion: v1".to_vec()),
        "manifest/api-version"
    );
}

#[test]
fn byte_order_marks_and_windows_line_ends_are_accepted() {
    let whole = format!("{SHOOT}---\n{PROFILE}");
    assert_eq!(codes(format!("\u{feff}{whole}").into_bytes()), "");
    assert_eq!(codes(whole.replace('\n', "\r\n").into_bytes()), "");
}

#[test]
fn a_line_of_megabytes_is_read() {
    let labels: Vec<String> = (0..100_000)
        .map(|i| format!("\"unknown-key-{i}\": {i}"))
        .collect();
    assert_eq!(
        codes(
            format!(
                "{{\"apiVersion\": \"v1\", \"kind\": \"Secret\", {}}}",
                labels.join(", ")
            )
            .into_bytes()
        ),
        "schema/unknown-key manifest/more-problems"
    );
}
