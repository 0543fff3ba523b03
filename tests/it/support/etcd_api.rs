//! A client of a member of a shoot's etcd, through a port-forward.

use super::provider::{self, Provider, SECRET};
use kube::config::AuthInfo;
use kube::{Client, Config};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

/// Connected until it is dropped.
pub(crate) struct EtcdApi<'a> {
    provider: &'a Provider,
    forward: Child,
    /// kubectl ends when it cannot write to it.
    _lines: BufReader<ChildStdout>,
    client: Client,
}

impl EtcdApi<'_> {
    /// Connects to a member as the API server does.
    pub(crate) fn connect<'a>(provider: &'a Provider, id: &str, ordinal: u32) -> EtcdApi<'a> {
        let secret = provider.get(SECRET, &format!("{id}-kube-apiserver-etcd-client"));
        let data = &secret.unwrap().data["data"];
        EtcdApi::with_certificate(provider, id, ordinal, data)
    }

    /// Connects to a member with the certificate and key in the data of a Secret.
    pub(crate) fn with_certificate<'a>(
        provider: &'a Provider,
        id: &str,
        ordinal: u32,
        data: &Value,
    ) -> EtcdApi<'a> {
        let mut forward = Command::new(provider::installed_program("kubectl"))
            .args(["--kubeconfig", &provider.kubeconfig()])
            .args(["--namespace", &provider.namespace])
            .args(["port-forward", &format!("pod/{id}-etcd-{ordinal}"), ":2379"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut lines = BufReader::new(forward.stdout.take().unwrap());
        lines.read_line(&mut line).unwrap();
        // For example: Forwarding from 127.0.0.1:40001 -> 2379
        let address = line.split(' ').nth(2).unwrap();
        let text = |key: &str| data[key].as_str().unwrap().to_owned();
        let mut config = Config::new(format!("https://{address}").parse().unwrap());
        // The CA of members is not in the system's list; the name of the host is checked by other tests.
        config.accept_invalid_certs = true;
        config.auth_info = AuthInfo {
            client_certificate_data: Some(text("tls.crt")),
            client_key_data: Some(text("tls.key").into()),
            ..AuthInfo::default()
        };
        let client = provider.block_on(async { Client::try_from(config) });
        EtcdApi {
            provider,
            forward,
            _lines: lines,
            client: client.unwrap(),
        }
    }

    fn post(&self, path: &str, body: &Value) -> Result<Value, kube::Error> {
        let body = serde_json::to_vec(body).unwrap();
        let request = http::Request::post(path).body(body).unwrap();
        let answer = self.client.request::<Value>(request);
        self.provider.block_on(answer)
    }

    /// Returns true if the member accepts the certificate.
    pub(crate) fn is_accepted(&self) -> bool {
        self.post("/v3/maintenance/status", &json!({})).is_ok()
    }

    /// Drops all old revisions, as the API server does every five minutes.
    pub(crate) fn compact(&self) {
        let status = self.post("/v3/maintenance/status", &json!({})).unwrap();
        let revision = &status["header"]["revision"];
        let request = json!({ "revision": revision, "physical": true });
        self.post("/v3/kv/compaction", &request).unwrap();
    }
}

impl Drop for EtcdApi<'_> {
    fn drop(&mut self) {
        let _ = self.forward.kill();
        let _ = self.forward.wait();
    }
}
