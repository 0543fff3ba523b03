//! The Go modules of the sandbox's programs, embedded in this program.

use super::clock;
use sha2::{Digest, Sha256};
use std::collections::HashSet;

pub(in crate::sandbox) const KUBEVIRT_VERSION: &str = "v1.8.4";

/// CDI's CustomResourceDefinitions without descriptions, for a sandbox without CDI's controllers. A test of the Go
/// module of CDI writes them.
pub(super) const CDI_DEFINITIONS: &str = include_str!("cdi-crds.yaml");

/// Path and text of a file of a module.
type File = (&'static str, &'static str);

/// Modules that are built together, with the same versions of what they share.
pub(super) struct Workspace {
    /// Name in messages.
    pub(super) title: &'static str,
    pub(super) modules: &'static [Module],
    pub(super) builds: &'static [Build],
    /// Only needed for CDI's controllers.
    pub(super) cdi: bool,
    pub(super) changes: &'static [PackageChange],
    /// Version variables that the linker sets: packages, and assignments in each.
    pub(super) stamps: &'static [(&'static str, &'static str)],
}

pub(super) struct Module {
    pub(super) name: &'static str,
    pub(super) files: &'static [File],
}

/// A change to a package in the vendor folder, so that fewer packages are compiled, or that it compiles at all.
pub(super) struct PackageChange {
    pub(super) package: &'static str,
    pub(super) edit: Edit,
}

#[derive(Debug)]
pub(super) enum Edit {
    /// Adds a file.
    Add(File),
    /// Removes files.
    Remove(&'static [&'static str]),
    /// Removes all files but this one.
    Keep(&'static str),
    /// Removes all files, and adds one.
    Replace(File),
    /// Replaces a text in a file.
    ReplaceText {
        file: &'static str,
        from: &'static str,
        to: &'static str,
    },
}

pub(super) struct Build {
    pub(super) package: &'static str,
    pub(super) output: &'static str,
    /// The names under which the binary is called.
    pub(super) programs: &'static [&'static str],
}

/// Embeds files of a module.
macro_rules! files {
    ($folder:literal: $($path:literal),+ $(,)?) => {
        &[$(($path, include_str!(concat!("../programs/", $folder, "/", $path)))),+]
    };
}

pub(super) use files;

/// The version of Kubernetes that all clusters of a sandbox run, whatever version their manifests have.
pub(crate) const KUBERNETES_VERSION: &str = "1.36.3";

pub(super) const KUBERNETES_STAMP: &str = "gitVersion=v1.36.3 gitMajor=1 gitMinor=36 gitTreeState=clean gitCommit=0000000000000000000000000000000000000000 buildDate=2026-07-22T00:00:00Z";
const KUBEVIRT_STAMP: &str =
    "gitVersion=v1.8.4 gitTreeState=clean gitCommit=0000000 buildDate=2026-06-15T00:00:00Z";

const PROVIDER: Workspace = Workspace {
    title: "etcd, Kubernetes and KubeVirt",
    modules: &[KUBERNETES, KUBEVIRT],
    builds: &[
        Build {
            package: "kvshoot.io/sandbox/kubernetes",
            output: "sandbox-kubernetes",
            programs: &[
                "etcd",
                "kube-apiserver",
                "kube-controller-manager",
                "kube-scheduler",
                "cluster-autoscaler",
                "kubectl",
                "simulator",
                "proxy-server",
                "proxy-agent",
            ],
        },
        // A separate program, because it needs 30 MiB less memory than one that contains all of the above.
        Build {
            package: "kvshoot.io/sandbox/kubernetes/ccm",
            output: "sandbox-ccm",
            programs: &["kubevirt-cloud-controller-manager"],
        },
        // Seven of these run for every cluster, so the program contains no typed client.
        Build {
            package: "kvshoot.io/sandbox/kubernetes/csi",
            output: "sandbox-csi",
            programs: &[
                "kubevirt-csi-driver",
                "csi-provisioner",
                "csi-attacher",
                "csi-resizer",
                "csi-snapshotter",
                "snapshot-controller",
                "livenessprobe",
            ],
        },
        Build {
            package: "kvshoot.io/sandbox/kubevirt",
            output: "sandbox-kubevirt",
            programs: &["virt-controller", "virt-manifests"],
        },
        Build {
            package: "kvshoot.io/sandbox/kubevirt/api",
            output: "sandbox-virt-api",
            programs: &["virt-api"],
        },
    ],
    cdi: false,
    changes: CHANGES,
    stamps: &[
        ("k8s.io/component-base/version", KUBERNETES_STAMP),
        ("k8s.io/client-go/pkg/version", KUBERNETES_STAMP),
        ("kubevirt.io/client-go/version", KUBEVIRT_STAMP),
    ],
};

