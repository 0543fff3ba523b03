//! Plain progress: one line per change, for logs of CI jobs, and a periodic line if nothing changes.

use super::item_tracker::{ItemTracker, is_running};
use super::percentage::percent;
use super::short_names::{ShortNames, deleted_object, is_part, subject};
use crate::flow::{EventKind, ItemStatus, RunEvent};
use crate::state::plan::ItemKind;
use crate::ui::format::relative_time::{clock, elapsed};
use crate::ui::format::style::Style;
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

/// After this time without output, a line reports the item that has been running longest. Ticks are up to a second apart,
/// and a command is never silent for more than 5 s.
const HEARTBEAT: Duration = Duration::from_secs(4);
/// A reason that has not changed is left out of heartbeats for this time.
const REPEAT_REASON: Duration = Duration::from_secs(30);
/// Minimum time that an item waits before its reason is printed, and between two lines that differ only in numbers: no longer
/// than the heartbeat, which would report the same.
pub(super) const MIN_WAIT: Duration = HEARTBEAT;
/// Lines about items in a run, far more than a run of thousands of machines has. Without it, a server that invents objects
/// fills up the log.
const MAX_ITEM_LINES: usize = 10_000;
/// Minimum increase of a percentage before it is printed again.
const PERCENT: u32 = 10;

#[derive(Debug)]
pub(super) struct PlainLines {
    style: Style,
    names: ShortNames,
    items: ItemTracker,
    /// Reasons of waiting items, by subject.
    reasons: BTreeMap<String, Reason>,
    /// Subjects printed as working or waiting; only their completion is printed.
    begun: HashSet<String>,
    last_line: Duration,
    item_lines: usize,
}

/// Reason of a waiting item.
#[derive(Debug)]
struct Reason {
    title: String,
    why: String,
    since: Duration,
    /// When it was last printed, and what was printed.
    printed: Option<(Duration, String)>,
}

impl PlainLines {
    pub(super) fn new(style: Style) -> Self {
        Self {
            style,
            names: ShortNames::default(),
            items: ItemTracker::default(),
            reasons: BTreeMap::new(),
            begun: HashSet::new(),
            last_line: Duration::ZERO,
            item_lines: 0,
        }
    }

