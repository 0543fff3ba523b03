//! Arguments of `kvshoot conformance`.

use crate::app::conformance::{self, ConformanceOptions, IMAGE, ReportFormat, check_names};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::in_cluster::parse_image;
use crate::ui::parse_duration;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::time::Duration;

/// The longest time limit: a namespace that is older than an hour is deleted as abandoned.
const LONGEST: Duration = Duration::from_secs(20 * 60);

/// Check what users of a cluster rely on
///
/// Creates a namespace in the cluster, runs pods in it that use each other, Services, volumes and the API, and deletes it
/// again. Exits with code 1 if a check fails; the report then says what that means.
///
/// Kubernetes' own conformance tests take hours; to run them: kvshoot exec NAME -- hydrophone --conformance
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct ConformanceArgs {
    /// Name of the shoot
    name: String,
    /// Run the checks of kvshoot, which take about a minute
    #[arg(long, required = true)]
    quick: bool,
    /// Run only these checks (comma-separated)
    #[arg(long, value_name = "CHECK", value_delimiter = ',', value_parser = checks())]
    only: Vec<String>,
    /// Leave out these checks, which have the names that --only has
    #[arg(
        long,
        value_name = "CHECK",
        value_delimiter = ',',
        value_parser = checks(),
        hide_possible_values = true
    )]
    skip: Vec<String>,
    /// Image of the pods: agnhost, or a copy of it that nodes can pull
    #[arg(long, value_name = "IMAGE", default_value = IMAGE, value_parser = parse_image)]
    image: String,
    /// Time limit for starting the pods, and again for the checks; at most 20m
    #[arg(long, value_name = "TIME", default_value = "3m", value_parser = parse_limit)]
    timeout: Duration,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "text", value_parser = formats())]
    output: ReportFormat,
}

fn checks() -> impl TypedValueParser<Value = String> {
    PossibleValuesParser::new(check_names())
}

fn formats() -> impl TypedValueParser<Value = ReportFormat> {
    let names = ["text", "json", "junit"].map(PossibleValue::new);
    PossibleValuesParser::new(names).map(|name| match &*name {
        "json" => ReportFormat::Json,
        "junit" => ReportFormat::Junit,
        _ => ReportFormat::Text,
    })
}

fn parse_limit(text: &str) -> Result<Duration, String> {
    let limit = parse_duration(text)?;
    match limit <= LONGEST && !limit.is_zero() {
        true => Ok(limit),
        false => Err("must be more than 0 and at most 20m".to_owned()),
    }
}

pub(in crate::commands) fn run(
    args: &ConformanceArgs,
    context: &Context,
) -> Result<Exit, CommandError> {
    let options = ConformanceOptions {
        name: args.name.clone(),
        image: args.image.clone(),
        timeout: args.timeout,
        only: args.only.clone(),
        skip: args.skip.clone(),
        output: args.output,
    };
    conformance::conformance(&options, context)
}
