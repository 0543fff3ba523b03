//! One sandbox for all tests: real API server, webhooks and controllers; a namespace for each test.

pub(crate) mod certificates;
mod clock;
pub(crate) mod drain;

use super::kvshoot::Kvshoot;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

/// The sandbox of this test process. It is reset after the process has exited for any reason.
struct Sandbox {
    name: String,
    kubeconfig: PathBuf,
    runtime: Runtime,
    client: kube::Client,
    moves_clock: bool,
}

static SANDBOX: OnceLock<Sandbox> = OnceLock::new();
/// A second sandbox, for faults that would affect every test.
static FAULTY: OnceLock<Sandbox> = OnceLock::new();
/// A third sandbox, for virtual machines.
static VIRTUAL: OnceLock<Sandbox> = OnceLock::new();

/// A namespace of the provider cluster for one test.
pub(crate) struct Provider {
    pub(crate) namespace: String,
    sandbox: &'static Sandbox,
}

/// API group, version and kind.
#[derive(Clone, Copy)]
pub(crate) struct Resource(
    pub(crate) &'static str,
    pub(crate) &'static str,
    pub(crate) &'static str,
);

pub(crate) const VM: Resource = Resource("kubevirt.io", "v1", "VirtualMachine");
pub(crate) const VMI: Resource = Resource("kubevirt.io", "v1", "VirtualMachineInstance");
pub(crate) const DATA_VOLUME: Resource = Resource("cdi.kubevirt.io", "v1beta1", "DataVolume");
pub(crate) const NETWORK: Resource =
    Resource("k8s.cni.cncf.io", "v1", "NetworkAttachmentDefinition");
pub(crate) const INSTANCETYPE: Resource = Resource(
    "instancetype.kubevirt.io",
    "v1beta1",
    "VirtualMachineInstancetype",
);
pub(crate) const PREFERENCE: Resource = Resource(
    "instancetype.kubevirt.io",
    "v1beta1",
    "VirtualMachinePreference",
);
pub(crate) const SECRET: Resource = Resource("", "v1", "Secret");
pub(crate) const CONFIG_MAP: Resource = Resource("", "v1", "ConfigMap");
pub(crate) const LEASE: Resource = Resource("coordination.k8s.io", "v1", "Lease");
pub(crate) const QUOTA: Resource = Resource("", "v1", "ResourceQuota");
pub(crate) const POD: Resource = Resource("", "v1", "Pod");
pub(crate) const CLAIM: Resource = Resource("", "v1", "PersistentVolumeClaim");
pub(crate) const SERVICE: Resource = Resource("", "v1", "Service");
pub(crate) const DEPLOYMENT: Resource = Resource("apps", "v1", "Deployment");
pub(crate) const STATEFUL_SET: Resource = Resource("apps", "v1", "StatefulSet");
pub(crate) const NETWORK_POLICY: Resource = Resource("networking.k8s.io", "v1", "NetworkPolicy");
pub(crate) const NAMESPACE: Resource = Resource("", "v1", "Namespace");

impl Provider {
    /// Creates a namespace in the sandbox, which the first test starts.
    pub(crate) fn new() -> Provider {
        Provider::of(SANDBOX.get_or_init(|| Sandbox::start("", &[])))
    }

    /// Creates a namespace in a separate sandbox, for the one test that injects faults into all of it.
    pub(crate) fn with_own_sandbox() -> Provider {
        Provider::of(FAULTY.get_or_init(|| Sandbox::start("-faults", &[])))
    }

    /// Creates a namespace in a separate sandbox, whose first machine is a virtual machine.
    pub(crate) fn with_virtual_machines() -> Provider {
        Provider::of(VIRTUAL.get_or_init(|| Sandbox::start("-virtual", &["--guests=1"])))
    }

