//! Lines of the live view: progress of the run, pools and running items, limited to the screen.

use super::item_tracker::{ItemTracker, TrackedItem};
use crate::flow::ItemStatus;
use crate::ui::format::relative_time::elapsed;
use crate::ui::format::style::Style;
use crate::ui::format::width::{Elision, fits, padded};
use std::time::Duration;

/// Columns of the progress bar.
const BAR: usize = 20;

/// First line of the live view.
#[derive(Debug, Default)]
pub(super) struct Header {
    pub(super) what: String,
    pub(super) done: usize,
    pub(super) total: usize,
    pub(super) stopping: bool,
}

/// A line and its rank: with too little room, the lines with the smallest rank are shown.
struct Line {
    rank: (bool, Duration),
    text: String,
}

pub(super) fn frame(
    header: &Header,
    items: &ItemTracker,
    now: Duration,
    (columns, lines): (usize, usize),
    style: Style,
    elision: Elision,
) -> Vec<String> {
    // Some terminals wrap at the last column.
    let columns = columns.saturating_sub(1).max(20);
    let mut frame = vec![header_line(header, now, columns, style, elision)];
    let (in_pools, others): (Vec<_>, Vec<_>) = items
        .running()
        .into_iter()
        .partition(|it| it.pool().is_some());

    let mut body: Vec<Line> = Vec::new();
    body.extend(
        others
            .iter()
            .map(|it| item_line(it, "", now, columns, style, elision)),
    );
    for (name, pool) in items.pools() {
        if pool.ready < pool.all {
            let text = format!("pool {name}   {}/{} ready", pool.ready, pool.all);
            let rank = (false, Duration::ZERO);
            let text = elision.cut(&text, columns);
            body.push(Line { rank, text });
        }
        let machines = in_pools.iter().filter(|it| it.pool() == Some(name));
        body.extend(machines.map(|it| item_line(it, "  ", now, columns, style, elision)));
    }
    // One line is for the header, one for the cursor.
    frame.extend(limited(body, lines.saturating_sub(2).max(1), elision));
    frame
}

fn limited(body: Vec<Line>, room: usize, elision: Elision) -> Vec<String> {
    let hidden = match body.len() > room {
        true => body.len() - (room - 1),
        false => 0,
    };
    let mut ranks: Vec<_> = body
        .iter()
        .enumerate()
        .map(|(index, line)| (line.rank, index))
        .collect();
    ranks.sort_unstable();
    let mut shown: Vec<usize> = ranks[..body.len() - hidden]
        .iter()
        .map(|(_, index)| *index)
        .collect();
    shown.sort_unstable();
    let mut texts: Vec<String> = shown
        .into_iter()
        .map(|index| body[index].text.clone())
        .collect();
    if hidden > 0 {
        texts.push(format!("{} and {hidden} more", elision.mark()));
    }
    texts
}

fn header_line(
    header: &Header,
    now: Duration,
    columns: usize,
    style: Style,
    elision: Elision,
) -> String {
    let filled = match header.total {
        0 => 0,
        total => BAR * header.done.min(total) / total,
    };
    let bar = format!("[{}{}]", "=".repeat(filled), " ".repeat(BAR - filled));
    let time = elapsed(now);
    let numbers = format!("{bar} {}/{}  {time}", header.done, header.total);
    let stopping = if header.stopping { " (stopping)" } else { "" };
    let room = columns.saturating_sub(numbers.chars().count() + 2);
    let what = elision.cut(&format!("{}{stopping}", header.what), room);
    format!("{}  {numbers}", style.bold(padded(&what, room.min(40))))
}

fn item_line(
    item: &TrackedItem,
    indent: &str,
    now: Duration,
    columns: usize,
    style: Style,
    elision: Elision,
) -> Line {
    let time = elapsed(now.saturating_sub(item.since));
    let room = columns.saturating_sub(indent.len() + 17);
    let why = item.why_at(now);
    let why = why.as_deref();
    // If the title leaves no room for the reason, the name alone is shown.
    let title = match fits(&item.title, why, room) {
        true => &item.title,
        false => item.subject(),
    };
    let what = elision.title_and_reason(title, why, room);
    let word = match item.status {
        ItemStatus::Waiting => style.cyan("waiting"),
        status => status.word().to_owned(),
    };
    Line {
        rank: (true, item.since),
        text: format!("{indent}{word}  {time:>6}  {what}"),
    }
}
