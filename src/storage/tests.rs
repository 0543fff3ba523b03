//! Backups in directories: whole or not there, and no changed byte is accepted.

use super::testing::{BackupFixture, backup_path};
use super::verification::Verification;
use super::*;
use crate::backup::{BackupDestination, BackupFile, BackupPath, BackupScope, INDEX, KeyProtection};
use futures::FutureExt as _;
use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use tokio_util::bytes::Bytes;
use tokio_util::io::StreamReader;

const ALL_KEYS: [KeyProtection; 3] = [
    KeyProtection::Encrypted,
    KeyProtection::Plain,
    KeyProtection::Omitted,
];

fn in_directory(directory: &Path) -> BackupStorage {
    let destination = BackupDestination::Directory(directory.to_owned());
    BackupStorage::open(&destination, &S3Settings::default()).unwrap()
}

async fn found(storage: &BackupStorage) -> Vec<(String, bool)> {
    let found = storage.find(&BackupScope::default()).await.unwrap();
    let found = found.into_iter();
    found
        .map(|it| (it.path.to_string(), it.is_complete))
        .collect()
}

fn is_damaged(verified: &Result<Verification, StorageError>) -> bool {
    matches!(verified, Err(StorageError::Damaged { .. }))
}

#[tokio::test]
async fn a_backup_is_written_found_verified_and_deleted() {
    for keys in ALL_KEYS {
        let home = TempDir::new().unwrap();
        let storage = in_directory(&home.path().join("new/backups"));
        let fixture = BackupFixture::new(keys);
        let path = backup_path(1);
        let index = fixture.write(&storage, &path).await.unwrap();
        assert_eq!(found(&storage).await, [(path.to_string(), true)]);
        let verified = verify(&storage, &path, fixture.identities()).await.unwrap();
        assert_eq!(verified.index, index);
        assert!(verified.has_read_content);
        let without = verify(&storage, &path, None).await.unwrap();
        assert_eq!(without.has_read_content, keys != KeyProtection::Encrypted);
        storage.delete(&path).await.unwrap();
        assert!(found(&storage).await.is_empty());
        let read = read_index(&storage, &path).await;
        assert!(matches!(read, Err(StorageError::NotFound { .. })));
    }
}

#[tokio::test]
async fn only_the_owner_can_read_a_backup() {
    let home = TempDir::new().unwrap();
    let storage = in_directory(&home.path().join("backups"));
    let fixture = BackupFixture::new(KeyProtection::Plain);
    fixture.write(&storage, &backup_path(1)).await.unwrap();
    let directory = PathBuf::from(storage.location(&backup_path(1)));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&directory), 0o700);
    assert_eq!(mode(&home.path().join("backups")), 0o700);
    for file in fs::read_dir(&directory).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
}

#[tokio::test]
async fn files_are_not_readable_without_the_identity() {
    let home = TempDir::new().unwrap();
    let storage = in_directory(home.path());
    let fixture = BackupFixture::new(KeyProtection::Encrypted);
    fixture.write(&storage, &backup_path(1)).await.unwrap();
    let directory = PathBuf::from(storage.location(&backup_path(1)));
    for file in fs::read_dir(&directory).unwrap() {
        let text = fs::read(file.unwrap().path()).unwrap();
        let text = String::from_utf8_lossy(&text);
        assert!(!text.contains("c2VjcmV0"), "a key in {text}");
    }
    let others = BackupFixture::new(KeyProtection::Encrypted);
    let verified = verify(&storage, &backup_path(1), others.identities()).await;
    assert!(matches!(
        verified,
        Err(StorageError::NoMatchingIdentity { .. })
    ));
}

#[tokio::test]
async fn a_backup_with_a_file_cut_at_any_byte_or_with_any_flipped_byte_is_damaged() {
    for keys in [KeyProtection::Encrypted, KeyProtection::Plain] {
        let home = TempDir::new().unwrap();
        let storage = in_directory(home.path());
        let fixture = BackupFixture::new(keys);
        let path = backup_path(1);
        fixture.write(&storage, &path).await.unwrap();
        let directory = PathBuf::from(storage.location(&path));
        let names = BackupFile::of(keys).into_iter().map(BackupFile::name);
        for name in names.chain([INDEX]) {
            let file = directory.join(name);
            let whole = fs::read(&file).unwrap();
            let mut flipped = whole.clone();
            // Those of the index are all tested where it is decoded.
            let step = if name == INDEX { 16 } else { 1 };
            for at in (0..whole.len()).step_by(step) {
                flipped[at] ^= 1;
                fs::write(&file, &flipped).unwrap();
                let verified = verify(&storage, &path, None).await;
                assert!(
                    is_damaged(&verified),
                    "{name} flipped at {at}: {verified:?}"
                );
                flipped[at] ^= 1;
                fs::write(&file, &whole[..at]).unwrap();
                let verified = verify(&storage, &path, fixture.identities()).await;
                assert!(is_damaged(&verified), "{name} cut at {at}: {verified:?}");
            }
            fs::write(&file, [whole.as_slice(), b"\n"].concat()).unwrap();
            let verified = verify(&storage, &path, None).await;
            assert!(is_damaged(&verified), "{name} is longer: {verified:?}");
            fs::remove_file(&file).unwrap();
            let verified = verify(&storage, &path, None).await;
            assert!(verified.is_err(), "{name} is missing");
            fs::write(&file, &whole).unwrap();
        }
        verify(&storage, &path, fixture.identities()).await.unwrap();
    }
}