/// CDI's controllers, which need older versions of Kubernetes' libraries than KubeVirt.
const CDI: Workspace = Workspace {
    title: "CDI",
    modules: &[Module {
        name: "cdi",
        files: files!("cdi":
            "go.mod", "go.sum", "main.go", "controller.go", "apiserver.go", "keys.go", "manifests.go",
        ),
    }],
    builds: &[Build {
        package: "kvshoot.io/sandbox/cdi",
        output: "sandbox-cdi",
        programs: &[
            "cdi-controller",
            "cdi-apiserver",
            "cdi-keys",
            "cdi-manifests",
        ],
    }],
    cdi: true,
    changes: &[],
    stamps: &[],
};

macro_rules! changed {
    ($file:literal) => {
        ($file, include_str!(concat!("../programs/changes/", $file)))
    };
}

/// Most of them cut an import that leads to many packages, and that the programs do not need.
const CHANGES: &[PackageChange] = &[
    // Helpers of tests, in packages that are not tests.
    PackageChange {
        package: "k8s.io/apiserver/pkg/admission/plugin/policy/generic",
        edit: Edit::Remove(&["policy_test_context.go"]),
    },
    PackageChange {
        package: "k8s.io/kubernetes/pkg/scheduler/backend/queue",
        edit: Edit::Remove(&["testing.go"]),
    },
    // The collector of pods uses one function of the kubelet.
    PackageChange {
        package: "k8s.io/kubernetes/pkg/kubelet/eviction",
        edit: Edit::Replace(changed!("eviction.go")),
    },
    PackageChange {
        package: "k8s.io/kubernetes/cmd/kubelet/app/options",
        edit: Edit::Remove(&["globalflags_linux.go"]),
    },
    PackageChange {
        package: "k8s.io/kubernetes/cmd/kubelet/app/options",
        edit: Edit::Add(changed!("cadvisor_flags.go")),
    },
    PackageChange {
        package: "sigs.k8s.io/kustomize/api/krusty",
        edit: Edit::Replace(changed!("krusty.go")),
    },
    // What only virt-operator and virt-handler use.
    PackageChange {
        package: "kubevirt.io/kubevirt/pkg/virt-operator/resource/apply",
        edit: Edit::Replace(changed!("certificates.go")),
    },
    PackageChange {
        package: "kubevirt.io/kubevirt/pkg/network/link",
        edit: Edit::Keep("mac.go"),
    },
    PackageChange {
        package: "kubevirt.io/kubevirt/pkg/hypervisor",
        edit: Edit::Remove(&["virt-runtime.go"]),
    },
    PackageChange {
        package: "kubevirt.io/kubevirt/pkg/hypervisor/kvm",
        edit: Edit::Remove(&["realtime.go", "runtime.go"]),
    },
    PackageChange {
        package: "kubevirt.io/kubevirt/pkg/hypervisor/mshv",
        edit: Edit::Remove(&["realtime.go", "runtime.go"]),
    },
    // KubeVirt's client is built with a newer Kubernetes than it is written for. Its mocks implement an older client;
    // its OpenAPI definitions have names that kube-openapi no longer looks up.
    PackageChange {
        package: "kubevirt.io/client-go/kubecli",
        edit: Edit::Remove(&["generated_mock_kubevirt.go", "kubevirt_test_utils.go"]),
    },
    PackageChange {
        package: "kubevirt.io/client-go/api",
        edit: Edit::ReplaceText {
            file: "openapi_generated.go",
            from: "func GetOpenAPIDefinitions(",
            to: "func generatedDefinitions(",
        },
    },
    PackageChange {
        package: "kubevirt.io/client-go/api",
        edit: Edit::Add(changed!("model_names.go")),
    },
];

const WORKSPACES: &[Workspace] = &[PROVIDER, CDI];

