//! Installs what virtual machines of a sandbox need: their disk, and the programs that connect and run them.
//!
//! The disk is a Debian system of Debian's packages, with containerd, kubelet and the images that kvshoot's own manifests
//! use. Its programs are built with Go, because no registry may be reachable.

use super::bin_dir;
use super::build;
use super::go_modules::{
    Build, Edit, KUBERNETES_STAMP, Module, PackageChange, Workspace, files, short,
};
use crate::sandbox::error::{SandboxError, io};
use crate::sandbox::private_files;
use crate::sandbox::process;
use crate::sandbox::progress::Step;
use crate::sandbox::requirements;
use crate::sandbox::state::{Dirs, GuestFiles, State};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Components of a cluster whose images the disk contains.
pub(crate) const GUEST_COMPONENTS: [&str; 10] = [
    "pause",
    "kube-proxy",
    "flannel",
    "flannel-cni-plugin",
    "coredns",
    "konnectivity-agent",
    "metrics-server",
    "kubevirt-csi-driver",
    "csi-node-driver-registrar",
    "livenessprobe",
];

/// Beginning of the names of folders with the files for virtual machines.
const FOLDER: &str = "guests-";
const CUSTOMIZE: &str = include_str!("../programs/disk/customize.sh");
const PACKAGES: &str = include_str!("../programs/disk/packages");
/// The release of Debian.
const SUITE: &str = "trixie";
/// Only the drivers of the machines' hardware, so that the initial RAM disk is small.
const INITIAL_RAM_DISK: &str = r#"
mkdir -p "$1/sandbox" "$1/etc/initramfs-tools/conf.d"
printf 'MODULES=list\nCOMPRESS=zstd\n' > "$1/etc/initramfs-tools/conf.d/sandbox"
printf 'virtio_pci\nvirtio_blk\next4\n' > "$1/etc/initramfs-tools/modules""#;
/// Files of the folder `disk`, in which the links to programs of this computer are, too.
const DISK_FILES: [&str; 3] = ["vmlinuz", "initrd.img", "root.qcow2"];

const GUESTS: Workspace = Workspace {
    title: "the programs of virtual machines",
    modules: &[Module {
        name: "guests",
        files: files!("guests":
            "go.mod", "go.sum", "programs.go", "coredns/main.go", "csinode/disk.go",
            "csinode/driver.go", "csinode/main.go", "csinode/sidecars.go", "flannelcni/main.go", "images/archive.go",
            "images/images.go", "images/layer.go", "images/libraries.go", "images/main.go", "network/control.go",
            "network/main.go", "network/network.go", "network/networks.go", "network/outside.go", "network/wire.go", "pause/main.go",
        ),
    }],
    builds: &[
        program("kvshoot.io/sandbox/guests/coredns", "coredns"),
        program("kvshoot.io/sandbox/guests/csinode", "csi-node"),
        program("kvshoot.io/sandbox/guests/flannelcni", "flannel-cni-plugin"),
        program("kvshoot.io/sandbox/guests/images", "guest-images"),
        program("kvshoot.io/sandbox/guests/network", "guest-network"),
        program("kvshoot.io/sandbox/guests/pause", "pause"),
        program("k8s.io/kubernetes/cmd/kubelet", "kubelet"),
        program("k8s.io/kubernetes/cmd/kube-proxy", "kube-proxy"),
        program("k8s.io/kubernetes/test/images/agnhost", "agnhost"),
        program(
            "sigs.k8s.io/apiserver-network-proxy/cmd/agent",
            "konnectivity-agent",
        ),
        program(
            "sigs.k8s.io/metrics-server/cmd/metrics-server",
            "metrics-server",
        ),
        program("github.com/flannel-io/flannel", "flannel"),
    ],
    cdi: false,
    // The module of one backend cannot be fetched, and the other needs a C compiler.
    changes: &[
        without_backend("\t_ \"github.com/flannel-io/flannel/pkg/backend/tencentvpc\"\n"),
        without_backend("\t_ \"github.com/flannel-io/flannel/pkg/backend/udp\"\n"),
    ],
    stamps: &[
        ("k8s.io/component-base/version", KUBERNETES_STAMP),
        ("k8s.io/client-go/pkg/version", KUBERNETES_STAMP),
        (
            "github.com/flannel-io/flannel/pkg/version",
            "Version=v0.28.9",
        ),
        (
            "sigs.k8s.io/metrics-server/pkg/version",
            "gitVersion=v0.9.0",
        ),
    ],
};

const fn program(package: &'static str, output: &'static str) -> Build {
    Build {
        package,
        output,
        programs: &[],
    }
}

const fn without_backend(import: &'static str) -> PackageChange {
    PackageChange {
        package: "github.com/flannel-io/flannel",
        edit: Edit::ReplaceText {
            file: "main.go",
            from: import,
            to: "",
        },
    }
}

