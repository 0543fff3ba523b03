//! The script that makes a node of a machine, run below a folder as its root, with stand-ins for systemd and the like.

use crate::support::user_data::{minimal, of, read};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// What the script may find on every image.
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

/// Says what it was told to, and gives kubelet its certificate when it is started.
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

/// Serves files of the folder `web`, by host and path; an API server that knows the node's range is there too.
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

/// A machine that cloud-init has been on.
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

    /// An image that was made for Kubernetes, with a kubelet of some version.
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

    /// What the script says, and whether it ends well.
    fn join(&self) -> (bool, String) {
        let root = self.root.path();
        let places = ["usr/bin", "usr/local/bin", "usr/local/sbin", "tools"];
        let path = places
            .map(|it| root.join(it).display().to_string())
            .join(":");
        let output = Command::new("/bin/sh")
            .arg(self.at("/usr/local/lib/kvshoot/join"))
            .env_clear()
            .envs([
                ("ROOT", root.to_str().unwrap()),
                ("PATH", &path),
                ("PAUSE", "0"),
            ])
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(said).unwrap())
    }

    fn joins(&self) -> String {
        let (well, said) = self.join();
        assert!(well, "{said}");
        let token = self.at("/etc/kubernetes/bootstrap-kubelet.conf");
        assert!(!token.exists(), "the token is of no use any more");
        said
    }
}

fn user_data(replace: &[(&str, &str)]) -> String {
    of(&minimal(replace)).remove(0)
}

const SUITS: &str = "version = 3\nSystemdCgroup = true";
const CONTAINERD_2: &str = "containerd github.com/containerd/containerd/v2 v2.3.1 abc";
const CONTAINERD_1: &str = "containerd github.com/containerd/containerd 1.7.24~ds1 1.7.24~ds1-6";

#[test]
fn an_image_with_all_of_it_joins_without_a_network() {
    let machine = Machine::prebuilt(&user_data(&[]), "1.34.2", CONTAINERD_2, SUITS);
    let said = machine.joins();
    assert!(
        said.contains("has joined its cluster as shoot--local--minimal-worker-z1-"),
        "{said}"
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
fn another_boot_changes_nothing() {
    let machine = Machine::prebuilt(&user_data(&[]), "1.34.2", CONTAINERD_2, SUITS);
    machine.joins();
    fs::remove_file(machine.at("/systemctl")).unwrap();
    assert_eq!(machine.joins(), "");
    let told = machine.read("/systemctl");
    assert!(
        told.contains("start kubelet.service") && !told.contains("restart kubelet"),
        "{told}"
    );
}

#[test]
fn a_kubelet_of_another_version_is_taken_where_the_wanted_one_cannot_be_had() {
    let machine = Machine::prebuilt(&user_data(&[]), "1.33.0", CONTAINERD_2, SUITS);
    let said = machine.joins();
    assert!(
        said.contains("kubelet 1.33.0 is here, 1.34.2 is wanted"),
        "{said}"
    );
    assert!(said.contains("attempt 3 of 3"), "{said}");
    assert!(
        said.contains("cannot be had; going on with 1.33.0"),
        "{said}"
    );
    // The next boot of a node does not try again.
    assert_eq!(machine.joins(), "");
}

#[test]
fn swap_is_switched_off_for_good() {
    let machine = Machine::prebuilt(&user_data(&[]), "1.34.2", CONTAINERD_2, SUITS);
    machine.write(
        "/etc/fstab",
        "/dev/a / ext4 defaults 0 1\n/dev/b none swap sw 0 0\n",
        0o644,
    );
    machine.program("swapoff", "echo off >>\"$ROOT/swap\"");
    machine.joins();
    machine.joins();
    assert_eq!(machine.read("/swap"), "off\noff\n");
    assert_eq!(
        machine.read("/etc/fstab"),
        "/dev/a / ext4 defaults 0 1\n# /dev/b none swap sw 0 0 # kvshoot\n"
    );
}

#[test]
fn the_resolver_of_pods_is_not_a_stub() {
    let machine = Machine::prebuilt(&user_data(&[]), "1.34.2", CONTAINERD_2, SUITS);
    machine.write("/resolved", "", 0o644);
    machine.joins();
    machine.joins();
    let config: Value =
        serde_yaml::from_str(&machine.read("/var/lib/kubelet/config.yaml")).unwrap();
    assert_eq!(config["resolvConf"], "/run/systemd/resolve/resolv.conf");
}

#[test]
fn the_containerd_of_debian_gets_a_drop_in_of_its_own_version() {
    let user_data = user_data(&[("type: flannel", "type: none")]);
    let debian = "version = 2\n\n[plugins]\n";
    let machine = Machine::prebuilt(&user_data, "1.34.2", CONTAINERD_1, debian);
    machine.write("/etc/containerd/config.toml", debian, 0o644);
    machine.write("/usr/lib/cni/ptp", "", 0o755);
    machine.program("curl", CURL.trim_start_matches("#!/bin/sh\n"));
    machine.joins();
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
    // With `none` the network that we brought has the range that the node was given.
    let network: Value =
        serde_json::from_str(&machine.read("/etc/cni/net.d/99-kvshoot.conflist")).unwrap();
    assert_eq!(
        network["plugins"][0]["ipam"]["ranges"][0][0]["subnet"],
        "100.96.7.0/24"
    );
}

#[test]
fn the_containerd_of_docker_is_switched_on() {
    let docker = "disabled_plugins = [\"cri\"]\nimports = []\n";
    let machine = Machine::prebuilt(&user_data(&[]), "1.34.2", CONTAINERD_2, docker);
    machine.write("/etc/containerd/config.toml", docker, 0o644);
    machine.joins();
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

/// An archive with one program in it.
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

/// What a mirror has: path below it, and content.
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

/// A machine of an image that has nothing, and whose profile knows a mirror and what the files on it are.
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
fn an_image_with_nothing_is_given_what_it_lacks() {
    let machine = stock(sha256);
    machine.joins();
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
fn a_file_that_is_not_what_it_should_be_is_not_installed() {
    let machine = stock(|_| sha256(b"another one"));
    let (well, said) = machine.join();
    assert!(!well && said.contains("is not what it should be"), "{said}");
    for path in [
        "/usr/bin/kubelet",
        "/usr/local/sbin/runc",
        "/usr/local/bin/containerd",
    ] {
        assert!(!machine.at(path).exists(), "{path}");
    }
}

#[test]
fn a_machine_that_gets_no_certificate_says_what_it_knows() {
    let machine = Machine::prebuilt(&user_data(&[]), "1.34.2", CONTAINERD_2, SUITS);
    machine.program("systemctl", "echo \"$*\" >>\"$ROOT/systemctl\"");
    machine.program("curl", "exit 7");
    machine.program(
        "journalctl",
        "echo 'part of the existing bootstrap client certificate is expired'",
    );
    let (well, said) = machine.join();
    assert!(!well, "{said}");
    for part in [
        "cannot be reached",
        "certificate is expired",
        "no certificate after five minutes",
    ] {
        assert!(said.contains(part), "{said}");
    }
    assert!(
        machine
            .at("/etc/kubernetes/bootstrap-kubelet.conf")
            .exists()
    );
}
