//! The script with which machines take new CAs, with stubs of systemctl and curl.

use super::{CONTAINERD_2, Machine, SYSTEMD_CGROUPS, user_data};
use serde_json::{Value, json};

const CLIENT: &str = "/var/lib/kubelet/pki/kubelet-client-current.pem";
const SERVER: &str = "/var/lib/kubelet/pki/kubelet-server-current.pem";
const CA: &str = "/etc/kubernetes/pki/ca.crt";
const BOOTSTRAP: &str = "/etc/kubernetes/bootstrap-kubelet.conf";
const HAS: &str = "/var/lib/kvshoot/certificate-authorities";
const BUNDLE: &str = "-----BEGIN CERTIFICATE-----\nnew\n-----END CERTIFICATE-----\n";

/// Responds with `published`, and logs patches of the node with the certificate that they are sent with.
const CURL: &str = r#"#!/bin/sh
for word; do url=$word; done
while [ $# -gt 1 ]; do
    case $1 in --cert) cert=$2 ;; --data) data=$2 ;; esac
    shift
done
echo "$url" >>"$ROOT/requests"
case $url in
    */configmaps/kvshoot-certificate-authorities) cat "$ROOT/published" ;;
    */api/v1/nodes/*) printf '%s %s\n' "$(cat "$cert")" "$data" >>"$ROOT/patches" ;;
esac
"#;

/// A kubelet that asks for certificates with those of its bootstrap kubeconfig, unless it is broken.
const SYSTEMCTL: &str = r#"#!/bin/sh
echo "$*" >>"$ROOT/systemctl"
case $* in
    'restart kubelet.service')
        if [ -e "$ROOT/broken" ]; then exit 0; fi
        grep -q client-certificate: "$ROOT/etc/kubernetes/bootstrap-kubelet.conf" || exit 0
        echo "after $(cat "$ROOT/var/lib/kvshoot/renewal/kubelet.pem")" >"$ROOT/var/lib/kubelet/pki/kubelet-client-current.pem"
        echo serving >"$ROOT/var/lib/kubelet/pki/kubelet-server-current.pem"
        echo new >"$ROOT/etc/kubernetes/kubelet.conf"
        ;;
esac
"#;

/// A machine that has joined a cluster with its first CA.
fn joined() -> Machine {
    let in_place = (
        "      maximum: 1\n",
        "      maximum: 1\n      updateStrategy: AutoInPlaceUpdate\n",
    );
    let machine = Machine::prebuilt(
        &user_data(&[in_place]),
        "1.34.2",
        CONTAINERD_2,
        SYSTEMD_CGROUPS,
    );
    machine.assert_joins();
    machine.write("/usr/bin/systemctl", SYSTEMCTL, 0o755);
    machine.write("/usr/bin/curl", CURL, 0o755);
    machine.write(CLIENT, "first\n", 0o600);
    machine.write(SERVER, "serving of the first\n", 0o600);
    machine.write("/etc/kubernetes/kubelet.conf", "first\n", 0o600);
    std::fs::write(machine.at("/systemctl"), "").unwrap();
    machine
}

/// As the API server prints it for curl.
fn publish(machine: &Machine, roots: &str, bundle: &str) {
    let object = json!({
        "kind": "ConfigMap",
        "data": { "ca.crt": bundle, "roots": roots },
        "metadata": { "managedFields": [{ "fieldsV1": { "f:data": { "f:ca.crt": {}, "f:roots": {} } } }] },
    });
    machine.write(
        "/published",
        &serde_json::to_string_pretty(&object).unwrap(),
        0o644,
    );
}

fn assert_renews(machine: &Machine) -> String {
    let (succeeded, output) = machine.run("renew");
    assert!(succeeded, "{output}");
    output
}

/// Certificate and CAs of each report.
fn reports(machine: &Machine) -> Vec<(String, String)> {
    let patches = machine.read("/patches");
    let report = |line: &str| {
        let (certificate, patch) = line.split_at(line.find('{').unwrap());
        let patch: Value = serde_json::from_str(patch).unwrap();
        let roots = &patch["metadata"]["annotations"]["kvshoot.io/certificate-authorities"];
        (
            certificate.trim().to_owned(),
            roots.as_str().unwrap().to_owned(),
        )
    };
    patches.lines().map(report).collect()
}

fn report(certificate: &str, roots: &str) -> (String, String) {
    (certificate.to_owned(), roots.to_owned())
}

#[test]
fn a_machine_takes_new_cas_with_its_present_certificate_and_reports_them() {
    let machine = joined();
    let first = BUNDLE.replace("new", "first");
    machine.write(CA, &first, 0o644);
    publish(&machine, "0/alone", &first);
    assert_renews(&machine);
    assert_renews(&machine);
    assert_eq!(reports(&machine), [report("first", "0/alone")]);
    assert_eq!(machine.read("/systemctl"), "");
    assert_eq!(machine.read(CA), first);

    publish(&machine, "1/leading", BUNDLE);
    assert_renews(&machine);
    assert_eq!(machine.read(CA), BUNDLE);
    assert_eq!(machine.read(CLIENT), "after first\n");
    assert_eq!(machine.read(HAS), "1/leading\n");
    assert_eq!(reports(&machine)[1..], [report("after first", "1/leading")]);
    assert!(!machine.at(BOOTSTRAP).exists());
    assert!(!machine.at("/var/lib/kvshoot/renewal").exists());
    assert_renews(&machine);
    assert_eq!(machine.read("/systemctl"), "restart kubelet.service\n");
    assert_eq!(reports(&machine).len(), 2);

    // The node may have been deleted while the machine was off.
    std::fs::remove_dir_all(machine.at("/run")).unwrap();
    assert_renews(&machine);
    assert_eq!(reports(&machine)[2..], [report("after first", "1/leading")]);
}

#[test]
fn a_renewal_that_was_interrupted_is_continued() {
    let machine = joined();
    publish(&machine, "1/leading", BUNDLE);
    machine.write("/broken", "", 0o644);
    let (succeeded, output) = machine.run("renew");
    assert!(!succeeded, "{output}");
    assert!(
        output.contains("kubelet has no certificates after five minutes"),
        "{output}"
    );
    assert_eq!(reports(&machine), []);
    // The cluster cannot be asked now: it has no certificate.
    std::fs::remove_file(machine.at("/broken")).unwrap();
    std::fs::remove_file(machine.at("/published")).unwrap();
    assert_renews(&machine);
    assert_eq!(reports(&machine), [report("after first", "1/leading")]);
    assert_eq!(machine.read(HAS), "1/leading\n");
}

#[test]
fn a_machine_keeps_its_cas_if_none_are_published() {
    let machine = joined();
    let first = machine.read(CA);
    for (roots, bundle) in [("1/leading", ""), ("1/leading", "<html>")] {
        publish(&machine, roots, bundle);
        let (succeeded, output) = machine.run("renew");
        assert!(!succeeded, "{output}");
        assert!(
            output.contains("publishes no certificate authority"),
            "{output}"
        );
    }
    std::fs::remove_file(machine.at("/published")).unwrap();
    assert!(!machine.run("renew").0);
    assert_eq!(machine.read(CA), first);
    assert_eq!(machine.read(CLIENT), "first\n");
    assert_eq!(machine.read("/systemctl"), "");
}
