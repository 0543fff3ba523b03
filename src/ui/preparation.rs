//! Progress of long preparations, such as building the sandbox: a live line on a terminal, otherwise periodic lines.

use super::format::relative_time::{clock, elapsed};
use super::format::width::Elision;
use super::printer::Ui;
use super::progress::FrameTerminal;
use super::settings::ProgressMode;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::time::Duration;

/// A count is printed again after this many percent, or this long without output.
const PERCENT: usize = 10;
const SILENCE: Duration = Duration::from_secs(15);
/// Steps that take at least this long leave a line on the terminal.
const LONG: Duration = Duration::from_secs(5);
/// The time left is estimated after this much time and this many percent.
const ESTIMATED: (Duration, usize) = (Duration::from_secs(10), 4);

/// How much of a step is done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepProgress {
    pub(crate) done: usize,
    pub(crate) total: usize,
    /// Name of the counted things, in the plural.
    pub(crate) unit: &'static str,
}

/// Prints the steps of a preparation.
#[derive(Debug)]
pub(crate) struct Preparation {
    ui: Ui,
    /// Set on an interactive terminal.
    bar: Option<ProgressBar>,
    silent: bool,
    title: String,
    started: Duration,
    /// Last printed count, in percent, and when it was printed.
    printed: (usize, Duration),
}

impl Ui {
    /// Starts printing the steps of a preparation.
    pub(crate) fn preparation(&self) -> Preparation {
        Preparation::new(self)
    }
}

impl Preparation {
    fn new(ui: &Ui) -> Preparation {
        let mode = ui.progress_mode();
        let bar = (mode == ProgressMode::Tty && ui.json.is_none()).then(|| live(ui));
        ui.err.set_live(bar.clone());
        Preparation {
            ui: ui.clone(),
            bar,
            silent: mode == ProgressMode::None,
            title: String::new(),
            started: Duration::ZERO,
            printed: (0, Duration::ZERO),
        }
    }

    /// Reports the current step, `at` after the start.
    pub(crate) fn step(&mut self, at: Duration, title: &str, progress: Option<StepProgress>) {
        let is_new = self.title != title;
        if is_new {
            self.print_finished_step(at);
            title.clone_into(&mut self.title);
            (self.started, self.printed) = (at, (0, at));
        }
        if let Some(bar) = &self.bar {
            let progress = progress.map(|it| format!(": {it}{}", self.time_left(at, it)));
            let text = format!("{title}{}", progress.unwrap_or_default());
            let elision = Elision::new(self.ui.err.unicode);
            bar.set_message(elision.cut(&text, self.ui.err_width().saturating_sub(11)));
        } else if !self.silent && (is_new || self.is_due(at, progress)) {
            self.line(at, progress);
        }
    }

    /// Prints a line that stays on the terminal.
    pub(crate) fn note(&self, text: &str) {
        if !self.silent {
            self.ui.status(text);
        }
    }

    fn is_due(&mut self, at: Duration, progress: Option<StepProgress>) -> bool {
        let Some(progress) = progress else {
            return false;
        };
        let percent = progress.percent();
        let due = percent >= self.printed.0 + PERCENT
            || at >= self.printed.1 + SILENCE
            || progress.done == progress.total && self.printed.0 < 100;
        if due {
            self.printed = (percent, at);
        }
        due
    }

    fn line(&self, at: Duration, progress: Option<StepProgress>) {
        let progress = progress.filter(|it| it.done > 0);
        let progress = progress.map_or_else(String::new, |progress| {
            format!(
                ": {progress}, {}%{}",
                progress.percent(),
                self.time_left(at, progress)
            )
        });
        let text = format!("{}  sandbox  {}{progress}", clock(at), self.title);
        self.ui.status(&text);
    }

    /// Estimates the rest of the current step from its speed.
    fn time_left(&self, at: Duration, progress: StepProgress) -> String {
        let took = at.saturating_sub(self.started);
        let rest = progress.total.saturating_sub(progress.done);
        if took < ESTIMATED.0 || progress.percent() < ESTIMATED.1 || rest == 0 {
            return String::new();
        }
        let seconds = took.as_secs() as usize * rest / progress.done.max(1);
        match seconds.div_ceil(60) {
            1 => ", less than 1 min left".to_owned(),
            minutes => format!(", about {minutes} min left"),
        }
    }

