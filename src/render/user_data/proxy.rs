//! The HTTP proxy of a machine: for the join script and the package manager that it calls, and for containerd.

use super::file::file;
use super::join::JoinConfig;
use crate::render::machine::kubelet::CLUSTER_DOMAIN;
use serde_json::Value;

/// A proxy's URL may contain a password.
const PRIVATE: &str = "0600";

/// Nothing without a proxy.
pub(crate) fn files(join: &JoinConfig) -> Vec<Value> {
    let variables = variables(join);
    if variables.is_empty() {
        return Vec::new();
    }
    let script = lines(&variables, |name, value| format!("{name}='{value}'\n"));
    // systemd takes a percent sign for the beginning of a specifier.
    let unit = lines(&variables, |name, value| {
        format!("Environment=\"{name}={}\"\n", value.replace('%', "%%"))
    });
    let drop_in = "/etc/systemd/system/containerd.service.d/50-kvshoot-proxy.conf";
    vec![
        file("/etc/kvshoot/proxy.conf", PRIVATE, &script),
        file(drop_in, PRIVATE, &format!("[Service]\n{unit}")),
    ]
}

/// By lower-case name; programs differ in which spelling they read, so both are set.
fn variables(join: &JoinConfig) -> Vec<(&'static str, String)> {
    let Some(proxy) = &join.shoot.profile.spec.provider_config.proxy else {
        return Vec::new();
    };
    let urls = [("http_proxy", &proxy.http), ("https_proxy", &proxy.https)];
    let mut variables: Vec<(&str, String)> = urls
        .into_iter()
        .filter_map(|(name, url)| Some((name, url.clone()?)))
        .collect();
    if !variables.is_empty() {
        variables.push(("no_proxy", direct(join, &proxy.no_proxy)));
    }
    variables
}

/// The cluster itself is never behind the proxy.
fn direct(join: &JoinConfig, given: &[String]) -> String {
    let networking = &join.shoot.networking;
    let own = [
        "localhost",
        "127.0.0.0/8",
        &join.node_address.host,
        &networking.services,
        &networking.pods,
        ".svc",
        &format!(".{CLUSTER_DOMAIN}"),
    ];
    let own = own.into_iter().map(str::to_owned);
    own.chain(given.iter().cloned())
        .collect::<Vec<_>>()
        .join(",")
}

fn lines(variables: &[(&str, String)], line: impl Fn(&str, &str) -> String) -> String {
    let both = variables
        .iter()
        .flat_map(|(name, value)| [line(name, value), line(&name.to_uppercase(), value)]);
    both.collect()
}
