//! `kvshoot repair` and `keep`: volumes that hang after their machine is gone.

use crate::support::kvshoot::Kvshoot;
use crate::support::provider::{DATA_VOLUME, POD, Provider, Resource, VMI};
use crate::support::shoot_api::ShootApi;
use crate::support::shoots::{Manifest, PATIENCE};
use serde_json::{Value, json};

const NAME: &str = "attached";
const ATTACHMENT: Resource = Resource("storage.k8s.io", "v1", "VolumeAttachment");

/// No driver of the cluster ends its deletion.
fn attachment(name: &str, volume: &str) -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": { "name": name, "finalizers": ["external-attacher/csi-kubevirt-io"] },
        "spec": {
            "attacher": "none.example.org",
            "nodeName": "gone",
            "source": { "persistentVolumeName": volume },
        },
    })
}

/// A pod of the provider cluster that mounts a claim.
fn pod(claim: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": "hotplug" },
        "spec": {
            "containers": [{ "name": "pause", "image": "registry.k8s.io/pause:3.10" }],
            "volumes": [{ "name": "volume", "persistentVolumeClaim": { "claimName": claim } }],
        },
    })
}

#[test]
fn volumes_of_nodes_that_are_gone_are_detached_unless_something_has_them() {
    let provider = Provider::new();
    let manifest = Manifest::small(NAME);
    provider.assert_applied(&manifest, "created");
    let kvshoot = provider.kvshoot_with(&manifest);
    let shoot = ShootApi::connect(&provider, &kvshoot, NAME);
    shoot.create_global(ATTACHMENT, attachment("needed", "pvc-needed"));
    for (name, volume) in [("stale", "pvc-stale"), ("used", "pvc-used")] {
        shoot.create_global(ATTACHMENT, attachment(name, volume));
        shoot.delete_global(ATTACHMENT, name);
    }
    provider.create(POD, pod("pvc-used"));
    let names = || {
        let all = shoot.list(ATTACHMENT).into_iter();
        let mut names: Vec<_> = all.filter_map(|it| it.metadata.name).collect();
        names.sort();
        names
    };

    let early = kvshoot.run(&format!("repair {NAME}"));
    let unchanged = format!("shoot.core.gardener.cloud/{NAME} unchanged\n");
    assert_eq!((early.code, &early.out), (0, &unchanged), "{early}");

    let dry = kvshoot.run(&format!("repair {NAME} --older-than 0s --dry-run"));
    let line = "volumeattachment.storage.k8s.io/stale repaired (dry run)\n";
    assert_eq!((dry.code, dry.out.as_str()), (1, line), "{dry}");
    assert_eq!(names(), ["needed", "stale", "used"]);

    let repaired = kvshoot.run(&format!("repair {NAME} --older-than 0s"));
    let line = "volumeattachment.storage.k8s.io/stale repaired\n";
    assert_eq!(
        (repaired.code, repaired.out.as_str()),
        (1, line),
        "{repaired}"
    );
    let left = "attachment used of volume pvc-used is left as it is: pod hotplug mounts its volume";
    assert!(repaired.err.contains(left), "{repaired}");
    assert_eq!(names(), ["needed", "used"]);

    provider.delete(POD, "hotplug");
    provider.wait_for("the pod to go", |it| {
        !it.names(POD).iter().any(|it| it == "hotplug")
    });
    let repaired = kvshoot.run(&format!("repair {NAME} --older-than 0s"));
    let line = "volumeattachment.storage.k8s.io/used repaired\n";
    assert_eq!(
        (repaired.code, repaired.out.as_str()),
        (0, line),
        "{repaired}"
    );
    assert_eq!(names(), ["needed"]);

    provider.create(POD, pod("pvc-used"));
    for (name, volume) in [("used", "pvc-used"), ("stale", "pvc-stale")] {
        shoot.create_global(ATTACHMENT, attachment(name, volume));
        shoot.delete_global(ATTACHMENT, name);
    }
    let mut keep = kvshoot.start(&format!("keep {NAME} --detach-after 0s"));
    let text = format!("detached volume pvc-stale of shoot {NAME} from node gone");
    keep.wait_for(&text, PATIENCE);
    assert_eq!(names(), ["needed", "used"]);
    keep.interrupt();
    let kept = keep.wait();
    let line = format!("shoot.core.gardener.cloud/{NAME} repaired\n");
    assert_eq!(kept.code, 130, "{kept}");
    assert!(kept.out.contains(&line), "{kept}");
    an_orphaned_volume_is_named(&provider, &kvshoot);
}

/// A volume that is plugged into a running machine, but that neither the machine nor its node has. A restart unplugs it.
fn an_orphaned_volume_is_named(provider: &Provider, kvshoot: &Kvshoot) {
    let why = || kvshoot.run(&format!("why {NAME}"));
    let node = provider.names(VMI).remove(0);
    let orphan = format!(
        "VirtualMachineInstance {node}: volume pvc-orphan is plugged in, although neither the machine nor its node has it"
    );
    assert!(!why().out.contains("pvc-orphan"));
    plug(provider, &node, "pvc-orphan");
    provider.wait_for("the volume to be plugged in", |it| {
        volumes(it, &node).contains("pvc-orphan")
    });
    let found = why();
    assert_eq!(found.code, 1, "{found}");
    assert!(found.out.contains(&orphan), "{found}");
    let restart = format!("kvshoot nodes restart {NAME} {node}");
    assert!(found.to_string().contains(&restart), "{found}");
    let restarted = kvshoot.run(&format!("nodes restart {NAME} {node}"));
    assert_eq!(restarted.code, 0, "{restarted}");
    assert!(!volumes(provider, &node).contains("pvc-orphan"));
    assert!(!why().out.contains("pvc-orphan"));
}

/// Plugs an empty volume into an instance, and not into its machine.
fn plug(provider: &Provider, instance: &str, volume: &str) {
    let object = json!({
        "apiVersion": "cdi.kubevirt.io/v1beta1",
        "kind": "DataVolume",
        "metadata": { "name": volume },
        "spec": {
            "source": { "blank": {} },
            "pvc": {
                "accessModes": ["ReadWriteOnce"],
                "resources": { "requests": { "storage": "1Gi" } },
            },
        },
    });
    let created = provider.create(DATA_VOLUME, object);
    let namespace = created.metadata.namespace.unwrap();
    let path = format!(
        "/apis/subresources.kubevirt.io/v1/namespaces/{namespace}/virtualmachineinstances/{instance}/addvolume"
    );
    let options = json!({
        "name": volume,
        "disk": { "disk": { "bus": "scsi" } },
        "volumeSource": { "dataVolume": { "name": volume } },
    });
    let request = http::Request::put(path).header("Content-Type", "application/json");
    let request = request.body(options.to_string().into_bytes()).unwrap();
    let client = provider.client();
    provider.block_on(client.request_text(request)).unwrap();
}

/// The volumes of an instance, as text.
fn volumes(provider: &Provider, instance: &str) -> String {
    let found = provider.get(VMI, instance);
    found.map_or(String::new(), |it| {
        it.data["status"]["volumeStatus"].to_string()
    })
}
