//! Backups on a real S3 server, behind a proxy that is slow or cuts connections; and servers that do not respond.

use super::testing::{BackupFixture, backup_path};
use super::*;
use crate::backup::{BackupFile, BackupPath, BackupScope, INDEX, KeyProtection};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

/// S3 on top of a directory.
const SERVER: &str = "github.com/versity/versitygw/cmd/versitygw@v1.8.0";
const KEY_ID: &str = "test";
const KEY: &str = "not a secret";
const BUCKET: &str = "backups";
/// Several parts of a multipart upload, in sectors.
const LARGE: usize = (20 << 20) / 512;

/// A server on a free port; killed when dropped.
struct S3Server {
    process: Child,
    home: TempDir,
    address: String,
}

impl S3Server {
    /// Starts a server. `size` limits what it can store, by a file system in memory.
    async fn start(size: Option<&str>) -> S3Server {
        let home = TempDir::new().unwrap();
        fs::create_dir_all(home.path().join("data").join(BUCKET)).unwrap();
        let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = free.local_addr().unwrap().to_string();
        drop(free);
        let program = installed();
        let arguments = format!("--quiet --access {KEY_ID} --port {address} posix");
        let mut command = match size {
            None => Command::new("sh"),
            Some(_) => {
                let mut command = Command::new("unshare");
                command.args(["--user", "--map-root-user", "--mount", "sh"]);
                command
            }
        };
        let mount = size.map_or_else(String::new, |size| {
            format!("mount -t tmpfs -o size={size} none data; mkdir data/{BUCKET};")
        });
        let script = format!(
            "set -e; {mount} exec {} {arguments} data",
            program.display()
        );
        let process = command
            .args(["-c", &script])
            .env("ROOT_SECRET_ACCESS_KEY", KEY)
            .current_dir(home.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let server = S3Server {
            process,
            home,
            address,
        };
        server.wait().await;
        server
    }

    async fn wait(&self) {
        for _ in 0..600 {
            if TcpStream::connect(&self.address).await.is_ok() {
                return;
            }
            sleep(Duration::from_millis(50)).await;
        }
        panic!("the server does not listen");
    }

    fn storage(&self) -> BackupStorage {
        storage_at(&self.address, KEY)
    }

    /// Directory of a backup.
    fn directory(&self, backup: &BackupPath) -> PathBuf {
        let bucket = self.home.path().join("data").join(BUCKET);
        bucket.join("some/prefix").join(backup.to_string())
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Builds the server below the target directory, once.
fn installed() -> PathBuf {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/s3-server");
    let program = target.join("versitygw");
    if !program.exists() {
        let mut go = Command::new("go");
        let status = go.args(["install", SERVER]).env("GOBIN", &target).status();
        assert!(status.unwrap().success(), "cannot build {SERVER}");
    }
    program
}

fn storage_at(address: &str, key: &str) -> BackupStorage {
    let destination = format!("s3://{BUCKET}/some/prefix").parse().unwrap();
    let settings = S3Settings {
        endpoint: Some(format!("http://{address}")),
        access_key_id: Some(KEY_ID.to_owned()),
        secret_access_key: Some(key.into()),
        ..S3Settings::default()
    };
    BackupStorage::open(&destination, &settings).unwrap()
}

/// Trouble on the way to a server.
#[derive(Clone, Copy)]
enum Trouble {
    /// Pieces of 64 KiB, each a little later.
    Slow,
    /// The first connections break after so many bytes.
    Cut { bytes: usize, connections: usize },
}

/// Forwards connections; returns its address.
async fn proxy(to: String, trouble: Trouble) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let number = Arc::new(AtomicUsize::new(0));
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(&to).await.unwrap();
            let limit = match trouble {
                Trouble::Cut { bytes, connections }
                    if number.fetch_add(1, Ordering::Relaxed) < connections =>
                {
                    bytes
                }
                _ => usize::MAX,
            };
            tokio::spawn(forward(
                client,
                server,
                matches!(trouble, Trouble::Slow),
                limit,
            ));
        }
    });
    address
}

async fn forward(client: TcpStream, mut server: TcpStream, is_slow: bool, mut limit: usize) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.split();
    let up = async {
        let mut block = vec![0; 64 << 10];
        while let Ok(read @ 1..) = from_client.read(&mut block).await {
            if is_slow {
                sleep(Duration::from_millis(10)).await;
            }
            let sent = read.min(limit);
            limit -= sent;
            if to_server.write_all(&block[..sent]).await.is_err() || limit == 0 {
                return;
            }
        }
    };
    let down = tokio::io::copy(&mut from_server, &mut to_client);
    // Either end closes both.
    tokio::select! {
        () = up => {}
        _ = down => {}
    }
}

