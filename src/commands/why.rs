use super::load::{self, Around};
use super::provider::{self, failed};
use super::running::counted;
use super::shoots::find;
use super::{CommandError, Context, Exit, complete};
use crate::cluster::{Chain, Link, Observer, Provider, RecordSeen};
use crate::plan;
use crate::state::observed::Observed;
use crate::state::{names, record};
use crate::ui::Format;
use crate::validate::ValidShoot;
use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;
use std::fmt;
use std::time::Duration;
use tokio::time::Instant;

mod advice;
mod leaving;
mod unmade;

pub(super) use leaving::holding;

/// Say what keeps a cluster from being as it should be, down to the deepest cause; exits with 1 when something does
///
/// Each line begins with what is not as it should be and ends with the object that is the cause, in that one's own
/// words. It needs neither manifest nor run.
#[derive(Debug, clap::Args)]
pub(super) struct WhyArgs {
    /// Name of the shoot; PROJECT/NAME outside the project `local`
    #[arg(add = ArgValueCompleter::new(complete::shoots))]
    name: String,
    /// How to print it
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

/// How long to wait for what is inside the shoot.
const PATIENCE: Duration = Duration::from_secs(10);

/// One thing that is not as it should be.
#[derive(Debug, Clone)]
pub(super) struct Finding {
    chain: Chain,
    /// What to do about it, where that is sure.
    pub(super) hint: Option<String>,
}

/// For programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Told<'a> {
    /// The deepest one last.
    chain: Vec<Step<'a>>,
    message: &'a str,
    /// What a program that crashed said last.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    log: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

#[derive(Serialize)]
struct Step<'a> {
    kind: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    state: &'a str,
}

impl Step<'_> {
    fn of(link: &Link) -> Step<'_> {
        Step {
            kind: &link.kind,
            name: &link.name,
            state: &link.state,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    shoot: &'a str,
    namespace: &'a str,
    technical_id: &'a str,
    healthy: bool,
    findings: &'a [Finding],
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.chain.fmt(f)
    }
}

impl Serialize for Finding {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let told = Told {
            chain: self.chain.links.iter().map(Step::of).collect(),
            message: &self.chain.message,
            log: &self.chain.log,
            hint: self.hint.as_deref(),
        };
        told.serialize(serializer)
    }
}

pub(super) fn run(args: &WhyArgs, context: &Context) -> Result<Exit, CommandError> {
    let (provider, record, findings) = context.block_on(async {
        let provider = provider::connect(context).await?;
        let record = record_of(&provider, &args.name).await?;
        let findings = findings(&provider, &record).await?;
        Ok::<_, CommandError>((provider, record, findings))
    })??;
    let name = names::display_name(&record.name);
    match args.output {
        Format::Json | Format::Yaml => {
            let answer = Answer {
                shoot: &name,
                namespace: provider.namespace(),
                technical_id: &record.name,
                healthy: findings.is_empty(),
                findings: &findings,
            };
            context.ui.value(args.output, &answer);
        }
        Format::Name => {
            let objects = findings.iter().filter_map(|it| it.chain.links.last());
            let line = |it: &Link| format!("{}/{}\n", it.kind.to_lowercase(), it.name);
            context.ui.data(&objects.map(line).collect::<String>());
        }
        Format::Table | Format::Wide => tell(context, &name, &findings),
    }
    Ok(match findings.is_empty() {
        true => Exit::Done,
        false => Exit::No,
    })
}

/// A line for each, and each hint once.
fn tell(context: &Context, name: &str, findings: &[Finding]) {
    if findings.is_empty() {
        let text = format!("nothing is wrong with shoot {name}\n");
        return context.ui.data(&text);
    }
    let mut hints: Vec<&str> = Vec::new();
    for finding in findings {
        context.ui.line(&finding.to_string());
        for said in &finding.chain.log {
            context.ui.data(&format!("  | {said}\n"));
        }
        let hint = finding.hint.as_deref();
        hints.extend(hint.filter(|it| !hints.contains(it)));
    }
    hints.iter().for_each(|it| context.ui.hint(it));
}

