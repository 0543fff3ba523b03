//! The Deployment that runs `kvshoot keep`, with its service account.

use crate::support::cron_job::{documents, resource};
use crate::support::kvshoot::Kvshoot;
use crate::support::provider::{DEPLOYMENT, Provider};
use crate::support::shoots::Manifest;
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

const EXAMPLE: &str = "examples/keep.yaml";
const MONITORING: &str = "examples/keep-monitoring.yaml";

#[test]
fn the_deployment_in_the_examples_is_the_one_that_keep_prints() {
    let output = Kvshoot::new().run("keep --print -n shoots");
    assert_eq!(output.code, 0, "{output}");
    if std::env::var("SNAPSHOTS").is_ok_and(|it| it == "overwrite") {
        fs::write(EXAMPLE, &output.out).unwrap();
    }
    assert_eq!(fs::read_to_string(EXAMPLE).unwrap(), output.out);
    let line = "keep dev --print -n shoots --skip=expiry --skip drains --detach-after 15m --timeout 5m --image a:1";
    let deployment = deployment(line);
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    let command = [
        "kvshoot",
        "keep",
        "dev",
        "--skip=drains",
        "--skip=expiry",
        "--detach-after=900s",
        "--metrics-address=:8080",
        "--autoscaler-address=:8086",
        "--timeout=300s",
    ];
    assert_eq!(container["command"], json!(command));
    let port = |name: &str, port: u16| json!({ "name": name, "containerPort": port });
    let ports = json!([port("metrics", 8080), port("node-groups", 8086)]);
    assert_eq!(container["ports"], ports);
    assert_eq!(container["image"], "a:1");
    assert_eq!(deployment["metadata"]["name"], "kvshoot-keep-dev");
    a_deployment_has_the_volumes_and_credentials_of_backups();
    for (line, message) in [
        ("keep --print", "a namespace is required"),
        ("keep --backup-claim a", "--print"),
        ("keep --print -n a --backup-claim A", "is not a valid name"),
        ("keep --image a", "--print"),
        ("keep dev --all", "cannot be used with"),
        ("keep --skip all", "invalid value"),
        ("keep --metrics-address 8080", "write :PORT or ADDRESS:PORT"),
        ("keep --print-monitoring", "a namespace is required"),
        (
            "keep --print-monitoring --print -n a",
            "cannot be used with",
        ),
    ] {
        let output = Kvshoot::new().run(line);
        assert_eq!(output.code, 2, "{output}");
        assert!(output.err.contains(message), "{output}");
    }
}

#[test]
fn the_monitoring_in_the_examples_is_what_keep_prints_and_selects_the_deployment() {
    let output = Kvshoot::new().run("keep --print-monitoring -n shoots");
    assert_eq!(output.code, 0, "{output}");
    if std::env::var("SNAPSHOTS").is_ok_and(|it| it == "overwrite") {
        fs::write(MONITORING, &output.out).unwrap();
    }
    assert_eq!(fs::read_to_string(MONITORING).unwrap(), output.out);
    for name in ["", "dev "] {
        let line = format!("keep {name}--print-monitoring -n shoots");
        let service = documents(&Kvshoot::new().run(&line).out).remove(0);
        let line = format!("keep {name}--print -n shoots --metrics-address :9000");
        let deployment = deployment(&line);
        let template = &deployment["spec"]["template"];
        for (label, value) in service["spec"]["selector"].as_object().unwrap() {
            assert_eq!(&template["metadata"]["labels"][label], value);
        }
        let port = &template["spec"]["containers"][0]["ports"][0];
        assert_eq!(port["name"], service["spec"]["ports"][0]["targetPort"]);
        assert_eq!(port["containerPort"], 9000);
    }
}

