//! `kvshoot scale`: sizes of pools, within the bounds of the manifest.

use super::recorded::{RecordedRun, last_applied_shoot};
use crate::app::apply::RecordExpectation;
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::inspect::shoot_summary::find;
use crate::app::provider::connect::connect;
use crate::app::run::session::RunOptions;
use crate::app::signals::Signals;
use crate::cluster::{ApiClient, Error, RecordSnapshot};
use crate::state::record::{SIZES, SizeRefusal, scaled};
use crate::validate::ValidShoot;
use serde_json::json;
use std::collections::BTreeMap;

const VERB: &str = "scale";
const FIND: &str = "find the shoot";
/// Writes of a record that other programs may change in between.
const ATTEMPTS: u32 = 5;

/// Options of `kvshoot scale`.
#[derive(Debug)]
pub(crate) struct ScaleOptions {
    /// Display name of the shoot.
    pub(crate) name: String,
    /// Sizes by name of the pool; at least one.
    pub(crate) sizes: BTreeMap<String, usize>,
    pub(crate) run: RunOptions,
}

/// Changes the sizes of pools, and waits until they have them.
pub(crate) fn scale(options: &ScaleOptions, context: &Context) -> Result<Exit, CommandError> {
    context.block_on(async {
        let signals = Signals::listen(Some(options.run.timeout))?;
        let decided = async {
            let provider = connect(context).await?;
            let shoot = decide(&provider, options, context).await?;
            Ok((provider, shoot))
        };
        let (provider, shoot) = signals.or_interrupted(FIND, decided).await?;
        let run = RecordedRun {
            verb: VERB,
            run: options.run,
            context,
            signals: &signals,
            provider: &provider,
            expects: RecordExpectation::Any,
        };
        let applied = run.apply(&shoot).await?;
        if applied.exit == Exit::Done {
            let name = &options.name;
            let verb = match applied.verb {
                "unchanged" => "unchanged",
                _ => "scaled",
            };
            let result = format!("shoot.core.gardener.cloud/{name} {verb}\n");
            context.ui.data(&result);
        }
        Ok(applied.exit)
    })?
}

/// Writes the sizes to the record, unless it has them, and returns the Shoot.
async fn decide(
    provider: &ApiClient,
    options: &ScaleOptions,
    context: &Context,
) -> Result<ValidShoot, CommandError> {
    let mut attempt = 0;
    loop {
        attempt += 1;
        let record = find(provider, &options.name, context).await?;
        let shoot = last_applied_shoot(provider, &record).await?;
        let before = sizes(&record);
        let after = scaled(&shoot.pools, &before, &options.sizes);
        let after = after.map_err(|it| refused(&it, &options.name))?;
        if after == before {
            return Ok(shoot);
        }
        let text = serde_json::to_string(&after).expect("names and numbers");
        match provider
            .change_record(&record, json!({ SIZES: text }))
            .await
        {
            Ok(()) => return Ok(shoot),
            Err(Error::Conflict { .. }) if attempt < ATTEMPTS => {}
            Err(error) => return Err(failed(error)),
        }
    }
}

/// The sizes in a record; none if they are not readable.
pub(crate) fn sizes(record: &RecordSnapshot) -> BTreeMap<String, usize> {
    let text = record.data.get(SIZES);
    let sizes = text.and_then(|text| serde_json::from_str(text).ok());
    sizes.unwrap_or_default()
}

fn refused(refusal: &SizeRefusal, name: &str) -> CommandError {
    let error = CommandError::new(
        Exit::Precondition,
        format!("cannot scale shoot {name}: {refusal}"),
    );
    match refusal {
        SizeRefusal::Unknown { .. } => error,
        SizeRefusal::Fixed { .. } => {
            error.hint("set minimum below maximum in the manifest, or change both, and apply it")
        }
        SizeRefusal::OutOfBounds { .. } => {
            error.hint("change minimum or maximum in the manifest, and apply it first")
        }
    }
}
