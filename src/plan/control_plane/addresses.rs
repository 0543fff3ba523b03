//! Addresses of the API server that machines cannot use, or would lose.

use crate::plan::planner::Planner;
use crate::render::control_plane::context::ControlPlaneFacts;
use crate::render::control_plane::known::for_machines;
use crate::render::networking::is_in_range;
use crate::state::facts::{Facts, ObjectStatus};
use crate::state::failure::{ErrorClass, Failure};
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::names::{self, part};
use crate::state::plan::{Dependency, ItemState};
use crate::validate::ValidShoot;
use crate::validate::control_plane::ApiServerExposure;

/// A failed item if the provider assigned an address of IPv6, or one that the shoot uses itself. Packets of machines to
/// the latter would end at a Service or a pod of the shoot, and the same is true of the provider's DNS. Otherwise there is
/// no item.
///
/// A shoot that has machines is not refused: they show that the address works.
pub(super) fn conflicting(
    planner: &mut Planner,
    shoot: &ValidShoot,
    known: &ControlPlaneFacts,
    services: Dependency,
) -> Option<Dependency> {
    let is_used = known.node_address.host == for_machines(&known.cluster_ip);
    if has_machines(&planner.observed.facts) || !is_used {
        return None;
    }
    if known.cluster_ip.contains(':') {
        let message = format!(
            "the provider cluster gave Service {:?} the address {}: IPv6 is not supported; use a provider cluster whose primary IP family is IPv4",
            names::control_plane(&shoot.id, part::API_SERVER),
            known.cluster_ip
        );
        return Some(failed(planner, message, services));
    }
    let ranges = [
        ("services", &shoot.networking.services),
        ("pods", &shoot.networking.pods),
    ];
    let mut ranges = ranges.into_iter();
    let (field, range) = ranges.find(|it| is_in_range(&known.cluster_ip, it.1))?;
    let service = names::control_plane(&shoot.id, part::API_SERVER);
    let message = format!(
        "the provider cluster gave Service {service:?} the address {}, which is in networking.{field} {range} of the Shoot: machines would not reach it; delete the shoot and create it with a range that the provider cluster does not use",
        known.cluster_ip
    );
    Some(failed(planner, message, services))
}

fn failed(planner: &mut Planner, message: String, services: Dependency) -> Dependency {
    let state = ItemState::Failed(Failure::new(ErrorClass::Missing, message));
    let title = "Check addresses of the provider cluster".into();
    let id = "control-plane/addresses".to_owned();
    planner.add(id.into(), title, [services], state)
}

/// A failed item if the load balancer is to be removed whose address is the `nodeAddress` that machines use.
pub(super) fn lost(
    planner: &mut Planner,
    shoot: &ValidShoot,
    services: Dependency,
) -> Option<Dependency> {
    let facts = &planner.observed.facts;
    let given = shoot.control_plane.node_address.as_ref()?;
    let is_kept = matches!(
        shoot.control_plane.exposure,
        ApiServerExposure::LoadBalancer { .. }
    );
    let name = names::control_plane(&shoot.id, part::EXTERNAL);
    let key = ObjectKey::provider(ObjectKind::Service, name.as_str());
    let Some(ObjectStatus::Service(service)) = facts.objects.get(&key).map(|it| &it.status) else {
        return None;
    };
    if is_kept || !has_machines(facts) || service.ingress.as_deref() != Some(&*given.host) {
        return None;
    }
    let message = format!(
        "machines reach the API server at nodeAddress {}, the address of load balancer {name:?}, which another exposure removes; first apply another nodeAddress, which replaces the machines",
        given.host
    );
    let state = ItemState::Failed(Failure::new(ErrorClass::Missing, message));
    let title = "Check the address that machines use".into();
    let id = "control-plane/node-address".to_owned();
    Some(planner.add(id.into(), title, [services], state))
}

fn has_machines(facts: &Facts) -> bool {
    facts.machines.values().any(|it| !it.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{finished, plan};
    use crate::state::observed::Observed;
    use crate::validate::control_plane::Address;
    use crate::validate::testing::{SHOOT, valid_for_tests};
    use std::sync::Arc;

    /// Messages of failed items after the exposure is removed from a shoot whose machines use this address.
    fn failures(address_of: impl Fn(&str) -> String, has_machines: bool) -> Vec<String> {
        let mut shoot = valid_for_tests(SHOOT);
        let mut observed: Observed = finished(&shoot);
        let facts = Arc::make_mut(&mut observed.facts);
        if !has_machines {
            facts.machines.clear();
        }
        let name = names::control_plane(&shoot.id, part::EXTERNAL);
        let key = ObjectKey::provider(ObjectKind::Service, name.as_str());
        let Some(ObjectStatus::Service(service)) = facts.objects.get(&key).map(|it| &it.status)
        else {
            panic!("a finished shoot has a load balancer");
        };
        let balancer = service.ingress.as_deref().expect("it has an address");
        shoot.control_plane.node_address = Some(Address {
            host: address_of(balancer),
            port: 6443,
        });
        shoot.control_plane.exposure = ApiServerExposure::None;
        let items = plan(&shoot, &observed).items.into_iter();
        items
            .filter_map(|it| match it.state {
                ItemState::Failed(failure) => Some(failure.message),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn a_provider_whose_primary_family_is_ipv6_is_refused() {
        let shoot = valid_for_tests(SHOOT);
        let mut observed = finished(&shoot);
        let facts = Arc::make_mut(&mut observed.facts);
        facts.machines.clear();
        let name = names::control_plane(&shoot.id, part::API_SERVER);
        let key = ObjectKey::provider(ObjectKind::Service, name.as_str());
        let Some(ObjectStatus::Service(service)) =
            facts.objects.get_mut(&key).map(|it| &mut it.status)
        else {
            panic!("a finished shoot has a Service");
        };
        service.cluster_ip = Some("fd00::7".into());
        let items = plan(&shoot, &observed).items;
        let mut failures = items.iter().filter_map(|it| match &it.state {
            ItemState::Failed(failure) => Some(failure.message.as_str()),
            _ => None,
        });
        let message = failures.next().expect("a failed item");
        assert!(
            message.contains("fd00::7: IPv6 is not supported"),
            "{message}"
        );
    }

    #[test]
    fn a_load_balancer_that_machines_use_is_not_removed() {
        let found = failures(str::to_owned, true);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].contains("first apply another nodeAddress"),
            "{found:?}"
        );
        assert_eq!(failures(|_| "api.example.org".to_owned(), true), [""; 0]);
        assert_eq!(failures(str::to_owned, false), [""; 0]);
    }
}
