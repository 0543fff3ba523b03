//! Starts the provider cluster, with new or existing data.

use super::clock_file::ClockFile;
use super::command_lines::CommandLines;
use super::error::{SandboxError, io};
use super::install::Installation;
use super::kubectl::Kubectl;
use super::process::{self, Process, Program};
use super::progress::Step;
use super::state::{Row, State};
use super::{identity, manifests, private_files};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Number of concurrent kubectl processes; more would only wait for the API server.
const SIDE_BY_SIDE: usize = 6;
/// A wait that takes longer is reported.
const PATIENCE: Duration = Duration::from_secs(1);

pub(super) fn start(
    folder: &Path,
    context: &str,
    own: Option<&Path>,
    row: Row,
    state: &mut State,
    installation: &Installation,
    progress: &mut dyn FnMut(Step),
) -> Result<(), SandboxError> {
    let first = state.made_with.is_none();
    if first {
        identity::certificates(folder, row)?;
    }
    identity::kubeconfigs(folder, context, state.ports)?;
    ClockFile::of(folder).prepare(first)?;
    private_files::remove_dir(&folder.join("logs"))?;
    private_files::make_dir(&folder.join("logs"))?;
    private_files::make_dir(&folder.join("etcd"))?;
    state.save(folder)?;
    let mut boot = Boot {
        folder,
        own,
        first,
        renewed: state.made_with.as_ref() != Some(&installation.digest),
        ca: private_files::read(&folder.join("pki/ca.crt"))?,
        kubectl: Kubectl::new(&installation.bin, folder),
        children: Vec::new(),
        row,
        state,
        installation,
    };
    boot.control_plane(progress)?;
    boot.definitions(progress)?;
    boot.kubevirt(progress)?;
    if boot.state.cdi {
        boot.cdi(progress)?;
    }
    boot.hooks(progress)?;
    boot.state.made_with = Some(installation.digest.clone());
    boot.state.save(folder)
}

/// Prints one word per definition. `kubectl wait` would check them one after the other.
const ESTABLISHED: &str =
    r#"-o=jsonpath={range .items[*]}={.status.conditions[?(@.type=="Established")].status} {end}"#;

fn all_true(answer: String) -> Result<String, SandboxError> {
    if answer.split_whitespace().all(|word| word == "=True") {
        return Ok(answer);
    }
    Err(io("use all resource definitions")(
        std::io::ErrorKind::WouldBlock.into(),
    ))
}

struct Boot<'a> {
    folder: &'a Path,
    own: Option<&'a Path>,
    /// The data is new.
    first: bool,
    /// The data is new or was created with other programs.
    renewed: bool,
    ca: String,
    kubectl: Kubectl,
    children: Vec<(Process, Child)>,
    row: Row,
    state: &'a mut State,
    installation: &'a Installation,
}