const KUBERNETES: Module = Module {
    name: "k8s",
    files: files!("k8s":
        "go.mod", "go.sum", "kubectl.go", "main.go", "autoscaler/loop.go", "autoscaler/main.go",
        "autoscaler/protocol.go", "autoscaler/rooms.go", "ccm/balancer.go", "ccm/cloud.go", "ccm/instances.go", "ccm/main.go",
        "controller/controller.go", "csi/cluster/cluster.go", "csi/cluster/informers.go",
        "csi/cluster/snapshots.go", "csi/driver/attachments.go", "csi/driver/driver.go",
        "csi/driver/snapshots.go", "csi/driver/volumes.go", "csi/flags/flags.go", "csi/main.go",
        "csi/sidecar/attacher.go", "csi/sidecar/election.go", "csi/sidecar/liveness.go",
        "csi/sidecar/options.go", "csi/sidecar/provision_volume.go", "csi/sidecar/provisioner.go",
        "csi/sidecar/resizer.go", "csi/sidecar/snapshot_controller.go", "csi/sidecar/snapshot_deletion.go",
        "csi/sidecar/snapshots.go", "csi/sidecar/snapshotter.go", "echo/echo.go", "faults/faults.go",
        "guest/cloudinit/cloudinit.go", "guest/cloudinit/commands.go", "guest/cloudinit/userdata.go",
        "guest/guests.go", "guest/kubelet/authorities.go", "guest/kubelet/authorization.go", "guest/kubelet/csi.go", "guest/kubelet/identity.go",
        "guest/kubelet/konnectivity.go", "guest/kubelet/node.go", "guest/kubelet/pods.go",
        "guest/kubelet/podstatus.go", "guest/kubelet/references.go", "guest/kubelet/server.go", "guest/kubelet/serving.go",
        "guest/kubelet/services.go", "guest/kubelet/status.go", "guest/kubelet/volumes.go",
        "guest/kubelet/workloads.go", "guest/kubeletconfig/settings.go", "guest/kubeletconfig/unit.go",
        "guest/machine/disk.go", "guest/machine/machine.go", "guest/machine/network.go", "guest/qemu/disks.go",
        "guest/qemu/host.go", "guest/qemu/network.go", "guest/qemu/qmp.go", "guest/qemu/seed.go", "guest/qemu/vm.go", "guest/virtual.go",
        "guest/metricsserver/scrape.go", "guest/metricsserver/server.go", "guest/serving/serving.go",
        "konnectivity/konnectivity.go", "network/addresses.go", "network/attachment.go", "network/forwarder.go",
        "network/loadbalancer.go", "network/loopback.go", "pods/arguments.go", "pods/container.go",
        "pods/environment.go", "pods/kubelet.go", "pods/libraries.go", "pods/memory.go", "pods/probes.go",
        "pods/process.go", "pods/roots.go", "pods/runner.go", "pods/status.go", "pods/volumes.go",
        "pods/worker.go", "simulator/machines.go", "simulator/migrations.go", "simulator/nodes.go", "simulator/pods.go",
        "simulator/simulator.go", "storage/claims.go", "storage/controller.go", "storage/hotplug.go",
        "storage/imports.go", "storage/snapshots.go", "storage/volumes.go",
    ),
};

const KUBEVIRT: Module = Module {
    name: "kubevirt",
    files: files!("kubevirt":
        "go.mod", "go.sum", "main.go", "manifests.go", "api/main.go", "stubs/gomega/go.mod", "stubs/gomega/gomega.go",
        "stubs/gomega/types/types.go", "stubs/lz4/go.mod", "stubs/lz4/lz4.go",
    ),
};

impl Workspace {
    pub(super) fn packages(&self) -> impl Iterator<Item = &'static str> {
        self.builds.iter().map(|build| build.package)
    }

    /// The version of Go that all modules can be built with: the newest that one of them demands.
    pub(super) fn go_version(&self) -> &'static str {
        let texts = self.modules.iter().flat_map(|it| it.files).map(|it| it.1);
        let lines = texts.filter_map(|it| it.lines().find_map(|line| line.strip_prefix("go ")));
        // All are patch releases of the same version, and 1.26.10 is newer than 1.26.9.
        let newest = lines.max_by_key(|it| (it.len(), *it));
        newest.expect("go.mod has a version")
    }

    /// All names under which its binaries are called.
    pub(super) fn programs(&self) -> impl Iterator<Item = &'static str> {
        self.builds.iter().flat_map(|build| build.programs).copied()
    }

    pub(super) fn ldflags(&self) -> String {
        let mut flags = String::from("-s -w");
        for (package, values) in self.stamps {
            for value in values.split(' ') {
                flags.push_str(&format!(" -X {package}.{value}"));
            }
        }
        flags
    }

    /// Adds all that the programs are built of.
    pub(super) fn update_digest(&self, hash: &mut Sha256) {
        for module in self.modules {
            for (path, text) in module.files {
                for part in [module.name, path, text] {
                    hash.update(part.len().to_be_bytes());
                    hash.update(part);
                }
            }
        }
        for change in self.changes {
            hash.update(format!("{} {:?}", change.package, change.edit));
        }
        hash.update(self.ldflags());
        hash.update(self.programs().collect::<String>());
    }

    /// Number of modules with packages of the programs: those whose contents have a checksum.
    pub(super) fn modules_to_fetch(&self) -> usize {
        let texts = self.modules.iter().flat_map(|module| module.files);
        let sums = texts.filter(|(path, _)| *path == "go.sum");
        let lines = sums.flat_map(|(_, text)| text.lines());
        let contents = lines.filter(|line| !line.contains("/go.mod "));
        contents.collect::<HashSet<_>>().len()
    }
}