fn are_complete(files: &GuestFiles) -> bool {
    let disk = files.disk();
    let programs = requirements::GUEST_PROGRAMS.iter().map(|it| it.0);
    let mut in_disk = DISK_FILES.into_iter().chain(programs);
    bin_dir::contains(&files.bin(), &GUESTS) && in_disk.all(|it| disk.join(it).is_file())
}

/// Installs the files for virtual machines. `images` has the name of the image of each of the [`GUEST_COMPONENTS`].
pub(crate) fn install_guests(
    dirs: &Dirs,
    images: &BTreeMap<&str, String>,
    progress: &mut dyn FnMut(Step),
) -> Result<GuestFiles, SandboxError> {
    let root = dirs.cache.join("sandbox");
    let names = serde_json::json!(images).to_string();
    let files = GuestFiles::at(root.join(format!("{FOLDER}{}", digest(&names))));
    private_files::make_dir(files.folder())?;
    if are_complete(&files) {
        return Ok(files);
    }
    let programs = requirements::guest_programs(&dirs.path)?;
    let _lock = super::lock(&root, progress)?;
    if are_complete(&files) {
        return Ok(files);
    }
    build::build(&root, &files.bin(), [&GUESTS], progress)?;
    private_files::make_dir(&files.disk())?;
    for (name, path) in programs {
        private_files::symlink(&path, &files.disk().join(name))?;
    }
    make_disk(&root, &files, &names, progress)?;
    remove_unused(&root, &dirs.state.join("sandboxes"), files.folder());
    Ok(files)
}

/// Deletes the files of other versions of kvshoot, which are large, if no sandbox uses them.
fn remove_unused(root: &Path, sandboxes: &Path, current: &Path) {
    // In doubt they stay.
    let Ok(used) = used(sandboxes) else {
        return;
    };
    for entry in std::fs::read_dir(root).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(FOLDER);
        let folder = entry.path();
        if is_ours && folder != current && !used.contains(&folder) && !process::runs_from(&folder) {
            // A folder that cannot be deleted does no harm.
            let _ = std::fs::remove_dir_all(&folder);
        }
    }
}

/// Folders that sandboxes were started with, or that disks of their machines were made from.
fn used(sandboxes: &Path) -> Result<HashSet<PathBuf>, SandboxError> {
    let mut used = HashSet::new();
    for sandbox in entries(sandboxes)? {
        let guests = State::load(&sandbox)?.and_then(|it| it.guests);
        used.extend(guests.map(|it| it.files.folder().to_owned()));
        for machine in entries(&sandbox.join("guests"))? {
            // A simulated machine has no link.
            let disk = std::fs::read_link(machine.join("installation")).ok();
            used.extend(disk.and_then(|it| Some(it.parent()?.to_owned())));
        }
    }
    Ok(used)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, SandboxError> {
    let failed = || io(format!("read {}", folder.display()));
    match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        found => found
            .map_err(failed())?
            .map(|it| Ok(it.map_err(failed())?.path()))
            .collect(),
    }
}

/// Returns a digest of all that the files are made of.
fn digest(names: &str) -> String {
    let mut hash = Sha256::new();
    GUESTS.update_digest(&mut hash);
    for part in [CUSTOMIZE, PACKAGES, SUITE, INITIAL_RAM_DISK, names] {
        hash.update(part.len().to_be_bytes());
        hash.update(part);
    }
    short(hash)
}

/// Makes the disk in a folder next to its place, and moves it there once it is complete.
fn make_disk(
    root: &Path,
    files: &GuestFiles,
    names: &str,
    progress: &mut dyn FnMut(Step),
) -> Result<(), SandboxError> {
    progress(Step::new(
        "Making the disk of virtual machines from packages of Debian",
    ));
    let work = tempfile::Builder::new()
        .prefix("build-")
        .tempdir_in(root)
        .map_err(io("create the build folder"))?;
    let given = work.path().join("names.json");
    private_files::write(&given, names)?;
    let outputs = work.path().join("disk");
    private_files::make_dir(&outputs)?;
    let output = debian(files, &given, &outputs)
        .stdin(Stdio::null())
        .output()
        .map_err(io("run mmdebstrap"))?;
    if !output.status.success() {
        return Err(SandboxError::Build {
            program: "the disk of virtual machines".to_owned(),
            output: cause(&String::from_utf8_lossy(&output.stderr)),
        });
    }
    for name in DISK_FILES {
        std::fs::rename(outputs.join(name), files.disk().join(name))
            .map_err(io(format!("move {name} into place")))?;
    }
    Ok(())
}

