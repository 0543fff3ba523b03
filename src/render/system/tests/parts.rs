//! Tests of single components.

use super::{
    containers, find, inside, inside_with, list, objects, rendered, templates, text, whole,
};
use crate::render::component::Component;
use crate::state::facts::{OfferedStorageClass, StorageClass};
use crate::state::names::{TOKEN_KEY, TRUSTED_CA};
use crate::validate::ValidShoot;
use crate::validate::testing::{SHOOT, valid_for_tests};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

#[test]
fn the_service_kubernetes_has_an_endpoint_only_for_an_ip_address() {
    let shoot = valid_for_tests(SHOOT);
    let of_kind = |host: &str, kind: &str| {
        let all = inside(&shoot, host);
        let mut objects = all.into_iter().flat_map(|it| it.objects);
        objects.find(|it| it["kind"] == kind)
    };
    for (host, type_) in [("10.96.7.7", "IPv4"), ("fd00::7", "IPv6")] {
        let slice = of_kind(host, "EndpointSlice").expect("an address can be an endpoint");
        assert_eq!(slice["addressType"], type_);
        assert_eq!(slice["endpoints"][0]["addresses"], json!([host]));
        assert_eq!(slice["ports"][0]["port"], 6443);
        assert_eq!(slice["metadata"]["namespace"], "default");
        let endpoints = of_kind(host, "Endpoints").expect("it exists beside the slice");
        let subset = &endpoints["subsets"][0];
        assert_eq!(subset["addresses"], json!([{ "ip": host }]));
        assert_eq!(subset["ports"], slice["ports"]);
        let labels = &endpoints["metadata"]["labels"];
        let expected = json!({ "endpointslice.kubernetes.io/skip-mirror": "true" });
        assert_eq!(*labels, expected, "a mirror would be a second slice");
    }
    for host in ["127.0.0.2", "::1", "0.0.0.0", "api.example.org"] {
        for kind in ["EndpointSlice", "Endpoints"] {
            assert_eq!(of_kind(host, kind), None, "{kind} {host}");
        }
    }
}

/// Measured in machines: at the programs' defaults, flannel takes 378m and the konnectivity agent 134m of an idle CPU.
#[test]
fn an_idle_machine_is_not_kept_busy() {
    let all = inside(&whole(), "10.96.7.7");
    let objects = objects(&all);
    let has = |name: &str, flag: &str| {
        let pod = &find(&objects, "DaemonSet", name)["spec"]["template"]["spec"];
        let command = list(&pod["containers"][0]["command"]);
        assert!(command.iter().any(|it| it == flag), "{name} {flag}");
    };
    has("kube-flannel-ds", "--iptables-resync=60");
    has("konnectivity-agent", "--sync-forever");
    has("konnectivity-agent", "--sync-interval=10s");
    has("konnectivity-agent", "--sync-interval-cap=30s");
    has("konnectivity-agent", "--v=0");
}

#[test]
fn probes_wait_for_a_machine_that_is_busy() {
    let all = inside(&whole(), "10.96.7.7");
    let mut count = 0;
    for (_, template) in templates(&objects(&all)) {
        for container in containers(template) {
            for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
                let probe = &container[probe];
                let seconds = probe["timeoutSeconds"].as_u64();
                assert!(probe.is_null() || seconds >= Some(5), "{container:#}");
                count += u8::from(!probe.is_null());
            }
        }
    }
    assert!(count >= 10, "{count}");
}

#[test]
fn metrics_server_has_the_versions_and_cipher_suites_of_tls_of_the_control_plane() {
    let all = inside(&valid_for_tests(SHOOT), "10.96.7.7");
    let deployment = find(&objects(&all), "Deployment", "metrics-server").clone();
    let args = &deployment["spec"]["template"]["spec"]["containers"][0]["args"];
    let args: Vec<&str> = args.as_array().expect("a list").iter().map(text).collect();
    assert!(args.contains(&"--tls-min-version=VersionTLS12"), "{args:?}");
    let suites = args
        .iter()
        .find_map(|it| it.strip_prefix("--tls-cipher-suites="));
    let mut suites = suites.expect("they are given").split(',');
    assert!(suites.all(|it| it.starts_with("TLS_ECDHE_")), "{args:?}");
}