    /// Returns the lines for an event, if any.
    pub(super) fn event(&mut self, event: &RunEvent) -> String {
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
                kind,
                title,
                status,
                why,
            } => self.item(at, (id, kind), title, *status, why.as_deref()),
            EventKind::ItemGone { id, remains } => match self.items.remove(id) {
                Some(item) if item.status != ItemStatus::Done => {
                    self.reasons.remove(item.subject());
                    match &item.kind {
                        kind if is_part(kind) => String::new(),
                        ItemKind::Deletion { key, .. } if !remains => {
                            let name = self.names.short(&deleted_object(key));
                            self.item_line(at, "deleted", &name)
                        }
                        // Once it is done, nothing is left to observe.
                        _ if item.status == ItemStatus::Working && !remains => {
                            self.item_line(at, "done", &item.title)
                        }
                        _ => self.item_line(at, "dropped", &item.title),
                    }
                }
                _ => String::new(),
            },
            EventKind::Progress { .. } => String::new(),
            EventKind::Retried { id, cause, again } => {
                let Some(item) = self.items.retried(id, cause) else {
                    return String::new();
                };
                let text = format!("{}: {cause}, retrying in {}", item.title, elapsed(*again));
                self.line(at, "retry", &text)
            }
            EventKind::Note { text } => self.line(at, "note", text),
            EventKind::Interrupted => self.line(at, "stop", INTERRUPTED),
            EventKind::RunFinished {
                exit_code,
                summary,
                hint,
                resume,
                ..
            } => {
                let summary = summary.replace('\n', " ");
                let summary = match exit_code {
                    0 => self.style.green(summary),
                    _ => self.style.red(summary),
                };
                let hints = hints(self.style, hint.as_deref(), resume.as_deref());
                format!("{}  {summary}\n{hints}", clock(at))
            }
        }
    }

    /// Returns lines for items that have been waiting long enough, or a heartbeat if one is due.
    pub(super) fn tick(&mut self, now: Duration) -> String {
        let reasons = self.reasons(now);
        if !reasons.is_empty() || now < self.last_line + HEARTBEAT {
            return reasons;
        }
        let running = self.items.running().len();
        // A request without a response comes before items that wait.
        let working = self.items.longest_working();
        let Some(longest) = working.or_else(|| self.items.longest()) else {
            return String::new();
        };
        let time = elapsed(now.saturating_sub(longest.since));
        let title = format!("{} ({time})", longest.title);
        let is_new = match self.reasons.get_mut(longest.subject()) {
            Some(reason) => reason.print_again(now),
            None => true,
        };
        let why = longest.why_at(now).filter(|_| is_new);
        let mut text = with_reason(&title, why.as_deref());
        if running > 1 {
            text += &format!(" (and {} more)", running - 1);
        }
        self.line(now, "still", &text)
    }

    /// Returns a line for each reason that is due; machines that wait for the same reason share a line.
    fn reasons(&mut self, now: Duration) -> String {
        let mut due: BTreeMap<String, (String, usize)> = BTreeMap::new();
        let mut order = Vec::new();
        for (subject, reason) in &mut self.reasons {
            if !reason.is_due(now) {
                continue;
            }
            reason.printed = Some((now, reason.why.clone()));
            self.begun.insert(subject.clone());
            let common = reason.why.replace(&self.names.short(subject), "");
            let first = due.entry(common.clone()).or_insert_with(|| {
                order.push(common);
                (with_reason(&reason.title, Some(&reason.why)), 0)
            });
            first.1 += 1;
        }
        let mut text = String::new();
        for common in order {
            let (first, count) = &due[&common];
            let more = match count - 1 {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            text += &self.line(now, ItemStatus::Waiting.word(), &format!("{first}{more}"));
        }
        text
    }

    fn item(
        &mut self,
        at: Duration,
        (id, kind): (&str, &ItemKind),
        title: &str,
        status: ItemStatus,
        why: Option<&str>,
    ) -> String {
        let before = self.items.update(at, (id, kind), title, status, why);
        let known = self.items.update_subject(kind, title, status);
        let subject = subject(kind, title);
        self.update_reason(
            at,
            subject,
            title,
            why.filter(|_| status == ItemStatus::Waiting),
        );
        let is_news = match status {
            ItemStatus::Blocked | ItemStatus::Waiting => false,
            ItemStatus::Working => !known.is_some_and(is_running) && !is_part(kind),
            // Items that were done before the run, or waited only briefly, are not reported.
            ItemStatus::Done => self.begun.remove(subject),
            ItemStatus::Failed => {
                let same = before.is_some_and(|it| same_but_numbers(it.why.as_deref(), why));
                known != Some(status) || !same
            }
        };
        if is_news && status == ItemStatus::Working {
            self.begun.insert(subject.to_owned());
        }
        match is_news {
            true => self.item_line(at, status.word(), &with_reason(title, why)),
            false => String::new(),
        }
    }

    fn update_reason(&mut self, at: Duration, subject: &str, title: &str, why: Option<&str>) {
        let before = self.reasons.remove(subject);
        let Some(why) = why else {
            return;
        };
        let same = before.filter(|it| same_but_numbers(Some(&it.why), Some(why)));
        let (since, printed) = same.map_or((at, None), |it| (it.since, it.printed));
        let reason = Reason {
            title: title.to_owned(),
            why: why.to_owned(),
            since,
            printed,
        };
        self.reasons.insert(subject.to_owned(), reason);
    }

    fn item_line(&mut self, at: Duration, word: &str, text: &str) -> String {
        self.item_lines += 1;
        match self.item_lines {
            ..=MAX_ITEM_LINES => self.line(at, word, text),
            it if it == MAX_ITEM_LINES + 1 => {
                self.line(at, "note", "there are too many changes to list all of them")
            }
            _ => String::new(),
        }
    }

    fn line(&mut self, at: Duration, word: &str, text: &str) -> String {
        self.last_line = at;
        let word = format!("{word:<7}");
        let word = match word.trim_end() {
            "done" | "deleted" => self.style.green(word),
            "failed" => self.style.red(word),
            "retry" | "stop" => self.style.yellow(word),
            _ => word,
        };
        format!("{}  {word}  {}\n", clock(at), text.replace('\n', " "))
    }
}

impl Reason {
    /// True once the item has waited long enough, and again when its percentage has increased.
    fn is_due(&self, now: Duration) -> bool {
        let Some((last, then)) = &self.printed else {
            return now >= self.since + MIN_WAIT;
        };
        let silence = now.saturating_sub(*last);
        let has_increased = percent(&self.why)
            .zip(percent(then))
            .is_some_and(|(now, then)| now >= then + PERCENT);
        has_increased && silence >= MIN_WAIT
    }

    /// True if a heartbeat contains the reason, which counts as printed then.
    fn print_again(&mut self, now: Duration) -> bool {
        let is_new = self
            .printed
            .as_ref()
            .is_none_or(|(last, why)| *why != self.why || now >= *last + REPEAT_REASON);
        if is_new {
            self.printed = Some((now, self.why.clone()));
        }
        is_new
    }
}

pub(super) const INTERRUPTED: &str =
    "Interrupted. Finishing current operations; interrupt again to exit now.";

/// Lines below the result: advice on the root cause, and the command that resumes the run.
pub(super) fn hints(style: Style, hint: Option<&str>, resume: Option<&str>) -> String {
    let hint = hint.map(|text| format!("{} {text}\n", style.cyan("hint:")));
    let resume = resume.map(|command| format!("{} {command}\n", style.cyan("To resume:")));
    [hint, resume].into_iter().flatten().collect()
}

fn with_reason(title: &str, why: Option<&str>) -> String {
    why.map_or_else(|| title.to_owned(), |why| format!("{title}: {why}"))
}

fn same_but_numbers(one: Option<&str>, other: Option<&str>) -> bool {
    let words = |text: Option<&str>| text.unwrap_or_default().replace(is_number, "");
    words(one) == words(other)
}

fn is_number(c: char) -> bool {
    c.is_ascii_digit() || c == '.'
}
