//! A preview as text: a line per object, with its changed fields.

use super::types::{Change, ChangeVerb, FieldChange, Preview};
use crate::ui::{Style, count};
use serde_json::Value;

/// Formats a preview. Names omit the technical ID, which is in the first line. `wide` shows all fields of new objects.
pub(super) fn text(preview: &Preview, wide: bool, style: Style, width: usize) -> String {
    let mut out = String::new();
    if !preview.changes.is_empty() || !preview.waiting.is_empty() || !preview.failures.is_empty() {
        out += &format!(
            "Shoot {} in namespace {} ({}):\n\n",
            preview.shoot, preview.namespace, preview.technical_id
        );
    }
    let prefix = format!("{}-", preview.technical_id);
    let mut about = None;
    for change in &preview.changes {
        out += &line(change, &prefix, style);
        // Machines of a pool are alike, so that the summary is printed once.
        if change.about.is_some() && change.about != about {
            about.clone_from(&change.about);
            let text = change.about.as_deref().unwrap_or_default();
            out += &format!("    {}\n", style.dim(text));
        }
        if wide || change.action == ChangeVerb::Change {
            let fields = change.fields.iter();
            out.extend(fields.map(|it| field(it, change.action, style, width)));
        }
    }
    for waiting in &preview.waiting {
        out += &format!("… {}\n", waiting.replace(&prefix, ""));
    }
    for failure in &preview.failures {
        out += &format!("{} {}\n", style.red("!"), failure.replace(&prefix, ""));
    }
    for note in &preview.notes {
        out += &format!("Note: {note}\n");
    }
    if !out.is_empty() {
        out += "\n";
    }
    out + &summary(preview) + "\n"
}

/// The objects as kubectl names them, for `-o name`.
pub(super) fn names(previews: &[Preview]) -> String {
    let changes = previews.iter().flat_map(|it| &it.changes);
    let named = changes.filter_map(|it| Some((it.kind.to_lowercase(), it.name.as_ref()?)));
    named
        .map(|(kind, name)| format!("{kind}/{name}\n"))
        .collect()
}

fn line(change: &Change, prefix: &str, style: Style) -> String {
    let mark = match change.action {
        ChangeVerb::Create => style.green("+"),
        ChangeVerb::Change => style.yellow("~"),
        ChangeVerb::Delete => style.red("-"),
    };
    let what = match (&change.name, &change.pool) {
        (Some(name), _) => {
            let name = name.strip_prefix(prefix).unwrap_or(name);
            format!("{} {}", change.kind, style.bold(name))
        }
        (None, Some(pool)) => format!("machine of pool {pool}"),
        (None, None) => change.kind.clone(),
    };
    let zone = change.zone.as_ref().map(|it| format!(" in zone {it}"));
    let waits = change.waits.as_ref().map(|it| format!(" ({it})"));
    let (zone, waits) = (zone.unwrap_or_default(), waits.unwrap_or_default());
    format!("{mark} {what}{zone}{}\n", style.dim(waits))
}

/// Long values are printed on separate lines.
fn field(field: &FieldChange, verb: ChangeVerb, style: Style, width: usize) -> String {
    let path = &field.path;
    let show = |it: &Value| serde_json::to_string(it).unwrap_or_default();
    match (&field.before, &field.after) {
        (Some(before), Some(after)) => {
            let (before, after) = (show(before), show(after));
            let long = path.len() + before.len() + after.len() + 12 > width;
            let gap = if long { "\n        " } else { " " };
            let mark = style.yellow("~");
            format!("    {mark} {path}:{gap}{before}{gap}-> {after}\n")
        }
        (None, Some(after)) if verb == ChangeVerb::Create => {
            format!("      {path}: {}\n", show(after))
        }
        (None, Some(after)) => format!("    {} {path}: {}\n", style.green("+"), show(after)),
        (Some(before), None) => format!("    {} {path}: {}\n", style.red("-"), show(before)),
        (None, None) => format!("    {} {path}\n", style.red("-")),
    }
}

