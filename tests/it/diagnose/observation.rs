//! Records what the API servers of a healthy shoot answer, for the unit tests of commands that read it.

use crate::support::provider::{self, Provider, Resource};
use crate::support::shoot_api::{NODE, ShootApi};
use crate::support::shoots::Manifest;
use kube::api::DynamicObject;
use serde_json::{Map, Value, json};
use std::fs;
use std::time::SystemTime;

const FILE: &str = "src/cluster/testing/observation.json";
/// Name of the shoot, and its technical ID in the recording.
const NAME: &str = "observed";
const ID: &str = "shoot--dev--demo";
const RECORD_UID: &str = "0b6c2f6e-90a1-4a0e-9a53-2c6a5d0a7c11";
const COMPONENT: &str = "app.kubernetes.io/component";

#[test]
#[ignore = "writes src/cluster/testing/observation.json: cargo test --test it observation -- --ignored"]
fn the_observation_of_a_healthy_shoot_is_recorded() {
    let provider = Provider::new();
    let manifest = Manifest::small(NAME).with_size(3);
    provider.assert_applied(&manifest, "created");
    provider.assert_unchanged(&manifest);
    let shoot = ShootApi::connect(&provider, &provider.kvshoot(), NAME);
    let recorded = json!({
        "time": seconds_since_epoch(),
        "provider": recorded_provider(&provider),
        "shoot": recorded_shoot(&shoot),
    });
    let text = serde_json::to_string_pretty(&recorded).unwrap();
    fs::write(FILE, renamed(&provider, &manifest, text) + "\n").unwrap();
}

fn seconds_since_epoch() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.unwrap().as_secs()
}

fn recorded_provider(provider: &Provider) -> Value {
    let all = |resource: Resource| provider.list(resource);
    let with = |resource: Resource, is_wanted: fn(&str) -> bool| {
        let mut objects = all(resource);
        objects.retain(|it| component(it).is_some_and(is_wanted));
        objects
    };
    json!({
        "configmaps": recorded(with(provider::CONFIG_MAP, |it| it == "record")),
        "virtualmachines": recorded(all(provider::VM)),
        "virtualmachineinstances": recorded(all(provider::VMI)),
        "user-data": metadata(with(provider::SECRET, |it| it == "user-data")),
        "datavolumes": recorded(with(provider::DATA_VOLUME, |_| true)),
        "statefulsets": recorded(all(provider::STATEFUL_SET)),
        "deployments": recorded(all(provider::DEPLOYMENT)),
        "services": recorded(all(provider::SERVICE)),
        "secrets": metadata(with(provider::SECRET, |it| it != "user-data")),
    })
}

fn recorded_shoot(shoot: &ShootApi) -> Value {
    let ours = |resource: Resource| {
        let mut objects = shoot.list(resource);
        objects.retain(|it| component(it).is_some());
        recorded(objects)
    };
    json!({
        "nodes": recorded(shoot.list(NODE)),
        "deployments": ours(Resource("apps", "v1", "Deployment")),
        "daemonsets": ours(Resource("apps", "v1", "DaemonSet")),
        "apiservices": ours(Resource("apiregistration.k8s.io", "v1", "APIService")),
    })
}

fn component(object: &DynamicObject) -> Option<&str> {
    let labels = object.metadata.labels.as_ref()?;
    labels.get(COMPONENT).map(String::as_str)
}

/// The objects without what is long and never read.
fn recorded(objects: Vec<DynamicObject>) -> Vec<Value> {
    let objects = objects.into_iter();
    objects
        .map(|mut object| {
            object.metadata.managed_fields = None;
            let mut object = serde_json::to_value(object).unwrap();
            if object["data"].is_object() {
                object["data"] = json!({});
            }
            let is_workload = object["status"]["observedGeneration"].is_u64();
            if let Some(spec) = object["spec"].as_object_mut().filter(|_| is_workload) {
                spec.remove("template");
            }
            object
        })
        .collect()
}

/// The objects without their content, as a LIST of metadata answers.
fn metadata(objects: Vec<DynamicObject>) -> Vec<Value> {
    let objects = recorded(objects).into_iter();
    objects
        .map(|mut object| {
            let mut partial = Map::new();
            partial.insert("apiVersion".into(), json!("meta.k8s.io/v1"));
            partial.insert("kind".into(), json!("PartialObjectMetadata"));
            partial.insert("metadata".into(), object["metadata"].take());
            partial.into()
        })
        .collect()
}

/// The recording with names that the tests know: machines are `machine-0` to `machine-2`, their image is `golden`.
fn renamed(provider: &Provider, manifest: &Manifest, mut text: String) -> String {
    let record = provider.get(provider::CONFIG_MAP, &manifest.id()).unwrap();
    let images = provider.names(provider::DATA_VOLUME).into_iter();
    let machines = provider.names(provider::VM);
    let image = images
        .filter(|it| it.contains("-ubuntu-"))
        .find(|it| !machines.contains(it));
    text = text.replace(&image.expect("the pool has a golden volume"), "golden");
    for (ordinal, machine) in machines.iter().enumerate() {
        text = text.replace(machine, &format!("machine-{ordinal}"));
    }
    text = text.replace(&record.metadata.uid.unwrap(), RECORD_UID);
    text = text.replace(&manifest.id(), ID);
    text = text.replace(&provider.namespace, "clusters");
    text = text.replace(
        "\"kvshoot.io/pool\": \"worker\"",
        "\"kvshoot.io/pool\": \"cpu\"",
    );
    text.replace("zone-a", "europe-west1-c")
}
