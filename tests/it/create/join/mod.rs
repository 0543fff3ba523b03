//! The join script of machines, run with a directory as root, and stubs of systemctl, curl and other programs.

mod renew;

use crate::support::user_data::{minimal, of, read};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Programs that exist on every image.
const TOOLS: [&str; 22] = [
    "basename",
    "cat",
    "chmod",
    "cmp",
    "cp",
    "cut",
    "date",
    "dirname",
    "grep",
    "gzip",
    "ln",
    "mkdir",
    "mv",
    "rm",
    "sed",
    "sh",
    "sha256sum",
    "sleep",
    "tar",
    "timeout",
    "true",
    "xargs",
];

/// Logs its arguments, and writes the client certificate when kubelet is started.
const SYSTEMCTL: &str = r#"#!/bin/sh
echo "$*" >>"$ROOT/systemctl"
case $* in
    *is-active*systemd-resolved*) test -e "$ROOT/resolved" ;;
    'restart kubelet.service' | 'start kubelet.service')
        mkdir -p "$ROOT/var/lib/kubelet/pki"
        : >"$ROOT/var/lib/kubelet/pki/kubelet-client-current.pem"
        ;;
esac
"#;

/// Serves files of the directory `web`, by host and path, and the pod range of the node, like the API server.
const CURL: &str = r#"#!/bin/sh
for word; do url=$word; done
while [ $# -gt 1 ]; do
    if [ "$1" = -o ]; then file=$2; fi
    shift
done
echo "$url" >>"$ROOT/curl"
case $url in
    */api/v1/nodes/*) printf '{\n  "spec": {\n    "podCIDR": "100.96.7.0/24",\n    "podCIDRs": [\n      "100.96.7.0/24"\n' ;;
    *) cp "$ROOT/web/${url#https://}" "$file" 2>/dev/null ;;
esac
"#;

const KUBELET: &str = "#!/bin/sh\necho Kubernetes v1.34.2\n";

/// The file system of a machine after cloud-init.
struct Machine {
    root: TempDir,
}

impl Machine {
    fn new(user_data: &str) -> Self {
        let machine = Self {
            root: TempDir::new().unwrap(),
        };
        for file in read(user_data)["write_files"].as_array().unwrap() {
            let text = |key: &str| file[key].as_str().unwrap();
            let mode = u32::from_str_radix(text("permissions"), 8).unwrap();
            machine.write(text("path"), text("content"), mode);
        }
        for tool in TOOLS {
            let real = ["/usr/bin", "/bin"].map(|it| Path::new(it).join(tool));
            let real = real.iter().find(|it| it.exists()).unwrap();
            let link = machine.at("/tools").join(tool);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            symlink(real, link).unwrap();
        }
        machine.write("/usr/bin/systemctl", SYSTEMCTL, 0o755);
        machine.write("/usr/bin/uname", "#!/bin/sh\necho x86_64\n", 0o755);
        machine
    }

    /// A machine of an image for Kubernetes, with kubelet and containerd.
    fn prebuilt(user_data: &str, kubelet: &str, containerd: &str, dump: &str) -> Self {
        let machine = Self::new(user_data);
        machine.program("kubelet", &format!("echo Kubernetes v{kubelet}"));
        let words = format!("case $1 in --version) echo {containerd} ;; *) echo '{dump}' ;; esac");
        machine.program("containerd", &words);
        machine.program("runc", ":");
        let unit = "/usr/lib/systemd/system/kubelet.service";
        machine.write(unit, "[Service]\nExecStart=/usr/bin/kubelet\n", 0o644);
        let drop_in = format!("{unit}.d/10-kubeadm.conf");
        machine.write(&drop_in, "# bootstrap-kubelet.conf\n", 0o644);
        machine
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.path().join(path.trim_start_matches('/'))
    }

    fn write(&self, path: &str, content: &str, mode: u32) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn program(&self, name: &str, body: &str) {
        self.write(
            &format!("/usr/bin/{name}"),
            &format!("#!/bin/sh\n{body}\n"),
            0o755,
        );
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap_or_default()
    }

    /// Runs the join script and returns true if it succeeded, and its output.
    fn join(&self) -> (bool, String) {
        self.run("join")
    }

    /// The same for another script.
    fn run(&self, script: &str) -> (bool, String) {
        let root = self.root.path();
        let places = ["usr/bin", "usr/local/bin", "usr/local/sbin", "tools"];
        let path = places
            .map(|it| root.join(it).display().to_string())
            .join(":");
        let output = Command::new("/bin/sh")
            .arg(self.at("/usr/local/lib/kvshoot").join(script))
            .env_clear()
            .envs([
                ("ROOT", root.to_str().unwrap()),
                ("PATH", &path),
                ("PAUSE", "0"),
            ])
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(text).unwrap())
    }

    fn assert_joins(&self) -> String {
        let (succeeded, output) = self.join();
        assert!(succeeded, "{output}");
        let token = self.at("/etc/kubernetes/bootstrap-kubelet.conf");
        assert!(!token.exists(), "the token was not deleted");
        output
    }
}

fn user_data(replace: &[(&str, &str)]) -> String {
    of(&minimal(replace)).remove(0)
}

const SYSTEMD_CGROUPS: &str = "version = 3\nSystemdCgroup = true";
const CONTAINERD_2: &str = "containerd github.com/containerd/containerd/v2 v2.3.1 abc";
const CONTAINERD_1: &str = "containerd github.com/containerd/containerd 1.7.24~ds1 1.7.24~ds1-6";

#[test]
fn an_image_with_all_programs_joins_without_a_network() {
    let machine = Machine::prebuilt(&user_data(&[]), "1.34.2", CONTAINERD_2, SYSTEMD_CGROUPS);
    let output = machine.assert_joins();
    assert!(
        output.contains("has joined its cluster as shoot--local--minimal-worker-z1-"),
        "{output}"
    );
    assert!(!machine.at("/etc/containerd/config.toml").exists());
    assert!(!machine.at("/etc/systemd/system/kubelet.service").exists());
    assert!(
        machine
            .read("/systemctl")
            .contains("enable containerd.service kubelet.service")
    );
    assert!(
        machine
            .read("/systemctl")
            .contains("\nrestart kubelet.service")
    );
}

#[test]
fn a_second_boot_changes_nothing() {
    let machine = Machine::prebuilt(&user_data(&[]), "1.34.2", CONTAINERD_2, SYSTEMD_CGROUPS);
    machine.assert_joins();
    fs::remove_file(machine.at("/systemctl")).unwrap();
    assert_eq!(machine.assert_joins(), "");
    let calls = machine.read("/systemctl");
    assert!(
        calls.contains("start kubelet.service") && !calls.contains("restart kubelet"),
        "{calls}"
    );
}

#[test]
fn the_kubelet_of_the_image_is_used_if_the_required_version_cannot_be_downloaded() {
    let machine = Machine::prebuilt(&user_data(&[]), "1.33.0", CONTAINERD_2, SYSTEMD_CGROUPS);
    let output = machine.assert_joins();
    assert!(
        output.contains("kubelet 1.33.0 is here, 1.34.2 is wanted"),
        "{output}"
    );
    assert!(output.contains("attempt 3 of 3"), "{output}");
    assert!(
        output.contains("cannot be had; going on with 1.33.0"),
        "{output}"
    );
    // The next boot does not try again.
    assert_eq!(machine.assert_joins(), "");
}

#[test]
fn swap_is_disabled_permanently() {
    let machine = Machine::prebuilt(&user_data(&[]), "1.34.2", CONTAINERD_2, SYSTEMD_CGROUPS);
    machine.write(
        "/etc/fstab",
        "/dev/a / ext4 defaults 0 1\n/dev/b none swap sw 0 0\n",
        0o644,
    );
    machine.program("swapoff", "echo off >>\"$ROOT/swap\"");
    machine.assert_joins();
    machine.assert_joins();
    assert_eq!(machine.read("/swap"), "off\noff\n");
    assert_eq!(
        machine.read("/etc/fstab"),
        "/dev/a / ext4 defaults 0 1\n# /dev/b none swap sw 0 0 # kvshoot\n"
    );
}

#[test]
fn the_disk_of_the_kubelet_is_formatted_once_and_mounted_before_it_starts() {
    let pool = "      kubeletDataVolumeName: data\n      dataVolumes:\n      - name: data\n        type: standard\n        size: 10Gi\n      zones:\n      - zone-a\n";
    let user_data = user_data(&[("      zones:\n      - zone-a\n", pool)]);
    let machine = Machine::prebuilt(&user_data, "1.34.2", CONTAINERD_2, SYSTEMD_CGROUPS);
    machine.program("mountpoint", "test -e \"$ROOT/mounted\"");
    machine.program("lsblk", "printf '/dev/vda\\n/dev/vdc kubelet-data\\n'");
    machine.program(
        "blkid",
        "case $* in *UUID*) echo 12-34 ;; *) cat \"$ROOT/type\" 2>/dev/null || exit 2 ;; esac",
    );
    machine.program(
        "mkfs.ext4",
        "echo ext4 >\"$ROOT/type\"; echo \"mkfs $*\" >>\"$ROOT/disks\"",
    );
    machine.program("umount", "echo umount >>\"$ROOT/disks\"");
    let mount = "echo \"mount $1\" >>\"$ROOT/disks\"; case $2 in */var/lib/kubelet) : >\"$ROOT/mounted\" ;; esac";
    machine.program("mount", mount);
    machine.assert_joins();
    machine.assert_joins();
    assert_eq!(
        machine.read("/disks"),
        "mkfs -q /dev/vdc\nmount /dev/vdc\numount\nmount /dev/vdc\n"
    );
    assert_eq!(
        machine.read("/etc/fstab"),
        "UUID=12-34 /var/lib/kubelet ext4 defaults,nofail,x-systemd.growfs,x-systemd.before=kubelet.service,x-systemd.required-by=kubelet.service 0 2\n"
    );
    // The files of the machine are on the disk.
    assert!(
        machine
            .at("/var/lib/kvshoot/kubelet-volume/config.yaml")
            .exists()
    );
}

