//! What the sandbox's programs answer to other users of the computer, and to web pages in a browser.

use crate::support::provider::Provider;
use futures::{StreamExt as _, stream};
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;

/// Requests without credentials. A browser sends a POST of `text/plain` without asking the server.
const REQUESTS: [(&str, &str); 8] = [
    ("GET", "/"),
    ("GET", "/api/v1/secrets"),
    ("GET", "/pods"),
    ("GET", "/debug/pprof/"),
    ("GET", "/configz"),
    ("GET", "/metrics"),
    ("POST", "/v3/kv/range"),
    ("POST", "/api/v1/namespaces/default/configmaps"),
];

/// Paths that KubeVirt answers to everybody: the list of its APIs, and its metrics.
const PUBLIC: [(&str, &str); 3] = [
    ("virt-api", "/"),
    ("virt-api", "/metrics"),
    ("virt-controller", "/metrics"),
];

/// A program of the sandbox that listens on an address, such as `127.0.0.1:16440`.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Listener {
    program: String,
    address: String,
}

#[test]
fn programs_of_the_sandbox_answer_no_one_without_credentials() {
    let provider = Provider::new();
    let folder = provider.folder();
    assert_eq!(folder.metadata().unwrap().mode() & 0o077, 0);
    let listeners = listeners(&folder.display().to_string());
    println!("{} listeners", listeners.len());
    let programs: BTreeSet<&str> = listeners.iter().map(|it| it.program.as_str()).collect();
    assert!(!programs.contains("etcd"), "{listeners:?}");
    for program in ["kube-apiserver", "kube-scheduler", "virt-api", "simulator"] {
        assert!(programs.contains(program), "{program}: {listeners:?}");
    }
    let mut requests = Vec::new();
    for listener in &listeners {
        for (method, path) in REQUESTS {
            for scheme in ["http", "https"] {
                requests.push((listener, method, scheme, path));
            }
        }
    }
    let answers = stream::iter(requests).map(async |(listener, method, scheme, path)| {
        let url = format!("{scheme}://{}{path}", listener.address);
        let answer = answer(method, &url).await?;
        let program = listener.program.as_str();
        let is_public = PUBLIC.contains(&(program, path));
        (!is_public).then(|| format!("{program} answers {method} {url}: {answer}"))
    });
    let answers = answers.buffer_unordered(64).filter_map(std::future::ready);
    let answers: Vec<String> = provider.block_on(answers.collect());
    assert_eq!(answers, [""; 0]);
}

/// The body of a successful response.
async fn answer(method: &str, url: &str) -> Option<String> {
    let mut config = kube::Config::new(url.parse().unwrap());
    config.accept_invalid_certs = true;
    config.connect_timeout = Some(Duration::from_secs(5));
    config.read_timeout = Some(Duration::from_secs(5));
    let path = url.splitn(4, '/').nth(3).unwrap();
    config.cluster_url = url[..url.len() - path.len()].parse().unwrap();
    let request = http::Request::builder()
        .method(method)
        .uri(format!("/{path}"))
        .header("Content-Type", "text/plain")
        .header("Origin", "https://page.example")
        .body(br#"{"key": "AA==", "range_end": "AA=="}"#.to_vec())
        .unwrap();
    let client = kube::Client::try_from(config).unwrap();
    let response = tokio::time::timeout(Duration::from_secs(10), client.request_text(request));
    response.await.ok()?.ok()
}

/// TCP listeners of the processes that use files of the sandbox.
fn listeners(folder: &str) -> BTreeSet<Listener> {
    let sockets = listening_sockets();
    let mut listeners = BTreeSet::new();
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        let arguments = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let arguments = String::from_utf8_lossy(&arguments).into_owned();
        let own = arguments.split('\0').next().unwrap_or_default().to_owned();
        // Not the tests, which wait for the sandbox.
        if !arguments.contains(&format!("{folder}/")) || !own.contains("/sandbox/") {
            continue;
        }
        let program = PathBuf::from(own).file_name().unwrap().to_owned();
        let files = std::fs::read_dir(process.path().join("fd")).into_iter();
        for file in files.flatten().flatten() {
            let target = std::fs::read_link(file.path()).unwrap_or_default();
            let inode = target.to_string_lossy().into_owned();
            for (_, address) in sockets.iter().filter(|it| it.0 == inode) {
                listeners.insert(Listener {
                    program: program.to_string_lossy().into_owned(),
                    address: address.clone(),
                });
            }
        }
    }
    listeners
}

/// Names of files in /proc and addresses of all listening sockets.
fn listening_sockets() -> Vec<(String, String)> {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let rows = table.lines().skip(1).filter_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let (ip, port) = columns[1].split_once(':').unwrap();
        // Little-endian.
        let ip = u32::from_str_radix(ip, 16).unwrap().to_le_bytes();
        let port = u16::from_str_radix(port, 16).unwrap();
        let address = format!("{}.{}.{}.{}:{port}", ip[0], ip[1], ip[2], ip[3]);
        (columns[3] == "0A").then(|| (format!("socket:[{}]", columns[9]), address))
    });
    rows.collect()
}
