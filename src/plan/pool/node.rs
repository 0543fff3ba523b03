//! Nodes of the shoot: what kvshoot puts on them, and what is left when their machine is gone.

use crate::plan::deletion::{removal, title};
use crate::plan::planner::Planner;
use crate::plan::pool::token;
use crate::state::action::{Action, Content, Target, Wanted};
use crate::state::facts::Inside;
use crate::state::hash::Hash;
use crate::state::key::{Key, Kind};
use crate::state::observed::Observed;
use crate::state::plan::State;
use std::collections::HashSet;
use std::sync::Arc;

/// Items for nodes and tokens that nobody needs any more.
pub(crate) fn add(planner: &mut Planner) {
    let observed = planner.observed;
    let facts = &observed.facts;
    if facts.inside != Inside::Observed {
        return;
    }
    let seen = facts.machines.values().flat_map(|it| it.keys());
    // Those on their way have a token, and may have a node, before anybody sees them.
    let sent = observed.sent.keys().filter(|it| it.kind == Kind::Machine);
    let machines: HashSet<&Arc<str>> = seen.chain(sent.map(|it| &it.name)).collect();
    for (name, node) in &facts.nodes {
        // Others than machines of ours may be nodes as well.
        if !node.is_ours || machines.contains(name) {
            continue;
        }
        let state = delete(
            Key::shoot(Kind::Node, name.clone()),
            &node.uid,
            &node.version,
        );
        let id = format!("remove/{}", node.uid);
        planner.add(id.into(), format!("Remove node {name}"), [], state);
    }
    let coming = machines.iter().filter(|it| !facts.nodes.contains_key(**it));
    let needed: HashSet<Arc<str>> = coming.map(|it| token::key(it).name).collect();
    let tokens = facts.objects.iter().filter(|it| it.0.kind == Kind::Token);
    let mut tokens: Vec<_> = tokens.filter(|it| !needed.contains(&it.0.name)).collect();
    tokens.sort_by_key(|it| it.0);
    for (key, token) in tokens {
        let id = format!("remove/{}", token.uid);
        planner.add(id.into(), title(key), [], removal(key, token));
    }
}

fn delete(key: Key, uid: &Arc<str>, version: &Arc<str>) -> State {
    State::Due(Action::Delete(Target {
        key,
        uid: uid.clone(),
        version: version.clone(),
        unless_ready: false,
        drain: None,
        setback: None,
    }))
}

/// Due while the node of a machine does not show what its pool wants.
pub(crate) fn metadata(
    observed: &Observed,
    pool: &Arc<str>,
    name: &Arc<str>,
    wanted: &str,
) -> Option<State> {
    let node = observed.facts.nodes.get(name)?;
    if *node.metadata == *wanted || observed.facts.inside != Inside::Observed {
        return None;
    }
    let content = Content::Metadata {
        pool: pool.clone(),
        uid: node.uid.clone(),
    };
    Some(State::Due(Action::Apply(Wanted {
        key: Key::shoot(Kind::Node, name.clone()),
        hash: Hash::of(&wanted),
        content,
    })))
}

#[cfg(test)]
#[path = "node_tests.rs"]
mod tests;
