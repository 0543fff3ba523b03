//! What to do about a cause, as a command or a sentence, where that is sure.

use crate::cluster::{Advice, ApiClient, Cause, CauseChain};

pub(super) struct Around<'a> {
    pub(super) provider: &'a ApiClient,
    /// The shoot's, as a person calls it.
    pub(super) name: String,
    /// Who is at work at it just now.
    pub(super) writer: Option<String>,
}

impl Around<'_> {
    pub(super) fn hint(&self, chain: &CauseChain) -> Option<String> {
        let deepest: &Cause = chain.causes.last()?;
        let (name, namespace) = (&self.name, self.provider.namespace());
        let apply = format!("kvshoot get {name} -o yaml | kvshoot apply -f -");
        Some(match chain.advice.as_ref()? {
            Advice::Class => {
                "kubectl get storageclasses shows what there is; the CloudProfile says which one a volume is of"
                    .to_owned()
            }
            Advice::Quota => {
                format!("kubectl describe resourcequotas -n {namespace} shows what is used; raise it, or make less")
            }
            Advice::Image => "the CloudProfile says where the image is; see whether it is there".to_owned(),
            Advice::Console => {
                let machine = &deepest.name;
                format!("virtctl console {machine} -n {namespace} shows what the machine does")
            }
            Advice::Finalizer => format!(
                "whoever put the finalizer onto {} {} has to take it off",
                deepest.kind, deepest.name
            ),
            Advice::Log { container } => {
                let (pod, is_inside) = (&deepest.name, is_inside(chain));
                match is_inside {
                    true => format!(
                        "kvshoot exec {name} -- kubectl logs -n kube-system {pod} -c {container} --previous"
                    ),
                    false => format!("kubectl logs -n {namespace} {pod} -c {container} --previous"),
                }
            }
            Advice::Approve => {
                let request = &deepest.name;
                format!("kvshoot exec {name} -- kubectl certificate approve {request}")
            }
            Advice::Apply => format!("{apply} mends it"),
            Advice::Resume => match &self.writer {
                Some(writer) => format!("{writer} is at work at it"),
                None => format!("to go on: {apply}; to be rid of it: kvshoot delete {name}"),
            },
            Advice::Delete => match &self.writer {
                Some(writer) => format!("{writer} is at work at it"),
                None => format!("to go on: kvshoot delete {name}"),
            },
        })
    }
}

/// What is inside a shoot is called by its namespace as well.
fn is_inside(chain: &CauseChain) -> bool {
    chain.causes.first().is_some_and(|it| it.name.contains('/'))
}
