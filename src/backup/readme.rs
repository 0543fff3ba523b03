//! `README.txt`: what the files are, and how to restore them without kvshoot.

use super::file::KeyProtection;
use super::index::ShootIdentity;

/// Text of the README of a backup.
pub(crate) fn readme(shoot: &ShootIdentity, keys: KeyProtection, etcd_version: &str) -> String {
    let ShootIdentity {
        name,
        namespace,
        id,
        ..
    } = shoot;
    let secrets = match keys {
        KeyProtection::Encrypted => {
            "secrets.age        root keys of the cluster, encrypted with age\n\
             etcd.snapshot.age  etcd snapshot, encrypted with age"
        }
        KeyProtection::Plain => {
            "secrets.json       root keys of the cluster, NOT ENCRYPTED\n\
             etcd.snapshot      etcd snapshot, not encrypted"
        }
        KeyProtection::Omitted => {
            "etcd.snapshot      etcd snapshot, not encrypted\n\
             \n\
             This backup has no root keys. Secrets in the snapshot can be read only with the Secret\n\
             of the encryption key, and the snapshot can be restored only where it still exists."
        }
    };
    let decrypt = match keys {
        KeyProtection::Encrypted => {
            "\n     age -d -i KEY etcd.snapshot.age > etcd.snapshot\n     age -d -i KEY secrets.age > secrets.json\n"
        }
        KeyProtection::Plain | KeyProtection::Omitted => " the files are not encrypted.\n",
    };
    let apply = match keys {
        KeyProtection::Omitted => String::new(),
        KeyProtection::Encrypted | KeyProtection::Plain => {
            format!("3. Restore the keys:\n     kubectl -n {namespace} apply -f secrets.json\n")
        }
    };
    format!(
        "Backup of the Kubernetes cluster \"{name}\" (ID {id}, namespace {namespace}) by kvshoot.

backup.json        what this backup is of, and its files with sizes and SHA-256
shoot.yaml         manifest of the cluster, as applied last
cloudprofile.yaml  the part of its CloudProfile that it uses
record.json        data of the ConfigMap {id}
{secrets}

Check all files with kvshoot, which needs no cluster for it:
     kvshoot backups verify {name} --from DESTINATION
or by hand:
     jq -r '.files[] | \"\\(.sha256)  \\(.name)\"' backup.json | sha256sum -c
     head -n -2 backup.json | sha256sum   # is the last field of backup.json

Restore by hand
1. Decrypt:{decrypt}2. Make a data directory of the snapshot, with etcdutl {etcd_version} or a later patch version. The
   revision is raised, so that no client takes old data for new:
     etcdutl snapshot restore etcd.snapshot --data-dir DIR --bump-revision 1000000000 --mark-compacted \\
       --name NAME --initial-cluster NAME=PEER-URL --initial-advertise-peer-urls PEER-URL \\
       --initial-cluster-token NEW-TOKEN
   Old members of etcd must not run, and their volumes must not be used again.
{apply}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backup::file::BackupFile;
    use crate::backup::testing::index;

    #[test]
    fn a_readme_names_the_files_of_its_backup_and_no_others() {
        for keys in [
            KeyProtection::Encrypted,
            KeyProtection::Plain,
            KeyProtection::Omitted,
        ] {
            let text = readme(&index(keys).shoot, keys, "3.6.8");
            let (files, _) = text.split_once("Check all files").unwrap();
            let is_listed = |file: BackupFile| {
                let lines = files.lines();
                lines
                    .filter_map(|it| it.split(' ').next())
                    .any(|it| it == file.name())
            };
            for file in BackupFile::ALL {
                let expected = BackupFile::of(keys).contains(&file) && file != BackupFile::Readme;
                assert_eq!(is_listed(file), expected, "{keys:?} {file:?}");
            }
            assert_eq!(text.contains("age -d"), keys == KeyProtection::Encrypted);
        }
    }
}