    fn of(sandbox: &'static Sandbox) -> Provider {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let provider = Provider {
            namespace: format!("it-{number}"),
            sandbox,
        };
        let object = serde_json::json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": provider.namespace },
        });
        provider.create(NAMESPACE, object);
        provider
    }

    /// Returns the program, configured for this namespace.
    pub(crate) fn kvshoot(&self) -> Kvshoot {
        let kvshoot = Kvshoot::new()
            .env("KUBECONFIG", &self.kubeconfig())
            .env("KVSHOOT_NAMESPACE", &self.namespace);
        match self.moves_clock() {
            // Where it finds the clock.
            true => self.with_programs(kvshoot),
            false => kvshoot,
        }
    }

    /// Shares the state and the cache of the user, where the sandbox and its programs are.
    pub(crate) fn with_programs(&self, kvshoot: Kvshoot) -> Kvshoot {
        let folder = self.folder();
        // Below the state directory are kvshoot/sandboxes/NAME.
        let state = folder.ancestors().nth(3).unwrap();
        kvshoot
            .env("XDG_STATE_HOME", &state.display().to_string())
            .env("XDG_CACHE_HOME", &cache().display().to_string())
    }

    pub(crate) fn kubeconfig(&self) -> String {
        self.sandbox.kubeconfig.display().to_string()
    }

    /// Directory of the pod logs of the sandbox.
    pub(crate) fn pod_logs(&self) -> PathBuf {
        self.folder().join("logs/pods")
    }

    /// The log of a container of the pod whose name begins like this; empty before it is written.
    pub(crate) fn pod_log(&self, begin: &str, container: &str) -> String {
        let names = self.names(POD);
        let pod = names.into_iter().find(|it| it.starts_with(begin)).unwrap();
        let log = format!("{}_{pod}_{container}.log", self.namespace);
        fs::read_to_string(self.pod_logs().join(log)).unwrap_or_default()
    }

    /// Runs `kvshoot sandbox fail` in the sandbox of this provider. Faults of machines are limited by the beginnings of
    /// their names, in all namespaces: no other test may have a shoot of that name.
    pub(crate) fn fail(&self, fault: &str) {
        let words = ["sandbox", "fail"]
            .into_iter()
            .chain(fault.split_whitespace());
        let more = ["--name", &self.sandbox.name, "--namespace", &self.namespace];
        let args: Vec<&str> = words.chain(more).collect();
        assert!(program(&args).status().unwrap().success(), "{args:?}");
    }

    /// Returns the output of `kvshoot sandbox status`.
    pub(crate) fn status(&self) -> String {
        let output = program(&["sandbox", "status", "--name", &self.sandbox.name]).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    }

    /// Prints the programs of the sandbox that have exited: a test that waits for one of them only times out.
    #[expect(clippy::print_stderr, reason = "part of the failure message of a test")]
    fn print_ended_processes(&self) {
        let status = self.status();
        for line in status.lines().filter(|it| it.contains(" exited ")) {
            eprintln!("sandbox {}: {line}", self.sandbox.name);
        }
    }

    /// Directory of the sandbox's files.
    pub(crate) fn folder(&self) -> PathBuf {
        let status = self.status();
        let line = status.lines().find_map(|it| it.strip_prefix("data "));
        PathBuf::from(line.unwrap().trim())
    }

    /// Lists the objects of a kind in the namespace, sorted by name.
    pub(crate) fn list(&self, resource: Resource) -> Vec<DynamicObject> {
        let api = self.api(resource);
        let all = ListParams::default();
        let mut objects = self.block_on(api.list(&all)).unwrap().items;
        objects.sort_by_key(|it| it.metadata.name.clone());
        objects
    }

    pub(crate) fn names(&self, resource: Resource) -> Vec<String> {
        let objects = self.list(resource).into_iter();
        objects.map(|it| it.metadata.name.unwrap()).collect()
    }

    /// Names of the Secrets that contain user data, without those of keys and certificates.
    pub(crate) fn user_data(&self) -> Vec<String> {
        let is_of_machine = |it: &DynamicObject| {
            let mut labels = it.metadata.labels.iter().flatten();
            labels.any(|it| it.0 == "app.kubernetes.io/component" && it.1 == "user-data")
        };
        let mut secrets = self.list(SECRET);
        secrets.retain(is_of_machine);
        let names = secrets.into_iter().map(|it| it.metadata.name.unwrap());
        names.collect()
    }

    pub(crate) fn get(&self, resource: Resource, name: &str) -> Option<DynamicObject> {
        self.block_on(self.api(resource).get_opt(name)).unwrap()
    }

    pub(crate) fn create(&self, resource: Resource, object: serde_json::Value) -> DynamicObject {
        let object = serde_json::from_value(object).unwrap();
        let api = self.api(resource);
        self.block_on(api.create(&PostParams::default(), &object))
            .unwrap()
    }

    pub(crate) fn delete(&self, resource: Resource, name: &str) {
        let api = self.api(resource);
        let _ = self
            .block_on(api.delete(name, &DeleteParams::background()))
            .unwrap();
    }

    /// Ends pods at once and without notice, as the loss of their host does.
    pub(crate) fn kill_pods(&self, names: &[&str]) {
        let api = self.api(POD);
        let at_once = DeleteParams::default().grace_period(0);
        self.block_on(async {
            for name in names {
                let _ = api.delete(name, &at_once).await.unwrap();
            }
        });
    }

    /// Applies a merge patch, like `kubectl patch --type merge`.
    pub(crate) fn patch(&self, resource: Resource, name: &str, patch: &serde_json::Value) {
        let (api, patch) = (self.api(resource), Patch::Merge(patch));
        self.block_on(api.patch(name, &PatchParams::default(), &patch))
            .unwrap();
    }

    pub(crate) fn api(&self, Resource(group, version, kind): Resource) -> Api<DynamicObject> {
        let gvk = GroupVersionKind::gvk(group, version, kind);
        let resource = match kind {
            "NetworkAttachmentDefinition" => {
                ApiResource::from_gvk_with_plural(&gvk, "network-attachment-definitions")
            }
            _ => ApiResource::from_gvk(&gvk),
        };
        let client = self.sandbox.client.clone();
        match kind {
            "Namespace" | "Node" | "StorageClass" | "ClusterRole" | "ClusterRoleBinding" => {
                Api::all_with(client, &resource)
            }
            _ => Api::namespaced_with(client, &self.namespace, &resource),
        }
    }

    pub(crate) fn client(&self) -> kube::Client {
        self.sandbox.client.clone()
    }

    /// Runs a future in the background until the tests end.
    pub(crate) fn spawn(
        &self,
        future: impl Future<Output = ()> + Send + 'static,
    ) -> JoinHandle<()> {
        self.sandbox.runtime.spawn(future)
    }

    pub(crate) fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.sandbox.runtime.block_on(future)
    }
}

