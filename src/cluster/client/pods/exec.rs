//! Commands in pods.

use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::resources;
use crate::cluster::client::transport::timeout_error;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube::Api;
use kube::api::{AttachParams, AttachedProcess};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

/// The longest output that is kept, in bytes.
const MAX_OUTPUT: u64 = 64 << 10;

/// Output and exit code of a command in a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExecOutput {
    pub(crate) stdout: String,
    /// None if the server did not report it.
    pub(crate) code: Option<i32>,
}

impl ApiClient {
    /// Runs a command in the first container of a pod in the client's namespace, with `stdin` as its input.
    ///
    /// # Errors
    ///
    /// The command cannot be started, or does not end within `limit`.
    pub(crate) async fn exec_in_pod(
        &self,
        pod: &str,
        command: &[&str],
        stdin: &str,
        limit: Duration,
    ) -> Result<ExecOutput, Error> {
        let resource_ref = ResourceRef::one(&resources::EXEC, self.namespace(), pod);
        let what = resource_ref.request_info("create");
        let _in_flight = self.in_flight(&what);
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), self.namespace());
        let params = AttachParams::default().stdin(true).stderr(false);
        let run = async {
            let process = pods.exec(pod, command.iter().copied(), &params).await?;
            Ok(output_of(process, stdin).await)
        };
        timeout(limit, run)
            .await
            .map_err(|_| timeout_error(&what, limit))?
            .map_err(|it| Error::from_client(what, &self.server, it))
    }
}

async fn output_of(mut process: AttachedProcess, stdin: &str) -> ExecOutput {
    let status = process.take_status();
    let input = process.stdin();
    let write = async {
        if let Some(mut input) = input {
            // A command that ended does not read its input.
            let _ = input.write_all(stdin.as_bytes()).await;
            let _ = input.shutdown().await;
        }
    };
    let read = async {
        match process.stdout() {
            Some(stream) => text_of(stream).await,
            None => String::new(),
        }
    };
    let ((), stdout) = tokio::join!(write, read);
    let status = match status {
        Some(status) => status.await,
        None => None,
    };
    ExecOutput {
        stdout,
        code: status.and_then(|it| exit_code(&it)),
    }
}

/// The exit code in the last message of the server, where a failure has it as a cause.
fn exit_code(status: &Status) -> Option<i32> {
    if status.status.as_deref() == Some("Success") {
        return Some(0);
    }
    let causes = status.details.as_ref()?.causes.as_ref()?;
    let is_code = |reason: &Option<String>| reason.as_deref() == Some("ExitCode");
    let cause = causes.iter().find(|it| is_code(&it.reason))?;
    cause.message.as_ref()?.parse().ok()
}

/// Reads to the end, so that the command is not blocked, and keeps the first bytes.
async fn text_of(mut stream: impl AsyncRead + Unpin) -> String {
    let mut kept = Vec::new();
    let _ = (&mut stream).take(MAX_OUTPUT).read_to_end(&mut kept).await;
    let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
    String::from_utf8_lossy(&kept).into_owned()
}
