//! The CAs that machines take in place: a ConfigMap that every node may read.

use super::context::SystemContext;
use super::objects::{NAMESPACE, config_map, group, role, role_binding, rule, rule_for};
use crate::render::component::Component;
use crate::validate::ValidShoot;
use serde_json::json;

pub(crate) const NAME: &str = "machine-roots";
/// The ConfigMap, its role, and the binding of that.
const CONFIG_MAP: &str = "kvshoot-certificate-authorities";

/// True if machines of a pool take new CAs in place.
pub(crate) fn is_wanted(shoot: &ValidShoot) -> bool {
    shoot.pools.iter().any(|it| it.is_updated_in_place)
}

/// None if no machine reads them.
pub(crate) fn component(context: &SystemContext) -> Option<Component> {
    if !is_wanted(context.shoot) {
        return None;
    }
    let data = json!({ "ca.crt": &*context.known.ca, "roots": context.roots.to_string() });
    let get = rule_for(&[CONFIG_MAP], rule("", &["configmaps"], &["get"]));
    Some(Component {
        name: NAME,
        title: "Publish the certificate authority for machines".into(),
        objects: vec![
            config_map(CONFIG_MAP, &data),
            role(NAMESPACE, CONFIG_MAP, &[get]),
            role_binding(NAMESPACE, CONFIG_MAP, CONFIG_MAP, &[group("system:nodes")]),
        ],
    })
}