    /// Leaves a line for a long step on a terminal, where the live line would otherwise disappear.
    fn print_finished_step(&self, at: Duration) {
        let took = at.saturating_sub(self.started);
        if self.bar.is_some() && !self.title.is_empty() && took >= LONG {
            let done = self.ui.err_style().green("done   ");
            let text = format!("{done}  {} ({})", self.title, elapsed(took));
            self.ui.status(&text);
        }
    }
}

impl Drop for Preparation {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            self.ui.err.set_live(None);
            bar.finish_and_clear();
        }
    }
}

fn live(ui: &Ui) -> ProgressBar {
    let target = ProgressDrawTarget::term_like(Box::new(FrameTerminal::stderr()));
    let bar = ProgressBar::with_draw_target(None, target);
    let time = |state: &ProgressState, out: &mut dyn Write| {
        // A drawing error is not worth reporting.
        let _ = write!(out, "{:>7}", elapsed(state.elapsed()));
    };
    let template = format!("{}  {{msg}}", ui.err_style().cyan("{time}"));
    let style = ProgressStyle::with_template(&template).expect("the template has known keys");
    bar.set_style(style.with_key("time", time));
    bar.enable_steady_tick(Duration::from_secs(1));
    bar
}

impl StepProgress {
    fn percent(self) -> usize {
        100 * self.done.min(self.total) / self.total.max(1)
    }
}

impl std::fmt::Display for StepProgress {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} of {} {}", self.done, self.total, self.unit)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::super::{ProgressMode, UiSettings};
    use super::StepProgress;
    use snapbox::{assert_data_eq, str};
    use std::time::Duration;

    fn printed(progress: ProgressMode) -> String {
        let settings = UiSettings {
            progress,
            ..UiSettings::default()
        };
        check(settings, |ui| {
            let mut preparation = ui.preparation();
            let mut step = |at, title: &str, count: Option<(usize, usize)>| {
                let unit = match title.starts_with("Downloading") {
                    true => "MB",
                    false => "packages",
                };
                let progress = count.map(|(done, total)| StepProgress { done, total, unit });
                preparation.step(Duration::from_secs(at), title, progress);
            };
            step(0, "Fetching modules of kubernetes", None);
            for second in 0..=100 {
                step(
                    3 + second,
                    "Building kubernetes",
                    Some((second as usize * 3, 300)),
                );
            }
            step(105, "Building etcd", Some((0, 100)));
            step(115, "Building etcd", Some((1, 100)));
            step(121, "Building etcd", Some((2, 100)));
            step(122, "Building etcd", Some((100, 100)));
            step(123, "Downloading etcd", Some((5, 50)));
            step(124, "Downloading etcd", Some((25, 50)));
            step(125, "Starting etcd", None);
        })
    }

    #[test]
    fn counts_are_printed_every_ten_percent_or_fifteen_seconds() {
        assert_data_eq!(
            printed(ProgressMode::Plain),
            str![[r#"
--
+00:00  sandbox  Fetching modules of kubernetes
+00:03  sandbox  Building kubernetes
+00:13  sandbox  Building kubernetes: 30 of 300 packages, 10%, about 2 min left
+00:23  sandbox  Building kubernetes: 60 of 300 packages, 20%, about 2 min left
+00:33  sandbox  Building kubernetes: 90 of 300 packages, 30%, about 2 min left
+00:43  sandbox  Building kubernetes: 120 of 300 packages, 40%, less than 1 min left
+00:53  sandbox  Building kubernetes: 150 of 300 packages, 50%, less than 1 min left
+01:03  sandbox  Building kubernetes: 180 of 300 packages, 60%, less than 1 min left
+01:13  sandbox  Building kubernetes: 210 of 300 packages, 70%, less than 1 min left
+01:23  sandbox  Building kubernetes: 240 of 300 packages, 80%, less than 1 min left
+01:33  sandbox  Building kubernetes: 270 of 300 packages, 90%, less than 1 min left
+01:43  sandbox  Building kubernetes: 300 of 300 packages, 100%
+01:45  sandbox  Building etcd
+02:01  sandbox  Building etcd: 2 of 100 packages, 2%
+02:02  sandbox  Building etcd: 100 of 100 packages, 100%
+02:03  sandbox  Downloading etcd: 5 of 50 MB, 10%
+02:04  sandbox  Downloading etcd: 25 of 50 MB, 50%
+02:05  sandbox  Starting etcd

"#]]
        );
    }

    #[test]
    fn progress_none_prints_nothing() {
        assert_eq!(printed(ProgressMode::None), "--\n");
    }
}
