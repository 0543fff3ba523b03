//! A line for each change, as logs of CI jobs want it, and a sign of life when nothing changes.

use super::super::age::{clock, elapsed};
use super::super::style::Style;
use super::track::{Track, Tracked};
use crate::flow::{Event, EventKind, Status};
use std::collections::BTreeMap;
use std::time::Duration;

/// Without a change for so long, a line says what is waited for.
const HEARTBEAT: Duration = Duration::from_secs(30);
/// A reason of which only the numbers change is not told more often.
const NUMBERS: Duration = Duration::from_secs(5);
/// Nor with fewer percent more, unless there was silence for as long as a heartbeat.
const PERCENT: u32 = 10;

#[derive(Debug)]
pub(super) struct Lines {
    style: Style,
    track: Track,
    /// When each item's reason was told last, and the percentage in it.
    told: BTreeMap<String, (Duration, Option<u32>)>,
    last_line: Duration,
}

impl Lines {
    pub(super) fn new(style: Style) -> Self {
        Self {
            style,
            track: Track::default(),
            told: BTreeMap::new(),
            last_line: Duration::ZERO,
        }
    }

    /// What there is to tell of an event: nothing, or whole lines.
    pub(super) fn event(&mut self, event: &Event) -> String {
        let at = event.at;
        match &event.kind {
            EventKind::RunStarted {
                verb,
                shoot,
                namespace,
            } => self.line(at, verb, &format!("{shoot} in namespace {namespace}")),
            EventKind::Item {
                id,
                title,
                status,
                why,
            } => self.item(at, id, title, *status, why.as_deref()),
            EventKind::ItemGone { id } => match self.track.gone(id) {
                Some(item) if item.status != Status::Done => self.line(at, "gone", &item.title),
                _ => String::new(),
            },
            EventKind::Progress { .. } => String::new(),
            EventKind::Retried { id, cause, again } => {
                let Some(item) = self.track.retried(id, cause) else {
                    return String::new();
                };
                let text = format!("{}: {cause}; again in {}", item.title, elapsed(*again));
                self.line(at, "retry", &text)
            }
            EventKind::Note { text } => self.line(at, "note", text),
            EventKind::Interrupted => self.line(at, "stop", INTERRUPTED),
            EventKind::RunFinished {
                outcome,
                summary,
                resume,
                ..
            } => self.line(at, outcome, summary) + &resume_hint(self.style, resume.as_deref()),
        }
    }

    /// A sign of life, when one is due.
    pub(super) fn tick(&mut self, now: Duration) -> String {
        if now < self.last_line + HEARTBEAT {
            return String::new();
        }
        let running = self.track.running().len();
        let Some(longest) = self.track.longest() else {
            return String::new();
        };
        let time = elapsed(now.saturating_sub(longest.since));
        let title = format!("{} ({time})", longest.title);
        let mut text = told(&title, longest.why.as_deref());
        if running > 1 {
            text += &format!("; and {} more", running - 1);
        }
        self.line(now, "still", &text)
    }

    fn item(
        &mut self,
        at: Duration,
        id: &str,
        title: &str,
        status: Status,
        why: Option<&str>,
    ) -> String {
        let before = self.track.take(at, id, title, status, why);
        if !self.is_told(at, id, before.as_ref(), status, why) {
            return String::new();
        }
        self.told.insert(id.to_owned(), (at, percent(why)));
        self.line(at, status.word(), &told(title, why))
    }

    fn is_told(
        &self,
        at: Duration,
        id: &str,
        before: Option<&Tracked>,
        status: Status,
        why: Option<&str>,
    ) -> bool {
        let Some(before) = before else {
            // What was so before the run, and what only waits for its turn, is no news.
            return !matches!(status, Status::Done | Status::Blocked);
        };
        if before.status != status {
            return true;
        }
        let quiet = !super::track::runs(status) && status != Status::Failed;
        if quiet || before.why.as_deref() == why {
            return false;
        }
        match self.told.get(id) {
            Some((last, last_percent)) if same_but_numbers(before.why.as_deref(), why) => {
                let silence = at.saturating_sub(*last);
                let more = percent(why).zip(*last_percent);
                silence >= HEARTBEAT
                    || silence >= NUMBERS && more.is_none_or(|(now, then)| now >= then + PERCENT)
            }
            _ => true,
        }
    }

    fn line(&mut self, at: Duration, word: &str, text: &str) -> String {
        self.last_line = at;
        let word = format!("{word:<7}");
        let word = match word.trim_end() {
            "done" | "converged" => self.style.green(word),
            "failed" | "timeout" | "refused" => self.style.red(word),
            "retry" | "stop" | "interrupted" => self.style.yellow(word),
            _ => word,
        };
        format!("{}  {word}  {}\n", clock(at), text.replace('\n', " "))
    }
}

pub(super) const INTERRUPTED: &str =
    "interrupted: nothing new is begun; once more (Ctrl-C) leaves at once";

pub(super) fn resume_hint(style: Style, resume: Option<&str>) -> String {
    resume.map_or_else(String::new, |command| {
        format!("{} to go on: {command}\n", style.cyan("hint:"))
    })
}

fn told(title: &str, why: Option<&str>) -> String {
    why.map_or_else(|| title.to_owned(), |why| format!("{title}: {why}"))
}

fn percent(why: Option<&str>) -> Option<u32> {
    let before = why?.split('%').next().filter(|it| why != Some(it))?;
    let whole = before.split('.').next()?;
    let digits = whole
        .rfind(|c: char| !c.is_ascii_digit())
        .map_or(0, |it| it + 1);
    whole[digits..].parse().ok()
}

fn same_but_numbers(one: Option<&str>, other: Option<&str>) -> bool {
    let words = |text: Option<&str>| text.unwrap_or_default().replace(is_number, "");
    words(one) == words(other)
}

fn is_number(c: char) -> bool {
    c.is_ascii_digit() || c == '.'
}
