//! Checks before an upgrade: reading what they depend on, and printing what they find.

use super::upgradable::{Upgradable, UpgradeOptions, VERB};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::provider::external_objects::external_objects;
use crate::cluster::Observer;
use crate::plan::upgrade::{Preflight, UpgradeFinding, findings};
use crate::validate::ValidShoot;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::time::Instant;

/// Time to wait for the objects inside the shoot.
const INSIDE_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns if nothing prevents the upgrade but what is ignored. Writes nothing.
pub(super) async fn check(
    options: &UpgradeOptions,
    context: &Context,
    found: &Upgradable,
    after: &ValidShoot,
) -> Result<(), CommandError> {
    let provider = &found.provider;
    let (name, from, to) = (&options.name, &found.before.kubernetes, &after.kubernetes);
    let pools: BTreeSet<&str> = rolled(&found.before, after).collect();
    let pools = match pools.is_empty() {
        true => "no pool".to_owned(),
        false => format!("pools {}", Vec::from_iter(pools).join(", ")),
    };
    let changes = match from == to {
        true => pools,
        false => format!("control plane {from} to {to}, then {pools}"),
    };
    context
        .ui
        .status(&format!("checking shoot {name}: {changes}"));
    let external = external_objects(after, provider);
    let observer = Observer::start(provider, &after.id, Instant::now(), external).await;
    let observer = observer.map_err(failed)?;
    let facts = observer.complete_facts(INSIDE_TIMEOUT).await;
    let shoot = provider.upgrade_facts(&after.id).await;
    let why = shoot.as_ref().err().map(ToString::to_string);
    let findings = findings(&Preflight {
        before: &found.before,
        after,
        facts: &facts,
        shoot: match (&shoot, &why) {
            (Ok(shoot), _) => Ok(shoot),
            (Err(_), why) => Err(why.as_deref().unwrap_or_default()),
        },
    });
    judge(&findings, options, to, context)
}

/// Names of the pools whose machines are replaced.
fn rolled<'a>(before: &'a ValidShoot, after: &'a ValidShoot) -> impl Iterator<Item = &'a str> {
    let old = |name: &str| before.pools.iter().find(|it| it.name == name);
    let changed = after.pools.iter().filter(move |it| {
        old(&it.name).is_some_and(|old| old.kubernetes != it.kubernetes || old.image != it.image)
    });
    changed.map(|it| it.name.as_str())
}

/// Prints warnings and what is ignored.
fn judge(
    findings: &[UpgradeFinding],
    options: &UpgradeOptions,
    to: &str,
    context: &Context,
) -> Result<(), CommandError> {
    let is_ignored = |it: &&UpgradeFinding| options.ignored.contains(&it.check);
    let (refusing, others): (Vec<_>, Vec<_>) = findings
        .iter()
        .partition(|it| it.refuses && !is_ignored(it));
    for finding in others {
        let note = if is_ignored(&finding) {
            " (ignored)"
        } else {
            ""
        };
        context.ui.warn(&format!("{}{note}", text(finding)));
    }
    if refusing.is_empty() {
        return Ok(());
    }
    let name = &options.name;
    let message = format!("cannot upgrade shoot {name} to Kubernetes {to}; nothing was changed");
    let mut error = CommandError::new(Exit::Precondition, message);
    for finding in &refusing {
        error = error.cause(text(finding));
    }
    let checks: BTreeSet<&str> = refusing.iter().map(|it| it.check.id()).collect();
    let checks = Vec::from_iter(checks).join(",");
    let ignore = format!("--ignore={checks}");
    let command = context.hint_command(&[VERB, name, "--to", to, &ignore]);
    Err(error.hint(format!("to upgrade in spite of it: {command}")))
}

/// The check, the object and what is wrong with it, and what to do.
fn text(finding: &UpgradeFinding) -> String {
    let UpgradeFinding {
        check,
        object,
        problem,
        remedy,
        ..
    } = finding;
    format!("{}: {object} {problem}\n{remedy}", check.id())
}
