use super::*;
use crate::state::facts::ObservedService;
use crate::state::testing::{machine, node, object};

const A: &str = "shoot--dev--demo-cpu-z1-abcde-0";
const B: &str = "shoot--dev--demo-cpu-z1-abcde-1";

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// Two machines that run and have not joined, with their tokens, beside a control plane.
fn facts() -> Facts {
    let mut facts = Facts::default();
    for (name, addresses) in [(A, ["10.0.0.5", "fd00::5"]), (B, ["10.0.0.6", "fd00::6"])] {
        let mut one = machine(MachinePhase::Provisioning);
        one.placement.node_addresses = addresses.map(address).into();
        let pool = facts.machines.entry("cpu".into()).or_default();
        pool.insert(name.into(), one);
        let token = format!("kube-system/bootstrap-token-{}", names::token_id(name));
        let token = ObjectKey::shoot(ObjectKind::BootstrapToken, token);
        facts.objects.insert(token, object(ObjectStatus::Token(50)));
    }
    let service = ObservedService {
        cluster_ip: Some("10.96.0.9".into()),
        ingress: Some("192.0.2.1".into()),
        ..ObservedService::default()
    };
    facts.objects.insert(
        ObjectKey::provider(ObjectKind::Service, "shoot--dev--demo-kube-apiserver"),
        object(ObjectStatus::Service(service)),
    );
    facts
}

fn change_machine(facts: &mut Facts, name: &str, change: impl FnOnce(&mut ObservedMachine)) {
    let mut pools = facts.machines.values_mut();
    change(pools.find_map(|it| it.get_mut(name)).expect("a machine"));
}

fn certificate(machine: &str) -> RequestedCertificate {
    RequestedCertificate {
        common_name: format!("system:node:{machine}").into(),
        organizations: vec!["system:nodes".into()],
        dns_names: Vec::new(),
        addresses: Vec::new(),
        key: "key".into(),
    }
}

fn client(machine: &str) -> KubeletRequest {
    KubeletRequest {
        signer: KubeletSigner::Client,
        username: format!("system:bootstrap:{}", names::token_id(machine)).into(),
        created: 100,
        usages: ["digital signature", "client auth"].map(Into::into).into(),
        expiration: None,
        content: Ok(certificate(machine)),
        decision: SigningDecision::Pending,
    }
}

fn serving(machine: &str, names: &[&str], addresses: &[&str]) -> KubeletRequest {
    let content = RequestedCertificate {
        dns_names: names.iter().map(|it| (*it).into()).collect(),
        addresses: addresses.iter().map(|it| address(it)).collect(),
        ..certificate(machine)
    };
    KubeletRequest {
        signer: KubeletSigner::Serving,
        username: format!("system:node:{machine}").into(),
        usages: ["digital signature", "server auth"].map(Into::into).into(),
        content: Ok(content),
        ..client(machine)
    }
}

fn add(facts: &mut Facts, name: &str, request: KubeletRequest) {
    let observed = ObservedSigningRequest {
        uid: name.into(),
        request: Arc::new(request),
    };
    facts.signing_requests.insert(name.into(), observed);
}

/// The verdict on `csr-1` of machine A.
#[track_caller]
fn verdict(facts: &Facts, request: &KubeletRequest) -> Verdict {
    let (machine, verdict) = judge("csr-1", request, facts).expect("a machine's request");
    assert_eq!(&*machine, A);
    verdict
}

#[track_caller]
fn assert_denied(facts: &Facts, request: &KubeletRequest, reason: &str) {
    match verdict(facts, request) {
        Verdict::Deny(it) => assert!(it.contains(reason), "{it}"),
        other => panic!("{reason}: {other:?}"),
    }
}

#[track_caller]
fn assert_waits(facts: &Facts, request: &KubeletRequest, reason: &str) {
    match verdict(facts, request) {
        Verdict::Wait(it) => assert!(it.contains(reason), "{it}"),
        other => panic!("{reason}: {other:?}"),
    }
}

