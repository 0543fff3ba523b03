//! A plan as a person reads it: a line for each object, and what is done to it.

use super::{Change, Field, Planned, Verb};
use crate::ui::Style;
use serde_json::Value;

/// Names are short: what all of them begin with stands in the first line. `wide` shows all fields of new objects.
pub(super) fn text(planned: &Planned, wide: bool, style: Style, width: usize) -> String {
    let mut out = String::new();
    if !planned.changes.is_empty() || !planned.waiting.is_empty() || !planned.failures.is_empty() {
        out += &format!(
            "Shoot {} in namespace {}, as {}:\n\n",
            planned.shoot, planned.namespace, planned.technical_id
        );
    }
    let prefix = format!("{}-", planned.technical_id);
    let mut about = None;
    for change in &planned.changes {
        out += &line(change, &prefix, style);
        // Machines of a pool are alike: it is said once.
        if change.about.is_some() && change.about != about {
            about.clone_from(&change.about);
            let text = change.about.as_deref().unwrap_or_default();
            out += &format!("    {}\n", style.dim(text));
        }
        if wide || change.action == Verb::Change {
            let fields = change.fields.iter();
            out.extend(fields.map(|it| field(it, change.action, style, width)));
        }
    }
    for waiting in &planned.waiting {
        out += &format!("… {}\n", waiting.replace(&prefix, ""));
    }
    for failure in &planned.failures {
        out += &format!("{} {}\n", style.red("!"), failure.replace(&prefix, ""));
    }
    if !out.is_empty() {
        out += "\n";
    }
    out + &summary(planned) + "\n"
}

/// `-o name`: the objects, as kubectl names them.
pub(super) fn names(planned: &[Planned]) -> String {
    let changes = planned.iter().flat_map(|it| &it.changes);
    let named = changes.filter_map(|it| Some((it.kind.to_lowercase(), it.name.as_ref()?)));
    named
        .map(|(kind, name)| format!("{kind}/{name}\n"))
        .collect()
}

fn line(change: &Change, prefix: &str, style: Style) -> String {
    let mark = match change.action {
        Verb::Create => style.green("+"),
        Verb::Change => style.yellow("~"),
        Verb::Delete => style.red("-"),
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

/// A value that is too long for its line stands on one of its own.
fn field(field: &Field, verb: Verb, style: Style, width: usize) -> String {
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
        (None, Some(after)) if verb == Verb::Create => format!("      {path}: {}\n", show(after)),
        (None, Some(after)) => format!("    {} {path}: {}\n", style.green("+"), show(after)),
        (Some(before), None) => format!("    {} {path}: {}\n", style.red("-"), show(before)),
        (None, None) => format!("    {} {path}\n", style.red("-")),
    }
}

fn summary(planned: &Planned) -> String {
    let count = |verb| {
        let changes = planned.changes.iter();
        changes.filter(|it| it.action == verb).count()
    };
    let failed = match planned.failures.len() {
        0 => "",
        _ => " What is marked with ! has to be mended first.",
    };
    if planned.changes.is_empty() && failed.is_empty() {
        return match planned.waiting.len() {
            0 => format!(
                "Shoot {}: nothing to do, all is as the manifest says.",
                planned.shoot
            ),
            _ => "Plan: nothing to do but to wait.".to_owned(),
        };
    }
    format!(
        "Plan: {} to create, {} to change, {} to delete.{failed}",
        count(Verb::Create),
        count(Verb::Change),
        count(Verb::Delete)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use snapbox::{assert_data_eq, str};

    fn change(action: Verb, kind: &str, name: &str) -> Change {
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

    fn machine(action: Verb, name: &str, zone: &str, waits: &str) -> Change {
        let about = "type small, image ubuntu 24.04, volume 20Gi standard";
        Change {
            pool: Some("worker".to_owned()),
            zone: Some(zone.to_owned()),
            waits: (!waits.is_empty()).then(|| waits.to_owned()),
            about: (action == Verb::Create).then(|| about.to_owned()),
            ..change(action, "VirtualMachine", name)
        }
    }

    fn planned(changes: Vec<Change>) -> Planned {
        Planned {
            shoot: "dev".to_owned(),
            namespace: "ci".to_owned(),
            technical_id: "shoot--local--dev".to_owned(),
            changes,
            waiting: Vec::new(),
            failures: Vec::new(),
        }
    }

    fn check(planned: &Planned) -> String {
        text(planned, false, Style { on: false }, 80)
    }

    #[test]
    fn nothing_to_do_is_said_in_one_line() {
        assert_data_eq!(
            check(&planned(Vec::new())),
            str![[r#"
Shoot dev: nothing to do, all is as the manifest says.

"#]]
        );
    }

    #[test]
    fn a_roll_tells_what_comes_what_goes_and_what_has_to_wait() {
        let field = |path: &str, before: &str, after: &str| Field {
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
            ..change(Verb::Change, "ConfigMap", "shoot--local--dev")
        };
        let told = check(&planned(vec![
            record,
            machine(
                Verb::Create,
                "shoot--local--dev-worker-z1-3fa2c-0",
                "zone-a",
                "after image ubuntu 24.04",
            ),
            machine(Verb::Create, "", "zone-b", "later in the roll"),
            machine(
                Verb::Delete,
                "shoot--local--dev-worker-z1-99aa1-0",
                "zone-a",
                "once new machines run",
            ),
        ]));
        assert_data_eq!(
            told,
            str![[r#"
Shoot dev in namespace ci, as shoot--local--dev:

~ ConfigMap shoot--local--dev
    ~ spec.kubernetes.version: "1.33.6" -> "1.34.2"
    ~ spec.provider.workers[0].machine.image.providerConfig.name:
        "an-image-of-some-length"
        -> "another-image"
+ VirtualMachine worker-z1-3fa2c-0 in zone zone-a (after image ubuntu 24.04)
    type small, image ubuntu 24.04, volume 20Gi standard
+ machine of pool worker in zone zone-b (later in the roll)
- VirtualMachine worker-z1-99aa1-0 in zone zone-a (once new machines run)

Plan: 2 to create, 1 to change, 1 to delete.

"#]]
        );
    }

    #[test]
    fn what_is_under_way_and_what_fails_is_told_too() {
        let under_way = Planned {
            waiting: vec!["Start machine shoot--local--dev-worker-z1-3fa2c-0: Starting".to_owned()],
            ..planned(Vec::new())
        };
        assert_data_eq!(
            check(&under_way),
            str![[r#"
Shoot dev in namespace ci, as shoot--local--dev:

… Start machine worker-z1-3fa2c-0: Starting

Plan: nothing to do but to wait.

"#]]
        );
        let failing = Planned {
            failures: vec!["Find shared network ci/blue: there is no blue".to_owned()],
            ..planned(vec![change(Verb::Create, "ConfigMap", "shoot--local--dev")])
        };
        assert_data_eq!(
            check(&failing),
            str![[r#"
Shoot dev in namespace ci, as shoot--local--dev:

+ ConfigMap shoot--local--dev
! Find shared network ci/blue: there is no blue

Plan: 1 to create, 0 to change, 0 to delete. What is marked with ! has to be mended first.

"#]]
        );
    }

    #[test]
    fn names_alone_are_those_that_kubectl_takes() {
        let changes = vec![
            change(Verb::Create, "ConfigMap", "shoot--local--dev"),
            machine(Verb::Create, "", "zone-b", "later in the roll"),
        ];
        let told = names(&[planned(changes)]);
        assert_eq!(told, "configmap/shoot--local--dev\n");
    }
}
