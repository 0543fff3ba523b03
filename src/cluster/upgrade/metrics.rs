//! Metrics of an API server, in the text format of Prometheus.

use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::{Error, RequestInfo};
use crate::cluster::client::transport::{ApiRequest, timeout_error};
use futures::io::{AsyncBufReadExt as _, AsyncReadExt as _};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::timeout;

const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// A busy API server reports some ten megabytes.
const MAX_BYTES: u64 = 256 << 20;
/// Bytes of a line. Longer ones are those of no API server.
const MAX_LINE: u64 = 64 << 10;
/// Samples of one metric: one for each API, and each of them for some verbs.
const MAX_SAMPLES: usize = 10_000;

/// One sample of a metric: its labels and its value.
pub(crate) type MetricSample = (BTreeMap<String, String>, f64);

impl ApiClient {
    /// The samples of one metric. All others are skipped as they arrive.
    ///
    /// # Errors
    ///
    /// Reading metrics is forbidden, or the server does not answer in time.
    pub(crate) async fn metric(&self, name: &str) -> Result<Vec<MetricSample>, Error> {
        let what = RequestInfo::get("metrics");
        let request = ApiRequest::new("GET", "/metrics".to_owned()).accept("text/plain");
        let request = request.build(Vec::new())?;
        let read = async {
            let failed = |it| Error::from_client(what.clone(), &self.server, it);
            let stream = self.client.request_stream(request).await.map_err(failed)?;
            let stream = futures::io::BufReader::new(stream.take(MAX_BYTES));
            let samples = samples(stream, name).await;
            let samples = samples.map_err(|it| failed(kube::Error::Service(it.into())))?;
            samples.ok_or_else(|| Error::too_large(&what))
        };
        let _in_flight = self.in_flight(&what);
        let read = timeout(READ_TIMEOUT, read).await;
        read.map_err(|_| timeout_error(&what, READ_TIMEOUT))?
    }
}

/// None if a line is too long, or if there are too many samples.
async fn samples(
    stream: impl futures::AsyncBufRead + Unpin,
    name: &str,
) -> std::io::Result<Option<Vec<MetricSample>>> {
    let mut stream = stream;
    let mut samples = Vec::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut bounded = (&mut stream).take(MAX_LINE);
        let length = bounded.read_until(b'\n', &mut line).await?;
        if length == 0 {
            return Ok(Some(samples));
        }
        if length as u64 == MAX_LINE || samples.len() == MAX_SAMPLES {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&line);
        samples.extend(text.strip_prefix(name).and_then(sample));
    }
}

/// Reads the rest of a line, after the name of the metric. None for another metric whose name begins the same.
fn sample(rest: &str) -> Option<MetricSample> {
    let (labels, value) = rest.strip_prefix('{')?.rsplit_once('}')?;
    let value = value.split_whitespace().next()?.parse().ok()?;
    let mut map = BTreeMap::new();
    let mut rest = labels;
    while let Some((name, after)) = rest.split_once("=\"") {
        let end = end_of_value(after)?;
        let text = after[..end].replace("\\\"", "\"").replace("\\n", "\n");
        map.insert(name.to_owned(), text.replace("\\\\", "\\"));
        rest = after[end + 1..].trim_start_matches(',');
    }
    Some((map, value))
}

/// Position of the quotation mark that ends a value.
fn end_of_value(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    for (index, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return Some(index),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# HELP calls [STABLE] Calls
# TYPE calls gauge
calls{group=\"\",resource=\"end\\\"points\",version=\"v1\"} 1
calls{group=\"a,b=\\\\\",version=\"v2\"} 0 1700000000
calls_total{group=\"other\"} 7
other{calls{} 3
calls{broken 1
calls 4
calls{version=\"cut";

    #[tokio::test]
    async fn samples_of_one_metric_are_read_with_their_labels() {
        let found = samples(TEXT.as_bytes(), "calls").await.expect("text");
        let found = found.expect("few samples");
        let labels = |list: &[(&str, &str)]| -> BTreeMap<String, String> {
            let list = list.iter();
            list.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect()
        };
        let first = labels(&[
            ("group", ""),
            ("resource", "end\"points"),
            ("version", "v1"),
        ]);
        let second = labels(&[("group", "a,b=\\"), ("version", "v2")]);
        assert_eq!(found, [(first, 1.0), (second, 0.0)]);
    }

    #[tokio::test]
    async fn a_long_line_and_many_samples_are_too_large() {
        let line = "x".repeat(1 << 20);
        let many = "calls{a=\"b\"} 1\n".repeat(MAX_SAMPLES + 1);
        for text in [line, many] {
            let found = samples(text.as_bytes(), "calls").await.expect("text");
            assert_eq!(found, None);
        }
        let enough = "calls{a=\"b\"} 1\n".repeat(MAX_SAMPLES - 1) + "\n";
        let found = samples(enough.as_bytes(), "calls").await.expect("text");
        assert_eq!(found.map(|it| it.len()), Some(MAX_SAMPLES - 1));
    }
}
