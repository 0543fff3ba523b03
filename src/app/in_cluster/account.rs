//! ServiceAccounts with minimal permissions.

/// A ServiceAccount with a Role, and maybe a ClusterRole.
pub(crate) struct Account<'a> {
    /// A sentence without a full stop.
    pub(crate) about: &'static str,
    /// The command that prints it.
    pub(crate) command: &'a str,
    /// The end of the names of all objects.
    pub(crate) name: &'a str,
    /// Rules of the Role, as YAML.
    pub(crate) rules: &'a str,
    /// Rules of the ClusterRole, as YAML. It is printed only if the namespace is given.
    pub(crate) cluster_rules: Option<&'a str>,
    /// Rules of a second Role, as YAML: not everyone may grant them.
    pub(crate) migration_rules: Option<&'a str>,
}

/// A Role or ClusterRole that is bound to the ServiceAccount.
struct BoundRole<'a> {
    /// Role or ClusterRole.
    kind: &'static str,
    /// Without the prefix.
    name: String,
    /// Its namespace; None for a ClusterRole.
    namespace: Option<&'a str>,
    rules: &'a str,
}

/// ServiceAccount, Role and RoleBinding, and what is needed in the cluster.
pub(crate) fn account(account: &Account<'_>, namespace: Option<&str>) -> String {
    let Account {
        about,
        command,
        name,
        rules,
        ..
    } = account;
    let place = place(namespace);
    let own = |name: String, rules| BoundRole {
        kind: "Role",
        name,
        namespace,
        rules,
    };
    let role = bound_role(account, namespace, &own((*name).to_owned(), rules));
    let of_cluster = account.cluster_rules.zip(namespace).map(|(rules, it)| {
        let role = BoundRole {
            kind: "ClusterRole",
            name: format!("{name}-{it}"),
            namespace: None,
            rules,
        };
        let role = bound_role(account, namespace, &role);
        format!("---\n# For reading zones and storage classes. Leave it out only if apply runs without these permissions, too.\n{role}")
    });
    let migrations = account.migration_rules.map(|rules| {
        let role = own(format!("{name}-migrations"), rules);
        let role = bound_role(account, namespace, &role);
        format!("---\n# Leave it out if you may not grant it: machines are replaced then.\n{role}")
    });
    let (of_cluster, migrations) = (
        of_cluster.unwrap_or_default(),
        migrations.unwrap_or_default(),
    );
    format!(
        r#"# {about}: kvshoot {command}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: kvshoot-{name}
{place}  labels:
    app.kubernetes.io/name: kvshoot-{name}
automountServiceAccountToken: false
---
{role}{of_cluster}{migrations}"#
    )
}

/// A line of metadata.
fn place(namespace: Option<&str>) -> String {
    namespace.map_or(String::new(), |it| format!("  namespace: {it}\n"))
}

/// The role and its binding. `namespace` is that of the account.
fn bound_role(account: &Account<'_>, namespace: Option<&str>, role: &BoundRole<'_>) -> String {
    let BoundRole {
        kind, name, rules, ..
    } = role;
    let part = account.name;
    let place = place(role.namespace);
    let subject = namespace.map_or(String::new(), |it| format!("    namespace: {it}\n"));
    format!(
        r#"apiVersion: rbac.authorization.k8s.io/v1
kind: {kind}
metadata:
  name: kvshoot-{name}
{place}  labels:
    app.kubernetes.io/name: kvshoot-{part}
rules:
{rules}---
apiVersion: rbac.authorization.k8s.io/v1
kind: {kind}Binding
metadata:
  name: kvshoot-{name}
{place}  labels:
    app.kubernetes.io/name: kvshoot-{part}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {kind}
  name: kvshoot-{name}
subjects:
  - kind: ServiceAccount
    name: kvshoot-{part}
{subject}"#
    )
}
