use super::*;
use crate::app::provider::fetch::fetch;
use crate::sandbox::install::go_modules;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// A web server with one file; stops with the tests.
struct Server {
    url: String,
    /// Values of the `Range` headers of all requests.
    ranges: Arc<Mutex<Vec<Option<String>>>>,
}

/// How a server responds.
#[derive(Clone, Copy)]
enum Answers {
    Whole,
    /// Closes the connection after this many bytes of each response.
    Pieces(usize),
    /// Like `Pieces` for the first response, and refuses ranges.
    WholeOnRetry(usize),
}

impl Server {
    fn new(content: Vec<u8>, answers: Answers) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let ranges = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&ranges);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                respond(stream, &content, answers, &seen);
            }
        });
        Server { url, ranges }
    }

    fn requests(&self) -> Vec<Option<String>> {
        self.ranges.lock().unwrap().clone()
    }
}

fn respond(
    mut stream: TcpStream,
    content: &[u8],
    answers: Answers,
    seen: &Mutex<Vec<Option<String>>>,
) {
    let lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let head: Vec<String> = lines
        .map_while(Result::ok)
        .take_while(|it| !it.is_empty())
        .collect();
    let range = head.iter().find_map(|it| it.strip_prefix("range: "));
    let is_first = seen.lock().unwrap().is_empty();
    seen.lock().unwrap().push(range.map(str::to_owned));
    let start = range.and_then(|it| it.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok());
    let (start, limit) = match answers {
        Answers::Whole => (start, usize::MAX),
        Answers::Pieces(bytes) => (start, bytes),
        Answers::WholeOnRetry(bytes) => (None, if is_first { bytes } else { usize::MAX }),
    };
    let rest = &content[start.unwrap_or(0)..];
    let status = match start {
        Some(start) => format!(
            "206 Partial Content\r\nContent-Range: bytes {start}-{}/{}",
            content.len() - 1,
            content.len()
        ),
        None => "200 OK".to_owned(),
    };
    let length = rest.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(&rest[..length.min(limit)]);
}

