use super::load::{self, LoadArgs};
use super::provider::{self, failed};
use super::shoots::find;
use super::{CommandError, Context, Exit, complete};
use crate::cluster::{
    self, ApiClient, CheckResult, CheckStatus, RecordSnapshot, ShootRequirements,
};
use crate::plan::record;
use crate::ui::{Format, Row, Style};
use crate::validate::control_plane::Exposure;
use crate::validate::{Network, ValidShoot};
use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;
use std::path::PathBuf;

/// Look whether the provider cluster has what kvshoot needs; exits with 1 when something is missing
#[derive(Debug, clap::Args)]
pub(super) struct DoctorArgs {
    /// Name of a shoot whose needs are looked at
    #[arg(conflicts_with = "filename", add = ArgValueCompleter::new(complete::shoots))]
    name: Option<String>,
    /// Manifests whose needs are looked at
    #[arg(short = 'f', long, value_name = "FILE", value_hint = clap::ValueHint::AnyPath)]
    filename: Vec<PathBuf>,
    /// CloudProfile that the cluster chooses from, when it is not among the manifests
    #[arg(long, value_name = "FILE", requires = "filename", value_hint = clap::ValueHint::FilePath)]
    profile: Option<PathBuf>,
    /// Print the roles that kvshoot needs in the provider cluster, and look at nothing
    #[arg(long, conflicts_with_all = ["name", "filename"])]
    rbac: bool,
    /// How to print it
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

pub(super) fn run(args: &DoctorArgs, context: &Context) -> Result<Exit, CommandError> {
    if args.rbac {
        let namespace = context.global.namespace.as_deref();
        context.ui.data(&cluster::rbac(namespace));
        context.ui.hint(
            "kubectl create rolebinding kvshoot --role=kvshoot --user=NAME gives the rights to somebody",
        );
        return Ok(Exit::Done);
    }
    let found = context.block_on(look(args, context))??;
    let rows: Vec<Line> = found.into_iter().map(Line).collect();
    match args.output {
        Format::Table | Format::Wide => context.ui.data(&text(&rows, context.ui.style())),
        format => context.ui.list(format, &rows, ""),
    }
    let is_well = rows.iter().all(|it| it.0.status != CheckStatus::Failed);
    Ok(if is_well { Exit::Done } else { Exit::No })
}

async fn look(args: &DoctorArgs, context: &Context) -> Result<Vec<CheckResult>, CommandError> {
    let (provider, shoots) = if !args.filename.is_empty() {
        let texts = load::texts(&LoadArgs {
            filename: args.filename.clone(),
            profile: args.profile.clone(),
        })?;
        let ready = provider::ready(&texts, context).await?;
        (ready.provider, ready.loaded.shoots)
    } else {
        let provider = provider::connect(context).await?;
        let shoots = match &args.name {
            Some(name) => recorded(&provider, name).await?,
            None => Vec::new(),
        };
        (provider, shoots)
    };
    provider.run_checks(&uses(&shoots)).await.map_err(failed)
}

/// As a person reads it.
pub(super) async fn told(
    provider: &ApiClient,
    record: Option<&RecordSnapshot>,
) -> Result<String, CommandError> {
    let shoots = record.map(of_record).unwrap_or_default();
    let found = provider.run_checks(&uses(&shoots)).await.map_err(failed)?;
    let lines: Vec<Line> = found.into_iter().map(Line).collect();
    Ok(text(&lines, Style { on: false }))
}

async fn recorded(provider: &ApiClient, name: &str) -> Result<Vec<ValidShoot>, CommandError> {
    Ok(of_record(&find(provider, name).await?))
}

/// As it was applied last.
pub(super) fn of_record(record: &RecordSnapshot) -> Vec<ValidShoot> {
    let texts = [record::SHOOT, record::PROFILE]
        .into_iter()
        .filter_map(|key| {
            let text = record.data.get(key)?;
            Some((key.to_owned(), text.clone().into_bytes()))
        });
    load::judge_texts(&texts.collect(), load::Around::default()).shoots
}

fn uses(shoots: &[ValidShoot]) -> ShootRequirements {
    let mut uses = ShootRequirements::default();
    for shoot in shoots {
        uses.networks |= !shoot.networks.is_empty();
        let exposure = &shoot.control_plane.exposure;
        uses.load_balancer |= matches!(exposure, Exposure::LoadBalancer { .. });
        uses.classes
            .insert(shoot.control_plane.etcd_class.clone().unwrap_or_default());
        let takes_its_place = |it: &Network| matches!(it, Network::Tenant { default: true, .. });
        uses.pod_network |= !shoot.networks.iter().any(takes_its_place);
        for pool in &shoot.pools {
            let worker = &pool.worker;
            uses.instancetypes |= worker.instancetype.is_some() || worker.preference.is_some();
            let cpu = worker.cpu.as_ref();
            uses.dedicated_cpus |= cpu.is_some_and(|it| it.dedicated_cpu_placement == Some(true));
            let disks = worker.devices.iter().flat_map(|it| &it.disks);
            let mut luns = disks.filter_map(|it| it.lun.as_ref());
            uses.reservations |= luns.any(|it| it.reservation == Some(true));
            let data = pool.data.iter().map(|it| &it.volume);
            let volumes = std::iter::once(&pool.root).chain(data);
            uses.classes.extend(volumes.map(|it| it.class.clone()));
        }
    }
    uses
}

struct Line(CheckResult);

/// For programs.
#[derive(Serialize)]
struct Told<'a> {
    check: &'a str,
    status: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

impl Serialize for Line {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let it = &self.0;
        let told = Told {
            check: it.subject,
            status: word(it.status),
            message: &it.message,
            hint: it.hint.as_deref(),
        };
        told.serialize(serializer)
    }
}

impl Row for Line {
    fn headers() -> &'static [&'static str] {
        &["STATUS", "CHECK", "MESSAGE"]
    }

    fn cells(&self) -> Vec<String> {
        let it = &self.0;
        vec![
            word(it.status).to_owned(),
            it.subject.to_owned(),
            it.message.clone(),
        ]
    }

    fn name(&self) -> String {
        format!("check/{}", self.0.subject.replace(' ', "-"))
    }
}

fn word(grade: CheckStatus) -> &'static str {
    match grade {
        CheckStatus::Passed => "ok",
        CheckStatus::Warning => "warning",
        CheckStatus::Failed => "failure",
    }
}

fn text(lines: &[Line], style: Style) -> String {
    let mut text = String::new();
    for Line(it) in lines {
        let word = format!("{:<8}", word(it.status));
        let word = match it.status {
            CheckStatus::Passed => style.green(word),
            CheckStatus::Warning => style.yellow(word),
            CheckStatus::Failed => style.red(word),
        };
        text += &format!("{word} {:<20} {}\n", it.subject, it.message);
        if let Some(hint) = &it.hint {
            text += &format!("{:30}{} {hint}\n", "", style.cyan("hint:"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_tells_how_it_is_and_what_to_do() {
        let line = |grade, hint: Option<&str>| {
            Line(CheckResult {
                subject: "CDI",
                status: grade,
                message: "not installed".to_owned(),
                hint: hint.map(str::to_owned),
            })
        };
        let lines = [
            line(CheckStatus::Failed, Some("install it")),
            line(CheckStatus::Passed, None),
        ];
        let told = text(&lines, Style { on: false });
        let expected = "failure  CDI                  not installed\n                              hint: install it\nok       CDI                  not installed\n";
        assert_eq!(told, expected);
    }
}
