//! `kvshoot conformance`: checks of what users of a cluster rely on, and Kubernetes' own conformance tests.

mod e2e;
mod junit;
mod quick;
mod report;

use super::context::Context;
use super::error::{CommandError, Exit, failed};
use super::inspect::recorded_hibernation::hibernation;
use super::inspect::shoot_summary::find;
use super::provider::connect::connect;
use super::provider::doctor;
use crate::cluster::conformance::node_versions::NodeVersions;
use crate::cluster::{ApiClient, RecordSnapshot};
use crate::ui::Format;
use report::{CompleteReport, ConformanceReport};

pub(crate) use e2e::{E2eOptions, e2e_conformance};
pub(crate) use quick::{IMAGE, QuickOptions, check_names, quick_conformance};
pub(crate) use report::ReportFormat;

/// The cluster that is checked, and its provider cluster.
struct CheckedCluster {
    /// Display name of the shoot.
    name: String,
    provider: ApiClient,
    record: RecordSnapshot,
    shoot: ApiClient,
    nodes: Vec<NodeVersions>,
}

impl CheckedCluster {
    /// Finds a cluster that is not hibernated.
    async fn find(name: &str, context: &Context) -> Result<CheckedCluster, CommandError> {
        let provider = connect(context).await?;
        let record = find(&provider, name, context).await?;
        if hibernation(&record)?.enabled {
            let wake = context.hint_command(&["wake", name]);
            let error = refused(name, "it is hibernated");
            return Err(error.hint(format!("to start it: {wake}")));
        }
        let shoot = provider.shoot_client(&record.name).await.map_err(failed)?;
        let nodes = shoot.node_versions().await.map_err(failed)?;
        Ok(CheckedCluster {
            name: name.to_owned(),
            provider,
            record,
            shoot,
            nodes,
        })
    }

    /// Refuses a cluster whose nodes run no containers.
    fn needs_containers(&self, hint: &str) -> Result<(), CommandError> {
        if self.nodes.is_empty() || !self.nodes.iter().all(NodeVersions::is_simulated) {
            return Ok(());
        }
        let error = refused(&self.name, "its nodes are simulated, and run no containers");
        Err(error.hint(hint))
    }

    /// Prints the report as JSON, with the versions of the cluster and of its provider cluster.
    async fn print_json(&self, report: ConformanceReport, context: &Context) {
        let doctor = doctor::results(&self.provider, Some(&self.record)).await;
        let doctor = doctor.unwrap_or_else(|error| {
            let text = format!(
                "the report has no checks of the provider cluster: {}",
                error.message
            );
            context.ui.warn(&text);
            Vec::new()
        });
        let nodes = &self.nodes;
        context.ui.value(
            Format::Json,
            &CompleteReport {
                report,
                nodes,
                doctor,
            },
        );
    }

    /// Prints the last line of the report as text, or all of it in another format. The exit code is 1 if a check failed.
    async fn print(
        &self,
        report: ConformanceReport,
        format: ReportFormat,
        context: &Context,
    ) -> Exit {
        let exit = match report.is_passed() {
            true => Exit::Done,
            false => Exit::No,
        };
        match format {
            ReportFormat::Text => context.ui.data(&report.summary()),
            ReportFormat::Junit => context.ui.data(&junit::render(&report)),
            ReportFormat::Json => self.print_json(report, context).await,
        }
        exit
    }
}

fn refused(name: &str, why: &str) -> CommandError {
    let message = format!("cannot check shoot {name}: {why}");
    CommandError::new(Exit::Precondition, message)
}
