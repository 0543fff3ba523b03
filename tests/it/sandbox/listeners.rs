//! What the sandbox's programs answer to other users of the computer, and to web pages in a browser.

use crate::support::provider::Provider;
use futures::{StreamExt as _, stream};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;

/// Requests without credentials. A browser sends a POST of `text/plain` without asking the server.
const REQUESTS: [(&str, &str); 18] = [
    ("GET", "/"),
    ("GET", "/api/v1/secrets"),
    ("GET", "/pods"),
    ("GET", "/debug/pprof/"),
    ("GET", "/configz"),
    ("GET", "/metrics"),
    ("POST", "/v3/kv/range"),
    ("POST", "/api/v1/namespaces/default/configmaps"),
    ("GET", "/apis"),
    ("GET", "/openapi/v3"),
    ("GET", "/.well-known/openid-configuration"),
    ("GET", "/debug/vars"),
    ("GET", "/debug/requests"),
    ("GET", "/logs/"),
    ("GET", "/faults"),
    ("POST", "/faults"),
    ("OPTIONS", "/v3/kv/put"),
    ("POST", "/v3/auth/authenticate"),
];

/// Paths that KubeVirt answers to everybody: the list of its APIs, and its metrics.
const PUBLIC: [(&str, &str); 4] = [
    ("virt-api", "/"),
    ("virt-api", "/apis"),
    ("virt-api", "/metrics"),
    ("virt-controller", "/metrics"),
];

/// What a page sends as Host: the server's address, or its own name if that name resolves to the address.
const HOSTS: [Option<&str>; 2] = [None, Some("page.example")];

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
    // Neither other computers, nor other users by a socket without a file.
    for listener in &listeners {
        let is_local =
            listener.address.starts_with("127.") || listener.address.starts_with("[::1]");
        assert!(is_local, "{listener:?}");
    }
    let mut requests = Vec::new();
    for listener in &listeners {
        for scheme in ["http", "https"] {
            let url = format!("{scheme}://{}", listener.address);
            let client = provider.block_on(async { client(&url) });
            for host in HOSTS {
                requests
                    .extend(REQUESTS.map(|it| (listener, client.clone(), url.clone(), host, it)));
            }
        }
    }
    let answers = stream::iter(requests).map(async |(listener, client, server, host, request)| {
        let (method, path) = request;
        let url = format!("{server}{path}");
        let answer = answer(&client, request, host).await?;
        let program = listener.program.as_str();
        let is_public = PUBLIC.contains(&(program, path));
        // An answer that lists methods, and allows no other origin.
        let is_empty = method == "OPTIONS" && answer.is_empty();
        (!is_public && !is_empty)
            .then(|| format!("{program} answers {method} {url}, host {host:?}: {answer}"))
    });
    let answers = answers.buffer_unordered(64).filter_map(std::future::ready);
    let answers: Vec<String> = provider.block_on(answers.collect());
    assert_eq!(answers, [""; 0]);
}

/// A client without credentials that trusts any certificate.
fn client(url: &str) -> kube::Client {
    let mut config = kube::Config::new(url.parse().unwrap());
    config.accept_invalid_certs = true;
    config.connect_timeout = Some(Duration::from_secs(5));
    config.read_timeout = Some(Duration::from_secs(5));
    kube::Client::try_from(config).unwrap()
}

/// The body of a successful response.
async fn answer(
    client: &kube::Client,
    (method, path): (&str, &str),
    host: Option<&str>,
) -> Option<String> {
    let mut request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("Content-Type", "text/plain")
        .header("Origin", "https://page.example")
        .body(br#"{"key": "AA==", "range_end": "AA=="}"#.to_vec())
        .unwrap();
    if let Some(host) = host {
        request.headers_mut().insert("Host", host.parse().unwrap());
    }
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

/// Names of files in /proc and addresses of all listening sockets: TCP of both families, and Unix sockets that have no
/// file, which everyone can connect to.
fn listening_sockets() -> Vec<(String, String)> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(std::fs::read_to_string);
    let lines = tables.iter().flatten().flat_map(|it| it.lines().skip(1));
    let tcp = lines.filter_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let (ip, port) = columns[1].split_once(':').unwrap();
        let port = u16::from_str_radix(port, 16).unwrap();
        let ip = match address(ip) {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        (columns[3] == "0A").then(|| (format!("socket:[{}]", columns[9]), format!("{ip}:{port}")))
    });
    let table = std::fs::read_to_string("/proc/net/unix").unwrap();
    let unix = table.lines().skip(1).filter_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let name = columns.get(7).filter(|it| it.starts_with('@'))?;
        Some((format!("socket:[{}]", columns[6]), (*name).to_owned()))
    });
    tcp.chain(unix).collect()
}

/// Parses an address, whose 32-bit words are little-endian.
fn address(hexadecimal: &str) -> IpAddr {
    let words = (0..hexadecimal.len()).step_by(8);
    let words = words.map(|at| u32::from_str_radix(&hexadecimal[at..at + 8], 16).unwrap());
    let bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
    match <[u8; 16]>::try_from(bytes.as_slice()) {
        Ok(bytes) => Ipv6Addr::from(bytes).to_canonical(),
        Err(_) => IpAddr::from(<[u8; 4]>::try_from(bytes.as_slice()).unwrap()),
    }
}