/// Path of a program of the sandbox, such as `kubectl`.
pub(crate) fn installed_program(name: &str) -> PathBuf {
    let install = program(&["sandbox", "install"]).output().unwrap();
    let installed = String::from_utf8(install.stderr).unwrap();
    let folder = installed.trim().rsplit(' ').next().unwrap();
    PathBuf::from(folder).join("bin").join(name)
}

/// Deletes the namespace, so that the processes of its control planes do not outlive the test.
impl Drop for Provider {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.print_ended_processes();
        }
        if self.moves_clock() {
            // No other test uses it, and its memory is needed.
            let _ = program(&["sandbox", "reset", "--name", &self.sandbox.name]).status();
            return;
        }
        let namespaces = self.api(NAMESPACE);
        let pods = self.api(POD);
        let at_once = DeleteParams::default().grace_period(0);
        self.block_on(async {
            let _ = namespaces
                .delete(&self.namespace, &DeleteParams::background())
                .await;
            // Controllers create no new pods now, and these need no graceful shutdown.
            let _ = pods
                .delete_collection(&at_once, &ListParams::default())
                .await;
        });
    }
}

impl Sandbox {
    fn start(suffix: &str, more: &[&str]) -> Sandbox {
        let name = format!("it-{}{suffix}", std::process::id());
        reset_after_exit(&name);
        // The programs are built once, in the cache of the user.
        let up = [&["sandbox", "up", "--name", &name], more].concat();
        let up = program(&up).status();
        assert!(up.unwrap().success(), "cannot start the sandbox");
        let output = program(&["sandbox", "kubeconfig", "--name", &name]).output();
        let kubeconfig = std::env::temp_dir().join(format!("kvshoot-{name}.kubeconfig"));
        std::fs::write(&kubeconfig, output.unwrap().stdout).unwrap();
        let runtime = Runtime::new().unwrap();
        let client = runtime.block_on(async {
            let config = kube::config::Kubeconfig::read_from(&kubeconfig).unwrap();
            let options = Default::default();
            let config = kube::Config::from_custom_kubeconfig(config, &options).await;
            kube::Client::try_from(config.unwrap()).unwrap()
        });
        Sandbox {
            name,
            kubeconfig,
            runtime,
            client,
            moves_clock: false,
        }
    }
}

