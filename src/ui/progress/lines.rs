//! A line for each change, as logs of CI jobs want it, and a sign of life when nothing changes.

use super::super::age::{clock, elapsed};
use super::super::style::Style;
use super::names::{self, Names, subject};
use super::track::Track;
use crate::flow::{Event, EventKind, Status};
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

/// Without a change for so long, a line says what is waited for.
const HEARTBEAT: Duration = Duration::from_secs(30);
/// What passes by itself within this is no news, and only the numbers in a reason are not told more often.
const CALM: Duration = Duration::from_secs(5);
/// Nor with fewer percent more, unless there was silence for as long as a heartbeat.
const PERCENT: u32 = 10;
/// What a request waits for: said of nearly every item, and of no use to a person.
const ANSWER: &str = "no response yet";

#[derive(Debug)]
pub(super) struct Lines {
    style: Style,
    names: Names,
    track: Track,
    /// What is waited for, by subject.
    reasons: BTreeMap<String, Reason>,
    /// Subjects that a line said are under way; only of these it is news that they are done.
    begun: HashSet<String>,
    last_line: Duration,
}

/// Why something is not through yet.
#[derive(Debug)]
struct Reason {
    title: String,
    why: String,
    since: Duration,
    /// When it was told last, and the percentage in it.
    told: Option<(Duration, Option<u32>)>,
}

impl Lines {
    pub(super) fn new(style: Style) -> Self {
        Self {
            style,
            names: Names::default(),
            track: Track::default(),
            reasons: BTreeMap::new(),
            begun: HashSet::new(),
            last_line: Duration::ZERO,
        }
    }

    /// What there is to tell of an event: nothing, or whole lines.
    pub(super) fn event(&mut self, event: &Event) -> String {
        let event = &self.names.shorten(event);
        let at = event.at;
        match &event.kind {
            EventKind::RunStarted {
                verb,
                shoot,
                namespace,
                ..
            } => self.line(at, verb, &format!("{shoot} in namespace {namespace}")),
            EventKind::Item {
                id,
                title,
                status,
                why,
            } => self.item(at, id, title, *status, why.as_deref()),
            EventKind::ItemGone { id } => match self.track.gone(id) {
                Some(item) if item.status != Status::Done => {
                    self.reasons.remove(subject(&item.title));
                    match names::is_part(&item.title) {
                        true => String::new(),
                        false => self.line(at, "gone", &names::gone(&item.title)),
                    }
                }
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
            } => {
                self.line(at, outcome, closing(outcome, summary))
                    + &resume_hint(self.style, resume.as_deref())
            }
        }
    }

    /// What has been waited for long enough to be told, and a sign of life when one is due.
    pub(super) fn tick(&mut self, now: Duration) -> String {
        let reasons = self.reasons(now);
        if !reasons.is_empty() || now < self.last_line + HEARTBEAT {
            return reasons;
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

    /// A line for each reason that is due; of many machines that wait for the same, one is named.
    fn reasons(&mut self, now: Duration) -> String {
        let mut due: BTreeMap<String, (String, usize)> = BTreeMap::new();
        let mut order = Vec::new();
        for (subject, reason) in &mut self.reasons {
            if !reason.is_due(now) {
                continue;
            }
            reason.told = Some((now, percent(&reason.why)));
            self.begun.insert(subject.clone());
            let common = reason.why.replace(subject, "");
            let first = due.entry(common.clone()).or_insert_with(|| {
                order.push(common);
                (told(&reason.title, Some(&reason.why)), 0)
            });
            first.1 += 1;
        }
        let mut text = String::new();
        for common in order {
            let (first, count) = &due[&common];
            let more = match count - 1 {
                0 => String::new(),
                more => format!("; and {more} more"),
            };
            text += &self.line(now, Status::Waiting.word(), &format!("{first}{more}"));
        }
        text
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
        let known = self.track.subject(title, status);
        self.take_reason(at, title, status, why);
        let is_news = match status {
            Status::Blocked | Status::Waiting => false,
            Status::Working => !known.is_some_and(super::track::runs) && !names::is_part(title),
            // What was so before the run is no news, nor what wavered unseen.
            Status::Done => self.begun.remove(subject(title)),
            Status::Failed => {
                let same = before.is_some_and(|it| same_but_numbers(it.why.as_deref(), why));
                known != Some(status) || !same
            }
        };
        if is_news && status == Status::Working {
            self.begun.insert(subject(title).to_owned());
        }
        match is_news {
            true => self.line(at, status.word(), &told(title, why)),
            false => String::new(),
        }
    }

    fn take_reason(&mut self, at: Duration, title: &str, status: Status, why: Option<&str>) {
        let subject = subject(title);
        let Some(why) = why.filter(|it| status == Status::Waiting && *it != ANSWER) else {
            self.reasons.remove(subject);
            return;
        };
        let before = self.reasons.remove(subject);
        let same = before.filter(|it| same_but_numbers(Some(&it.why), Some(why)));
        let (since, told) = same.map_or((at, None), |it| (it.since, it.told));
        let reason = Reason {
            title: title.to_owned(),
            why: why.to_owned(),
            since,
            told,
        };
        self.reasons.insert(subject.to_owned(), reason);
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

impl Reason {
    /// Once it has stood for a while; again when its numbers have come on.
    fn is_due(&self, now: Duration) -> bool {
        let Some((last, then)) = self.told else {
            return now >= self.since + CALM;
        };
        let silence = now.saturating_sub(last);
        let more = percent(&self.why).zip(then);
        let came_on = more.is_some_and(|(now, then)| now >= then + PERCENT);
        came_on && silence >= CALM
    }
}

pub(super) const INTERRUPTED: &str =
    "interrupted: what is under way is finished; Ctrl-C again leaves at once";

/// The summary without the word that stands before it.
pub(super) fn closing<'a>(outcome: &str, summary: &'a str) -> &'a str {
    let rest = summary.strip_prefix(outcome);
    rest.and_then(|it| it.strip_prefix(", ")).unwrap_or(summary)
}

pub(super) fn resume_hint(style: Style, resume: Option<&str>) -> String {
    resume.map_or_else(String::new, |command| {
        format!("{} to go on: {command}\n", style.cyan("hint:"))
    })
}

fn told(title: &str, why: Option<&str>) -> String {
    why.map_or_else(|| title.to_owned(), |why| format!("{title}: {why}"))
}

fn percent(why: &str) -> Option<u32> {
    let (before, _) = why.split_once('%')?;
    let whole = before.split('.').next()?.trim_end();
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