/// A gzipped tar archive of files with contents.
fn archive(entries: &[(&str, &str)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, content) in entries {
        let mut header = tar::Header::new_gnu();
        // The builder would refuse a path that escapes.
        header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
        header.set_size(content.len() as u64);
        header.set_mode(0o755);
        header.set_cksum();
        tar.append(&header, content.as_bytes()).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

/// The files of a complete archive. Each contains its name, and data that is hardly compressed.
fn programs() -> Vec<(&'static str, String)> {
    let builds = needed(false)
        .flat_map(|workspace| workspace.builds)
        .map(|build| build.output);
    let content = |name: &str| {
        let noise = Sha256::digest(name);
        format!("{name} {noise:x}")
    };
    builds.map(|name| (name, content(name))).collect()
}

fn complete_archive() -> Vec<u8> {
    let programs = programs();
    let entries: Vec<(&str, &str)> = programs
        .iter()
        .map(|(name, text)| (*name, &**text))
        .collect();
    archive(&entries)
}

fn released(url: &str, content: &[u8]) -> ReleaseArchives {
    let archive = ReleaseArchive {
        name: "programs.tar.gz".to_owned(),
        platform: platform().to_owned(),
        cdi: false,
        size: content.len() as u64,
        sha256: format!("{:x}", Sha256::digest(content)),
    };
    ReleaseArchives {
        url: url.to_owned(),
        fetch,
        index: ArchiveIndex {
            programs: go_modules::digest(),
            archives: vec![archive],
        },
    }
}

struct Installed {
    result: Result<DownloadOutcome, SandboxError>,
    steps: Vec<Step>,
}

fn install_into(root: &TempDir, archives: &ReleaseArchives) -> Installed {
    let bin = root.path().join("bin");
    let mut steps = Vec::new();
    let digest = go_modules::digest();
    let result = install(archives, &digest, root.path(), &bin, false, &mut |step| {
        steps.push(step);
    });
    Installed { result, steps }
}

fn partial_download(root: &TempDir) -> PathBuf {
    root.path().join("programs.tar.gz.part")
}

#[track_caller]
fn assert_installed(root: &TempDir, installed: &Installed, url: &str) {
    let expected = DownloadOutcome::Installed(format!("from {url}"));
    assert_eq!(installed.result.as_ref().unwrap(), &expected);
    for (name, content) in programs() {
        let path = root.path().join("bin").join(name);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
    for workspace in needed(false) {
        assert!(
            bin_dir::contains(&root.path().join("bin"), workspace),
            "{}",
            workspace.title
        );
    }
    assert!(!partial_download(root).exists());
    assert!(!root.path().join("unpacked").exists());
}

#[test]
fn an_archive_with_the_right_digest_is_installed() {
    let content = complete_archive();
    let server = Server::new(content.clone(), Answers::Whole);
    let root = TempDir::new().unwrap();
    std::fs::write(root.path().join("older.tar.gz.part"), "old").unwrap();
    let installed = install_into(&root, &released(&server.url, &content));
    assert_installed(&root, &installed, &server.url);
    assert!(!root.path().join("older.tar.gz.part").exists());
    assert!(
        installed
            .steps
            .iter()
            .any(|it| it.title == "Downloading programs.tar.gz")
    );
    // Nothing is missing now, so nothing is downloaded.
    install_into(&root, &released(&server.url, &content))
        .result
        .unwrap();
    assert_eq!(server.requests(), [None]);
}

#[test]
fn an_archive_with_a_wrong_digest_is_deleted_and_nothing_is_installed() {
    let content = complete_archive();
    let mut other = content.clone();
    *other.last_mut().unwrap() ^= 1;
    let server = Server::new(other, Answers::Whole);
    let root = TempDir::new().unwrap();
    let error = install_into(&root, &released(&server.url, &content))
        .result
        .unwrap_err();
    let expected = format!("digest mismatch for {}/programs.tar.gz", server.url);
    assert_eq!(error.to_string(), expected);
    assert!(!partial_download(&root).exists());
    assert!(!root.path().join("bin").exists());
}

#[test]
fn an_archive_that_is_too_large_is_not_stored() {
    let content = complete_archive();
    let server = Server::new([content.as_slice(), &[0; 100]].concat(), Answers::Whole);
    let root = TempDir::new().unwrap();
    let outcome = install_into(&root, &released(&server.url, &content))
        .result
        .unwrap();
    let DownloadOutcome::Unavailable(failure) = outcome else {
        panic!("{outcome:?}");
    };
    assert!(failure.contains("larger than"), "{failure}");
    assert_eq!(partial_download(&root).metadata().unwrap().len(), 0);
}

#[test]
fn without_a_network_the_archives_are_unavailable() {
    let root = TempDir::new().unwrap();
    let unused = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let url = format!("http://{unused}");
    let outcome = install_into(&root, &released(&url, b"any")).result.unwrap();
    let DownloadOutcome::Unavailable(failure) = outcome else {
        panic!("{outcome:?}");
    };
    assert!(
        failure.starts_with(&format!("{url}/programs.tar.gz: ")),
        "{failure}"
    );
    assert!(failure.contains("refused"), "{failure}");
}

#[test]
fn an_interrupted_download_is_resumed_at_once() {
    let content = complete_archive();
    let half = content.len() / 2 + 1;
    let server = Server::new(content.clone(), Answers::Pieces(half));
    let root = TempDir::new().unwrap();
    let installed = install_into(&root, &released(&server.url, &content));
    assert_installed(&root, &installed, &server.url);
    assert_eq!(server.requests(), [None, Some(format!("bytes={half}-"))]);
}

#[test]
fn a_download_of_an_earlier_run_is_resumed() {
    let content = complete_archive();
    let server = Server::new(content.clone(), Answers::Whole);
    let root = TempDir::new().unwrap();
    std::fs::write(partial_download(&root), &content[..10]).unwrap();
    let installed = install_into(&root, &released(&server.url, &content));
    assert_installed(&root, &installed, &server.url);
    assert_eq!(server.requests(), [Some("bytes=10-".to_owned())]);
}

#[test]
fn a_server_without_ranges_sends_the_whole_file_again() {
    let content = complete_archive();
    let server = Server::new(content.clone(), Answers::WholeOnRetry(10));
    let root = TempDir::new().unwrap();
    let installed = install_into(&root, &released(&server.url, &content));
    assert_installed(&root, &installed, &server.url);
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn a_download_that_stops_for_good_keeps_its_file_for_the_next_run() {
    let content = complete_archive();
    let root = TempDir::new().unwrap();
    std::fs::write(partial_download(&root), &content[..10]).unwrap();
    let server = Server::new(content.clone(), Answers::Pieces(0));
    let outcome = install_into(&root, &released(&server.url, &content))
        .result
        .unwrap();
    assert!(
        matches!(outcome, DownloadOutcome::Unavailable(_)),
        "{outcome:?}"
    );
    assert_eq!(server.requests().len(), ATTEMPTS);
    assert_eq!(
        std::fs::read(partial_download(&root)).unwrap(),
        content[..10]
    );
}

#[test]
fn a_partial_download_is_readable_only_by_its_owner() {
    let content = complete_archive();
    let server = Server::new(content[..20].to_vec(), Answers::Whole);
    let root = TempDir::new().unwrap();
    install_into(&root, &released(&server.url, &content))
        .result
        .unwrap();
    let mode = partial_download(&root)
        .metadata()
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// Unpacks an archive with the right digest.
fn refused(entries: &[(&str, &str)]) -> String {
    let content = archive(entries);
    let server = Server::new(content.clone(), Answers::Whole);
    let root = TempDir::new().unwrap();
    let error = install_into(&root, &released(&server.url, &content))
        .result
        .unwrap_err();
    assert!(!root.path().join("bin").exists());
    assert!(!root.path().join("unpacked").exists());
    assert!(
        !root
            .path()
            .parent()
            .unwrap()
            .join("kvshoot-escaped")
            .exists()
    );
    error.to_string()
}

#[test]
fn an_archive_with_other_entries_is_refused() {
    for path in [
        "../../kvshoot-escaped",
        "/kvshoot-escaped",
        "bin/etcd",
        "other",
        ".",
    ] {
        let error = refused(&[(path, "")]);
        assert!(
            error.contains(&format!("unexpected entry {path:?}")),
            "{error}"
        );
    }
    let error = refused(&[]);
    assert!(error.contains("sandbox-kubernetes is missing"), "{error}");
    let error = refused(&[("sandbox-kubernetes", "a"), ("sandbox-kubernetes", "b")]);
    assert!(error.contains("create "), "{error}");
}

#[test]
fn an_archive_with_a_link_is_refused() {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Symlink);
    header.set_size(0);
    tar.append_link(&mut header, "sandbox-kubernetes", "/bin/sh")
        .unwrap();
    let content = tar.into_inner().unwrap().finish().unwrap();
    let server = Server::new(content.clone(), Answers::Whole);
    let root = TempDir::new().unwrap();
    let error = install_into(&root, &released(&server.url, &content))
        .result
        .unwrap_err();
    assert!(error.to_string().contains("unexpected entry"), "{error}");
}

#[test]
fn an_archive_is_unpacked_up_to_a_limit() {
    let content = "0".repeat(100_000);
    let root = TempDir::new().unwrap();
    let part = partial_download(&root);
    std::fs::write(&part, archive(&[("sandbox-kubernetes", &content)])).unwrap();
    let archives = released("http://a", b"");
    let error = unpack(&archives.index.archives[0], &part, root.path(), 50_000).unwrap_err();
    assert!(matches!(error, SandboxError::Archive { .. }), "{error}");
    let written = root
        .path()
        .join("sandbox-kubernetes")
        .metadata()
        .unwrap()
        .len();
    assert!(written < 50_000, "{written}");
}

#[test]
fn archives_of_other_sources_or_platforms_are_not_used() {
    let root = TempDir::new().unwrap();
    let mut older = released("http://a", b"");
    older.index.programs = "0123456789ab".to_owned();
    let mut foreign = released("http://a", b"");
    foreign.index.archives[0].platform = "linux-riscv64".to_owned();
    for archives in [older, foreign] {
        let outcome = install_into(&root, &archives).result.unwrap();
        assert_eq!(outcome, DownloadOutcome::NotReleased);
    }
}

#[test]
fn the_embedded_index_matches_the_sources() {
    let archives = ReleaseArchives::new(Some("http://mirror/"), fetch);
    assert_eq!(archives.url, "http://mirror");
    let index = archives.index;
    assert!(index.archives.is_empty() || index.programs == go_modules::digest());
    for archive in index.archives {
        assert_eq!(archive.sha256.len(), 64, "{}", archive.name);
        assert!(archive.name.contains(&index.programs), "{}", archive.name);
    }
}
