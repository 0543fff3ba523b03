//! Command lines of all processes.

use super::process::Program;
use super::state::{Guests, Ports, Row};
use std::path::Path;

/// Sockets in the sandbox's folder, which is the working directory of its programs and closed to other users. etcd has
/// no other listeners: it would answer everybody who reaches a port, including web pages in the user's browser. etcd
/// demands the form HOST:PORT, and makes a file name of it.
const ETCD: &str = "unix://etcd-client:1";
const ETCD_PEER: &str = "unix://etcd-peer:1";

/// The program, and the folder of its sockets.
const GUEST_NETWORK: &str = "guest-network";

/// Values that the command lines depend on.
pub(super) struct CommandLines<'a> {
    pub(super) folder: &'a Path,
    /// Path of this program.
    pub(super) own: Option<&'a Path>,
    pub(super) ports: Ports,
    pub(super) row: Row,
    pub(super) guests: Option<&'a Guests>,
}

impl CommandLines<'_> {
    fn pki(&self, file: &str) -> String {
        self.folder.join("pki").join(file).display().to_string()
    }

    fn file(&self, file: &str) -> String {
        self.folder.join(file).display().to_string()
    }

    fn services(&self) -> String {
        format!("--service-cluster-ip-range={}", self.row.services())
    }

    pub(super) fn etcd(&self) -> Program {
        Program {
            name: "etcd",
            args: vec![
                "--name=sandbox".into(),
                format!("--data-dir={}", self.file("etcd")),
                "--unsafe-no-fsync".into(),
                "--log-level=error".into(),
                "--quota-backend-bytes=8589934592".into(),
                format!("--listen-client-urls={ETCD}"),
                format!("--advertise-client-urls={ETCD}"),
                format!("--listen-peer-urls={ETCD_PEER}"),
                format!("--initial-advertise-peer-urls={ETCD_PEER}"),
                format!("--initial-cluster=sandbox={ETCD_PEER}"),
            ],
        }
    }

    pub(super) fn api_server(&self) -> Program {
        Program {
            name: "kube-apiserver",
            args: vec![
                format!("--etcd-servers={ETCD}"),
                "--bind-address=127.0.0.1".into(),
                format!("--secure-port={}", self.ports.api()),
                // Loopback addresses are refused, and without a default route none would be found.
                "--advertise-address=192.0.2.250".into(),
                "--endpoint-reconciler-type=none".into(),
                format!("--tls-cert-file={}", self.pki("server.crt")),
                format!("--tls-private-key-file={}", self.pki("server.key")),
                format!("--client-ca-file={}", self.pki("ca.crt")),
                format!(
                    "--requestheader-client-ca-file={}",
                    self.pki("front-proxy-ca.crt")
                ),
                "--requestheader-allowed-names=front-proxy-client".into(),
                "--requestheader-username-headers=X-Remote-User".into(),
                "--requestheader-group-headers=X-Remote-Group".into(),
                "--requestheader-extra-headers-prefix=X-Remote-Extra-".into(),
                format!(
                    "--proxy-client-cert-file={}",
                    self.pki("front-proxy-client.crt")
                ),
                format!(
                    "--proxy-client-key-file={}",
                    self.pki("front-proxy-client.key")
                ),
                "--authorization-mode=Node,RBAC".into(),
                "--enable-admission-plugins=NodeRestriction".into(),
                "--enable-bootstrap-token-auth=true".into(),
                "--allow-privileged=true".into(),
                format!(
                    "--kubelet-client-certificate={}",
                    self.pki("kubelet-client.crt")
                ),
                format!("--kubelet-client-key={}", self.pki("kubelet-client.key")),
                // The simulated nodes' names do not resolve.
                "--kubelet-preferred-address-types=InternalIP".into(),
                self.services(),
                "--service-account-issuer=https://kubernetes.default.svc".into(),
                format!("--service-account-key-file={}", self.pki("sa.pub")),
                format!("--service-account-signing-key-file={}", self.pki("sa.key")),
                "--profiling=false".into(),
                "--event-ttl=10m".into(),
            ],
        }
    }

    pub(super) fn controller_manager(&self) -> Program {
        let mut args = self.controller(
            "kube-controller-manager.kubeconfig",
            self.ports.controller_manager(),
        );
        args.extend([
            format!("--root-ca-file={}", self.pki("ca.crt")),
            format!("--service-account-private-key-file={}", self.pki("sa.key")),
            "--use-service-account-credentials=true".into(),
            format!("--cluster-signing-cert-file={}", self.pki("ca.crt")),
            format!("--cluster-signing-key-file={}", self.pki("ca.key")),
            "--controllers=*,bootstrapsigner,tokencleaner".into(),
            "--allocate-node-cidrs=true".into(),
            "--cluster-cidr=10.64.0.0/12".into(),
            self.services(),
        ]);
        Program {
            name: "kube-controller-manager",
            args,
        }
    }

    pub(super) fn scheduler(&self) -> Program {
        Program {
            name: "kube-scheduler",
            args: self.controller("kube-scheduler.kubeconfig", self.ports.scheduler()),
        }
    }

    fn controller(&self, kubeconfig: &str, port: u16) -> Vec<String> {
        let kubeconfig = self.file(kubeconfig);
        vec![
            format!("--kubeconfig={kubeconfig}"),
            format!("--authentication-kubeconfig={kubeconfig}"),
            format!("--authorization-kubeconfig={kubeconfig}"),
            "--bind-address=127.0.0.1".into(),
            format!("--secure-port={port}"),
            // There is only one replica, and an election would only take time.
            "--leader-elect=false".into(),
            "--kube-api-qps=500".into(),
            "--kube-api-burst=1000".into(),
            "--profiling=false".into(),
        ]
    }

    pub(super) fn virt_controller(&self) -> Program {
        Program {
            name: "virt-controller",
            args: vec![
                format!("--kubeconfig={}", self.file("virt-controller.kubeconfig")),
                "--listen=127.0.0.1".into(),
                format!("--port={}", self.ports.virt_controller()),
                format!("--prom-cert-file={}", self.pki("server.crt")),
                format!("--prom-key-file={}", self.pki("server.key")),
                "--launcher-image=registry.invalid/virt-launcher".into(),
                "--exporter-image=registry.invalid/virt-exportserver".into(),
                // On a busy computer it would lose the lease and exit; there is no other replica.
                "--leader-elect-lease-duration=10m".into(),
                "--leader-elect-renew-deadline=9m".into(),
                // With the default of three, each machine takes a second.
                "--vm-controller-threads=10".into(),
                "-v=2".into(),
            ],
        }
    }

    pub(super) fn virt_api(&self) -> Program {
        Program {
            name: "virt-api",
            args: vec![
                format!("--kubeconfig={}", self.file("virt-api.kubeconfig")),
                "--listen=127.0.0.1".into(),
                format!("--port={}", self.ports.virt_api()),
                format!("--tls-cert-file={}", self.pki("server.crt")),
                format!("--tls-key-file={}", self.pki("server.key")),
                format!("--handler-cert-file={}", self.pki("admin.crt")),
                format!("--handler-key-file={}", self.pki("admin.key")),
                "-v=2".into(),
            ],
        }
    }

    pub(super) fn simulator(&self, cdi: bool) -> Program {
        let mut args = vec![
            format!("--kubeconfig={}", self.file("virt-handler.kubeconfig")),
            "--nodes=12".into(),
            "--zones=zone-a,zone-b,zone-c".into(),
            "--bare=2".into(),
            "--virt".into(),
            format!("--pods-dir={}", self.file("pods")),
            format!("--logs={}", self.file("logs/pods")),
            format!("--pki={}", self.file("pki")),
            format!("--row={}", self.row.number()),
            format!("--api-port={}", self.ports.api()),
        ];
        if !cdi {
            args.push("--data".into());
        }
        if let Some(guests) = self.guests {
            args.extend([
                format!("--guests={}", guests.files.disk().display()),
                // Relative, because paths of sockets must be short.
                format!("--guest-network={GUEST_NETWORK}"),
                format!("--guest-count={}", guests.count),
                format!("--kvm={}", guests.kvm),
            ]);
        }
        args.extend(self.own.map(|path| format!("--kvshoot={}", path.display())));
        Program {
            name: "simulator",
            args,
        }
    }

    /// The network of virtual machines.
    pub(super) fn guest_network(&self) -> Program {
        Program {
            name: GUEST_NETWORK,
            args: vec![
                format!("--dir={}", self.file(GUEST_NETWORK)),
                format!("--row={}", self.row.number()),
            ],
        }
    }

    pub(super) fn cdi_controller(&self) -> Program {
        Program {
            name: "cdi-controller",
            args: self.cdi(),
        }
    }

    pub(super) fn cdi_api(&self) -> Program {
        let mut args = self.cdi();
        args.push(format!("--port={}", self.ports.cdi_api()));
        Program {
            name: "cdi-apiserver",
            args,
        }
    }

    fn cdi(&self) -> Vec<String> {
        vec![
            format!("--kubeconfig={}", self.file("admin.kubeconfig")),
            format!("--certs={}", self.file("cdi")),
        ]
    }
}
