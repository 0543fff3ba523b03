//! User data of the machines of a manifest.

use super::kvshoot::Kvshoot;
use serde_json::Value;
use std::fs;

/// Returns the user data of all machines that a first apply of a manifest creates.
pub(crate) fn of(manifest: &str) -> Vec<String> {
    let kvshoot = Kvshoot::new().file("shoot.yaml", manifest);
    let output = kvshoot.run("render -f shoot.yaml -o json --show-secrets");
    assert_eq!(output.code, 0, "{output}");
    let list: Value = serde_json::from_str(&output.out).unwrap();
    let secrets = list["items"].as_array().unwrap().iter();
    let secrets = secrets.filter_map(|it| it["stringData"]["userdata"].as_str());
    secrets.map(ToOwned::to_owned).collect()
}

/// Parses user data like cloud-init.
pub(crate) fn read(user_data: &str) -> Value {
    assert!(user_data.starts_with("#cloud-config\n"));
    serde_yaml::from_str(user_data).unwrap()
}

/// Returns the minimal example with parts of its text replaced.
pub(crate) fn minimal(replace: &[(&str, &str)]) -> String {
    let mut text = fs::read_to_string("examples/minimal.yaml").unwrap();
    for (old, new) in replace {
        assert!(text.contains(old), "{old}");
        text = text.replace(old, new);
    }
    text
}
