//! `kvshoot etcd defrag`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::inspect::shoot_summary::find;
use crate::app::provider::connect::connect;
use crate::app::run::result::RunResult;
use crate::app::run::session::{RunInfo, RunOptions, Session};
use crate::app::signals::Signals;
use crate::cluster::ProviderContext;
use crate::plan::{self, DefragmentationScope};
use crate::state::facts::Facts;
use crate::state::observed::Observed;
use crate::state::plan::Plan;
use crate::ui::{format_duration, format_size};
use std::collections::BTreeMap;

/// Options of `kvshoot etcd defrag`.
#[derive(Debug)]
pub(crate) struct DefragmentOptions {
    /// Display name of the shoot.
    pub(crate) name: String,
    pub(crate) scope: DefragmentationScope,
    pub(crate) run: RunOptions,
}

/// Defragments the members of the etcd of a shoot.
pub(crate) fn defragment(
    options: &DefragmentOptions,
    context: &Context,
) -> Result<Exit, CommandError> {
    context.block_on(async {
        let signals = Signals::listen(Some(options.run.timeout))?;
        let found = async {
            let provider = connect(context).await?;
            let record = find(&provider, &options.name, context).await?;
            Ok((provider, record))
        };
        let (provider, record) = signals.or_interrupted("find the shoot", found).await?;
        let info = RunInfo {
            verb: "defragment",
            shoot: &options.name,
            id: &record.name,
            beside: ProviderContext::default(),
            resume: Some(context.config.command_line()),
            group: None,
        };
        let session = Session::start(context, &signals, &provider, options.run, info).await?;
        let before = sizes(&session.facts());
        let planned =
            |observed: &Observed| plan::defragmentation(&record.name, options.scope, observed);
        let admit = |_: &Plan| Ok(());
        let report = session.run(planned, admit, |_, _| Vec::new()).await?;
        let summary = match report.performed {
            0 => format!("Nothing to free in etcd of shoot {}", options.name),
            _ => format!(
                "Defragmented etcd of shoot {} in {} ({})",
                options.name,
                format_duration(session.elapsed()),
                changes(&before, &sizes(&session.facts()))
            ),
        };
        let result = RunResult::of(&report, &signals, session.resume(), summary);
        Ok(session.finish(result).await)
    })?
}

/// Sizes of the databases in bytes, by the ordinals of the members.
fn sizes(facts: &Facts) -> BTreeMap<u32, u64> {
    let pods = facts.etcd.iter().flat_map(|it| &it.pods);
    pods.filter_map(|(ordinal, pod)| Some((*ordinal, pod.status.as_ref()?.size)))
        .collect()
}

/// `member 0: 120 MiB, was 300 MiB`.
fn changes(before: &BTreeMap<u32, u64>, after: &BTreeMap<u32, u64>) -> String {
    let changes = after.iter().filter_map(|(ordinal, size)| {
        let before = before.get(ordinal)?;
        let (size, before) = (format_size(*size), format_size(*before));
        Some(format!("member {ordinal}: {size}, was {before}"))
    });
    changes.collect::<Vec<_>>().join("; ")
}
