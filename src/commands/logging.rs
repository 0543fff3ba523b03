//! The log. Only kvshoot and kube write to it, since other libraries may log what they send.

use crate::app::error::{CommandError, Exit};
use crate::ui::Ui;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry::{LookupSpan, Registry};
use tracing_subscriber::util::SubscriberInitExt;

/// Log format
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    #[default]
    Text,
    Json,
}

type Boxed = Box<dyn Layer<Registry> + Send + Sync>;

/// Starts the log. Without `-v` and a file there is no subscriber, so that tracing costs nothing.
pub(super) fn start(
    ui: &Ui,
    verbose: u8,
    format: LogFormat,
    file: Option<&Path>,
) -> Result<(), CommandError> {
    let mut layers: Vec<Boxed> = Vec::new();
    if verbose > 0 {
        let ui = ui.clone();
        layers.push(
            layer(format, move || ui.log_writer())
                .with_filter(filter(verbose))
                .boxed(),
        );
    }
    if let Some(path) = file {
        let file = Arc::new(
            File::options()
                .create(true)
                .append(true)
                .open(path)
                .map_err(|error| {
                    CommandError::new(
                        Exit::Usage,
                        format!("cannot write log file {}", path.display()),
                    )
                    .cause(error.to_string())
                })?,
        );
        let detail = filter(verbose.max(2));
        layers.push(
            layer(format, move || Arc::clone(&file))
                .with_filter(detail)
                .boxed(),
        );
    }
    if !layers.is_empty() {
        // Only tests start it twice in one process.
        let _ = tracing_subscriber::registry().with(layers).try_init();
    }
    Ok(())
}

fn layer<S, W>(
    format: LogFormat,
    writer: impl Fn() -> W + Send + Sync + 'static,
) -> Box<dyn Layer<S> + Send + Sync>
where
    S: tracing::Subscriber + for<'a> LookupSpan<'a>,
    W: Write + 'static,
{
    let layer = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_writer(writer);
    match format {
        // The spans name what a line is about, and lines stay short.
        LogFormat::Text => layer.with_target(false).boxed(),
        LogFormat::Json => layer.json().boxed(),
    }
}

fn filter(verbose: u8) -> Targets {
    let (own, kube) = match verbose {
        0 | 1 => (LevelFilter::INFO, LevelFilter::OFF),
        2 => (LevelFilter::DEBUG, LevelFilter::INFO),
        _ => (LevelFilter::TRACE, LevelFilter::DEBUG),
    };
    Targets::new()
        .with_target("kvshoot", own)
        .with_target("kube", kube)
}
