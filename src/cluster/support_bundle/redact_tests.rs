use super::*;
use serde_json::json;

const APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

fn redactor(known: &[&str]) -> Redactor {
    Redactor::new(&known.iter().map(|it| (*it).to_owned()).collect())
}

#[test]
fn what_is_known_to_be_secret_is_found_anywhere() {
    let it = redactor(&["correct horse", "correct horse battery", "short"]);
    assert_eq!(it.text("a correct horse battery!"), "a <redacted>!");
    assert_eq!(it.text("short"), "short");
    let mut object = json!({ "a": ["x=correct horse"], "b": { "c": 1 } });
    it.object(&mut object);
    assert_eq!(object, json!({ "a": ["x=<redacted>"], "b": { "c": 1 } }));
}

#[test]
fn what_looks_like_a_secret_is_taken_for_one() {
    let it = redactor(&[]);
    for (before, after) in [
        (
            "token abcdef.0123456789abcdef used",
            "token abcdef.<token> used",
        ),
        (
            "x eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln y",
            "x <token> y",
        ),
        ("https://user:pass@host/path", "https://<login>@host/path"),
        ("docker://tok@host", "docker://<login>@host"),
        (
            "GET /a?X-Amz-Signature=abc&b=1",
            "GET /a?X-Amz-Signature=<redacted>&b=1",
        ),
        (
            "Authorization: Bearer abcdefghijklmnop",
            "Authorization: Bearer <redacted>",
        ),
        ("--password=hunter2 --v=2", "--password=<redacted> --v=2"),
        (r#"{"apiKey":"abcd1234"}"#, r#"{"apiKey":"<redacted>"}"#),
        (
            "ca: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUI=",
            "ca: <PEM in base64>",
        ),
        (
            "-----BEGIN EC PRIVATE KEY-----\nMHcC\nAQEE\n-----END EC PRIVATE KEY-----\nrest",
            "<PEM EC PRIVATE KEY>\nrest",
        ),
        (
            r#"{"key":"-----BEGIN PRIVATE KEY-----\nMHcC\n-----END PRIVATE KEY-----\n"}"#,
            r#"{"key":"<PEM PRIVATE KEY>\n"}"#,
        ),
        (
            "2026-01-01T00:00:00.1Z -----BEGIN PRIVATE KEY-----\n2026-01-01T00:00:00.2Z MHcC\n",
            "2026-01-01T00:00:00.1Z <PEM PRIVATE KEY>",
        ),
    ] {
        assert_eq!(it.text(before), after, "{before}");
    }
}

#[test]
fn what_is_no_secret_stays() {
    let it = redactor(&[]);
    for text in [
        "--token-auth-file=/etc/tokens --service-account-key-file=/pki/sa.pub",
        "secret=\"kube-system/bootstrap-token-abcdef\"",
        "image registry.example/a@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "name: metrics-server.18a3f0a1b2c3d4e5",
        "https://10.0.0.1:6443/api?limit=500",
        "user a@example.org asks for storage.k8s.io",
    ] {
        assert_eq!(it.text(text), text);
    }
}

#[test]
fn a_certificate_is_told_by_its_fingerprint() {
    let it = redactor(&[]);
    let pem =
        |body: &str| format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----");
    let (one, two) = (it.text(&pem("MIIB")), it.text(&pem("MIIC")));
    assert!(one.starts_with("<PEM CERTIFICATE "), "{one}");
    assert_ne!(one, two);
    assert_eq!(it.text(&pem("MIIB").replace('\n', "\\n")), one);
}

#[test]
fn fields_are_taken_for_secret_by_their_names() {
    let it = redactor(&[]);
    let mut object = json!({
        "metadata": {
            "managedFields": [],
            "annotations": { APPLIED: "{\"data\":1}", "note": "kept" },
        },
        "spec": {
            "containers": [{ "env": [
                { "name": "DB_PASSWORD", "value": "hunter2" },
                { "name": "LEVEL", "value": "info" },
                { "name": "TOKEN", "valueFrom": { "secretKeyRef": { "name": "a" } } },
            ] }],
            "volumes": [{ "cloudInitNoCloud": { "userData": "#cloud-config", "secretRef": { "name": "b" } } }],
            "secretName": "c",
            "automountServiceAccountToken": false,
        },
    });
    it.object(&mut object);
    let expected = json!({
        "metadata": { "annotations": { APPLIED: "<10 bytes>", "note": "kept" } },
        "spec": {
            "containers": [{ "env": [
                { "name": "DB_PASSWORD", "value": "<7 bytes>" },
                { "name": "LEVEL", "value": "info" },
                { "name": "TOKEN", "valueFrom": { "secretKeyRef": { "name": "a" } } },
            ] }],
            "volumes": [{ "cloudInitNoCloud": { "userData": "<13 bytes>", "secretRef": { "name": "b" } } }],
            "secretName": "c",
            "automountServiceAccountToken": false,
        },
    });
    assert_eq!(object, expected);
}

#[test]
fn an_audit_log_tells_of_objects_without_what_they_hold() {
    let it = redactor(&[]);
    let entry = |resource: &str, namespace: &str, object: Value| {
        let about = json!({ "resource": resource, "namespace": namespace });
        json!({ "kind": "Event", "objectRef": about, "requestObject": object }).to_string()
    };
    let patch = json!({ "data": { "a": "hidden" } });
    let pod = json!({ "kind": "Pod", "spec": { "containers": [{ "env": [{ "name": "A_TOKEN", "value": "hidden" }] }] } });
    let made = json!({ "kind": "ConfigMap", "metadata": { "namespace": "default" }, "data": { "a": "hidden" } });
    let mut bare = json!({ "kind": "ConfigMap" });
    it.object(&mut bare);
    let shown = entry("configmaps", "kube-system", patch.clone());
    let log = [
        entry("configmaps", "default", patch.clone()),
        entry("secrets", "kube-system", patch),
        format!("2026-01-01T00:00:00.5Z {}", entry("pods", "default", pod)),
        made.to_string(),
        shown.clone(),
        "I0101 {\"a\": 1".to_owned(),
    ];
    let told = it.log(&(log.join("\n") + "\n"));
    assert_eq!(told.matches("hidden").count(), 1, "{told}");
    assert!(
        told.contains(&shown) && told.ends_with("I0101 {\"a\": 1\n"),
        "{told}"
    );
    assert!(told.contains("2026-01-01T00:00:00.5Z {"), "{told}");
    assert_eq!(told.lines().count(), log.len(), "{told}");
}