/// What is left of a shoot without a record is no shoot, and has a way to go.
async fn record_of(provider: &Provider, name: &str) -> Result<RecordSeen, CommandError> {
    let error = match find(provider, name).await {
        Err(error) if error.exit == Exit::NotFound => error,
        other => return other,
    };
    let left = provider.leftovers(&names::id_of(name)).await;
    let left = left.map_err(failed)?.objects;
    let left = left.iter().filter(|it| it.kind != "Lease").count();
    Err(match left {
        0 => error,
        count => {
            let left = counted(count, "object");
            CommandError::new(Exit::NotFound, error.message)
                .cause(format!("its record is gone, and it left {left}"))
                .hint("kvshoot gc --orphans deletes what is left")
        }
    })
}

/// Everything of a shoot that is not as it should be, with or without a run under way. Changes nothing.
pub(super) async fn findings(
    provider: &Provider,
    record: &RecordSeen,
) -> Result<Vec<Finding>, CommandError> {
    if record.leaving {
        return holding(provider, &record.name).await;
    }
    let shoot = recorded(record);
    let beside = shoot.as_ref().map(|it| super::apply::beside(it, provider));
    let beside = beside.unwrap_or_default();
    let observer = Observer::start(provider, &record.name, Instant::now(), beside);
    let observer = observer.await.map_err(failed)?;
    let facts = observer.whole(PATIENCE).await;
    let mut chains = observer.troubles(&facts).await.map_err(failed)?;
    if let Some(shoot) = &shoot {
        let observed = Observed {
            facts: facts.clone(),
            ahead: true,
            ..Observed::default()
        };
        let plan = plan::plan(shoot, &observed);
        let (name, is_explained) = (names::display_name(&record.name), !chains.is_empty());
        let errors = unmade::errors(record);
        let unmade = unmade::chains(&facts, &plan, &errors, &name, is_explained);
        chains.extend(unmade);
    }
    let advice = advice::Around {
        provider,
        name: names::display_name(&record.name),
        writer: provider.writer(&record.name).await.ok().flatten(),
    };
    let finding = |chain: Chain| Finding {
        hint: advice.hint(&chain),
        chain,
    };
    Ok(chains.into_iter().map(finding).collect())
}

/// As it was applied last; None when another program has changed it beyond reading.
pub(super) fn recorded(record: &RecordSeen) -> Option<ValidShoot> {
    let texts = [record::SHOOT, record::PROFILE]
        .map(|key| Some((key.to_owned(), record.data.get(key)?.clone().into_bytes())));
    let texts = texts.into_iter().collect::<Option<Vec<_>>>()?;
    let before = provider::before(&record.data);
    let around = Around {
        before: &|_| before.clone(),
        ..Around::default()
    };
    load::judge_texts(&texts, around).shoots.into_iter().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_reads_each_step_down_to_the_cause() {
        let pod = Link::new("Pod", "etcd-0", "CrashLoopBackOff");
        let chain = Chain::of(pod, "exit code 1").under(Link::new("StatefulSet", "etcd", ""));
        let finding = Finding {
            chain,
            hint: Some("read the log".to_owned()),
        };
        let expected = serde_json::json!({
            "chain": [
                { "kind": "StatefulSet", "name": "etcd" },
                { "kind": "Pod", "name": "etcd-0", "state": "CrashLoopBackOff" },
            ],
            "message": "exit code 1",
            "hint": "read the log",
        });
        assert_eq!(serde_json::to_value(&finding).unwrap(), expected);
        assert_eq!(
            finding.to_string(),
            "StatefulSet etcd: Pod etcd-0 CrashLoopBackOff: exit code 1"
        );
    }
}
