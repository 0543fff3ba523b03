//! Checks of what the kubelet does for pods.

use super::network::on_each_agent;
use super::objects::{self, HTTP_PORT, Run};
use super::outcome::{CheckFailure, CheckOutcome};
use super::testbed::Testbed;
use crate::cluster::client::resources;
use crate::cluster::client::tunnel::Tunnel;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Name of the pod, the ConfigMap and the Secret with values.
const CONFIGURATION: &str = "configuration";
const TOKEN: &str = "service-account-token";
const AUDIENCE: &str = "kvshoot";

pub(super) async fn logs(testbed: &Testbed) -> Result<CheckOutcome, CheckFailure> {
    let nodes = on_each_agent(testbed, async |agent| {
        let log = testbed.log(&agent.pod).await?;
        match log.contains("Started HTTP server") {
            true => Ok(()),
            false => Err(CheckFailure(format!(
                "the log of pod {} is empty",
                agent.pod
            ))),
        }
    });
    Ok(nodes.await?.outcome(|nodes| format!("of pods on {nodes}")))
}

/// Input, output and the exit code of a command.
pub(super) async fn exec(testbed: &Testbed) -> Result<CheckOutcome, CheckFailure> {
    let nodes = on_each_agent(testbed, async |agent| {
        let command = ["/bin/sh", "-c", "read line; echo got $line; exit 3"];
        let run =
            testbed
                .shoot
                .exec_in_pod(&agent.pod, &command, "input\n", testbed.answer_limit());
        let output = run.await?;
        match (output.stdout.trim(), output.code) {
            ("got input", Some(3)) => Ok(()),
            (text, code) => {
                let code = code.map_or("none".to_owned(), |it| it.to_string());
                Err(CheckFailure(format!("output `{text}`, exit code {code}")))
            }
        }
    });
    Ok(nodes.await?.outcome(|nodes| format!("in pods on {nodes}")))
}

pub(super) async fn port_forward(testbed: &Testbed) -> Result<CheckOutcome, CheckFailure> {
    let nodes = on_each_agent(testbed, async |agent| {
        let tunnel = Tunnel::to_pod(&testbed.shoot, &agent.pod, HTTP_PORT).await?;
        let exchange = async {
            let mut stream = TcpStream::connect(tunnel.address()).await?;
            stream.write_all(b"GET /hostname HTTP/1.0\r\n\r\n").await?;
            let mut text = String::new();
            stream.read_to_string(&mut text).await?;
            Ok::<_, std::io::Error>(text)
        };
        let text = timeout(testbed.answer_limit(), exchange).await;
        let text = text.map_err(|_| CheckFailure("no answer".to_owned()))?;
        let text = text.map_err(|error| CheckFailure(error.to_string()))?;
        match text.ends_with(&*agent.pod) {
            true => Ok(()),
            false => Err(CheckFailure("another server answers".to_owned())),
        }
    });
    Ok(nodes.await?.outcome(|nodes| format!("to pods on {nodes}")))
}

/// Values as variables and as files.
pub(super) async fn configuration(testbed: &Testbed) -> Result<CheckOutcome, CheckFailure> {
    let object = |kind: &str| json!({ "apiVersion": "v1", "kind": kind, "metadata": { "name": CONFIGURATION } });
    let (mut map, mut secret) = (object("ConfigMap"), object("Secret"));
    map["data"] = json!({ "key": "from-map" });
    secret["stringData"] = json!({ "key": "from-secret" });
    testbed.create_object(&resources::CONFIG_MAP, &map).await?;
    testbed.create_object(&resources::SECRET, &secret).await?;
    let script = "echo $MAP $SECRET $NAME $(cat /map/key) $(cat /secret/key)";
    let mut container = objects::container(&testbed.options.image, &Run::Script(script));
    let key = |source: &str| json!({ source: { "name": CONFIGURATION, "key": "key" } });
    container["env"] = json!([
        { "name": "MAP", "valueFrom": key("configMapKeyRef") },
        { "name": "SECRET", "valueFrom": key("secretKeyRef") },
        { "name": "NAME", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } },
    ]);
    container["volumeMounts"] = json!([
        { "name": "map", "mountPath": "/map" },
        { "name": "secret", "mountPath": "/secret" },
    ]);
    let mut spec = objects::pod_spec(&[container]);
    spec["volumes"] = json!([
        { "name": "map", "configMap": { "name": CONFIGURATION } },
        { "name": "secret", "secret": { "secretName": CONFIGURATION } },
    ]);
    let log = testbed.run_pod(CONFIGURATION, spec).await?;
    let expected = format!("from-map from-secret {CONFIGURATION} from-map from-secret");
    match log.trim() == expected {
        true => Ok(CheckOutcome::Passed("variables and files".to_owned())),
        false => Ok(CheckOutcome::Failed("a value is missing".to_owned())),
    }
}

