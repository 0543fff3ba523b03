//! Whether a real API server takes it all.

use super::{inside, whole};
use crate::state::key::Side;
use crate::state::site::Site;
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Stdio};

/// Wants kubectl in the path, and a kubeconfig that leads to a cluster that nobody needs.
#[test]
#[ignore = "needs an API server; run it with KUBECONFIG set"]
fn an_api_server_takes_everything_as_it_is() {
    let shoot = whole();
    let site = Site {
        id: &shoot.id,
        namespace: "provider",
        uid: "1",
    };
    let components = inside(&shoot, "10.96.7.7").into_iter();
    let items: Vec<Value> = components
        .flat_map(|it| it.finished(Side::Shoot, &site))
        .map(|(_, _, object)| object)
        .collect();
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
    kubectl("apply", &list);
    // The server has added nothing to what we say of it: the next run finds nothing to do.
    kubectl("diff", &list);
}

fn kubectl(verb: &str, list: &Value) {
    let mut kubectl = Command::new("kubectl")
        .arg(verb)
        .args(["--server-side", "--field-manager=kvshoot", "-f", "-"])
        .args((verb == "apply").then_some("--validate=strict"))
        .stdin(Stdio::piped())
        .spawn()
        .expect("kubectl is there");
    let mut input = kubectl.stdin.take().expect("it is piped");
    let text = list.to_string();
    input.write_all(text.as_bytes()).expect("kubectl reads");
    drop(input);
    let status = kubectl.wait().expect("kubectl ends");
    assert!(status.success(), "{verb}");
}
