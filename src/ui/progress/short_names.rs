//! Names without the prefix that all objects of a shoot share, and what items are about.

use crate::flow::{EventKind, RunEvent};
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::plan::{ItemKind, MachineStep, REQUEST_SENT};

/// Shortens object names in the events of one run.
#[derive(Debug, Default)]
pub(super) struct ShortNames {
    prefixes: Vec<String>,
}

impl ShortNames {
    /// Returns the event for people: names are short, and a request in flight is not mentioned.
    pub(super) fn shorten(&mut self, event: &RunEvent) -> RunEvent {
        let mut event = event.clone();
        if let EventKind::RunStarted { technical_ids, .. } = &event.kind {
            self.prefixes = technical_ids.iter().map(|id| format!("{id}-")).collect();
        }
        let short = |text: &mut String| *text = self.short(text);
        match &mut event.kind {
            EventKind::Item {
                kind, title, why, ..
            } => {
                let name = match kind {
                    ItemKind::Machine(slot) => slot.machine.as_mut(),
                    ItemKind::Deletion { key, .. } => Some(&mut key.name),
                    _ => None,
                };
                // Pools of several shoots may have the same name, and then machines have the same short one.
                if let Some(name) = name.filter(|_| self.prefixes.len() == 1) {
                    *name = self.short(name).into();
                }
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

    /// Returns a text with short names.
    pub(super) fn short(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for prefix in &self.prefixes {
            if text.contains(prefix) {
                text = text.replace(prefix, "");
            }
        }
        text
    }
}

/// The machine that an item is about, in all its states and independent of its slot; else the title.
pub(super) fn subject<'a>(kind: &'a ItemKind, title: &'a str) -> &'a str {
    match kind {
        ItemKind::Machine(slot) if slot.step != MachineStep::LabelNode => {
            slot.machine.as_deref().unwrap_or(title)
        }
        _ => title,
    }
}

/// True for parts of a machine or control plane, which are not reported one by one.
pub(super) fn is_part(kind: &ItemKind) -> bool {
    match kind {
        ItemKind::Certificate(_) | ItemKind::NodeCertificate { denied: false, .. } => true,
        ItemKind::Machine(slot) => slot.step == MachineStep::LabelNode,
        ItemKind::Deletion { key, .. } => {
            matches!(key.kind, ObjectKind::UserData | ObjectKind::BootstrapToken)
        }
        _ => false,
    }
}

/// A deleted object at the beginning of a line: `Machine a`.
pub(super) fn deleted_object(key: &ObjectKey) -> String {
    let object = key.in_words();
    let mut letters = object.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::plan::MachineItem;

    fn slot(machine: Option<&str>, step: MachineStep) -> ItemKind {
        ItemKind::Machine(MachineItem {
            pool: "worker".into(),
            zone: 0,
            zone_name: "a".into(),
            slot: 0,
            machine: machine.map(Into::into),
            step,
        })
    }

    fn deletion(kind: ObjectKind) -> ItemKind {
        ItemKind::deletion(&ObjectKey::provider(kind, "a-0"), &"1".into())
    }

    #[test]
    fn a_machine_is_the_subject_in_all_its_states() {
        for step in [MachineStep::Create, MachineStep::Start] {
            assert_eq!(subject(&slot(Some("a-0"), step), "title"), "a-0");
        }
        for kind in [
            slot(None, MachineStep::Create),
            slot(Some("a-0"), MachineStep::LabelNode),
            deletion(ObjectKind::Machine),
            ItemKind::Network("blue".into()),
        ] {
            assert_eq!(subject(&kind, "title"), "title");
        }
    }

    #[test]
    fn a_deleted_object_begins_a_line() {
        let key = ObjectKey::provider(ObjectKind::Machine, "a-0");
        assert_eq!(deleted_object(&key), "Machine a-0");
    }

    #[test]
    fn certificates_and_user_data_are_parts() {
        assert!(is_part(&ItemKind::Certificate("ca".into())));
        let request = |denied| ItemKind::NodeCertificate {
            name: "csr-a".into(),
            denied,
        };
        assert!(is_part(&request(false)));
        assert!(!is_part(&request(true)));
        assert!(is_part(&deletion(ObjectKind::UserData)));
        assert!(is_part(&slot(Some("a-0"), MachineStep::LabelNode)));
        assert!(!is_part(&slot(Some("a-0"), MachineStep::Create)));
        assert!(!is_part(&deletion(ObjectKind::Machine)));
    }
}