#[test]
fn pods_do_not_use_the_stub_resolver() {
    let machine = Machine::prebuilt(&user_data(&[]), "1.34.2", CONTAINERD_2, SYSTEMD_CGROUPS);
    machine.write("/resolved", "", 0o644);
    machine.assert_joins();
    machine.assert_joins();
    let config: Value =
        serde_yaml::from_str(&machine.read("/var/lib/kubelet/config.yaml")).unwrap();
    assert_eq!(config["resolvConf"], "/run/systemd/resolve/resolv.conf");
}

#[test]
fn the_containerd_of_debian_gets_a_drop_in_of_its_config_version() {
    let user_data = user_data(&[("type: flannel", "type: none")]);
    let debian = "version = 2\n\n[plugins]\n";
    let machine = Machine::prebuilt(&user_data, "1.34.2", CONTAINERD_1, debian);
    machine.write("/etc/containerd/config.toml", debian, 0o644);
    machine.write("/usr/lib/cni/ptp", "", 0o755);
    machine.program("curl", CURL.trim_start_matches("#!/bin/sh\n"));
    machine.assert_joins();
    let import = "imports = [\"/etc/containerd/conf.d/*.toml\"]\n";
    assert_eq!(
        machine.read("/etc/containerd/config.toml"),
        format!("{import}{debian}")
    );
    assert!(
        machine
            .read("/etc/containerd/conf.d/50-kvshoot.toml")
            .starts_with("version = 2\n")
    );
    assert!(
        machine
            .read("/systemctl")
            .contains("restart containerd.service")
    );
    assert!(machine.at("/opt/cni/bin/ptp").exists());
    // With networking.type none, the CNI configuration of kvshoot has the pod range of the node.
    let network: Value =
        serde_json::from_str(&machine.read("/etc/cni/net.d/99-kvshoot.conflist")).unwrap();
    assert_eq!(
        network["plugins"][0]["ipam"]["ranges"][0][0]["subnet"],
        "100.96.7.0/24"
    );
}