/// Returns what mmdebstrap printed before its own message about a failed hook, which repeats the whole hook.
fn cause(stderr: &str) -> String {
    let is_own = |line: &&str| line.starts_with("E: setup failed: E: command failed");
    let lines: Vec<&str> = stderr.lines().take_while(|it| !is_own(it)).collect();
    match lines.is_empty() {
        true => stderr.to_owned(),
        false => lines.join("\n"),
    }
}

/// The command that makes the disk. Without root it uses a user namespace, whose root cannot read private folders; so
/// mmdebstrap copies all files from the outside.
fn debian(files: &GuestFiles, names: &Path, outputs: &Path) -> Command {
    let bin = files.bin();
    let own = GUESTS.builds.iter().map(|it| bin.join(it.output));
    let copied: Vec<String> = own
        .chain([names.to_owned()])
        .map(|it| quoted(&it))
        .collect();
    let made: Vec<String> = DISK_FILES
        .iter()
        .map(|it| format!("/sandbox/{it}"))
        .collect();
    let packages: Vec<&str> = PACKAGES.split_whitespace().collect();
    let mut command = Command::new("mmdebstrap");
    command
        .args(["--variant=minbase", "--format=null", "--quiet"])
        .arg(r#"--aptopt=APT::Install-Recommends "false""#)
        .args(
            ["man", "locale", "doc"].map(|it| format!("--dpkgopt=path-exclude=/usr/share/{it}/*")),
        )
        .arg("--hook-dir=/usr/share/mmdebstrap/hooks/maybe-merged-usr")
        .arg(format!("--essential-hook={INITIAL_RAM_DISK}"))
        .arg(format!(
            "--customize-hook=copy-in {} /sandbox",
            copied.join(" ")
        ))
        .arg(format!("--customize-hook={CUSTOMIZE}"))
        .arg(format!(
            "--customize-hook=copy-out {} {}",
            made.join(" "),
            quoted(outputs)
        ))
        .arg(format!("--include={}", packages.join(",")))
        .args([SUITE, "/dev/null"]);
    command
}

/// Quotes a path for mmdebstrap, which splits arguments of its own hooks as a shell does.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::super::go_modules::testing::assert_all_files_are_embedded;
    use super::*;

    #[test]
    fn every_file_of_the_module_is_embedded() {
        GUESTS
            .modules
            .iter()
            .for_each(assert_all_files_are_embedded);
    }

    #[test]
    fn the_stamps_match_the_versions_in_go_mod() {
        let (_, text) = GUESTS.modules[0].files[0];
        let kubernetes = KUBERNETES_STAMP
            .split(['=', ' '])
            .nth(1)
            .expect("a version");
        for module in [
            format!("k8s.io/kubernetes {kubernetes}\n"),
            "github.com/flannel-io/flannel v0.28.9\n".to_owned(),
            "sigs.k8s.io/metrics-server v0.9.0\n".to_owned(),
        ] {
            assert!(text.contains(&module), "{module}");
        }
    }

    #[test]
    fn the_cause_of_a_failed_disk_comes_before_the_hook() {
        let hook = "E: setup failed: E: command failed: sh -c # Makes the disk\nset -eu\n";
        let stderr = format!("image of pause: it has no name\n{hook}");
        assert_eq!(cause(&stderr), "image of pause: it has no name");
        assert_eq!(cause(hook), hook);
    }

    #[test]
    fn only_files_that_no_sandbox_uses_are_deleted() {
        let home = tempfile::tempdir().expect("a folder");
        let (root, sandboxes) = (home.path().join("cache"), home.path().join("sandboxes"));
        let folder = |name: &str| root.join(name);
        for name in ["guests-old", "guests-disk", "guests-new", "0123"] {
            std::fs::create_dir_all(folder(name)).expect("a folder");
        }
        let machine = sandboxes.join("default/guests/machine");
        std::fs::create_dir_all(&machine).expect("a folder");
        let link = machine.join("installation");
        std::os::unix::fs::symlink(folder("guests-disk").join("disk"), link).expect("a link");
        let left = || {
            let names = entries(&root).expect("the folder").into_iter();
            let names = names.map(|it| it.file_name().expect("a name").to_owned());
            let mut names: Vec<_> = names.collect();
            names.sort();
            names
        };
        let broken = sandboxes.join("default/state.json");
        std::fs::write(&broken, "{").expect("a file");
        remove_unused(&root, &sandboxes, &folder("guests-new"));
        assert_eq!(left().len(), 4);
        std::fs::remove_file(&broken).expect("a file");
        remove_unused(&root, &sandboxes, &folder("guests-new"));
        assert_eq!(left(), ["0123", "guests-disk", "guests-new"]);
    }

    #[test]
    fn paths_are_quoted() {
        assert_eq!(quoted(Path::new("/a b/it's")), r"'/a b/it'\''s'");
    }
}
