//! What machines share, and what belongs to one: it goes after its last user.

use crate::plan::deletion::{removal, title};
use crate::plan::instancetypes::Own;
use crate::plan::planner::Planner;
use crate::plan::pool::consumers::{Users, series};
use crate::state::facts::Object;
use crate::state::key::{Key, Kind};
use crate::state::names;
use crate::state::observed::Observed;
use crate::state::plan::Need;
use crate::validate::{Network, ValidShoot};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Items for what is there and no longer wanted.
pub(crate) fn unwanted(
    planner: &mut Planner,
    shoot: &ValidShoot,
    images: &HashMap<Arc<str>, Need>,
    types: &Own,
    users: &Users,
) {
    let observed = planner.observed;
    let made_by = types_of_staying(observed, users);
    let networks: HashSet<String> = shoot
        .networks
        .iter()
        .filter_map(|it| tenant(shoot, it))
        .collect();
    let wanted = |key: &Key| match key.kind {
        Kind::Network => networks.contains(&*key.name),
        Kind::Image => images.contains_key(&key.name),
        // A type may be wanted no more, and no machine has to go for it.
        Kind::Instancetype | Kind::Preference => {
            types.contains_key(key) || made_by.contains(&*key.to_string())
        }
        Kind::UserData => users.staying.contains(&key.name),
        // Judged where they are made.
        _ => true,
    };
    let mut unwanted: Vec<(&Key, &Object)> = observed
        .facts
        .objects
        .iter()
        .filter(|it| !wanted(it.0))
        .collect();
    unwanted.sort_by_key(|it| it.0);
    for (key, object) in unwanted {
        let needs = needs(observed, users, key);
        planner.add(
            format!("remove/{}", object.uid).into(),
            title(key),
            needs,
            removal(key, object),
        );
    }
}

/// What machines were made by that nobody means to remove.
fn types_of_staying<'a>(observed: &'a Observed, users: &Users) -> HashSet<&'a str> {
    let machines = observed.facts.machines.values().flatten();
    let staying = machines.filter(|it| users.staying.contains(it.0));
    staying
        .flat_map(|it| it.1.types.iter().map(|it| &**it))
        .collect()
}

/// Its users are gone first; and user data that the next machine of that name may take goes when there is none to come.
fn needs(observed: &Observed, users: &Users, key: &Key) -> Arc<[Need]> {
    let used_as = match key.kind {
        Kind::Network => format!("{}/{}", observed.facts.namespace, key.name).into(),
        Kind::Instancetype | Kind::Preference => key.to_string().into(),
        _ => key.name.clone(),
    };
    let places = users.places.get(series(&key.name));
    let places = places.filter(|_| key.kind == Kind::UserData);
    let leaving = users.leaving.get(&used_as);
    match (leaving, places) {
        (None, Some(places)) => places.clone(),
        (leaving, places) => {
            let all = leaving.into_iter().flatten();
            all.chain(places.into_iter().flat_map(|it| it.iter()))
                .copied()
                .collect()
        }
    }
}

fn tenant(shoot: &ValidShoot, network: &Network) -> Option<String> {
    match network {
        Network::Tenant { name, .. } => Some(names::tenant_network(&shoot.id, name)),
        Network::Shared { .. } => None,
    }
}