fn with_content(
    mut request: KubeletRequest,
    change: impl FnOnce(&mut RequestedCertificate),
) -> KubeletRequest {
    change(request.content.as_mut().expect("a request"));
    request
}

#[test]
fn a_machine_gets_its_own_client_certificate_with_its_token() {
    assert_eq!(verdict(&facts(), &client(A)), Verdict::Approve);
    let mut rsa = client(A);
    rsa.usages.insert("key encipherment".into());
    assert_eq!(verdict(&facts(), &rsa), Verdict::Approve);
}

#[test]
fn a_token_gets_no_certificate_of_another_name() {
    for name in [
        &*format!("system:node:{B}"),
        "system:node:",
        "system:node:other",
        "system:admin",
        &*format!("system:node:{A}x"),
        &*format!("xsystem:node:{A}"),
        A,
    ] {
        let request = with_content(client(A), |it| it.common_name = name.into());
        assert_denied(&facts(), &request, "the credentials are those of machine");
    }
}

#[test]
fn certificates_have_the_group_usages_and_lifetime_of_nodes() {
    for organizations in [
        &[][..],
        &["system:masters"],
        &["system:nodes", "system:masters"],
        &["system:nodes", "system:nodes"],
    ] {
        for request in [client(A), serving(A, &[A], &["10.0.0.5"])] {
            let groups = organizations.iter().map(|it| Arc::from(*it)).collect();
            let request = with_content(request, |it| it.organizations = groups);
            assert_denied(&facts(), &request, "organization");
        }
    }
    for usages in [
        &[][..],
        &["digital signature"],
        &["client auth"],
        &["digital signature", "server auth"],
        &["digital signature", "client auth", "server auth"],
        &["digital signature", "client auth", "cert sign"],
    ] {
        let mut request = client(A);
        request.usages = usages.iter().map(|it| Arc::from(*it)).collect();
        assert_denied(&facts(), &request, "usages");
    }
    let mut request = serving(A, &[A], &["10.0.0.5"]);
    request.usages = ["digital signature", "client auth"].map(Into::into).into();
    assert_denied(&facts(), &request, "usages");
    for (seconds, is_right) in [
        (600, true),
        (2_592_000, true),
        (2_592_001, false),
        (i64::MAX, false),
        (599, false),
        (-1, false),
    ] {
        let mut request = client(A);
        request.expiration = Some(seconds);
        match is_right {
            true => assert_eq!(verdict(&facts(), &request), Verdict::Approve),
            false => assert_denied(&facts(), &request, "lifetime"),
        }
    }
}

#[test]
fn a_client_certificate_has_no_alternative_names() {
    let named = with_content(client(A), |it| it.dns_names = vec![A.into()]);
    assert_denied(&facts(), &named, "no alternative names");
    let addressed = with_content(client(A), |it| it.addresses = vec![address("10.0.0.5")]);
    assert_denied(&facts(), &addressed, "no alternative names");
}

#[test]
fn what_cannot_be_read_is_denied_with_its_reason() {
    for request in [client(A), serving(A, &[A], &["10.0.0.5"])] {
        let broken = KubeletRequest {
            content: Err("not PEM".into()),
            ..request
        };
        assert_denied(&facts(), &broken, "not PEM");
    }
}

#[test]
fn a_token_makes_one_certificate() {
    let mut facts = facts();
    let used = KubeletRequest {
        decision: SigningDecision::Approved,
        ..with_content(client(A), |it| it.key = "first".into())
    };
    add(&mut facts, "csr-0", used.clone());
    add(&mut facts, "csr-1", client(A));
    assert_denied(&facts, &client(A), "used already, by request csr-0");
    // It was that of a former machine of this name, with another token.
    let mut former = facts.clone();
    let earlier = KubeletRequest {
        created: 49,
        ..used.clone()
    };
    add(&mut former, "csr-0", earlier);
    assert_eq!(verdict(&former, &client(A)), Verdict::Approve);
    // The same key gets nothing that it does not have.
    let again = with_content(client(A), |it| it.key = "first".into());
    assert_eq!(verdict(&facts, &again), Verdict::Approve);
    // That of another machine does not count, and neither does one that was refused.
    facts.signing_requests.clear();
    let mut other = used.clone();
    other.username = client(B).username;
    add(&mut facts, "csr-0", other);
    let mut refused = used;
    refused.decision = SigningDecision::Refused;
    add(&mut facts, "csr-2", refused);
    assert_eq!(verdict(&facts, &client(A)), Verdict::Approve);
}

