//! Licenses and sources of all crates, by the rules in deny.toml.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Packages that are built for this platform.
fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--offline", "--format-version=1"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// The strings of a list in deny.toml.
fn listed(begin: &str, end: &str) -> BTreeSet<String> {
    let rules = fs::read_to_string("deny.toml").unwrap();
    let (_, rest) = rules.split_once(begin).unwrap();
    let (list, _) = rest.split_once(end).unwrap();
    let texts = list.lines().filter(|it| !it.trim_start().starts_with('#'));
    let texts = texts.filter_map(|it| it.split('"').nth(1));
    texts.map(str::to_owned).collect()
}

/// True if a license expression can be met with allowed licenses.
fn is_met(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let expression = expression.replace('/', " OR ");
    let mut depth = 0;
    let parts = |separator: &str| -> Vec<String> {
        let words = expression.split(' ');
        let mut parts = vec![String::new()];
        for word in words {
            depth += word.matches('(').count();
            match word == separator && depth == 0 {
                true => parts.push(String::new()),
                false => *parts.last_mut().unwrap() += &format!("{word} "),
            }
            depth -= word.matches(')').count();
        }
        parts.into_iter().map(|it| it.trim().to_owned()).collect()
    };
    let mut parts = parts;
    // AND binds tighter than OR.
    for (separator, all) in [("OR", false), ("AND", true)] {
        let parts = parts(separator);
        if parts.len() > 1 {
            let mut met = parts.iter().map(|it| is_met(it, allowed));
            return match all {
                true => met.all(|it| it),
                false => met.any(|it| it),
            };
        }
    }
    let inner = expression
        .strip_prefix('(')
        .and_then(|it| it.strip_suffix(')'));
    match inner {
        Some(inner) => is_met(inner, allowed),
        None => allowed.contains(expression.trim()),
    }
}

#[test]
fn license_expressions_are_met_by_their_parts() {
    let allowed = ["MIT", "Apache-2.0 WITH LLVM-exception"]
        .map(str::to_owned)
        .into();
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("GPL-3.0 OR MIT", true),
        ("GPL-3.0/MIT", true),
        ("GPL-3.0 AND MIT", false),
        ("(GPL-3.0 OR MIT) AND Apache-2.0 WITH LLVM-exception", true),
        ("(GPL-3.0 OR MIT) AND GPL-3.0", false),
    ] {
        assert_eq!(is_met(expression, &allowed), expected, "{expression}");
    }
}

#[test]
fn every_crate_has_an_allowed_license_and_comes_from_crates_io() {
    let allowed = listed("allow = [", "\n]");
    let denied = listed("deny = [", "\n]");
    assert!(allowed.len() > 5 && denied.len() > 2);
    let mut wrong = Vec::new();
    for package in packages() {
        let name = package["name"].as_str().unwrap();
        let license = package["license"].as_str().unwrap_or("no license");
        if !is_met(license, &allowed) {
            wrong.push(format!("{name}: license {license}"));
        }
        let source = package["source"].as_str();
        if source.is_some_and(|it| it != CRATES_IO) || (source.is_none() && name != "kvshoot") {
            wrong.push(format!("{name}: source {source:?}"));
        }
        if denied.contains(name) {
            wrong.push(format!("{name}: denied"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
