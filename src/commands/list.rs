use super::provider::{self, failed};
use super::shoots::Summary;
use super::{CommandError, Context, Exit};
use crate::cluster::NamespaceScope;
use crate::ui::{Format, Row};

/// List clusters
#[derive(Debug, clap::Args)]
#[command(visible_alias = "ls")]
pub(super) struct ListArgs {
    /// Those of all namespaces
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// How to print them
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

pub(super) fn run(args: &ListArgs, context: &Context) -> Result<Exit, CommandError> {
    let place = if args.all_namespaces {
        NamespaceScope::All
    } else {
        NamespaceScope::Current
    };
    let (provider, records) = context.block_on(async {
        let provider = provider::connect(context).await?;
        let records = provider.records(place).await.map_err(failed)?;
        Ok::<_, CommandError>((provider, records))
    })??;
    let now = provider.server_time();
    let shoots: Vec<Summary> = records.iter().map(|it| Summary::of(it, now)).collect();
    let none = match args.all_namespaces {
        true => "there are no shoots".to_owned(),
        false => format!("there are no shoots in namespace {}", provider.namespace()),
    };
    match args.all_namespaces && matches!(args.output, Format::Table | Format::Wide) {
        true => context.ui.list(
            args.output,
            &shoots.into_iter().map(Everywhere).collect::<Vec<_>>(),
            &none,
        ),
        false => context.ui.list(args.output, &shoots, &none),
    }
    Ok(Exit::Done)
}

/// With the namespace in front, as kubectl does it.
#[derive(Debug, serde::Serialize)]
struct Everywhere(Summary);

impl Row for Everywhere {
    fn headers() -> &'static [&'static str] {
        &[
            "NAMESPACE",
            "NAME",
            "CLOUDPROFILE",
            "REGION",
            "K8S-VERSION",
            "LAST-OPERATION",
            "AGE",
        ]
    }

    fn wide_headers() -> &'static [&'static str] {
        Summary::wide_headers()
    }

    fn cells(&self) -> Vec<String> {
        [self.0.namespace.clone()]
            .into_iter()
            .chain(self.0.cells())
            .collect()
    }

    fn wide_cells(&self) -> Vec<String> {
        self.0.wide_cells()
    }

    fn name(&self) -> String {
        self.0.name()
    }
}
