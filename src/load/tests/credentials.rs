//! Bindings of Shoots, and the kubeconfigs in their Secrets.

use secrecy::ExposeSecret;

use super::{lines, load};
use crate::load::{
    BindingLookup, LoadContext, ProviderCredentials, judge, misses_binding, provider_credentials,
};
use crate::manifest::Manifest;
use crate::validate::testing::{PROFILE, SHOOT, today};

fn bound(name: &str, binding: &str) -> String {
    let shoot = SHOOT.replace("name: demo", &format!("name: {name}"));
    let field = format!("  secretBindingName: {binding}\n  region");
    shoot.replacen("  region", &field, 1)
}

/// A SecretBinding and its Secret, whose kubeconfig is of this server.
fn binding(name: &str, server: &str) -> String {
    format!(
        "\
---
apiVersion: core.gardener.cloud/v1beta1
kind: SecretBinding
metadata: {{name: {name}}}
secretRef: {{name: of-{name}}}
---
apiVersion: v1
kind: Secret
metadata: {{name: of-{name}}}
stringData:
  kubeconfig: |
    clusters: [{{name: c, cluster: {{server: '{server}'}}}}]
    contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
    users: [{{name: u, user: {{token: hunter2}}}}]
    current-context: c
"
    )
}

fn judged(text: &str, bindings: BindingLookup) -> String {
    let files = [("s.yaml", text), ("p.yaml", PROFILE)];
    let files = files.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()));
    let context = LoadContext {
        bindings,
        ..LoadContext::at(today())
    };
    lines(&judge(Manifest::parse(files), &context))
}

#[test]
fn a_binding_that_is_not_found_is_an_error_where_one_connects_and_a_warning_elsewhere() {
    let line = "s.yaml:8:22 spec.secretBindingName Required: SecretBinding \"b\" not found among the manifests\n";
    let missing = bound("demo", "b");
    assert_eq!(judged(&missing, BindingLookup::Required), line);
    let warning = format!("warning: {line}");
    assert_eq!(judged(&missing, BindingLookup::Advisory), warning);
    assert_eq!(judged(&missing, BindingLookup::Skipped), "");
    let found = missing + &binding("b", "https://192.0.2.1");
    assert_eq!(judged(&found, BindingLookup::Required), "");
}

#[test]
fn a_credentials_binding_that_is_not_found_is_told_at_its_own_field() {
    let text = bound("demo", "b").replace("secretBindingName", "credentialsBindingName");
    // A SecretBinding of that name is another object.
    let text = text + &binding("b", "https://192.0.2.1");
    assert_eq!(
        judged(&text, BindingLookup::Required),
        "s.yaml:8:27 spec.credentialsBindingName Required: CredentialsBinding \"b\" not found among the manifests\n"
    );
}

/// Writes SecretBindings and their references as CredentialsBindings.
fn as_credentials(text: &str) -> String {
    text.replace("secretBindingName", "credentialsBindingName")
        .replace(
            "core.gardener.cloud/v1beta1\nkind: SecretBinding",
            "security.gardener.cloud/v1alpha1\nkind: CredentialsBinding",
        )
        .replace(
            "secretRef: {",
            "credentialsRef: {apiVersion: v1, kind: Secret, ",
        )
}

#[test]
fn a_credentials_binding_works_as_a_secret_binding_does() {
    let text = as_credentials(&(bound("demo", "b") + &binding("b", "https://192.0.2.1")));
    assert_eq!(judged(&text, BindingLookup::Required), "");
    let manifest = Manifest::parse([("s.yaml".to_owned(), text.clone().into_bytes())]);
    let (_, found) = &provider_credentials(&manifest)[0];
    let kubeconfig = found.kubeconfig.as_ref().expect("the Secret is there");
    assert!(kubeconfig.expose_secret().contains("192.0.2.1"));
    assert!(!misses_binding(&manifest));
    let other = text.replace(
        "v1, kind: Secret",
        "security.gardener.cloud/v1alpha1, kind: WorkloadIdentity",
    );
    assert_eq!(
        judged(&other, BindingLookup::Required),
        "s.yaml:28:70 credentialsRef.kind NotSupported: unsupported credentials \"security.gardener.cloud/v1alpha1/WorkloadIdentity\"\n"
    );
}

#[test]
fn a_binding_of_another_provider_type_is_refused_if_a_shoot_names_it() {
    let of = |types: &str| {
        let binding = binding("b", "https://192.0.2.1");
        let provider = format!("provider: {{type: '{types}'}}\nsecretRef");
        binding.replace("secretRef", &provider)
    };
    let named = |types| judged(&(bound("demo", "b") + &of(types)), BindingLookup::Required);
    assert_eq!(named("kubevirt"), "");
    assert_eq!(named("aws, kubevirt"), "");
    assert!(
        named("aws").ends_with("provider.type NotSupported: unsupported value \"aws\"\n"),
        "{}",
        named("aws")
    );
    // Bindings of other Shoots may be in the same file.
    let other = SHOOT.to_owned() + &of("aws");
    assert_eq!(judged(&other, BindingLookup::Required), "");
}