/// Returns a digest of the modules, their builds and the manifests.
pub(super) fn digest() -> String {
    let mut hash = Sha256::new();
    for workspace in WORKSPACES {
        workspace.update_digest(&mut hash);
    }
    hash.update(CDI_DEFINITIONS);
    clock::update_digest(&mut hash);
    short(hash)
}

/// The first 12 hexadecimal digits of a digest.
pub(super) fn short(hash: Sha256) -> String {
    let bytes = hash.finalize();
    bytes[..6]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Workspaces that a sandbox needs.
pub(super) fn needed(cdi: bool) -> impl Iterator<Item = &'static Workspace> {
    let needed = move |it: &&Workspace| cdi || !it.cdi;
    WORKSPACES.iter().filter(needed)
}

#[cfg(test)]
pub(super) mod testing {
    use super::Module;
    use std::path::{Path, PathBuf};

    pub(in super::super) fn assert_all_files_are_embedded(module: &Module) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("src/sandbox/programs")
            .join(module.name);
        let mut folders = vec![root.clone()];
        let mut found = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    // Tests are not built.
                    true if path.ends_with("machinetest") => {}
                    false if path.to_string_lossy().ends_with("_test.go") => {}
                    true => folders.push(path),
                    false => found.push(path.strip_prefix(&root).unwrap().to_owned()),
                }
            }
        }
        let paths = module.files.iter().map(|(path, _)| PathBuf::from(path));
        let mut embedded: Vec<_> = paths.collect();
        found.sort();
        embedded.sort();
        assert_eq!(found, embedded);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn every_file_of_a_module_is_embedded() {
        let modules = WORKSPACES.iter().flat_map(|it| it.modules);
        modules.for_each(super::testing::assert_all_files_are_embedded);
    }

    #[test]
    fn the_stamps_match_the_versions_in_go_mod() {
        for (module, name, stamp) in [
            (KUBERNETES, "k8s.io/kubernetes", KUBERNETES_STAMP),
            (KUBEVIRT, "kubevirt.io/kubevirt", KUBEVIRT_STAMP),
        ] {
            let version = stamp.split(['=', ' ']).nth(1).unwrap();
            let (_, text) = module.files[0];
            assert!(
                text.contains(&format!("{name} {version}\n")),
                "{name} {version}"
            );
        }
        assert!(KUBERNETES_STAMP.starts_with(&format!("gitVersion=v{KUBERNETES_VERSION} ")));
        assert!(KUBEVIRT_STAMP.starts_with(&format!("gitVersion={KUBEVIRT_VERSION} ")));
    }

    /// Otherwise Go would compile what both contain twice, for the programs or for the tests of one module.
    #[test]
    fn modules_of_a_workspace_share_their_versions() {
        let versions = |module: &Module| -> BTreeMap<String, String> {
            let (_, text) = module.files[0];
            let lines = text
                .lines()
                .map(|line| line.trim_end_matches(" // indirect"));
            let entries = lines.filter_map(|line| line.strip_prefix('\t')?.rsplit_once(' '));
            entries
                .map(|(name, version)| (name.to_owned(), version.to_owned()))
                .collect()
        };
        let (kubernetes, kubevirt) = (versions(&KUBERNETES), versions(&KUBEVIRT));
        let shared: Vec<_> = kubernetes
            .iter()
            .filter(|(name, _)| kubevirt.contains_key(*name))
            .collect();
        assert!(shared.len() > 50, "{shared:?}");
        for (name, version) in shared {
            assert_eq!(version, &kubevirt[name], "{name}");
        }
    }
}