#[tokio::test]
#[ignore = "second tier: builds an S3 server; directories take the same path in the first tier"]
async fn a_bucket_has_backups_as_a_directory_has() {
    let server = S3Server::start(None).await;
    let storage = server.storage();
    let scope = BackupScope::default();
    assert!(storage.find(&scope).await.unwrap().is_empty());
    let fixture = BackupFixture::with_snapshot(KeyProtection::Encrypted, LARGE);
    let (one, two) = (backup_path(1), backup_path(2));
    let index = fixture.write(&storage, &one).await.unwrap();
    fixture.write(&storage, &two).await.unwrap();
    let found = storage.find(&scope).await.unwrap();
    let complete = |path: &BackupPath| FoundBackup {
        path: path.clone(),
        is_complete: true,
    };
    assert_eq!(found, [complete(&one), complete(&two)]);
    let verified = verify(&storage, &one, fixture.identities()).await.unwrap();
    assert_eq!(verified.index, index);
    // A flipped byte in the third part.
    let file = server
        .directory(&one)
        .join(BackupFile::EncryptedSnapshot.name());
    let mut bytes = fs::read(&file).unwrap();
    bytes[18 << 20] ^= 1;
    fs::write(&file, &bytes).unwrap();
    let error = verify(&storage, &one, None).await.unwrap_err();
    assert!(matches!(error, StorageError::Damaged { .. }), "{error}");
    // An object that is missing at its end.
    fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    assert!(verify(&storage, &one, None).await.is_err());
    storage.delete(&one).await.unwrap();
    assert_eq!(storage.find(&scope).await.unwrap(), [complete(&two)]);
    assert!(!server.directory(&one).exists());
    // Without its index, it is not a backup.
    fs::remove_file(server.directory(&two).join(INDEX)).unwrap();
    let found = storage.find(&scope).await.unwrap();
    assert!(!found[0].is_complete);
}

#[tokio::test]
#[ignore = "second tier: builds an S3 server"]
async fn wrong_credentials_and_a_missing_bucket_are_named() {
    let server = S3Server::start(None).await;
    let storage = storage_at(&server.address, "wrong");
    let fixture = BackupFixture::new(KeyProtection::Plain);
    let denied = |error: &StorageError| matches!(error, StorageError::Denied { .. });
    let error = storage.find(&BackupScope::default()).await.unwrap_err();
    assert!(denied(&error), "{error}");
    let error = fixture.write(&storage, &backup_path(1)).await.unwrap_err();
    assert!(denied(&error), "{error}");
    assert!(
        error.to_string().contains("SignatureDoesNotMatch"),
        "{error}"
    );
    assert!(!error.to_string().contains("wrong"), "{error}");
    fs::remove_dir(server.home.path().join("data").join(BUCKET)).unwrap();
    let error = server.storage().find(&BackupScope::default()).await;
    let error = error.unwrap_err();
    assert!(matches!(error, StorageError::NotFound { .. }), "{error}");
}

#[tokio::test]
#[ignore = "second tier: builds an S3 server"]
async fn a_slow_connection_is_not_an_error() {
    let server = S3Server::start(None).await;
    let slow = storage_at(&proxy(server.address.clone(), Trouble::Slow).await, KEY);
    let fixture = BackupFixture::with_snapshot(KeyProtection::Plain, LARGE);
    fixture.write(&slow, &backup_path(1)).await.unwrap();
    verify(&server.storage(), &backup_path(1), None)
        .await
        .unwrap();
}

#[tokio::test]
#[ignore = "second tier: builds an S3 server"]
async fn an_upload_that_is_cut_is_repeated() {
    let server = S3Server::start(None).await;
    let trouble = Trouble::Cut {
        bytes: 5 << 20,
        connections: 2,
    };
    let cut = storage_at(&proxy(server.address.clone(), trouble).await, KEY);
    let fixture = BackupFixture::with_snapshot(KeyProtection::Plain, LARGE);
    fixture.write(&cut, &backup_path(1)).await.unwrap();
    verify(&server.storage(), &backup_path(1), None)
        .await
        .unwrap();
}

