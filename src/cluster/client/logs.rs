//! The end of a container's log.

use super::error::{Error, What};
use super::resources;
use super::transport::{Request, timed_out};
use crate::cluster::client::api_client::Provider;
use futures::io::AsyncReadExt as _;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::timeout;

/// How long a kubelet may take to hand out one log.
const READ: Duration = Duration::from_secs(30);

/// A container whose log is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Container<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) pod: &'a str,
    pub(crate) name: &'a str,
    /// The one that ran before it was started again.
    pub(crate) previous: bool,
}

/// What a container said at last.
#[derive(Debug)]
pub(crate) struct Tail {
    pub(crate) text: String,
    /// Bytes before it that were left out.
    pub(crate) cut: u64,
}

impl Provider {
    /// The last `most` bytes, with the times at which they were said.
    ///
    /// # Errors
    ///
    /// There is no such log, or it may not be read.
    pub(crate) async fn tail(&self, of: Container<'_>, most: usize) -> Result<Tail, Error> {
        let Container {
            namespace,
            pod,
            name,
            previous,
        } = of;
        let what = What {
            verb: "get",
            resource: "pods/log".into(),
            kind: resources::POD.kind.into(),
            name: Some(pod.into()),
            namespace: Some(namespace.into()),
        };
        let path = format!("/api/v1/namespaces/{namespace}/pods/{pod}/log");
        let mut request = Request::new("GET", path)
            .accept("*/*")
            .query("container", name)
            .query("timestamps", "true");
        if previous {
            request = request.query("previous", "true");
        }
        let request = request.build(Vec::new())?;
        let read = async {
            let failed = |it| Error::of_client(what.clone(), &self.server, it);
            let stream = self.client.request_stream(request).await.map_err(failed)?;
            let tail = last(stream, most).await;
            tail.map_err(|it| failed(kube::Error::Service(it.into())))
        };
        timeout(READ, read)
            .await
            .map_err(|_| timed_out(&what, READ))?
    }
}

/// Reads to the end, and keeps no more than it must.
async fn last(stream: impl futures::AsyncRead, most: usize) -> std::io::Result<Tail> {
    let mut stream = std::pin::pin!(stream);
    let mut kept: VecDeque<u8> = VecDeque::new();
    let (mut cut, mut block) = (0, vec![0; 64 << 10]);
    loop {
        let read = stream.read(&mut block).await?;
        if read == 0 {
            break;
        }
        kept.extend(&block[..read]);
        let over = kept.len().saturating_sub(most);
        kept.drain(..over);
        cut += over as u64;
    }
    let mut bytes: Vec<u8> = kept.into();
    if cut > 0 {
        // The rest of a line says less than nothing: half a token looks like none.
        let line = bytes.iter().position(|it| *it == b'\n');
        let line = line.map_or(bytes.len(), |it| it + 1);
        bytes.drain(..line);
        cut += line as u64;
    }
    Ok(Tail {
        text: String::from_utf8_lossy(&bytes).into_owned(),
        cut,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_last_whole_lines_are_kept_and_the_rest_is_counted() {
        for (most, text, cut) in [
            (100, "one\ntwo\nthree\n", 0),
            (11, "two\nthree\n", 4),
            (9, "three\n", 8),
            (7, "three\n", 8),
            (3, "", 14),
        ] {
            let said: &[u8] = b"one\ntwo\nthree\n";
            let tail = last(said, most).await.expect("bytes in memory");
            assert_eq!((&*tail.text, tail.cut), (text, cut), "{most}");
        }
    }
}
