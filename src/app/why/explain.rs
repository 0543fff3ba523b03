//! `kvshoot why`.

use super::root_cause::RootCause;
use super::root_causes::root_causes;
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::inspect::recorded_hibernation::hibernation;
use crate::app::inspect::shoot_summary::find;
use crate::app::provider::connect::connect;
use crate::cluster::{ApiClient, Cause, RecordSnapshot};
use crate::state::names;
use crate::state::printable::one_line;
use crate::ui::{Format, count};
use serde::Serialize;

/// All root causes as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FindingsJson<'a> {
    shoot: &'a str,
    namespace: &'a str,
    technical_id: &'a str,
    healthy: bool,
    findings: &'a [RootCause],
}

/// Prints why a shoot is not healthy. The exit code is 1 unless it is healthy.
pub(crate) fn why(name: &str, output: Format, context: &Context) -> Result<Exit, CommandError> {
    let (provider, record, findings) = context.block_on(async {
        let provider = connect(context).await?;
        let record = find_record(&provider, name, context).await?;
        let findings = match hibernation(&record)?.enabled {
            true => Vec::new(),
            false => root_causes(&provider, &record, context).await?,
        };
        Ok::<_, CommandError>((provider, record, findings))
    })??;
    let name = names::display_name(&record.name);
    let is_hibernating = hibernation(&record)?.enabled;
    match output {
        Format::Json | Format::Yaml => {
            let json = FindingsJson {
                shoot: &name,
                namespace: provider.namespace(),
                technical_id: &record.name,
                healthy: findings.is_empty() && !is_hibernating,
                findings: &findings,
            };
            context.ui.value(output, &json);
        }
        Format::Name => {
            let objects = findings.iter().filter_map(|it| it.chain.causes.last());
            let line = |it: &Cause| {
                let name = format!("{}/{}", it.kind.to_lowercase(), it.name);
                one_line(&name) + "\n"
            };
            context.ui.data(&objects.map(line).collect::<String>());
        }
        Format::Table | Format::Wide if is_hibernating => {
            context.ui.data(&format!("Shoot {name} is hibernated.\n"));
            let wake = context.hint_command(&["wake", &name]);
            context.ui.hint(&format!("to start it: {wake}"));
        }
        Format::Table | Format::Wide => print(context, &name, &findings),
    }
    Ok(match findings.is_empty() {
        true => Exit::Done,
        false => Exit::No,
    })
}

/// Prints a line per root cause, and each hint once.
fn print(context: &Context, name: &str, findings: &[RootCause]) {
    if findings.is_empty() {
        return context.ui.data(&format!("Shoot {name} is healthy.\n"));
    }
    let mut hints: Vec<&str> = Vec::new();
    for finding in findings {
        context.ui.line(&finding.to_string());
        let log = finding.chain.log_lines();
        log.for_each(|line| context.ui.data(&format!("{line}\n")));
        let hint = finding.hint.as_deref();
        hints.extend(hint.filter(|hint| !hints.contains(hint)));
    }
    hints.iter().for_each(|hint| context.ui.hint(hint));
}

/// Finds the record; the error names orphaned objects of a shoot without a record.
async fn find_record(
    provider: &ApiClient,
    name: &str,
    context: &Context,
) -> Result<RecordSnapshot, CommandError> {
    let error = match find(provider, name, context).await {
        Err(error) if error.exit == Exit::NotFound => error,
        other => return other,
    };
    let orphans = provider.remaining_objects(&names::id_of(name)).await;
    let orphans = orphans.map_err(failed)?.objects;
    let number = orphans.iter().filter(|it| it.kind != "Lease").count();
    Err(match number {
        0 => error,
        number => {
            let gc = context.hint_command(&["gc", "--orphans"]);
            CommandError::new(Exit::NotFound, error.message)
                .cause(format!(
                    "its record was deleted, but {} remain",
                    count(number, "object")
                ))
                .hint(format!("to delete them: {gc}"))
        }
    })
}
