//! Peers and ports of a rule, validated like in the API server.

use super::selector;
use crate::model::{Cidr, FindingKind, IntOrString, IpBlock, PolicyPeer, PolicyPort};
use crate::validate::report::{FieldCursor, FindingSink};
use crate::validate::rules::one_of;

const PROTOCOLS: [&str; 3] = ["TCP", "UDP", "SCTP"];
const CODE: &str = "network-policy/port";
const PORTS: std::ops::RangeInclusive<i32> = 1..=65535;
/// Maximum length of a port name.
const MAX_PORT_NAME: usize = 15;

pub(crate) fn peers(peers: &[PolicyPeer], at: &FieldCursor, report: &mut FindingSink) {
    for (i, it) in peers.iter().enumerate() {
        peer(it, &at.index(i), report);
    }
}

fn peer(peer: &PolicyPeer, at: &FieldCursor, report: &mut FindingSink) {
    for (field, it) in [
        ("podSelector", &peer.pod_selector),
        ("namespaceSelector", &peer.namespace_selector),
    ] {
        if let Some(it) = it {
            selector::check(it, &at.key(field), report);
        }
    }
    let selects = peer.pod_selector.is_some() || peer.namespace_selector.is_some();
    let code = "network-policy/peer";
    match &peer.ip_block {
        Some(_) if selects => {
            report
                .error(
                    &at.key("ipBlock"),
                    FindingKind::Forbidden,
                    code,
                    "cannot be combined with podSelector or namespaceSelector",
                )
                .hint("move it to a separate list item");
        }
        Some(it) => block(it, &at.key("ipBlock"), report),
        None if !selects => {
            report
                .error(at, FindingKind::Required, code, "must not be empty")
                .hint("set podSelector, namespaceSelector or ipBlock; podSelector: {} selects every pod in the namespace");
        }
        None => {}
    }
}

fn block(block: &IpBlock, at: &FieldCursor, report: &mut FindingSink) {
    let all = range(&block.cidr, &at.key("cidr"), report);
    let at_except = &at.key("except");
    for (i, text) in block.except.iter().enumerate() {
        let at_one = &at_except.index(i);
        let (Some(part), Some(all)) = (range(text, at_one, report), all) else {
            continue;
        };
        if !all.overlaps(part) || part.length <= all.length {
            report
                .error(
                    at_one,
                    FindingKind::Invalid,
                    "network-policy/except",
                    format!("{part} is not a strict subset of {all}"),
                )
                .see(&at.key("cidr"), "excluded from this range");
        }
    }
}

fn range(text: &str, at: &FieldCursor, report: &mut FindingSink) -> Option<Cidr> {
    // An empty value is reported as missing.
    if text.is_empty() {
        return None;
    }
    let code = "network-policy/cidr";
    match Cidr::parse(text) {
        Err(message) => {
            report.error(at, FindingKind::Invalid, code, message);
            None
        }
        Ok(cidr) if cidr != cidr.canonical() => {
            let message = format!(
                "{text:?} has host bits set after the first {} bits",
                cidr.length
            );
            report
                .error(at, FindingKind::Invalid, code, message)
                .hint(format!("write {}", cidr.canonical()));
            None
        }
        Ok(cidr) => Some(cidr),
    }
}

pub(crate) fn ports(ports: &[PolicyPort], at: &FieldCursor, report: &mut FindingSink) {
    for (i, it) in ports.iter().enumerate() {
        let at = &at.index(i);
        let protocol = it.protocol.as_deref();
        one_of(protocol, &PROTOCOLS, &at.key("protocol"), CODE, report);
        port(it, at, report);
    }
}

fn port(it: &PolicyPort, at: &FieldCursor, report: &mut FindingSink) {
    let first = match &it.port {
        Some(IntOrString::Int(number)) => {
            check_number(*number, &at.key("port"), report);
            Some(*number)
        }
        Some(IntOrString::String(name)) => {
            check_name(name, &at.key("port"), report);
            None
        }
        None => None,
    };
    let Some(last) = it.end_port else { return };
    let at_last = &at.key("endPort");
    match first {
        None => {
            report.error(
                at_last,
                FindingKind::Forbidden,
                CODE,
                "requires a numeric port as the start of the range",
            );
        }
        Some(first) if last < first => {
            let message = format!("must not be less than port (is {last})");
            report
                .error(at_last, FindingKind::Invalid, CODE, message)
                .see(&at.key("port"), "start of the range");
        }
        Some(_) => check_number(last, at_last, report),
    }
}

fn check_number(number: i32, at: &FieldCursor, report: &mut FindingSink) {
    if !PORTS.contains(&number) {
        report
            .error(
                at,
                FindingKind::Invalid,
                CODE,
                format!("{number} is not a valid port"),
            )
            .hint("use a port from 1 to 65535");
    }
}

/// Checks a port name: an IANA service name.
fn check_name(name: &str, at: &FieldCursor, report: &mut FindingSink) {
    let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let is_name = name.len() <= MAX_PORT_NAME
        && name.bytes().all(is_plain)
        && name.bytes().any(|it| it.is_ascii_lowercase())
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--");
    if is_name {
        return;
    }
    let is_number = !name.is_empty() && name.bytes().all(|it| it.is_ascii_digit());
    let hint = match is_number {
        true => format!("remove the quotes: {name}"),
        false => format!(
            "use a number, or a port name of at most {MAX_PORT_NAME} lower-case letters, digits and -"
        ),
    };
    report
        .error(
            at,
            FindingKind::Invalid,
            CODE,
            format!("{name:?} is not a valid port"),
        )
        .hint(hint);
}