#[test]
fn of_two_pending_requests_the_newest_is_approved() {
    let mut facts = facts();
    add(&mut facts, "csr-1", client(A));
    let newer = KubeletRequest {
        created: 101,
        ..with_content(client(A), |it| it.key = "second".into())
    };
    add(&mut facts, "csr-0", newer.clone());
    assert_denied(&facts, &client(A), "request csr-0");
    let (_, verdict) = judge("csr-0", &newer, &facts).expect("a machine's request");
    assert_eq!(verdict, Verdict::Approve);
    // Of the same second: exactly one.
    let same = with_content(client(A), |it| it.key = "second".into());
    add(&mut facts, "csr-0", same.clone());
    let both = ["csr-0", "csr-1"].map(|it| {
        let request = facts.signing_requests[it].request.clone();
        judge(it, &request, &facts).expect("a machine's request").1
    });
    let approved = both.iter().filter(|it| **it == Verdict::Approve);
    assert_eq!(approved.count(), 1, "{both:?}");
}

#[test]
fn a_token_is_of_no_use_after_the_join_or_without_its_machine() {
    let mut joined = facts();
    joined.nodes.insert(A.into(), node());
    assert_denied(&joined, &client(A), "has joined already");

    let mut deleting = facts();
    change_machine(&mut deleting, A, |it| it.phase = MachinePhase::Deleting);
    assert_denied(&deleting, &client(A), "being deleted");

    let mut gone = facts();
    gone.machines.clear();
    assert_eq!(judge("csr-1", &client(A), &gone), None);

    let mut no_token = facts();
    no_token.objects.clear();
    assert_waits(&no_token, &client(A), "bootstrap token");

    let mut stopped = facts();
    change_machine(&mut stopped, A, |it| it.runs = false);
    assert_waits(&stopped, &client(A), "not running");
}

#[test]
fn requests_of_others_are_left_alone() {
    let users = [
        "system:bootstrap:",
        "system:bootstrap:zzzzzz",
        "system:admin",
        "system:node:x",
    ];
    for username in users {
        for request in [client(A), serving(A, &[A], &["10.0.0.5"])] {
            let request = KubeletRequest {
                username: username.into(),
                ..request
            };
            assert_eq!(judge("csr-1", &request, &facts()), None, "{username}");
        }
    }
    // The controller manager approves the renewal of a client certificate.
    let renewal = KubeletRequest {
        username: format!("system:node:{A}").into(),
        ..client(A)
    };
    assert_eq!(judge("csr-1", &renewal, &facts()), None);
    // A token gets no serving certificate.
    let request = KubeletRequest {
        username: client(A).username,
        ..serving(A, &[A], &["10.0.0.5"])
    };
    assert_eq!(judge("csr-1", &request, &facts()), None);
    for decision in [SigningDecision::Approved, SigningDecision::Refused] {
        let decided = KubeletRequest {
            decision,
            ..client(A)
        };
        assert_eq!(judge("csr-1", &decided, &facts()), None);
    }
}

#[test]
fn a_kubelet_serves_under_the_name_and_addresses_of_its_machine() {
    for (names, addresses) in [
        (&[A][..], &["10.0.0.5"][..]),
        (&[A], &["10.0.0.5", "fd00::5"]),
        (&[], &["fd00::5"]),
    ] {
        let request = serving(A, names, addresses);
        assert_eq!(verdict(&facts(), &request), Verdict::Approve);
    }
}

