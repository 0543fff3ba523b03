//! Names as a person reads them: what is said once, at the beginning, is not said again on each line.

use crate::flow::{Event, EventKind};

/// Knows what the names of all objects of the run begin with.
#[derive(Debug, Default)]
pub(super) struct Names {
    prefix: Option<String>,
}

impl Names {
    /// The event with names short; programs are given the whole ones.
    pub(super) fn shorten(&mut self, event: &Event) -> Event {
        let mut event = event.clone();
        if let EventKind::RunStarted { technical_id, .. } = &event.kind {
            self.prefix = Some(format!("{technical_id}-"));
        }
        let prefix = self.prefix.as_deref();
        let short = |text: &mut String| {
            if let Some(prefix) = prefix {
                *text = text.replace(prefix, "");
            }
        };
        match &mut event.kind {
            EventKind::Item { title, why, .. } => {
                short(title);
                why.as_mut().map(short);
            }
            EventKind::Retried { cause: text, .. } | EventKind::Note { text } => short(text),
            // The end names what somebody has to look for with other programs.
            EventKind::RunFinished { .. }
            | EventKind::RunStarted { .. }
            | EventKind::ItemGone { .. }
            | EventKind::Progress { .. }
            | EventKind::Interrupted => {}
        }
        event
    }
}

/// What a title is about: a machine, in whatever state it is and whichever place it takes; else the title itself.
pub(super) fn subject(title: &str) -> &str {
    let name = title
        .split_once("achine ")
        .and_then(|(_, rest)| rest.split(' ').next());
    match name {
        Some(name) if name != "of" && !title.starts_with("Delete ") => name,
        _ => title,
    }
}

/// What belongs to a machine or a control plane comes and goes with that, and is told only when it does not.
pub(super) fn is_part(title: &str) -> bool {
    const PARTS: [&str; 6] = [
        "Delete user data of machine ",
        "Delete bootstrap token ",
        "Label node ",
        "Issue certificate of ",
        "Create CA of ",
        "Create key for ",
    ];
    PARTS.iter().any(|it| title.starts_with(it))
}

/// The title of a removal, once what it removes is gone.
pub(super) fn gone(title: &str) -> String {
    let what = title.strip_prefix("Delete ").unwrap_or(title);
    let mut letters = what.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::{gone, subject};

    #[test]
    fn a_machine_is_the_subject_in_all_its_states() {
        for title in [
            "Create machine worker-z1-3fa2c-0 in zone a",
            "Start machine worker-z1-3fa2c-0",
            "Machine worker-z1-3fa2c-0 runs",
            "Apply user data of machine worker-z1-3fa2c-0",
        ] {
            assert_eq!(subject(title), "worker-z1-3fa2c-0");
        }
        for title in [
            "Delete machine worker-z1-3fa2c-0",
            "Create a machine of pool worker in zone a",
            "Apply network blue",
        ] {
            assert_eq!(subject(title), title);
        }
        assert_eq!(gone("Delete machine a"), "Machine a");
    }
}