fn summary(preview: &Preview) -> String {
    let number = |verb| {
        let changes = preview.changes.iter();
        changes.filter(|it| it.action == verb).count()
    };
    let failed = match preview.failures.len() {
        0 => "",
        _ => " Fix the errors marked with ! first.",
    };
    if preview.changes.is_empty() && failed.is_empty() {
        return match preview.waiting.len() {
            0 => format!("No changes. Shoot {} matches the manifest.", preview.shoot),
            number => format!("No changes; waiting for {}.", count(number, "item")),
        };
    }
    format!(
        "Plan: {} to create, {} to change, {} to delete.{failed}",
        number(ChangeVerb::Create),
        number(ChangeVerb::Change),
        number(ChangeVerb::Delete)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use snapbox::{assert_data_eq, str};

    fn change(action: ChangeVerb, kind: &str, name: &str) -> Change {
        Change {
            action,
            kind: kind.to_owned(),
            name: (!name.is_empty()).then(|| name.to_owned()),
            pool: None,
            zone: None,
            title: String::new(),
            waits: None,
            about: None,
            fields: Vec::new(),
        }
    }

    fn machine(action: ChangeVerb, name: &str, zone: &str, waits: &str) -> Change {
        let about = "type small, image ubuntu 24.04, volume 20Gi standard";
        Change {
            pool: Some("worker".to_owned()),
            zone: Some(zone.to_owned()),
            waits: (!waits.is_empty()).then(|| waits.to_owned()),
            about: (action == ChangeVerb::Create).then(|| about.to_owned()),
            ..change(action, "VirtualMachine", name)
        }
    }

    fn preview(changes: Vec<Change>) -> Preview {
        Preview {
            shoot: "dev".to_owned(),
            namespace: "ci".to_owned(),
            technical_id: "shoot--local--dev".to_owned(),
            changes,
            waiting: Vec::new(),
            failures: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn check(preview: &Preview) -> String {
        text(preview, false, Style { on: false }, 80)
    }

    #[test]
    fn no_changes_are_one_line() {
        assert_data_eq!(
            check(&preview(Vec::new())),
            str![[r#"
No changes. Shoot dev matches the manifest.

"#]]
        );
    }

    #[test]
    fn a_rolling_update_lists_new_and_old_machines_and_what_they_wait_for() {
        let field = |path: &str, before: &str, after: &str| FieldChange {
            path: path.to_owned(),
            before: Some(json!(before)),
            after: Some(json!(after)),
        };
        let record = Change {
            fields: vec![
                field("spec.kubernetes.version", "1.33.6", "1.34.2"),
                field(
                    "spec.provider.workers[0].machine.image.providerConfig.name",
                    "an-image-of-some-length",
                    "another-image",
                ),
            ],
            ..change(ChangeVerb::Change, "ConfigMap", "shoot--local--dev")
        };
        let text = check(&preview(vec![
            record,
            machine(
                ChangeVerb::Create,
                "shoot--local--dev-worker-z1-3fa2c-0",
                "zone-a",
                "after image ubuntu 24.04",
            ),
            machine(
                ChangeVerb::Create,
                "",
                "zone-b",
                "later in the rolling update",
            ),
            machine(
                ChangeVerb::Delete,
                "shoot--local--dev-worker-z1-99aa1-0",
                "zone-a",
                "once new machines are ready",
            ),
        ]));
        assert_data_eq!(
            text,
            str![[r#"
Shoot dev in namespace ci (shoot--local--dev):

~ ConfigMap shoot--local--dev
    ~ spec.kubernetes.version: "1.33.6" -> "1.34.2"
    ~ spec.provider.workers[0].machine.image.providerConfig.name:
        "an-image-of-some-length"
        -> "another-image"
+ VirtualMachine worker-z1-3fa2c-0 in zone zone-a (after image ubuntu 24.04)
    type small, image ubuntu 24.04, volume 20Gi standard
+ machine of pool worker in zone zone-b (later in the rolling update)
- VirtualMachine worker-z1-99aa1-0 in zone zone-a (once new machines are ready)

Plan: 2 to create, 1 to change, 1 to delete.

"#]]
        );
    }

    #[test]
    fn items_in_progress_and_failures_are_listed() {
        let in_progress = Preview {
            waiting: vec!["Start machine shoot--local--dev-worker-z1-3fa2c-0: Starting".to_owned()],
            ..preview(Vec::new())
        };
        assert_data_eq!(
            check(&in_progress),
            str![[r#"
Shoot dev in namespace ci (shoot--local--dev):

… Start machine worker-z1-3fa2c-0: Starting

No changes; waiting for 1 item.

"#]]
        );
        let failing = Preview {
            failures: vec!["Find shared network ci/blue: network blue not found".to_owned()],
            ..preview(vec![change(
                ChangeVerb::Create,
                "ConfigMap",
                "shoot--local--dev",
            )])
        };
        assert_data_eq!(
            check(&failing),
            str![[r#"
Shoot dev in namespace ci (shoot--local--dev):

+ ConfigMap shoot--local--dev
! Find shared network ci/blue: network blue not found

Plan: 1 to create, 0 to change, 0 to delete. Fix the errors marked with ! first.

"#]]
        );
    }

    #[test]
    fn names_are_those_of_kubectl() {
        let changes = vec![
            change(ChangeVerb::Create, "ConfigMap", "shoot--local--dev"),
            machine(
                ChangeVerb::Create,
                "",
                "zone-b",
                "later in the rolling update",
            ),
        ];
        let names = names(&[preview(changes)]);
        assert_eq!(names, "configmap/shoot--local--dev\n");
    }
}
