//! The log. Only kvshoot and kube write to it, since other libraries may log what they send.

use crate::app::error::{CommandError, Exit};
use crate::config::secure_file;
use crate::state::json::quiet_json;
use crate::state::printable::one_line;
use crate::ui::Ui;
use std::io::{self, Write};
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
            layer(format, move || CleanLine::new(ui.log_writer(), format))
                .with_filter(filter(verbose))
                .boxed(),
        );
    }
    if let Some(path) = file {
        let file = secure_file::append(path).map_err(|error| {
            let message = format!("cannot write log file {}", path.display());
            CommandError::new(Exit::Usage, message).cause(error.to_string())
        })?;
        let file = Arc::new(file);
        let detail = filter(verbose.max(2));
        layers.push(
            layer(format, move || CleanLine::new(Arc::clone(&file), format))
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

/// One line of the log, written at once when dropped. It has text of servers, which must not control the terminal of
/// its reader.
struct CleanLine<W: Write> {
    writer: W,
    format: LogFormat,
    line: Vec<u8>,
}

impl<W: Write> CleanLine<W> {
    fn new(writer: W, format: LogFormat) -> CleanLine<W> {
        CleanLine {
            writer,
            format,
            line: Vec::new(),
        }
    }
}

impl<W: Write> Write for CleanLine<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<W: Write> Drop for CleanLine<W> {
    fn drop(&mut self) {
        let line = String::from_utf8_lossy(&self.line);
        if line.is_empty() {
            return;
        }
        let line = match self.format {
            LogFormat::Text => one_line(&line),
            LogFormat::Json => quiet_json(line.trim_end()),
        };
        // There is no other place to report a failure.
        let _ = self.writer.write_all(format!("{line}\n").as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::{CleanLine, LogFormat};
    use std::io::Write as _;

    #[test]
    fn lines_of_the_log_are_printable() {
        let written = |format, line: &str| {
            let mut out = Vec::new();
            let mut writer = CleanLine::new(&mut out, format);
            writer.write_all(line.as_bytes()).unwrap();
            drop(writer);
            String::from_utf8(out).unwrap()
        };
        let hostile = "a\n::set-output\u{1b}[2J ##[group]\n";
        assert_eq!(
            written(LogFormat::Text, hostile),
            "a\\n::set-output\\x1b[2J #\\#[group]\n"
        );
        let json = written(LogFormat::Json, "{\"a\":\"\u{202e}##[group]\"}\n");
        assert_eq!(json, "{\"a\":\"\\u202e#\\u0023[group]\"}\n");
    }
}
