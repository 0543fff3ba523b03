//! The peers and the ports of a rule, as the API server judges them.

use super::selector;
use crate::model::{Cidr, FindingKind, IntOrString, IpBlock, PolicyPeer, PolicyPort};
use crate::validate::report::{FieldCursor, FindingSink};
use crate::validate::rules::one_of;

const PROTOCOLS: [&str; 3] = ["TCP", "UDP", "SCTP"];
const CODE: &str = "network-policy/port";
const PORTS: std::ops::RangeInclusive<i32> = 1..=65535;
/// Of the name of a port.
const MOST_PORT_NAME: usize = 15;

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
                    "excludes podSelector and namespaceSelector",
                )
                .hint("make it an item of its own");
        }
        Some(it) => block(it, &at.key("ipBlock"), report),
        None if !selects => {
            report
                .error(at, FindingKind::Required, code, "names no peer")
                .hint("write podSelector, namespaceSelector or ipBlock; podSelector: {} is every pod of the namespace");
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
                    format!("{part} is no part of {all}"),
                )
                .see(&at.key("cidr"), "what it is taken from");
        }
    }
}

fn range(text: &str, at: &FieldCursor, report: &mut FindingSink) -> Option<Cidr> {
    // Of an empty text all has been said.
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
            let message = format!("{text:?} has more than the first {} bits", cidr.length);
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
                "needs port to be the number that the range begins with",
            );
        }
        Some(first) if last < first => {
            let message = format!("is {last}, below port");
            report
                .error(at_last, FindingKind::Invalid, CODE, message)
                .see(&at.key("port"), "where the range begins");
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
                format!("{number} is no port"),
            )
            .hint("ports are 1 to 65535");
    }
}

/// As IANA has names of services.
fn check_name(name: &str, at: &FieldCursor, report: &mut FindingSink) {
    let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let is_name = name.len() <= MOST_PORT_NAME
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
            "write a number, or at most {MOST_PORT_NAME} small letters, digits and -, as the pod calls its port"
        ),
    };
    report
        .error(
            at,
            FindingKind::Invalid,
            CODE,
            format!("{name:?} is no port"),
        )
        .hint(hint);
}