#[test]
fn metrics_server_may_start_slowly() {
    let all = inside(&whole(), "10.96.7.7");
    let deployment = find(&objects(&all), "Deployment", "metrics-server").clone();
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    let probe = &container["startupProbe"];
    let seconds = ["periodSeconds", "failureThreshold"].map(|it| probe[it].as_u64());
    let [Some(period), Some(failures)] = seconds else {
        panic!("{probe}");
    };
    assert!(period * failures >= 300, "{probe}");
}

/// CoreDNS warns about a glob without files, each time it reads the Corefile.
#[test]
fn each_glob_of_the_corefile_has_a_file() {
    let all = inside(&whole(), "10.96.7.7");
    let objects = objects(&all);
    let data = &find(&objects, "ConfigMap", "coredns")["data"];
    let pod = &find(&objects, "Deployment", "coredns")["spec"]["template"]["spec"];
    let custom = &pod["volumes"][1]["projected"]["sources"];
    let files = list(&custom[0]["configMap"]["items"]);
    let globs = text(&data["Corefile"]).split_whitespace();
    let globs: Vec<&str> = globs.filter_map(|it| it.strip_prefix("custom/*")).collect();
    assert_eq!(globs, [".override", ".server"]);
    for glob in globs {
        let file = files.iter().find(|it| text(&it["path"]).ends_with(glob));
        let content = text(&data[text(&file.expect(glob)["key"])]);
        assert!(content.starts_with('#'), "it changes nothing: {content}");
    }
    let of_user = json!({ "name": "coredns-custom", "optional": true });
    assert_eq!(custom[1]["configMap"], of_user);
}

#[test]
fn kube_proxy_does_not_depend_on_services() {
    let all = inside(&whole(), "fd00::7");
    let objects = objects(&all);
    let data = &find(&objects, "ConfigMap", "kube-proxy")["data"];
    let parse = |text: &Value| -> Value {
        serde_json::from_str(text.as_str().expect("a text")).expect("JSON")
    };
    let config = parse(&data["config.conf"]);
    assert_eq!(config["mode"], "ipvs");
    assert_eq!(config["clusterCIDR"], "10.0.0.0/12");
    assert_eq!(
        config["nodePortAddresses"],
        json!(["0.0.0.0/0"]),
        "a restarted VM has another address"
    );
    let kubeconfig = parse(&data["kubeconfig.conf"]);
    let server = &kubeconfig["clusters"][0]["cluster"]["server"];
    assert_eq!(*server, "https://[fd00::7]:6443");
}

#[test]
fn kube_proxy_can_be_disabled() {
    let mut shoot = whole();
    let manifest = Arc::make_mut(&mut shoot.manifest);
    let settings = manifest.spec.kubernetes.kube_proxy.as_mut();
    settings.expect("the fixture has them").enabled = Some(false);
    let all = inside(&shoot, "10.96.7.7");
    assert!(all.iter().all(|it| it.name != "kube-proxy"));
}

#[test]
fn pods_roll_when_their_configuration_changes() {
    let sum = |pods: &str| {
        let mut shoot = whole();
        shoot.networking.pods = pods.into();
        let all = inside(&shoot, "10.96.7.7");
        let object = find(&objects(&all), "DaemonSet", "kube-flannel-ds").clone();
        object["spec"]["template"]["metadata"]["annotations"]["checksum/kube-flannel-cfg"].clone()
    };
    assert!(sum("10.0.0.0/12").is_string());
    assert_eq!(sum("10.0.0.0/12"), sum("10.0.0.0/12"));
    assert_ne!(sum("10.0.0.0/12"), sum("10.16.0.0/12"));
}

