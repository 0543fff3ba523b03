//! What containerd is told: its own configuration, mirrors of registries, and a network where nobody else brings one.

use super::file::{LIB, file};
use super::join::Join;
use crate::render::images::image;
use serde_json::{Value, json};

/// Registries that a mirror stands in for.
const PUBLIC_REGISTRIES: [&str; 4] = ["docker.io", "ghcr.io", "quay.io", "registry.k8s.io"];

pub(crate) fn files(join: &Join) -> Vec<Value> {
    let pause = image(join.shoot, "pause");
    let public = "0644";
    let mut files = vec![
        file(
            &format!("{LIB}/containerd-2.toml"),
            public,
            &version_2(&pause),
        ),
        file(
            &format!("{LIB}/containerd-3.toml"),
            public,
            &version_3(&pause),
        ),
    ];
    if let Some(registry) = &join.shoot.control_plane.registry {
        files.extend(PUBLIC_REGISTRIES.map(|host| {
            let path = format!("/etc/containerd/certs.d/{host}/hosts.toml");
            file(&path, public, &mirror(registry))
        }));
    }
    if join.shoot.networking.type_ == "none" {
        files.push(file(
            "/etc/cni/net.d/99-kvshoot.conflist",
            public,
            &network(join),
        ));
    }
    files
}

/// For containerd 1, and for a configuration of that version that an image has. A section takes the place of one
/// that stood there before, so that it has to be whole.
fn version_2(pause: &str) -> String {
    format!(
        r#"version = 2

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/opt/cni/bin"
    conf_dir = "/etc/cni/net.d"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = true
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "/etc/containerd/certs.d"
"#
    )
}

/// For containerd 2.
fn version_3(pause: &str) -> String {
    format!(
        r#"version = 3

[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "{pause}"
[plugins."io.containerd.cri.v1.images".registry]
  config_path = "/etc/containerd/certs.d"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
    SystemdCgroup = true
"#
    )
}

/// The path after the host is kept, as it is in the references of the shoot's own images.
fn mirror(registry: &str) -> String {
    let registry = registry.trim_end_matches('/');
    let (host, path) = registry.split_once('/').unwrap_or((registry, ""));
    let url = format!("https://{host}/v2/{path}");
    let url = url.trim_end_matches('/');
    format!("[host.\"{url}\"]\n  capabilities = [\"pull\", \"resolve\"]\n  override_path = true\n")
}

/// Makes a node ready by itself. Version 1.0.0 is the last of which containerd does not ask the plugins how they
/// are, so that they need not be there; and any other configuration sorts before this one. The range is a guess
/// until the script knows the node's own.
fn network(join: &Join) -> String {
    let networking = &join.shoot.networking;
    let first = networking.pods.split('/').next().unwrap_or_default();
    let range = format!("{first}/{}", networking.node_mask);
    let any = if first.contains(':') {
        "::/0"
    } else {
        "0.0.0.0/0"
    };
    let config = json!({
        "cniVersion": "1.0.0",
        "name": "kvshoot",
        "plugins": [
            {
                "type": "ptp",
                "ipMasq": true,
                "ipam": { "type": "host-local", "ranges": [[{ "subnet": range }]], "routes": [{ "dst": any }] },
            },
            { "type": "portmap", "capabilities": { "portMappings": true } },
        ],
    });
    let text = serde_json::to_string_pretty(&config).expect("an object can be written");
    format!("{text}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirror_keeps_its_path() {
        let url = |registry| mirror(registry).lines().next().expect("a line").to_owned();
        assert_eq!(
            url("registry.example.org:5000/a/b/"),
            "[host.\"https://registry.example.org:5000/v2/a/b\"]"
        );
        assert_eq!(
            url("registry.example.org"),
            "[host.\"https://registry.example.org/v2\"]"
        );
    }
}
