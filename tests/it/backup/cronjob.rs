//! The CronJob that backs up a shoot, with its service account.

use crate::support::cron_job::{CRON_JOB, documents, resource, run_job};
use crate::support::kvshoot::Kvshoot;
use crate::support::provider::{CLAIM, Provider};
use crate::support::shoots::Manifest;
use serde_json::{Value, json};

#[test]
fn a_cronjob_for_backups_has_the_options_of_the_command() {
    let kvshoot = Kvshoot::new().file(
        "recipients.txt",
        "# ours\nage1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p\n",
    );
    let line = "backup dev --to s3://etcd/lab -R recipients.txt --keep-hourly 24 --s3-endpoint https://s3.example.org --credentials-secret s3 --print-cronjob";
    let output = kvshoot.run(line);
    assert_eq!(output.code, 0, "{output}");
    let objects = documents(&output.out);
    let names: Vec<&Value> = objects.iter().map(|it| &it["metadata"]["name"]).collect();
    assert_eq!(names, [&json!("kvshoot-backup-dev"); 4]);
    let pod = &objects[3]["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    assert_eq!(
        container["command"],
        json!([
            "kvshoot",
            "backup",
            "dev",
            "--to=s3://etcd/lab",
            "--s3-endpoint=https://s3.example.org",
            "--recipient=age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p",
            "--keep-hourly=24",
            "--timeout=1800s",
        ])
    );
    assert_eq!(container["envFrom"][0]["secretRef"]["name"], "s3");
    assert_eq!(pod["volumes"], Value::Null);

    for (line, message) in [
        ("backup dev --to there --print-cronjob", "pass --to s3://"),
        ("backup dev --to pvc:backups", "print a CronJob that does"),
        ("backup dev --credentials-secret s3", "--print-cronjob"),
    ] {
        let output = Kvshoot::new().run(line);
        assert_eq!(output.code, 2, "{output}");
        assert!(output.err.contains(message), "{output}");
    }
}

#[test]
#[ignore = "second tier: a control plane; the first tier has the objects of the CronJob, and a backup by the command"]
fn the_job_backs_up_to_a_volume() {
    let provider = Provider::new();
    provider.assert_applied(&Manifest::small("kept"), "created");
    let claim = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": { "name": "backups" },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": { "requests": { "storage": "1Gi" } },
        },
    });
    provider.create(CLAIM, claim);
    let kvshoot = provider.kvshoot();
    let line = "backup kept --to pvc:backups --with-plain-keys --keep-last 1 --print-cronjob";
    let printed = kvshoot.run(line);
    assert_eq!(printed.code, 0, "{printed}");
    for object in documents(&printed.out) {
        provider.create(resource(&object), object);
    }
    let cron_job = provider.get(CRON_JOB, "kvshoot-backup-kept").unwrap();
    let cron_job = json!({ "spec": cron_job.data["spec"] });
    let log = run_job(&provider, &cron_job, "backup");
    assert!(log.contains("Backed up shoot kept in "), "{log}");
    assert!(log.contains("Deleted 0 earlier backups"), "{log}");
    assert!(!log.contains("does not show this backup"), "{log}");
    let status = kvshoot.run("status kept");
    assert!(status.out.contains(" ago, /backups/"), "{status}");
}
