//! Items that delete unused objects: an object is deleted after its last user.

use crate::plan::deletion::{removal, title};
use crate::plan::instancetypes::OwnedTypes;
use crate::plan::planner::Planner;
use crate::plan::pool::consumers::{Consumers, series};
use crate::state::facts::ObservedObject;
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::names;
use crate::state::observed::Observed;
use crate::state::plan::{Dependency, ItemKind};
use crate::validate::{Network, ValidShoot};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Adds items for existing objects that are no longer needed.
pub(crate) fn unwanted(
    planner: &mut Planner,
    shoot: &ValidShoot,
    images: &HashMap<Arc<str>, Dependency>,
    types: &OwnedTypes,
    consumers: &Consumers,
) {
    let observed = planner.observed;
    let made_by = types_of_staying(observed, consumers);
    let networks: HashSet<String> = shoot
        .networks
        .iter()
        .filter_map(|it| tenant(shoot, it))
        .collect();
    let wanted = |key: &ObjectKey| match key.kind {
        ObjectKind::NetworkAttachmentDefinition => networks.contains(&*key.name),
        ObjectKind::ImageVolume => images.contains_key(&key.name),
        // A type may be no longer desired while machines still use it.
        ObjectKind::Instancetype | ObjectKind::Preference => {
            types.contains_key(key) || made_by.contains(&*key.to_string())
        }
        ObjectKind::UserData => consumers.staying.contains(&key.name),
        // Handled where they are created.
        _ => true,
    };
    let mut unwanted: Vec<(&ObjectKey, &ObservedObject)> = observed
        .facts
        .objects
        .iter()
        .filter(|it| !wanted(it.0))
        .collect();
    unwanted.sort_by_key(|it| it.0);
    for (key, object) in unwanted {
        let needs = needs(observed, consumers, key);
        planner.add(
            ItemKind::deletion(key, &object.uid),
            title(key),
            needs,
            removal(key, object),
        );
    }
}

/// Types of the machines that stay.
fn types_of_staying<'a>(observed: &'a Observed, consumers: &Consumers) -> HashSet<&'a str> {
    let machines = observed.facts.machines.values().flatten();
    let staying = machines.filter(|it| consumers.staying.contains(it.0));
    staying
        .flat_map(|machine| machine.1.types.iter().map(|it| &**it))
        .collect()
}

/// Its users are deleted first. User data that a new machine of that name may reuse is deleted when no such machine is
/// expected.
fn needs(observed: &Observed, consumers: &Consumers, key: &ObjectKey) -> Arc<[Dependency]> {
    let used_as = match key.kind {
        ObjectKind::NetworkAttachmentDefinition => {
            format!("{}/{}", observed.facts.namespace, key.name).into()
        }
        ObjectKind::Instancetype | ObjectKind::Preference => key.to_string().into(),
        _ => key.name.clone(),
    };
    let places = consumers.places.get(series(&key.name));
    let places = places.filter(|_| key.kind == ObjectKind::UserData);
    let leaving = consumers.leaving.get(&used_as);
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