#[test]
fn foreign_names_and_addresses_are_denied() {
    let facts = facts();
    for name in [
        B,
        "kubernetes",
        "kubernetes.default.svc",
        "*",
        "",
        "localhost",
    ] {
        let request = serving(A, &[A, name], &["10.0.0.5"]);
        assert_denied(&facts, &request, "is not the name of machine");
    }
    for (address, reason) in [
        ("10.0.0.6", "machine shoot--dev--demo-cpu-z1-abcde-1"),
        ("fd00::6", "machine shoot--dev--demo-cpu-z1-abcde-1"),
        ("10.96.0.9", "Service shoot--dev--demo-kube-apiserver"),
        ("192.0.2.1", "Service shoot--dev--demo-kube-apiserver"),
        ("127.0.0.1", "not the address of a machine"),
        ("::1", "not the address of a machine"),
        ("0.0.0.0", "not the address of a machine"),
        ("169.254.169.254", "not the address of a machine"),
        ("224.0.0.1", "not the address of a machine"),
    ] {
        let request = serving(A, &[A], &["10.0.0.5", address]);
        assert_denied(&facts, &request, reason);
    }
    assert_denied(&facts, &serving(A, &[A], &[]), "no IP address");
    let other = with_content(serving(A, &[A], &["10.0.0.5"]), |it| {
        it.common_name = format!("system:node:{B}").into();
    });
    assert_denied(&facts, &other, "the credentials are those of machine");
}

#[test]
fn addresses_that_the_provider_does_not_report_stay_pending() {
    let facts = facts();
    let request = serving(A, &[A], &["10.0.0.5", "10.0.0.7"]);
    assert_waits(&facts, &request, "10.0.0.7 is not an address");
    let link_local = serving(A, &[A], &["10.0.0.5", "fe80::1"]);
    assert_waits(&facts, &link_local, "fe80::1 is not an address");

    let own = serving(A, &[A], &["10.0.0.5"]);
    let mut unknown = facts.clone();
    change_machine(&mut unknown, A, |it| {
        it.placement.node_addresses = [].into()
    });
    assert_waits(&unknown, &own, "reports no address");

    let mut migrating = facts.clone();
    change_machine(&mut migrating, A, |it| it.placement.is_migrating = true);
    assert_waits(&migrating, &own, "being migrated");

    let mut stopped = facts.clone();
    change_machine(&mut stopped, A, |it| it.runs = false);
    assert_waits(&stopped, &own, "not running");

    // Both machines report the address.
    let mut shared = facts;
    change_machine(&mut shared, B, |it| {
        it.placement.node_addresses = [address("10.0.0.5")].into();
    });
    assert_waits(&shared, &own, "is the address of machine");
}

fn has_certificate(name: &str, created: i64, facts: &Facts) -> bool {
    let machine = facts.machine(name).expect("a machine");
    is_served(name, machine, created, facts)
}

#[test]
fn an_approved_serving_request_is_evidence_of_the_certificate() {
    let mut facts = facts();
    assert!(!has_certificate(A, 100, &facts));
    add(&mut facts, "csr-1", serving(A, &[A], &["10.0.0.5"]));
    assert!(!has_certificate(A, 100, &facts));
    let approved = KubeletRequest {
        decision: SigningDecision::Approved,
        ..serving(A, &[A], &["10.0.0.5"])
    };
    add(&mut facts, "csr-1", approved);
    assert!(has_certificate(A, 100, &facts) && !has_certificate(B, 100, &facts));
    // Another address after a restart.
    let mut restarted = facts.clone();
    change_machine(&mut restarted, A, |it| {
        it.placement.node_addresses = [address("10.0.0.9")].into();
    });
    assert!(!has_certificate(A, 100, &restarted));
    // That of a former machine of this name.
    assert!(!has_certificate(A, 101, &facts));
    let client = KubeletRequest {
        decision: SigningDecision::Approved,
        ..client(B)
    };
    add(&mut facts, "csr-2", client);
    assert!(!has_certificate(B, 100, &facts));
}