#[tokio::test]
async fn a_link_or_pipe_in_place_of_a_file_is_not_read() {
    let home = TempDir::new().unwrap();
    let storage = in_directory(home.path());
    let path = backup_path(1);
    let fixture = BackupFixture::new(KeyProtection::Plain);
    fixture.write(&storage, &path).await.unwrap();
    let file = PathBuf::from(storage.location(&path)).join("record.json");
    fs::rename(&file, home.path().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink(home.path().join("elsewhere"), &file).unwrap();
    assert!(verify(&storage, &path, None).await.is_err());
    fs::remove_file(&file).unwrap();
    assert!(
        Command::new("mkfifo")
            .arg(&file)
            .status()
            .unwrap()
            .success()
    );
    assert!(verify(&storage, &path, None).await.is_err());
}

#[tokio::test]
async fn a_backup_of_another_shoot_in_its_place_is_refused() {
    let home = TempDir::new().unwrap();
    let storage = in_directory(home.path());
    let fixture = BackupFixture::new(KeyProtection::Plain);
    fixture.write(&storage, &backup_path(1)).await.unwrap();
    let other = BackupPath {
        id: "other".to_owned(),
        ..backup_path(1)
    };
    fs::rename(home.path().join("lab/dev"), home.path().join("lab/other")).unwrap();
    let error = verify(&storage, &other, None).await.unwrap_err();
    let text = "backup.json is damaged: it belongs to lab/dev";
    assert_eq!(error.to_string(), text);
}

#[tokio::test]
async fn a_source_that_breaks_off_leaves_nothing_and_earlier_backups_whole() {
    let home = TempDir::new().unwrap();
    let storage = in_directory(home.path());
    let fixture = BackupFixture::new(KeyProtection::Encrypted);
    fixture.write(&storage, &backup_path(1)).await.unwrap();
    let mut writer = fixture.begin(&storage, &backup_path(2));
    let parts = [
        Ok(Bytes::from(vec![0; 1 << 20])),
        Err(io::Error::other("connection lost")),
    ];
    let source = StreamReader::new(futures::stream::iter(parts));
    let added = writer.add(BackupFile::EncryptedSnapshot, source).await;
    assert_eq!(
        added.unwrap_err().to_string(),
        "cannot read etcd.snapshot.age: connection lost"
    );
    writer.discard().await;
    assert_eq!(found(&storage).await, [(backup_path(1).to_string(), true)]);
    verify(&storage, &backup_path(1), None).await.unwrap();
}

#[tokio::test]
async fn a_backup_that_is_being_written_is_incomplete_and_gone_when_canceled() {
    let home = TempDir::new().unwrap();
    let storage = in_directory(home.path());
    let fixture = BackupFixture::new(KeyProtection::Plain);
    let mut writer = fixture.begin(&storage, &backup_path(1));
    writer.add(BackupFile::Readme, &b"text"[..]).await.unwrap();
    assert_eq!(found(&storage).await, [(backup_path(1).to_string(), false)]);
    let (_sender, endless) = tokio::io::duplex(64);
    let written = writer.add(BackupFile::Snapshot, endless);
    assert!(Box::pin(written).now_or_never().is_none());
    drop(writer);
    assert!(found(&storage).await.is_empty());
}

#[tokio::test]
async fn what_killed_runs_have_left_is_incomplete_and_can_be_deleted() {
    let home = TempDir::new().unwrap();
    let storage = in_directory(home.path());
    let shoot = home.path().join("lab/dev");
    for (number, suffix) in [(1, ".part"), (2, ".deleted")] {
        let name = format!(".{}{suffix}", backup_path(number).name);
        fs::create_dir_all(shoot.join(&name)).unwrap();
        fs::write(shoot.join(&name).join(INDEX), "{}").unwrap();
    }
    fs::create_dir_all(shoot.join(backup_path(3).name.as_str())).unwrap();
    fs::create_dir_all(shoot.join("unrelated")).unwrap();
    let incomplete = [1, 2, 3].map(|it| (backup_path(it).to_string(), false));
    assert_eq!(found(&storage).await, incomplete);
    for number in [1, 2, 3] {
        storage.delete(&backup_path(number)).await.unwrap();
    }
    assert!(found(&storage).await.is_empty());
    assert!(shoot.join("unrelated").exists());
}

/// Starts itself with a limit on the size of files, which is the error of a full disk without one.
#[test]
fn a_full_destination_leaves_earlier_backups_whole() {
    const DIRECTORY: &str = "TEST_FULL_DESTINATION";
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let fixture = BackupFixture::with_snapshot(KeyProtection::Plain, 100);
    if let Some(directory) = env::var_os(DIRECTORY) {
        let storage = in_directory(Path::new(&directory));
        let written = runtime.block_on(fixture.write(&storage, &backup_path(2)));
        let error = written.unwrap_err();
        assert!(matches!(error, StorageError::Full { .. }), "{error}");
        return;
    }
    let home = TempDir::new().unwrap();
    let storage = in_directory(home.path());
    runtime
        .block_on(fixture.write(&storage, &backup_path(1)))
        .unwrap();
    let script = "trap '' XFSZ; ulimit -f 20; exec \"$0\" --exact --nocapture \
                  storage::tests::a_full_destination_leaves_earlier_backups_whole";
    let child = Command::new("bash")
        .args(["-c", script])
        .arg(env::current_exe().unwrap())
        .env(DIRECTORY, home.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&child.stdout).into_owned();
    assert!(
        child.status.success() && text.contains("1 passed"),
        "{text}"
    );
    let left = runtime.block_on(found(&storage));
    assert_eq!(left, [(backup_path(1).to_string(), true)]);
    runtime
        .block_on(verify(&storage, &backup_path(1), None))
        .unwrap();
}
