//! What stands at the foot of the screen: how far it is, the pools, and what runs, within the screen.

use super::super::relative_time::elapsed;
use super::super::style::Style;
use super::super::width::{cut, fits, padded, title_and_why};
use super::item_tracker::{ItemTracker, TrackedItem};
use super::short_names::subject;
use crate::flow::ItemStatus;
use std::time::Duration;

const BAR: usize = 20;

#[derive(Debug, Default)]
pub(super) struct Header {
    pub(super) what: String,
    pub(super) done: usize,
    pub(super) total: usize,
    pub(super) stopping: bool,
}

/// A line, and whom to show where there is no room for all: the smallest first.
struct Line {
    rank: (bool, Duration),
    text: String,
}

pub(super) fn frame(
    header: &Header,
    track: &ItemTracker,
    now: Duration,
    (columns, lines): (usize, usize),
    style: Style,
) -> Vec<String> {
    // The last column stays free, for some terminals wrap there.
    let columns = columns.saturating_sub(1).max(20);
    let mut picture = vec![header_line(header, now, columns, style)];
    let (in_pools, others): (Vec<_>, Vec<_>) = track
        .running()
        .into_iter()
        .partition(|it| it.pool().is_some());

    let mut body: Vec<Line> = Vec::new();
    body.extend(
        others
            .iter()
            .map(|it| item_line(it, "", now, columns, style)),
    );
    for (name, pool) in track.pools() {
        if pool.ready < pool.all {
            let text = format!("pool {name}   {}/{} ready", pool.ready, pool.all);
            let rank = (false, Duration::ZERO);
            let text = cut(&text, columns);
            body.push(Line { rank, text });
        }
        let machines = in_pools.iter().filter(|it| it.pool() == Some(name));
        body.extend(machines.map(|it| item_line(it, "  ", now, columns, style)));
    }
    // One line for the header, and one on which the cursor rests.
    picture.extend(bounded(body, lines.saturating_sub(2).max(1)));
    picture
}

fn bounded(body: Vec<Line>, room: usize) -> Vec<String> {
    let hidden = match body.len() > room {
        true => body.len() - (room - 1),
        false => 0,
    };
    let mut ranks: Vec<_> = body
        .iter()
        .enumerate()
        .map(|(i, it)| (it.rank, i))
        .collect();
    ranks.sort_unstable();
    let mut shown: Vec<usize> = ranks[..body.len() - hidden].iter().map(|it| it.1).collect();
    shown.sort_unstable();
    let mut texts: Vec<String> = shown.into_iter().map(|it| body[it].text.clone()).collect();
    if hidden > 0 {
        texts.push(format!("… and {hidden} more"));
    }
    texts
}

fn header_line(header: &Header, now: Duration, columns: usize, style: Style) -> String {
    let filled = match header.total {
        0 => 0,
        total => BAR * header.done.min(total) / total,
    };
    let bar = format!("[{}{}]", "=".repeat(filled), " ".repeat(BAR - filled));
    let time = elapsed(now);
    let numbers = format!("{bar} {}/{}  {time}", header.done, header.total);
    let stopping = if header.stopping { " (stopping)" } else { "" };
    let room = columns.saturating_sub(numbers.chars().count() + 2);
    let what = cut(&format!("{}{stopping}", header.what), room);
    format!("{}  {numbers}", style.bold(padded(&what, room.min(40))))
}

fn item_line(
    item: &TrackedItem,
    indent: &str,
    now: Duration,
    columns: usize,
    style: Style,
) -> Line {
    let time = elapsed(now.saturating_sub(item.since));
    let room = columns.saturating_sub(indent.len() + 17);
    let why = item.why.as_deref();
    // Its name says enough, where the title would leave no room for the reason.
    let title = match fits(&item.title, why, room) {
        true => &item.title,
        false => subject(&item.title),
    };
    let what = title_and_why(title, why, room);
    let word = match item.status {
        ItemStatus::Waiting => style.cyan("waiting"),
        status => status.word().to_owned(),
    };
    Line {
        rank: (true, item.since),
        text: format!("{indent}{word}  {time:>6}  {what}"),
    }
}
