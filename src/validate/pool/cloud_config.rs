//! Cloud-config that is merged into that of a machine.

use crate::model::{YamlError, read_yaml};
use serde_yaml::{Mapping, Value};

pub(crate) const HEAD: &str = "#cloud-config\n";

/// Error in a cloud-config.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CloudConfigError {
    #[error("not a cloud-config: the first line must be #cloud-config")]
    Head,
    #[error("not a cloud-config: {0}")]
    Yaml(YamlError),
    #[error("must be a mapping at the top level")]
    NoMapping,
    #[error("ssh_authorized_keys must be a list")]
    NoKeyList,
    #[error("{0} must be a list")]
    NoList(&'static str),
}

/// Lists that kvshoot adds entries to.
const LISTS: [&str; 3] = ["bootcmd", "runcmd", "write_files"];

/// Parses a cloud-config; scripts and multi-part texts cannot be merged.
pub(crate) fn parse(text: &str) -> Result<Mapping, CloudConfigError> {
    if text.lines().next().map(str::trim_end) != Some(HEAD.trim_end()) {
        return Err(CloudConfigError::Head);
    }
    let config = match read_yaml(text) {
        Ok(Value::Mapping(config)) => without_added_newline(config, text),
        Ok(Value::Null) => Mapping::new(),
        Ok(_) => return Err(CloudConfigError::NoMapping),
        Err(error) => return Err(CloudConfigError::Yaml(error)),
    };
    let keys = config.get("ssh_authorized_keys");
    if keys.is_some_and(|it| !it.is_sequence()) {
        return Err(CloudConfigError::NoKeyList);
    }
    for key in LISTS {
        let list = config.get(key);
        if list.is_some_and(|it| !it.is_sequence() && !it.is_null()) {
            return Err(CloudConfigError::NoList(key));
        }
    }
    Ok(config)
}

/// Keys of passwords.
const PASSWORDS: [&str; 5] = [
    "password",
    "chpasswd",
    "passwd",
    "hashed_passwd",
    "plain_text_passwd",
];

/// Describes the first secret in a cloud-config: a password, or a private key in any text.
pub(crate) fn secret(config: &Mapping) -> Option<&'static str> {
    config.iter().find_map(|(key, value)| {
        let key = key.as_str().unwrap_or_default();
        match PASSWORDS.contains(&key) && !value.is_null() {
            true => Some("a password"),
            false => secret_in(value),
        }
    })
}

fn secret_in(value: &Value) -> Option<&'static str> {
    match value {
        Value::String(text) => text.contains("PRIVATE KEY-----").then_some("a private key"),
        Value::Sequence(items) => items.iter().find_map(secret_in),
        Value::Mapping(fields) => secret(fields),
        _ => None,
    }
}

/// Removes the line break that the parser adds to a block scalar at the end of a text without one. cloud-init's parser
/// adds none.
fn without_added_newline(mut config: Mapping, text: &str) -> Mapping {
    let mut last = config.values_mut().last();
    while let Some(value) = last {
        match value {
            Value::String(block) => {
                let line = block.trim_end_matches('\n').lines().next_back();
                if block.ends_with('\n') && line.is_some_and(|it| text.ends_with(it)) {
                    block.pop();
                }
                break;
            }
            Value::Sequence(items) => last = items.last_mut(),
            Value::Mapping(fields) => last = fields.values_mut().last(),
            _ => break,
        }
    }
    config
}

/// Returns true for a line of an authorized_keys file: type, base64 data, and an optional comment.
pub(crate) fn is_public_key(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let kind = words.next().unwrap_or_default();
    let known = ["ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-sha2-"];
    let body = words.next().unwrap_or_default();
    let is_base64 = |it: char| it.is_ascii_alphanumeric() || "+/=".contains(it);
    known.iter().any(|it| kind.starts_with(it))
        && body.len() >= 32
        && body.chars().all(is_base64)
        && !line.contains('\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_and_private_keys_are_secrets() {
        let secret = |text: &str| secret(&parse(&format!("{HEAD}{text}")).expect("a cloud-config"));
        for (text, expected) in [
            ("packages: [jq]", None),
            ("passwd: null", None),
            ("password: x", Some("a password")),
            ("chpasswd: {list: 'root:x'}", Some("a password")),
            ("users: [{name: a, hashed_passwd: x}]", Some("a password")),
            (
                "write_files: [{path: /a, content: '-----BEGIN RSA PRIVATE KEY-----'}]",
                Some("a private key"),
            ),
        ] {
            assert_eq!(secret(text), expected, "{text}");
        }
    }

    #[test]
    fn a_cloud_config_is_a_mapping_with_a_header() {
        assert!(parse("#cloud-config\nruncmd: [date]\n").is_ok());
        assert!(parse("#cloud-config\n").is_ok_and(|it| it.is_empty()));
        assert_eq!(parse("#!/bin/sh\n"), Err(CloudConfigError::Head));
        assert_eq!(
            parse("#cloud-config\n- a\n"),
            Err(CloudConfigError::NoMapping)
        );
        assert_eq!(
            parse("#cloud-config\nssh_authorized_keys: a\n"),
            Err(CloudConfigError::NoKeyList)
        );
        assert_eq!(
            parse("#cloud-config\nruncmd: date\n"),
            Err(CloudConfigError::NoList("runcmd"))
        );
    }

    #[test]
    fn private_keys_are_rejected() {
        assert!(is_public_key(
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGxsbGxsbGxsbGxsbGxsbGxs me@here"
        ));
        assert!(!is_public_key("-----BEGIN OPENSSH PRIVATE KEY-----"));
        assert!(!is_public_key("ssh-ed25519"));
    }
}
