//! Kubernetes' own tests: a given `e2e.test`, which is a test program of Ginkgo.

mod options;
mod output;
mod program;
mod progress;
mod results;
mod selection;

use super::CheckedCluster;
use super::report::{CheckReport, ConformanceReport, ReportFormat};
use crate::app::access::exec::ShootAccess;
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::signals::Signals;
use program::E2eProgram;
use selection::SpecList;
use std::time::Instant;

pub(crate) use options::E2eOptions;

/// Runs specs of Kubernetes' own tests. The exit code is 1 if one fails or does not run.
pub(crate) fn e2e_conformance(
    options: &E2eOptions,
    context: &Context,
) -> Result<Exit, CommandError> {
    context.block_on(async {
        let list = options.specs.as_deref().map(SpecList::read).transpose()?;
        let program = E2eProgram::new(options)?;
        let signals = Signals::listen(None)?;
        let begun = Instant::now();
        let prepared = async {
            let specs = selection::select(list, &program.list_specs().await?)?;
            let cluster = CheckedCluster::find(&options.name, context).await?;
            if options.specs.is_none() {
                let hint =
                    "to run tests that need no containers, name them in a file: --specs FILE";
                cluster.needs_containers(hint)?;
            }
            let (provider, id) = (cluster.provider.clone(), &cluster.record.name);
            let access = ShootAccess::renewed(provider, id, context).await?;
            Ok((specs, cluster, access))
        };
        let prepared = signals.or_interrupted("start the tests", prepared);
        let (specs, cluster, access) = prepared.await?;
        let run = program.run(&specs, &access, &signals, context);
        access.while_renewed(run).await?;
        let checks = results::read(&program.report(), &specs)?;
        if options.output == ReportFormat::Text {
            print_failures(&checks, context);
        }
        let report = ConformanceReport::new(&options.name, begun, "test", checks);
        let exit = cluster.print(report, options.output, context).await;
        let log = program.log();
        context.ui.status(&format!("the log is {}", log.display()));
        Ok(exit)
    })?
}

/// Prints why tests failed: their lines have passed by long ago.
fn print_failures(checks: &[CheckReport], context: &Context) {
    for check in checks.iter().filter(|it| it.is_failed()) {
        context.ui.data(&check.line(context.ui.style()));
    }
}