#[test]
fn a_binding_and_a_secret_in_the_namespace_of_the_shoot_win_over_those_without_a_namespace() {
    // Both the binding and the Secret without a namespace come first.
    let open = binding("a", "https://192.0.2.1");
    let shoot = bound("demo", "a").replace("garden-dev", "garden-b");
    let exact = binding("a", "https://192.0.2.2")
        .replace("{name: a}", "{name: a, namespace: garden-b}")
        .replace(
            "metadata: {name: of-a}",
            "metadata: {name: of-a, namespace: garden-b}",
        );
    let elsewhere = exact
        .replace("garden-b", "garden-c")
        .replace("192.0.2.2", "192.0.2.3");
    for (documents, expected) in [
        ([&elsewhere, &open, &exact], "192.0.2.2"),
        ([&elsewhere, &open, &open], "192.0.2.1"),
    ] {
        let text = shoot.clone() + &documents.map(String::as_str).concat();
        let manifest = Manifest::parse([("s.yaml".to_owned(), text.into_bytes())]);
        let (_, found) = &provider_credentials(&manifest)[0];
        let kubeconfig = found.kubeconfig.as_ref().expect("the Secret is there");
        assert!(kubeconfig.expose_secret().contains(expected), "{expected}");
    }
}

#[test]
fn each_shoot_has_the_kubeconfig_of_its_own_binding() {
    let text = [
        bound("one", "a"),
        binding("a", "https://192.0.2.1"),
        "---\n".to_owned() + &bound("two", "b"),
        binding("b", "https://192.0.2.2"),
        "---\n".to_owned() + &bound("three", "a"),
    ]
    .concat();
    let manifest = Manifest::parse([("s.yaml".to_owned(), text.into_bytes())]);
    let all = provider_credentials(&manifest);
    let server = |it: &ProviderCredentials| {
        let text = it.kubeconfig.as_ref().expect("the Secret is there");
        let text = text.expose_secret();
        let at = text.find("192.0.2.").expect("the server");
        text[at..at + 9].to_owned()
    };
    let found: Vec<_> = all
        .iter()
        .map(|it| (it.0.as_str(), server(&it.1)))
        .collect();
    let expected = [
        ("shoot--dev--one", "192.0.2.1"),
        ("shoot--dev--two", "192.0.2.2"),
        ("shoot--dev--three", "192.0.2.1"),
    ];
    assert_eq!(found, expected.map(|(id, it)| (id, it.to_owned())));
    let same = |a: usize, b: usize| all[a].1.identity() == all[b].1.identity();
    assert!(
        same(0, 2) && !same(0, 1),
        "equal credentials share a connection"
    );
    assert!(!misses_binding(&manifest));
}

#[test]
fn secrets_of_one_name_in_two_namespaces_do_not_share_a_connection() {
    let binding = |name: &str, metadata: &str, secret: &str| {
        format!(
            "---\napiVersion: core.gardener.cloud/v1beta1\nkind: SecretBinding\nmetadata: {{name: {name}{metadata}}}\nsecretRef: {{name: kubevirt{secret}}}\n"
        )
    };
    let text = [
        bound("one", "a"),
        binding("a", ", namespace: garden-dev", ""),
        "---\n".to_owned() + &bound("two", "b"),
        binding("b", ", namespace: garden-dev", ", namespace: garden-b"),
        "---\n".to_owned() + &bound("three", "c"),
        binding("c", "", ""),
        "---\n".to_owned() + &bound("four", "d"),
        binding("d", "", ", namespace: garden-dev"),
    ]
    .concat();
    let manifest = Manifest::parse([("s.yaml".to_owned(), text.into_bytes())]);
    let all = provider_credentials(&manifest);
    let namespaces: Vec<_> = all
        .iter()
        .map(|it| it.1.secret.as_ref().expect("a Secret").namespace.as_deref())
        .collect();
    let expected = [
        Some("garden-dev"),
        Some("garden-b"),
        None,
        Some("garden-dev"),
    ];
    assert_eq!(namespaces, expected);
    let same = |a: usize, b: usize| all[a].1.identity() == all[b].1.identity();
    assert!(same(0, 3) && !same(0, 1) && !same(0, 2) && !same(1, 2));
}

#[test]
fn a_kubeconfig_that_clients_reject_is_told_at_its_line() {
    for (from, to, expected) in [
        (
            "token: hunter2",
            "exec: {command: hunter2}",
            "Forbidden: kubeconfig must not use an exec plugin",
        ),
        (
            "current-context: c",
            "current-context: hunter2",
            "Invalid: current-context of the kubeconfig is not in contexts",
        ),
    ] {
        let text = bound("demo", "b") + &binding("b", "https://192.0.2.1").replace(from, to);
        let reported = lines(&load(&[("s.yaml", &text), ("p.yaml", PROFILE)]));
        let line = format!("s.yaml:35:5 stringData.kubeconfig {expected}\n");
        assert_eq!(reported, line);
        // With --kubeconfig it is not used.
        let unused = judged(&text, BindingLookup::Skipped);
        assert_eq!(unused, format!("warning: {line}"));
    }
}