/// An init container writes a file that the container reads.
pub(super) async fn shared_volume(testbed: &Testbed) -> Result<CheckOutcome, CheckFailure> {
    let mounts = json!([{ "name": "shared", "mountPath": "/shared" }]);
    let image = &testbed.options.image;
    let mut first = objects::container(image, &Run::Script("echo written > /shared/file"));
    first["name"] = "init".into();
    first["volumeMounts"] = mounts.clone();
    let mut container = objects::container(image, &Run::Script("cat /shared/file"));
    container["volumeMounts"] = mounts;
    let mut spec = objects::pod_spec(&[container]);
    spec["initContainers"] = json!([first]);
    spec["volumes"] = json!([{ "name": "shared", "emptyDir": {} }]);
    let log = testbed.run_pod("shared-volume", spec).await?;
    match log.trim() {
        "written" => Ok(CheckOutcome::Passed(
            "a container reads what another wrote".to_owned(),
        )),
        _ => Ok(CheckOutcome::Failed("the file is not there".to_owned())),
    }
}

/// A pod has its token checked with the keys that the API server publishes.
pub(super) async fn service_account_token(testbed: &Testbed) -> Result<CheckOutcome, CheckFailure> {
    let args = [
        "test-service-account-issuer-discovery",
        "--token-path=/var/run/secrets/tokens/token",
        &format!("--audience={AUDIENCE}"),
    ];
    let mut container = objects::container(&testbed.options.image, &Run::Args(&args));
    container["volumeMounts"] =
        json!([{ "name": "token", "mountPath": "/var/run/secrets/tokens" }]);
    let mut spec = objects::pod_spec(&[container]);
    spec["automountServiceAccountToken"] = true.into();
    let token = json!({ "path": "token", "audience": AUDIENCE, "expirationSeconds": 3600 });
    spec["volumes"] = json!([{
        "name": "token",
        "projected": { "sources": [{ "serviceAccountToken": token }] },
    }]);
    testbed.run_pod(TOKEN, spec).await?;
    Ok(CheckOutcome::Passed("its signature is valid".to_owned()))
}

/// A container whose liveness probe fails is started again.
pub(super) async fn restart(testbed: &Testbed) -> Result<CheckOutcome, CheckFailure> {
    let name = "restart";
    let mut container = objects::container(&testbed.options.image, &Run::Args(&["pause"]));
    container["livenessProbe"] = json!({
        "exec": { "command": ["/bin/sh", "-c", "exit 1"] },
        "periodSeconds": 2,
        "timeoutSeconds": 5,
        "failureThreshold": 1,
    });
    let mut pod = objects::pod(name, objects::pod_spec(&[container]));
    pod["spec"]["restartPolicy"] = "Always".into();
    testbed.create_object(&resources::POD, &pod).await?;
    let restarts = |it: &Value| {
        let count = it["status"]["containerStatuses"][0]["restartCount"].as_u64()?;
        (count > 0).then_some(())
    };
    testbed.wait(&resources::POD, name, restarts).await?;
    Ok(CheckOutcome::Passed(
        "after a failed liveness probe".to_owned(),
    ))
}