#[test]
fn flannel_uses_the_pod_range_and_a_separate_tunnel_port() {
    let all = inside(&whole(), "10.96.7.7");
    let config = find(&objects(&all), "ConfigMap", "kube-flannel-cfg");
    let network: Value =
        serde_json::from_str(text(&config["data"]["net-conf.json"])).expect("JSON");
    assert_eq!(network["Network"], "10.0.0.0/12");
    assert_eq!(network["Backend"]["Type"], "vxlan");
    let port = &network["Backend"]["Port"];
    assert!(port.is_u64() && *port != 8472 && *port != 4789, "{port}");
}

#[test]
fn dns_has_the_tenth_address_of_the_services() {
    let all = inside(&whole(), "10.96.7.7");
    let service = find(&objects(&all), "Service", "kube-dns");
    assert_eq!(service["spec"]["clusterIP"], "10.64.0.10");
}

#[test]
fn joining_machines_find_the_cluster() {
    let shoot = whole();
    let all = inside(&shoot, "10.96.7.7");
    let objects = objects(&all);
    let yaml = |name: &str, key: &str| -> Value {
        let data = &find(&objects, "ConfigMap", name)["data"];
        serde_yaml::from_str(text(&data[key])).expect("YAML")
    };
    let cluster = &yaml("cluster-info", "kubeconfig")["clusters"][0];
    assert_eq!(cluster["name"], "", "kubeadm looks for this name");
    assert_eq!(cluster["cluster"]["server"], "https://10.96.7.7:6443");
    let ca = &cluster["cluster"]["certificate-authority-data"];
    assert_eq!(ca, "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==");
    let config = yaml("kubeadm-config", "ClusterConfiguration");
    assert_eq!(config["apiVersion"], "kubeadm.k8s.io/v1beta4");
    assert_eq!(config["kubernetesVersion"], "v1.34.2");
    assert_eq!(config["controlPlaneEndpoint"], "10.96.7.7:6443");
    assert_eq!(yaml("kubelet-config", "kubelet")["maxPods"], 200);
}

#[test]
fn every_usable_volume_type_has_a_class_and_one_is_the_default() {
    let mut shoot = whole();
    let mut retired = shoot.profile.spec.volume_types[0].clone();
    retired.name = "old".into();
    retired.usable = Some(false);
    shoot.profile.spec.volume_types.insert(0, retired);
    shoot.profile.spec.volume_types[2].name = "Very fast_".into();
    let all = inside(&shoot, "10.96.7.7");
    let expected = [
        "standard of standard-rwo: default=true Immediate Delete",
        "very-fast of fast-rwo: default=false Immediate Delete",
    ];
    assert_eq!(classes(&all), expected);
}

fn classes(all: &[Component]) -> Vec<String> {
    let all = objects(all);
    let classes = all.iter().filter(|it| it["kind"] == "StorageClass");
    classes
        .map(|class| {
            let annotations = &class["metadata"]["annotations"];
            format!(
                "{} of {}: default={} {} {}",
                text(&class["metadata"]["name"]),
                text(&class["parameters"]["infraStorageClassName"]),
                text(&annotations["storageclass.kubernetes.io/is-default-class"]),
                text(&class["volumeBindingMode"]),
                text(&class["reclaimPolicy"]),
            )
        })
        .collect()
}

