//! Advice on a root cause, as a command or a sentence.

use crate::app::context::Context;
use crate::cluster::{Advice, ApiClient, Cause, CauseChain};

/// Context of hints besides the root cause.
pub(super) struct AdviceContext<'a> {
    pub(super) provider: &'a ApiClient,
    pub(super) context: &'a Context,
    /// Display name of the shoot.
    pub(super) name: String,
    /// The holder of the lock.
    pub(super) writer: Option<String>,
    /// Why machines may not reach their API server, by the settings of the provider's pod network.
    pub(super) network_problem: Option<String>,
}

impl AdviceContext<'_> {
    /// Returns what to do about a root cause, if that is certain.
    pub(super) fn hint(&self, chain: &CauseChain) -> Option<String> {
        let cause: &Cause = chain.causes.last()?;
        let (name, object) = (self.name.as_str(), &*cause.name);
        let namespace = self.provider.namespace();
        let command = |words: &[&str]| self.context.hint_command(words);
        let kubectl = |words: &[&str]| command(&[&["exec", name, "--", "kubectl"], words].concat());
        let console = || {
            let read = command(&["nodes", "console", name, object]);
            format!("read the console: {read}; to log in: virtctl console {object} -n {namespace}")
        };
        let apply = || {
            let get = command(&["get", name, "-o", "yaml"]);
            format!("{get} | {}", command(&["apply", "-f", "-"]))
        };
        Some(match chain.advice.as_ref()? {
            Advice::Class => "list the storage classes: kubectl get storageclasses; the CloudProfile selects one for each volume type"
                .to_owned(),
            Advice::Quota => format!(
                "show the usage: kubectl describe resourcequotas -n {namespace}; raise the quota, or use fewer machines"
            ),
            Advice::Image => {
                "check that the URL of the image in the CloudProfile is reachable".to_owned()
            }
            Advice::Console => match &self.network_problem {
                Some(problem) => format!("{problem}; if that is not it, {}", console()),
                None => console(),
            },
            Advice::Clock { behind } => {
                format!("the clock of machine {object} is {behind} behind; check NTP and the RTC of its host")
            }
            Advice::Network => {
                let path = "check NetworkPolicies and the route to that address";
                match &self.network_problem {
                    Some(problem) => format!("the machine cannot reach its API server: {problem}"),
                    None => format!(
                        "the machine cannot reach its API server: {path}, or {}",
                        console()
                    ),
                }
            }
            Advice::Finalizer => format!(
                "the owner of the finalizer has to remove it from {} {object}",
                cause.kind
            ),
            Advice::Log { container } => {
                let log = match is_inside(chain) {
                    true => kubectl(&[
                        "logs",
                        "-n",
                        "kube-system",
                        object,
                        "-c",
                        container,
                        "--previous",
                    ]),
                    false => format!("kubectl logs -n {namespace} {object} -c {container} --previous"),
                };
                format!("read the log: {log}")
            }
            Advice::Approve => {
                let approve = kubectl(&["certificate", "approve", object]);
                format!("approve the request: {approve}")
            }
            Advice::Repair => format!("to detach it: {}", command(&["repair", name])),
            Advice::Restart => {
                let restart = command(&["nodes", "restart", name, object]);
                format!("a restart of the machine unplugs it: {restart}")
            }
            Advice::Apply => format!("to fix it: {}", apply()),
            Advice::Resume => match &self.writer {
                Some(writer) => format!("another run is in progress: {writer}"),
                None => format!(
                    "to resume: {}; to delete it: {}",
                    apply(),
                    command(&["delete", name])
                ),
            },
            Advice::Delete => match &self.writer {
                Some(writer) => format!("another run is in progress: {writer}"),
                None => format!("to resume: {}", command(&["delete", name])),
            },
        })
    }
}

/// Objects inside the shoot are named with their namespace.
fn is_inside(chain: &CauseChain) -> bool {
    let first = chain.causes.first();
    first.is_some_and(|link| link.name.contains('/'))
}