#[test]
fn the_cri_plugin_of_docker_s_containerd_is_enabled() {
    let docker = "disabled_plugins = [\"cri\"]\nimports = []\n";
    let machine = Machine::prebuilt(&user_data(&[]), "1.34.2", CONTAINERD_2, docker);
    machine.write("/etc/containerd/config.toml", docker, 0o644);
    machine.assert_joins();
    assert_eq!(
        machine.read("/etc/containerd/config.toml"),
        "disabled_plugins = []\nimports = [\"/etc/containerd/conf.d/*.toml\", ]\n"
    );
    assert!(
        machine
            .read("/etc/containerd/conf.d/50-kvshoot.toml")
            .starts_with("version = 3\n")
    );
}

/// Returns an archive with one program.
fn archive(name: &str, body: &str) -> Vec<u8> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, body).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let output = Command::new("tar")
        .arg("-czC")
        .arg(folder.path())
        .arg(".")
        .output()
        .unwrap();
    output.stdout
}

/// Files of a download mirror: path and content.
fn web() -> [(&'static str, Vec<u8>); 5] {
    let containerd = format!("#!/bin/sh\necho {CONTAINERD_2}\n");
    [
        (
            "dl.k8s.io/release/v1.34.2/bin/linux/amd64/kubelet",
            KUBELET.into(),
        ),
        (
            "github.com/containerd/containerd/releases/download/v2.2.1/containerd-2.2.1-linux-amd64.tar.gz",
            archive("bin/containerd", &containerd),
        ),
        (
            "github.com/opencontainers/runc/releases/download/v1.3.4/runc.amd64",
            b"runc".into(),
        ),
        (
            "github.com/containernetworking/plugins/releases/download/v1.8.0/cni-plugins-linux-amd64-v1.8.0.tgz",
            archive("host-local", ""),
        ),
        (
            "github.com/kubernetes-sigs/cri-tools/releases/download/v1.34.0/crictl-v1.34.0-linux-amd64.tar.gz",
            archive("crictl", ""),
        ),
    ]
}

/// A machine of a stock image, with a mirror and digests in the CloudProfile.
fn stock(digest: impl Fn(&[u8]) -> String) -> Machine {
    let web = web();
    let digests: String = web
        .iter()
        .map(|(path, content)| format!("        https://{path}: {}\n", digest(content)))
        .collect();
    let downloads = format!(
        "kind: CloudProfileConfig\n    downloads:\n      mirror: https://mirror.example.org/k8s/\n      digests:\n{digests}"
    );
    let machine = Machine::new(&user_data(&[("kind: CloudProfileConfig\n", &downloads)]));
    for (path, content) in web {
        let path = machine.at("/web/mirror.example.org/k8s").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    machine.program("curl", CURL.trim_start_matches("#!/bin/sh\n"));
    machine.program("apt-get", "echo \"$*\" >>\"$ROOT/apt-get\"");
    machine
}

fn sha256(content: &[u8]) -> String {
    let digest = Sha256::digest(content);
    digest.iter().map(|it| format!("{it:02x}")).collect()
}

#[test]
fn missing_programs_are_installed_on_a_stock_image() {
    let machine = stock(sha256);
    machine.assert_joins();
    assert!(machine.read("/apt-get").contains("conntrack"));
    assert_eq!(machine.read("/usr/bin/kubelet"), KUBELET);
    for path in [
        "/usr/local/sbin/runc",
        "/opt/cni/bin/host-local",
        "/usr/local/bin/crictl",
    ] {
        assert!(machine.at(path).exists(), "{path}");
    }
    let drop_in = machine.read("/etc/systemd/system/kubelet.service.d/10-kubeadm.conf");
    assert!(drop_in.contains("--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf"));
    assert!(
        machine
            .read("/etc/systemd/system/containerd.service")
            .contains("/usr/local/bin/containerd")
    );
    assert!(
        machine
            .read("/etc/containerd/config.toml")
            .starts_with("version = 3\nimports = [")
    );
}

#[test]
fn a_file_with_a_wrong_digest_is_not_installed() {
    let machine = stock(|_| sha256(b"another one"));
    let (succeeded, output) = machine.join();
    assert!(
        !succeeded && output.contains("is not what it should be"),
        "{output}"
    );
    for path in [
        "/usr/bin/kubelet",
        "/usr/local/sbin/runc",
        "/usr/local/bin/containerd",
    ] {
        assert!(!machine.at(path).exists(), "{path}");
    }
}

#[test]
fn a_machine_without_a_certificate_logs_possible_causes() {
    let machine = Machine::prebuilt(&user_data(&[]), "1.34.2", CONTAINERD_2, SYSTEMD_CGROUPS);
    machine.program("systemctl", "echo \"$*\" >>\"$ROOT/systemctl\"");
    machine.program("curl", "exit 7");
    machine.program(
        "journalctl",
        "echo 'part of the existing bootstrap client certificate is expired'",
    );
    let (succeeded, output) = machine.join();
    assert!(!succeeded, "{output}");
    for part in [
        "cannot be reached",
        "certificate is expired",
        "no certificate after five minutes",
    ] {
        assert!(output.contains(part), "{output}");
    }
    assert!(
        machine
            .at("/etc/kubernetes/bootstrap-kubelet.conf")
            .exists()
    );
}

/// kubelet registers a node again that was deleted while its VM was stopped, without what the CSI driver reads from it.
#[test]
fn a_machine_tells_its_node_at_each_boot_where_its_vm_is() {
    let machine = Machine::prebuilt(&user_data(&[]), "1.34.2", CONTAINERD_2, SYSTEMD_CGROUPS);
    // The API server does not know the node at first.
    let patch = "echo \"$*\" >>\"$ROOT/requests\"; test $(grep -c PATCH \"$ROOT/requests\") -gt 2";
    machine.program("curl", patch);
    machine.assert_joins();
    let annotation =
        r#"{"metadata":{"annotations":{"cluster.x-k8s.io/cluster-namespace":"default"}}}"#;
    let requests = || machine.read("/requests");
    assert_eq!(requests().matches(annotation).count(), 3, "{}", requests());
    assert!(requests().contains("/api/v1/nodes/shoot--local--minimal-worker-z1-"));
    machine.assert_joins();
    assert_eq!(requests().matches(annotation).count(), 4, "{}", requests());
}