#[tokio::test]
#[ignore = "second tier: builds an S3 server"]
async fn an_upload_that_is_always_cut_leaves_no_backup_and_earlier_ones_whole() {
    let server = S3Server::start(None).await;
    let storage = server.storage();
    let fixture = BackupFixture::with_snapshot(KeyProtection::Plain, LARGE);
    fixture.write(&storage, &backup_path(1)).await.unwrap();
    let trouble = Trouble::Cut {
        bytes: 3 << 20,
        connections: usize::MAX,
    };
    let cut = storage_at(&proxy(server.address.clone(), trouble).await, KEY);
    let error = fixture.write(&cut, &backup_path(2)).await.unwrap_err();
    assert!(matches!(error, StorageError::Failed { .. }), "{error}");
    let found = storage.find(&BackupScope::default()).await.unwrap();
    let complete: Vec<&BackupPath> = found
        .iter()
        .filter(|it| it.is_complete)
        .map(|it| &it.path)
        .collect();
    assert_eq!(complete, [&backup_path(1)]);
    verify(&storage, &backup_path(1), None).await.unwrap();
}

#[tokio::test]
#[ignore = "second tier: builds an S3 server, and mounts a file system in memory"]
async fn a_full_bucket_leaves_earlier_backups_whole() {
    let server = S3Server::start(Some("35m")).await;
    let storage = server.storage();
    let fixture = BackupFixture::with_snapshot(KeyProtection::Plain, (10 << 20) / 512);
    fixture.write(&storage, &backup_path(1)).await.unwrap();
    let large = BackupFixture::with_snapshot(KeyProtection::Plain, 2 * LARGE);
    let error = large.write(&storage, &backup_path(2)).await.unwrap_err();
    assert!(matches!(error, StorageError::Full { .. }), "{error}");
    let found = storage.find(&BackupScope::default()).await.unwrap();
    let paths: Vec<&BackupPath> = found.iter().map(|it| &it.path).collect();
    assert_eq!(paths, [&backup_path(1)]);
    verify(&storage, &backup_path(1), None).await.unwrap();
}

/// Time passes as soon as nothing else happens.
#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_respond_is_an_error() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let accepts = async {
        let mut connections = Vec::new();
        loop {
            connections.push(silent.accept().await.unwrap());
        }
    };
    let storage = storage_at(&address, KEY);
    let scope = BackupScope::default();
    let error = tokio::select! {
        found = storage.find(&scope) => found.unwrap_err(),
        () = accepts => unreachable!(),
    };
    assert!(matches!(error, StorageError::Failed { .. }), "{error}");
}

/// Responds to each request with a page.
async fn pages(page: fn(usize) -> String) -> BackupStorage {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        for number in 0.. {
            let (mut client, _) = listener.accept().await.unwrap();
            let _ = client.read(&mut [0; 4096]).await;
            let (page, head) = (page(number), "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
            let _ = client.write_all(format!("{head}{page}").as_bytes()).await;
        }
    });
    storage_at(&address, KEY)
}

#[tokio::test]
async fn a_list_without_end_is_an_error() {
    let many = |number| {
        let object = |it| {
            format!(
                "<Contents><Key>some/prefix/{number}/{it}</Key><LastModified>2026-01-01T00:00:00Z</LastModified><Size>1</Size></Contents>"
            )
        };
        let objects: String = (0..20_000).map(object).collect();
        format!(
            "<ListBucketResult><NextContinuationToken>{number}</NextContinuationToken>{objects}</ListBucketResult>"
        )
    };
    let found = pages(many).await.find(&BackupScope::default()).await;
    let error = found.unwrap_err().to_string();
    assert!(error.contains("more than 100000 objects"), "{error}");
    let large = |_| format!("<ListBucketResult>{}", " ".repeat(9 << 20));
    tokio::time::pause();
    let found = pages(large).await.find(&BackupScope::default()).await;
    let error = found.unwrap_err().to_string();
    assert!(error.contains("length limit exceeded"), "{error}");
}

#[tokio::test]
async fn a_server_that_refuses_connections_is_an_error() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = closed.local_addr().unwrap().to_string();
    drop(closed);
    tokio::time::pause();
    let found = storage_at(&address, KEY)
        .find(&BackupScope::default())
        .await;
    let error = found.unwrap_err();
    assert!(matches!(error, StorageError::Failed { .. }), "{error}");
}

#[test]
fn credentials_are_required() {
    let destination = "s3://backups".parse().unwrap();
    let error = BackupStorage::open(&destination, &S3Settings::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid settings: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set"
    );
}