impl Boot<'_> {
    fn command_lines(&self) -> CommandLines<'_> {
        CommandLines {
            folder: self.folder,
            own: self.own,
            ports: self.state.ports,
            row: self.row,
            guests: self.state.guests.as_ref(),
        }
    }

    fn control_plane(&mut self, progress: &mut dyn FnMut(Step)) -> Result<(), SandboxError> {
        progress(Step::new("Starting etcd and the API server"));
        self.run(&self.command_lines().etcd())?;
        self.run(&self.command_lines().api_server())?;
        let port = self.state.ports.api();
        self.until("the API server", progress, |boot| {
            reach(port)?;
            boot.kubectl.run(&["get", "--raw", "/readyz"])
        })?;
        self.run(&self.command_lines().controller_manager())?;
        self.run(&self.command_lines().scheduler())
    }

    fn definitions(&mut self, progress: &mut dyn FnMut(Step)) -> Result<(), SandboxError> {
        if self.renewed {
            progress(Step::new(
                "Installing the resource definitions of KubeVirt and CDI",
            ));
            let mut others = manifests::snapshots()?;
            others.push(manifests::networks());
            let mut jobs = self.files("crd-")?;
            // Largest first, because they take longest.
            jobs.sort_by_key(|file| {
                std::cmp::Reverse(file.metadata().map(|data| data.len()).unwrap_or_default())
            });
            self.write_all(jobs)?;
            self.kubectl.apply(&others)?;
        }
        if let Some(guests) = &self.state.guests {
            let bin = guests.files.bin();
            self.run_from(&bin, &self.command_lines().guest_network())?;
        }
        self.run(&self.command_lines().simulator(self.state.cdi))?;
        // It takes seconds to start.
        self.run(&self.command_lines().virt_api())?;
        if !self.renewed {
            return Ok(());
        }
        self.until("the resource definitions", progress, |boot| {
            boot.kubectl
                .run(&["get", "crd", ESTABLISHED])
                .and_then(all_true)
        })
    }

    fn kubevirt(&mut self, progress: &mut dyn FnMut(Step)) -> Result<(), SandboxError> {
        progress(Step::new("Starting KubeVirt"));
        let mut basics = manifests::basics(self.state.ports, &self.ca);
        if self.first {
            basics.push(manifests::kubevirt());
        }
        self.kubectl.apply(&basics)?;
        if self.first {
            let status = manifests::kubevirt_status().to_string();
            let patch = ["patch", "kubevirt", "kubevirt", "--namespace=kubevirt"];
            let how = ["--subresource=status", "--type=merge", "--patch", &status];
            self.kubectl.run(&[patch, how].concat())?;
        }
        if !self.first {
            // The lease of the last start was not released, and lasts long.
            let lease = ["delete", "lease", "virt-controller", "--namespace=kubevirt"];
            self.kubectl
                .run(&[lease.as_slice(), &["--ignore-not-found"]].concat())?;
        }
        self.run(&self.command_lines().virt_controller())?;
        if self.renewed {
            let mut jobs = self.files("rbac")?;
            // Before the webhooks exist that would validate them.
            if self.first {
                jobs.extend(self.files("instancetypes")?);
                jobs.extend(self.files("preferences")?);
            }
            self.write_all(jobs)?;
        }
        Ok(())
    }

    fn cdi(&mut self, progress: &mut dyn FnMut(Step)) -> Result<(), SandboxError> {
        progress(Step::new("Starting CDI"));
        let folder = self.folder.join("cdi");
        private_files::make_dir(&folder)?;
        for (from, to) in [("server.crt", "tls.crt"), ("server.key", "tls.key")] {
            let text = private_files::read(&self.folder.join("pki").join(from))?;
            private_files::write(&folder.join(to), &text)?;
        }
        if self.first {
            let status = Command::new(self.installation.bin.join("cdi-keys"))
                .arg(&folder)
                .status()
                .map_err(io("run cdi-keys"))?;
            if !status.success() {
                return Err(io("create CDI's keys")(std::io::Error::other(
                    status.to_string(),
                )));
            }
            let [key, public] =
                ["id_rsa", "id_rsa.pub"].map(|file| private_files::read(&folder.join(file)));
            self.kubectl
                .apply(&manifests::cdi(&self.ca, &key?, &public?))?;
            self.write_all(self.files("cdi-rbac")?)?;
        }
        self.run(&self.command_lines().cdi_controller())?;
        self.run(&self.command_lines().cdi_api())
    }

    /// Redirects webhooks and aggregated APIs to the processes, and waits until they work.
    fn hooks(&mut self, progress: &mut dyn FnMut(Step)) -> Result<(), SandboxError> {
        progress(Step::new("Registering KubeVirt's APIs"));
        let ports = self.state.ports;
        let mut hooks = Vec::new();
        let mut all = vec![
            ("webhooks.yaml", ports.virt_api()),
            ("apiservices.yaml", ports.virt_api()),
        ];
        if self.state.cdi {
            all.push(("cdi-webhooks.yaml", ports.cdi_api()));
            all.push(("cdi-apiservices.yaml", ports.cdi_api()));
        }
        for (file, port) in all {
            let path = self.installation.manifests.join(file);
            hooks.extend(manifests::redirected(&path, port, &self.ca)?);
        }
        // It would refuse the client certificate, so only check that it listens.
        self.until("virt-api", progress, |_| reach(ports.virt_api()))?;
        self.kubectl.apply(&hooks)?;
        self.until("KubeVirt's subresources", progress, |boot| {
            let path = "/apis/subresources.kubevirt.io/v1";
            boot.kubectl.run(&["get", "--raw", path])
        })?;
        self.until("virt-controller", progress, |boot| {
            let lease = [
                "get",
                "lease",
                "virt-controller",
                "--namespace=kubevirt",
                "-o=name",
            ];
            boot.kubectl.run(&lease)
        })?;
        self.until("the controller manager", progress, |boot| {
            boot.kubectl
                .run(&["get", "serviceaccount", "default", "--namespace=default"])
        })?;
        if self.state.cdi {
            for name in ["standard", "local"] {
                self.storage_profile(name, progress)?;
            }
        }
        Ok(())
    }

    /// Configures how CDI clones volumes of the sandbox's provisioner, which CDI does not know.
    fn storage_profile(
        &mut self,
        name: &str,
        progress: &mut dyn FnMut(Step),
    ) -> Result<(), SandboxError> {
        let patch = r#"{"spec":{"cloneStrategy":"csi-clone","claimPropertySets":[{"accessModes":["ReadWriteMany"],"volumeMode":"Block"}]}}"#;
        self.until("CDI's storage profiles", progress, |boot| {
            boot.kubectl.run(&[
                "patch",
                "storageprofile",
                name,
                "--type=merge",
                "--patch",
                patch,
            ])
        })
    }

    fn run(&mut self, program: &Program) -> Result<(), SandboxError> {
        self.run_from(&self.installation.bin.clone(), program)
    }

    fn run_from(&mut self, bin: &Path, program: &Program) -> Result<(), SandboxError> {
        let (process, child) = Process::start(program, bin, self.folder)?;
        self.state.processes.push(process.clone());
        self.children.push((process, child));
        // At once, so that the process is known even if this command is killed.
        self.state.save(self.folder)
    }

    /// Repeats a check until it succeeds. Fails early if a process has exited.
    fn until(
        &mut self,
        what: &str,
        progress: &mut dyn FnMut(Step),
        ask: impl Fn(&Self) -> Result<String, SandboxError>,
    ) -> Result<(), SandboxError> {
        let seconds = 120;
        let end = Instant::now() + Duration::from_secs(seconds);
        let mut report_at = Some(Instant::now() + PATIENCE);
        loop {
            process::watch(&mut self.children, self.folder)?;
            match ask(self) {
                Ok(_) => return Ok(()),
                Err(error) if Instant::now() >= end => {
                    let last = match error {
                        SandboxError::Kubectl { stderr, .. } => stderr,
                        other => other.to_string(),
                    };
                    let what = what.to_owned();
                    return Err(SandboxError::Slow {
                        what,
                        seconds,
                        last,
                    });
                }
                Err(_) => {
                    if report_at.take_if(|it| Instant::now() >= *it).is_some() {
                        progress(Step::new(format!("Waiting for {what}")));
                    }
                    std::thread::sleep(Duration::from_millis(100));
                }
            }
        }
    }

    fn files(&self, prefix: &str) -> Result<Vec<PathBuf>, SandboxError> {
        let folder = &self.installation.manifests;
        let failed = || io(format!("read {}", folder.display()));
        let mut files = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(failed())? {
            let path = entry.map_err(failed())?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with(prefix) {
                files.push(path);
            }
        }
        Ok(files)
    }

    /// Creates or applies manifest files, several at a time.
    fn write_all(&self, files: Vec<PathBuf>) -> Result<(), SandboxError> {
        // Creating is faster, but fails for existing objects.
        let how: &[&str] = if self.first {
            &["create", "--validate=false", "-f"]
        } else {
            &[
                "apply",
                "--server-side",
                "--force-conflicts",
                "--validate=false",
                "-f",
            ]
        };
        let queue = Mutex::new(files);
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..SIDE_BY_SIDE)
                .map(|_| {
                    scope.spawn(|| {
                        while let Some(file) = next(&queue) {
                            self.kubectl
                                .run(&[how, &[&file.to_string_lossy()]].concat())?;
                        }
                        Ok(())
                    })
                })
                .collect();
            workers.into_iter().try_for_each(|worker| {
                worker
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
        })
    }
}

/// Checks that a port of this computer accepts connections.
fn reach(port: u16) -> Result<String, SandboxError> {
    TcpStream::connect(("127.0.0.1", port))
        .map(|_| String::new())
        .map_err(io(format!("reach port {port}")))
}

/// Takes the first file of the queue.
fn next(queue: &Mutex<Vec<PathBuf>>) -> Option<PathBuf> {
    let mut queue = queue.lock().ok()?;
    (!queue.is_empty()).then(|| queue.remove(0))
}
