//! Arguments of `kvshoot conformance`.

use crate::app::conformance::{
    E2eOptions, IMAGE, QuickOptions, ReportFormat, check_names, e2e_conformance, quick_conformance,
};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::in_cluster::parse_image;
use crate::ui::parse_duration;
use clap::ArgGroup;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::path::PathBuf;
use std::time::Duration;

/// Check what users of a cluster rely on
///
/// With --quick, creates a namespace in the cluster, runs pods in it that use each other, Services, volumes and the API,
/// and deletes it again. With --e2e-test, runs Kubernetes' own conformance tests, which take hours. Exits with code 1 if a
/// check or test fails; the report then says why.
#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("checks").args(["quick", "e2e_test"]).required(true)))]
pub(in crate::commands) struct ConformanceArgs {
    /// Name of the shoot
    name: String,
    /// Run the checks of kvshoot, which take a few minutes
    #[arg(long)]
    quick: bool,
    /// Run this test program of Kubernetes, of the version of the cluster
    #[arg(long, value_name = "PROGRAM", requires = "report_dir")]
    e2e_test: Option<PathBuf>,
    /// Run only these checks (comma-separated)
    #[arg(
        long,
        value_name = "CHECK",
        value_delimiter = ',',
        value_parser = checks(),
        conflicts_with = "e2e_test"
    )]
    only: Vec<String>,
    /// Leave out these checks, which have the names that --only has
    #[arg(
        long,
        value_name = "CHECK",
        value_delimiter = ',',
        value_parser = checks(),
        hide_possible_values = true,
        conflicts_with = "e2e_test"
    )]
    skip: Vec<String>,
    /// Image of the pods: agnhost, or a copy of it that nodes can pull
    #[arg(
        long,
        value_name = "IMAGE",
        default_value = IMAGE,
        value_parser = parse_image,
        conflicts_with = "e2e_test"
    )]
    image: String,
    /// Run only the tests that this file names, one on each line
    #[arg(long, value_name = "FILE", conflicts_with = "quick")]
    specs: Option<PathBuf>,
    /// Folder for the log and the reports of the test program
    #[arg(long, value_name = "FOLDER", conflicts_with = "quick")]
    report_dir: Option<PathBuf>,
    /// Time limit: for starting the pods and again for the checks (default 3m, at most 20m), or for all tests (default 6h)
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    timeout: Option<Duration>,
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

pub(in crate::commands) fn run(
    args: &ConformanceArgs,
    context: &Context,
) -> Result<Exit, CommandError> {
    if args.timeout.is_some_and(|it| it.is_zero()) {
        return Err(CommandError::new(
            Exit::Usage,
            "--timeout must be longer than 0s",
        ));
    }
    let (Some(program), Some(report_dir)) = (&args.e2e_test, &args.report_dir) else {
        return quick_conformance(&quick_options(args), context);
    };
    let options = E2eOptions {
        name: args.name.clone(),
        program: program.clone(),
        specs: args.specs.clone(),
        report_dir: report_dir.clone(),
        timeout: args.timeout,
        output: args.output,
    };
    e2e_conformance(&options, context)
}

fn quick_options(args: &ConformanceArgs) -> QuickOptions {
    QuickOptions {
        name: args.name.clone(),
        image: args.image.clone(),
        timeout: args.timeout,
        only: args.only.clone(),
        skip: args.skip.clone(),
        output: args.output,
    }
}
