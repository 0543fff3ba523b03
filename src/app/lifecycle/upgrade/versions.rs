//! `kvshoot upgrade --list`.

use super::upgradable::{Upgradable, UpgradeOptions, VERB};
use crate::app::context::Context;
use crate::app::error::{CommandError, failed};
use crate::cluster::FactsScope;
use crate::plan::upgrade::{OfferedVersion, UpgradeStep, newest, offered};
use crate::state::facts::{Facts, ShootApi};
use crate::ui::{Format, ListRow};
use serde::Serialize;

/// Versions of a shoot, and those that its CloudProfile offers.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct VersionList {
    components: Vec<ComponentVersion>,
    offered: Vec<VersionRow>,
}

/// The control plane or a pool.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ComponentVersion {
    name: String,
    version: String,
    /// Nodes that have the version, and all of them; None for the control plane, and if they cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<NodeCount>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeCount {
    with_version: usize,
    total: usize,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct VersionRow {
    version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    classification: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<String>,
    upgrade: &'static str,
}

pub(super) async fn print(
    found: &Upgradable,
    output: Format,
    context: &Context,
) -> Result<(), CommandError> {
    let provider = &found.provider;
    let facts = provider.list_facts(&found.record, FactsScope::NODES);
    let facts = facts.await.map_err(failed)?;
    if let ShootApi::Unreachable(why) = &facts.shoot_api {
        let text = format!("the versions of the nodes are not known: {why}");
        context.ui.warn(&text);
    }
    let before = &found.before;
    let pools = before.pools.iter().map(|pool| ComponentVersion {
        name: format!("pool {}", pool.name),
        version: pool.kubernetes.clone(),
        nodes: count(&facts, &pool.name, &pool.kubernetes),
    });
    let control_plane = ComponentVersion {
        name: "control plane".to_owned(),
        version: before.kubernetes.clone(),
        nodes: None,
    };
    let offers = offered(&found.profile, &before.kubernetes, crate::clock::now());
    let list = VersionList {
        components: std::iter::once(control_plane).chain(pools).collect(),
        offered: offers.iter().map(VersionRow::of).collect(),
    };
    match output {
        Format::Json | Format::Yaml => context.ui.value(output, &list),
        Format::Name => context.ui.list(output, &list.offered, ""),
        Format::Table | Format::Wide => {
            context.ui.list(output, &list.components, "");
            context.ui.data("\n");
            let none = "the CloudProfile offers no newer version";
            context.ui.list(output, &list.offered, none);
        }
    }
    Ok(())
}

/// None if the nodes cannot be read.
fn count(facts: &Facts, pool: &str, version: &str) -> Option<NodeCount> {
    let machines = facts.machines.get(pool);
    let has_version = |name: &str| {
        let node = facts.nodes.get(name);
        node.is_some_and(|it| it.info.kubelet_version.trim_start_matches('v') == version)
    };
    (facts.shoot_api == ShootApi::Reachable).then(|| {
        let names = || machines.into_iter().flat_map(|it| it.keys());
        NodeCount {
            with_version: names().filter(|it| has_version(it)).count(),
            total: names().count(),
        }
    })
}

impl Upgradable {
    /// Names the command for the next minor version, once there is nothing else to do.
    pub(super) fn hint_next_minor(&self, options: &UpgradeOptions, context: &Context) {
        let offers = offered(&self.profile, &self.before.kubernetes, crate::clock::now());
        let next = newest(&offers, UpgradeStep::NextMinor).filter(|_| options.to.is_none());
        if let Some(next) = next {
            let command = context.hint_command(&[VERB, &options.name, "--to", &next.version]);
            let text = format!("for the next minor version: {command}");
            context.ui.hint(&text);
        }
    }
}

impl VersionRow {
    fn of(offered: &OfferedVersion) -> VersionRow {
        VersionRow {
            version: offered.version.clone(),
            classification: offered.classification.clone(),
            expires: offered.expires.clone(),
            upgrade: match offered.step {
                UpgradeStep::Current => "current",
                UpgradeStep::Patch => "patch",
                UpgradeStep::NextMinor => "next minor",
                UpgradeStep::Later => "after the next minor",
                UpgradeStep::Expired => "expired",
                UpgradeStep::Unsupported => "not supported by kvshoot",
            },
        }
    }
}

impl ListRow for ComponentVersion {
    fn headers() -> &'static [&'static str] {
        &["COMPONENT", "VERSION", "NODES"]
    }

    fn cells(&self) -> Vec<String> {
        let nodes = self.nodes.as_ref();
        let nodes = nodes.map(|it| format!("{}/{}", it.with_version, it.total));
        let (name, version) = (self.name.clone(), self.version.clone());
        vec![name, version, nodes.unwrap_or_default()]
    }

    fn name(&self) -> String {
        self.name.clone()
    }
}

impl ListRow for VersionRow {
    fn headers() -> &'static [&'static str] {
        &["OFFERED", "CLASSIFICATION", "EXPIRES", "UPGRADE"]
    }

    fn cells(&self) -> Vec<String> {
        vec![
            self.version.clone(),
            self.classification.clone().unwrap_or_default(),
            self.expires.clone().unwrap_or_default(),
            self.upgrade.to_owned(),
        ]
    }

    fn name(&self) -> String {
        self.version.clone()
    }
}
