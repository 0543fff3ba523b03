//! The files of a machine, at the paths where kubeadm or their owner expects them.

use super::{containerd, download, kubelet, proxy};
use crate::render::user_data::file::{LIB, file};
use crate::render::user_data::join::JoinConfig;
use serde_json::Value;

/// Runs [`JOIN`] at every boot.
pub(crate) const UNIT: &str = "kvshoot-join.service";
/// The script that turns the machine into a node, in POSIX shell, because images differ.
pub(crate) const JOIN: &str = include_str!("join.sh");

/// Runs [`RENEW`] every minute.
pub(crate) const TIMER: &str = "kvshoot-renew.timer";
/// The script that takes new CAs.
pub(crate) const RENEW: &str = include_str!("renew.sh");

const PRIVATE: &str = "0600";
const PUBLIC: &str = "0644";
const PROGRAM: &str = "0755";

pub(crate) fn all(join: &JoinConfig) -> Vec<Value> {
    let mut files = vec![
        file("/etc/kubernetes/pki/ca.crt", PUBLIC, join.ca),
        file(
            "/etc/kubernetes/bootstrap-kubelet.conf",
            PRIVATE,
            &kubelet::bootstrap_kubeconfig(join),
        ),
        file(
            "/var/lib/kubelet/config.yaml",
            PUBLIC,
            &kubelet::config(join),
        ),
        file(
            "/var/lib/kubelet/kubeadm-flags.env",
            PUBLIC,
            &kubelet::flags(join),
        ),
        file("/etc/modules-load.d/kvshoot.conf", PUBLIC, MODULES),
        file("/etc/sysctl.d/99-kvshoot.conf", PUBLIC, SYSCTL),
    ];
    files.extend(containerd::files(join));
    files.extend(proxy::files(join));
    let installed = |name: &str| format!("{LIB}/{name}");
    files.extend([
        file("/etc/kvshoot/join.conf", PUBLIC, &settings(join)),
        file(&installed("downloads"), PUBLIC, &download::table(join)),
        file(
            &installed("kubelet.service"),
            PUBLIC,
            include_str!("kubelet.service"),
        ),
        file(
            &installed("10-kubeadm.conf"),
            PUBLIC,
            include_str!("10-kubeadm.conf"),
        ),
        file(
            &installed("containerd.service"),
            PUBLIC,
            include_str!("containerd.service"),
        ),
        file(&installed("join"), PROGRAM, JOIN),
        file(
            &format!("/etc/systemd/system/{UNIT}"),
            PUBLIC,
            include_str!("kvshoot-join.service"),
        ),
    ]);
    if join.pool.is_updated_in_place {
        files.extend(renewal());
    }
    files
}

/// Takes new CAs in place.
fn renewal() -> [Value; 3] {
    let unit = |name: &str| format!("/etc/systemd/system/{name}");
    [
        file(&format!("{LIB}/renew"), PROGRAM, RENEW),
        file(
            &unit("kvshoot-renew.service"),
            PUBLIC,
            include_str!("kvshoot-renew.service"),
        ),
        file(&unit(TIMER), PUBLIC, include_str!("kvshoot-renew.timer")),
    ]
}

/// Sourced by the script. Versions, addresses and names do not contain quotes.
fn settings(join: &JoinConfig) -> String {
    let settings = join.pool.kubelet.as_ref();
    let swaps = settings.and_then(|it| it.fail_swap_on) == Some(false);
    let registry = join.shoot.control_plane.registry.is_some();
    let word = |is: bool| if is { "yes" } else { "no" };
    let volume = join.pool.kubelet_serial();
    let volume = volume.map_or(String::new(), |it| format!("KUBELET_VOLUME='{it}'\n"));
    let roots = match join.pool.is_updated_in_place {
        true => format!("CERTIFICATE_AUTHORITIES='{}'\n", join.roots),
        false => String::new(),
    };
    format!(
        "KUBELET_VERSION='{}'\nAPI_SERVER='{}'\nNODE='{}'\nNAMESPACE='{}'\nSWAP='{}'\nMIRRORED='{}'\n{volume}{roots}",
        join.pool.kubernetes,
        join.node_address.url(),
        join.machine,
        join.namespace,
        word(swaps),
        word(registry),
    )
}

const MODULES: &str = "overlay\nbr_netfilter\nnf_conntrack\n";

/// Kernel settings that kube-proxy, CNI plugins and kubelets require; the last three are required by
/// `protectKernelDefaults`.
const SYSCTL: &str = "\
net.bridge.bridge-nf-call-iptables = 1
net.bridge.bridge-nf-call-ip6tables = 1
net.ipv4.ip_forward = 1
fs.inotify.max_user_instances = 8192
fs.inotify.max_user_watches = 524288
vm.overcommit_memory = 1
kernel.panic = 10
kernel.panic_on_oops = 1
";