fn a_deployment_has_the_volumes_and_credentials_of_backups() {
    let line =
        "keep --print -n shoots --backup-claim fast --backup-claim slow --credentials-secret s3";
    let deployment = deployment(line);
    let pod = &deployment["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    assert_eq!(deployment["spec"]["strategy"]["type"], "Recreate");
    assert_eq!(container["envFrom"][0]["secretRef"]["name"], "s3");
    assert_eq!(pod["securityContext"]["fsGroup"], 65532);
    for (number, claim) in ["fast", "slow"].into_iter().enumerate() {
        let (mount, volume) = (&container["volumeMounts"][number], &pod["volumes"][number]);
        assert_eq!(mount["mountPath"], format!("/backups/{claim}"));
        assert_eq!(mount["name"], volume["name"]);
        assert_eq!(volume["persistentVolumeClaim"]["claimName"], *claim);
    }
}

#[test]
fn the_printed_deployment_keeps_a_cluster() {
    let provider = Provider::new();
    let manifest = Manifest::small("kept");
    provider.assert_applied(&manifest, "created");
    let kvshoot = provider.kvshoot();
    let printed = kvshoot.run(&format!("keep --print -n {}", provider.namespace));
    for object in documents(&printed.out) {
        provider.create(resource(&object), object);
    }
    provider.wait_for("the cluster to be kept", |_| {
        kvshoot
            .run("status kept")
            .out
            .contains("  kept             by ")
    });
    let manager = "shoot--local--kept-kube-controller-manager";
    provider.delete(DEPLOYMENT, manager);
    provider.wait_for("the Deployment to be created again", |it| {
        log_of_keep(it).contains("shoot.core.gardener.cloud/kept kept\n")
    });
    assert!(provider.get(DEPLOYMENT, manager).is_some());
    metrics_report_the_run(&provider);
    provider.delete(DEPLOYMENT, "kvshoot-keep");
}

/// The Deployment that a command prints.
fn deployment(line: &str) -> Value {
    let mut objects = documents(&Kvshoot::new().run(line).out).into_iter();
    let deployment = objects.find(|it| it["kind"] == "Deployment");
    deployment.expect("a Deployment is printed")
}

/// The log of the Deployment's pod.
fn log_of_keep(provider: &Provider) -> String {
    provider.pod_log("kvshoot-keep-", "keep")
}

/// Reads the metrics of the Deployment, as Prometheus does.
fn metrics_report_the_run(provider: &Provider) {
    // The sandbox gives pods another address than they report.
    let log = log_of_keep(provider);
    let address = log.split("serving metrics at http://").nth(1).unwrap();
    let address = address.split('/').next().unwrap();
    let of_shoot = format!("namespace=\"{}\",shoot=\"kept\"", provider.namespace);
    let expected = [
        format!(
            "kvshoot_keep_leader{{namespace=\"{}\"}} 1",
            provider.namespace
        ),
        format!("kvshoot_shoot_kept{{{of_shoot}}} 1"),
        format!("kvshoot_shoot_condition{{{of_shoot},condition=\"APIServerAvailable\"}} 1"),
        format!("kvshoot_shoot_runs_total{{{of_shoot},result=\"succeeded\"}} 1"),
        format!("kvshoot_shoot_duties_total{{{of_shoot},duty=\"objects\",result=\"succeeded\"}} 1"),
        format!("kvshoot_shoot_last_run_succeeded{{{of_shoot}}} 1"),
    ];
    let mut page = String::new();
    provider.wait_for("the metrics of the run", |_| {
        let mut stream = TcpStream::connect(address).unwrap();
        let request = "GET /metrics HTTP/1.1\r\nHost: keep\r\n\r\n";
        stream.write_all(request.as_bytes()).unwrap();
        page.clear();
        stream.read_to_string(&mut page).unwrap();
        expected
            .iter()
            .all(|line| page.lines().any(|it| it == line))
    });
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
    assert!(page.ends_with("# EOF\n"), "{page}");
    for family in [
        "nodes_ready",
        "nodes_desired",
        "certificate_expiry_timestamp_seconds",
    ] {
        let sample = format!("\nkvshoot_shoot_{family}{{{of_shoot},");
        assert!(page.contains(&sample), "{family}: {page}");
    }
}
