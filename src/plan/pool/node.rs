//! Items of the shoot's nodes: metadata of the pool, and deletion after their machine.

use crate::plan::deletion::{removal, title};
use crate::plan::planner::Planner;
use crate::plan::pool::token;
use crate::state::action::{Action, DeleteTarget, Desired, Payload};
use crate::state::facts::ShootApi;
use crate::state::hash::Hash;
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::observed::Observed;
use crate::state::plan::{ItemKind, ItemState};
use std::collections::HashSet;
use std::sync::Arc;

/// Adds items for nodes and tokens that are no longer needed.
pub(crate) fn add(planner: &mut Planner) {
    let observed = planner.observed;
    let facts = &observed.facts;
    if facts.shoot_api != ShootApi::Reachable {
        return;
    }
    let seen = facts.machines.values().flat_map(|it| it.keys());
    // Machines being created have a token, and may have a node, before they are observed.
    let sent = observed
        .sent
        .keys()
        .filter(|it| it.kind == ObjectKind::Machine);
    let machines: HashSet<&Arc<str>> = seen.chain(sent.map(|it| &it.name)).collect();
    for (name, node) in &facts.nodes {
        // Nodes that are not machines of kvshoot stay.
        if !node.is_ours || machines.contains(name) {
            continue;
        }
        let key = ObjectKey::shoot(ObjectKind::Node, name.clone());
        let kind = ItemKind::deletion(&key, &node.uid);
        let title = title(&key);
        let state = delete(key, &node.uid, &node.version);
        planner.add(kind, title, [], state);
    }
    let coming = machines.iter().filter(|it| !facts.nodes.contains_key(**it));
    let needed: HashSet<Arc<str>> = coming.map(|it| token::key(it).name).collect();
    let tokens = facts
        .objects
        .iter()
        .filter(|it| it.0.kind == ObjectKind::BootstrapToken);
    let mut tokens: Vec<_> = tokens.filter(|it| !needed.contains(&it.0.name)).collect();
    tokens.sort_by_key(|it| it.0);
    for (key, token) in tokens {
        let kind = ItemKind::deletion(key, &token.uid);
        planner.add(kind, title(key), [], removal(key, token));
    }
}

fn delete(key: ObjectKey, uid: &Arc<str>, version: &Arc<str>) -> ItemState {
    ItemState::Due(Action::Delete(DeleteTarget {
        key,
        uid: uid.clone(),
        version: version.clone(),
        unless_ready: false,
        drain: None,
        zone_failure: None,
    }))
}

/// Due while the metadata of a machine's node differs from its pool.
pub(crate) fn metadata(
    observed: &Observed,
    pool: &Arc<str>,
    name: &Arc<str>,
    wanted: &str,
) -> Option<ItemState> {
    let node = observed.facts.nodes.get(name)?;
    if *node.metadata == *wanted || observed.facts.shoot_api != ShootApi::Reachable {
        return None;
    }
    let content = Payload::Metadata {
        pool: pool.clone(),
        uid: node.uid.clone(),
    };
    Some(ItemState::Due(Action::Apply(Desired {
        key: ObjectKey::shoot(ObjectKind::Node, name.clone()),
        hash: Hash::of(&wanted),
        payload: content,
    })))
}

#[cfg(test)]
#[path = "node_tests.rs"]
mod tests;