#[test]
fn classes_offered_by_the_provider_or_the_profile_exist_too() {
    let mut shoot = whole();
    let listed = json!([{ "name": "listed", "reclaimPolicy": "Retain" }]);
    shoot.profile.spec.provider_config.storage_classes =
        serde_json::from_value(listed).expect("a class");
    let offer = OfferedStorageClass {
        is_default: true,
        binding_mode: "WaitForFirstConsumer".into(),
        reclaim_policy: "Delete".into(),
        expandable: true,
    };
    let class = |offered: Option<OfferedStorageClass>| StorageClass {
        zonal: true,
        expandable: true,
        offered,
    };
    let of_provider = BTreeMap::from([
        ("listed".into(), class(Some(offer.clone()))),
        ("marked".into(), class(Some(offer))),
        ("plain".into(), class(None)),
    ]);
    let all = inside_with(&shoot, "10.96.7.7", &of_provider);
    let expected = [
        "standard of standard-rwo: default=false Immediate Delete",
        "fast of fast-rwo: default=false Immediate Delete",
        "kubevirt-listed of listed: default=false Immediate Retain",
        "kubevirt-marked of marked: default=true WaitForFirstConsumer Delete",
    ];
    assert_eq!(classes(&all), expected);
}

/// A claim that asks for more would never get it.
#[test]
fn classes_allow_expansion_only_if_the_driver_can() {
    let mut shoot = whole();
    let fixed = json!([{ "name": "fixed", "allowVolumeExpansion": false }]);
    shoot.profile.spec.provider_config.storage_classes =
        serde_json::from_value(fixed).expect("a class");
    let allowed = |expands| {
        let all = rendered(&shoot, "10.96.7.7", &BTreeMap::new(), |it| {
            it.expands_volumes = expands;
        });
        let objects = objects(&all);
        let classes = objects.iter().filter(|it| it["kind"] == "StorageClass");
        let allowed = classes.filter(|it| it["allowVolumeExpansion"] == true);
        allowed.count()
    };
    assert_eq!(allowed(true), 2, "the volume types");
    assert_eq!(allowed(false), 0);
}

#[test]
fn settings_reach_the_ingress_controller() {
    let all = inside(&whole(), "10.96.7.7");
    let objects = objects(&all);
    let service = &find(&objects, "Service", "ingress-nginx-controller")["spec"];
    assert_eq!(service["loadBalancerSourceRanges"], json!(["10.0.0.0/8"]));
    assert_eq!(service["externalTrafficPolicy"], "Local");
    let config = find(&objects, "ConfigMap", "ingress-nginx-controller");
    assert_eq!(config["data"], json!({ "use-gzip": "true" }));
}

#[test]
fn a_rotated_service_account_key_restarts_every_workload() {
    let shoot = whole();
    let with = |generation| {
        rendered(&shoot, "10.96.7.7", &BTreeMap::new(), |it| {
            it.token_generation = generation;
        })
    };
    let (before, after) = (with(None), with(Some(2)));
    assert!(annotations(&before, TOKEN_KEY).all(|it| it.is_null()));
    assert!(annotations(&after, TOKEN_KEY).all(|it| it == "2"));
    assert_eq!(
        annotations(&before, TOKEN_KEY).count(),
        annotations(&after, TOKEN_KEY).count()
    );
}

/// Where a pool keeps its machines, their pods stay, and clients in pods read the CAs when they start.
#[test]
fn a_rotated_ca_restarts_every_workload_if_machines_take_it_in_place() {
    let mut shoot = whole();
    let with = |shoot: &ValidShoot, number| {
        rendered(shoot, "10.96.7.7", &BTreeMap::new(), |it| {
            it.roots.number = number;
        })
    };
    let none = |all: &[Component]| annotations(all, TRUSTED_CA).all(|it| it.is_null());
    assert!(none(&with(&shoot, 1)));
    shoot.pools[0].is_updated_in_place = true;
    assert!(none(&with(&shoot, 0)));
    let rotated = with(&shoot, 1);
    assert!(annotations(&rotated, TRUSTED_CA).all(|it| it == "1"));
    assert!(annotations(&rotated, TRUSTED_CA).count() >= 8);
}

/// An annotation of all pod templates.
fn annotations<'a>(all: &'a [Component], name: &'a str) -> impl Iterator<Item = &'a Value> {
    let templates = templates(&objects(all)).into_iter();
    templates.map(move |it| &it.1["metadata"]["annotations"][name])
}