/// The cache of the user, where the programs of the sandbox are.
pub(crate) fn cache() -> PathBuf {
    match std::env::var_os("XDG_CACHE_HOME") {
        Some(folder) => folder.into(),
        None => PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache"),
    }
}

/// Flags of the build of the sandbox's programs, so that Go compiles no package twice.
pub(crate) fn go_flags() -> Vec<String> {
    let flags = ["-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false"];
    let overlay = cache().join("kvshoot/sandbox/clock/overlay.json");
    // It is missing if the programs were downloaded.
    let clock = overlay
        .exists()
        .then(|| format!("-overlay={}", overlay.display()));
    flags.map(str::to_owned).into_iter().chain(clock).collect()
}

/// Memory that has to be available for the data of sandboxes to be in memory.
const MIN_MEMORY_KIB: u64 = 12 << 20;

/// The state directory of sandboxes of tests, if it is not that of the user: in memory, where the many control planes
/// do not wait for the disk. `.ci/run` knows it, too.
fn state_in_memory() -> Option<&'static Path> {
    static STATE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let choose = || {
        let memory = std::fs::read_to_string("/proc/meminfo").ok()?;
        let available = memory.lines().find(|it| it.starts_with("MemAvailable:"))?;
        let available: u64 = available.split_whitespace().nth(1)?.parse().ok()?;
        // Containers often have little of it.
        let mut df = Command::new("df");
        let df = df
            .args(["-k", "--output=avail", "/dev/shm"])
            .output()
            .ok()?;
        let df = String::from_utf8(df.stdout).ok()?;
        let free: u64 = df.lines().nth(1)?.trim().parse().ok()?;
        if available.min(free) < MIN_MEMORY_KIB {
            return None;
        }
        let user = std::fs::metadata("/proc/self").ok()?.uid();
        let folder = PathBuf::from(format!("/dev/shm/kvshoot-tests-{user}"));
        std::fs::create_dir_all(&folder).ok()?;
        let is_own = std::fs::metadata(&folder).ok()?.uid() == user;
        is_own.then_some(folder)
    };
    STATE.get_or_init(choose).as_deref()
}

/// Returns the program with the environment of the test process.
pub(crate) fn program(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kvshoot"));
    command.args(args).stdin(Stdio::null());
    command.envs(state_in_memory().map(|it| ("XDG_STATE_HOME", it)));
    command
}

/// Resets the sandbox after this process has exited, from a separate process.
fn reset_after_exit(name: &str) {
    let own = std::process::id();
    let kvshoot = env!("CARGO_BIN_EXE_kvshoot");
    let kubeconfig = std::env::temp_dir().join(format!("kvshoot-{name}.kubeconfig"));
    let script = format!(
        "while kill -0 {own} 2>/dev/null; do sleep 1; done; '{kvshoot}' sandbox reset --name {name}; rm -f '{}'",
        kubeconfig.display()
    );
    let watchdog = Command::new("sh")
        .args(["-c", &script])
        .envs(state_in_memory().map(|it| ("XDG_STATE_HOME", it)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    // It outlives this process, so it is never waited for.
    std::mem::forget(watchdog);
}
