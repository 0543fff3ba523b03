//! Names without the prefix that all objects of a run share, and what titles of items are about.

use crate::flow::{EventKind, RunEvent};
use crate::state::plan::REQUEST_SENT;

/// Shortens object names in the events of one run.
#[derive(Debug, Default)]
pub(super) struct ShortNames {
    prefix: Option<String>,
}

impl ShortNames {
    /// Returns the event for people: names are short, and a request in flight is not mentioned.
    pub(super) fn shorten(&mut self, event: &RunEvent) -> RunEvent {
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
                why.take_if(|why| why == REQUEST_SENT);
                why.as_mut().map(short);
            }
            EventKind::Retried { cause: text, .. } | EventKind::Note { text } => short(text),
            // The result has full names, to be used with kubectl.
            EventKind::RunFinished { .. }
            | EventKind::RunStarted { .. }
            | EventKind::ItemGone { .. }
            | EventKind::Progress { .. }
            | EventKind::Interrupted => {}
        }
        event
    }
}

/// True if the item deletes an object.
pub(super) fn is_deletion(id: &str) -> bool {
    id.starts_with("remove/")
}

/// The machine that an item is about, in all its states and independent of its slot; else the title.
pub(super) fn subject<'a>(id: &str, title: &'a str) -> &'a str {
    if is_deletion(id) {
        return title;
    }
    title
        .split_once("achine ")
        .and_then(|(_, rest)| rest.split(' ').next())
        .filter(|name| name.contains('-'))
        .unwrap_or(title)
}

/// True for parts of a machine or control plane, which are not reported one by one.
pub(super) fn is_part(id: &str, title: &str) -> bool {
    let of_machine = ["user data of machine", "bootstrap token"];
    id.starts_with("certificate/")
        || title.starts_with("Label node ")
        || is_deletion(id) && of_machine.iter().any(|part| title.contains(part))
}

/// The object in the title of a deletion: `Machine a` for `Delete machine a`.
pub(super) fn deleted_object(title: &str) -> String {
    let object = title.strip_prefix("Delete ").unwrap_or(title);
    let mut letters = object.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::{deleted_object, is_part, subject};

    #[test]
    fn a_machine_is_the_subject_in_all_its_states() {
        for title in [
            "Create machine worker-z1-3fa2c-0 in zone a",
            "Start machine worker-z1-3fa2c-0",
            "Machine worker-z1-3fa2c-0 runs",
            "Apply user data of machine worker-z1-3fa2c-0",
        ] {
            assert_eq!(subject("machine/worker/z1/0", title), "worker-z1-3fa2c-0");
        }
        for (id, title) in [
            ("remove/1", "Delete machine worker-z1-3fa2c-0"),
            (
                "machine/worker/z1/0",
                "Create a machine of pool worker in zone a",
            ),
            ("network/blue", "Apply network blue"),
        ] {
            assert_eq!(subject(id, title), title);
        }
        assert_eq!(deleted_object("Delete machine a"), "Machine a");
    }

    #[test]
    fn certificates_and_user_data_are_parts() {
        assert!(is_part("certificate/ca", "Issue the certificate of etcd"));
        assert!(is_part("remove/1", "Delete user data of machine a-0"));
        assert!(!is_part("machine/a/z1/0", "Create machine a-0"));
    }
}
