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

/// ServiceAccount, Role and RoleBinding, and what is needed in the cluster.
pub(crate) fn account(account: &Account<'_>, namespace: Option<&str>) -> String {
    let place = namespace.map_or(String::new(), |it| format!("  namespace: {it}\n"));
    let subject = namespace.map_or(String::new(), |it| format!("    namespace: {it}\n"));
    let Account {
        about,
        command,
        name,
        rules,
        ..
    } = account;
    let of_cluster = cluster_role(account, namespace);
    let migrations = migration_role(account, &place, &subject);
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
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: kvshoot-{name}
{place}  labels:
    app.kubernetes.io/name: kvshoot-{name}
rules:
{rules}---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: kvshoot-{name}
{place}  labels:
    app.kubernetes.io/name: kvshoot-{name}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: kvshoot-{name}
subjects:
  - kind: ServiceAccount
    name: kvshoot-{name}
{subject}{of_cluster}{migrations}"#
    )
}

/// Role and RoleBinding for migrating machines.
fn migration_role(account: &Account<'_>, place: &str, subject: &str) -> String {
    let Some(rules) = account.migration_rules else {
        return String::new();
    };
    let name = account.name;
    format!(
        r#"---
# Leave it out if you may not grant it: machines are replaced then.
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: kvshoot-{name}-migrations
{place}  labels:
    app.kubernetes.io/name: kvshoot-{name}
rules:
{rules}---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: kvshoot-{name}-migrations
{place}  labels:
    app.kubernetes.io/name: kvshoot-{name}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: kvshoot-{name}-migrations
subjects:
  - kind: ServiceAccount
    name: kvshoot-{name}
{subject}"#
    )
}

/// ClusterRole and ClusterRoleBinding.
fn cluster_role(account: &Account<'_>, namespace: Option<&str>) -> String {
    let (Some(rules), Some(namespace)) = (account.cluster_rules, namespace) else {
        return String::new();
    };
    let name = format!("kvshoot-{}-{namespace}", account.name);
    format!(
        r#"---
# For reading zones and storage classes. Leave it out only if apply runs without these permissions, too.
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {name}
  labels:
    app.kubernetes.io/name: kvshoot-{part}
rules:
{rules}---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {name}
  labels:
    app.kubernetes.io/name: kvshoot-{part}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {name}
subjects:
  - kind: ServiceAccount
    name: kvshoot-{part}
    namespace: {namespace}
"#,
        part = account.name,
    )
}
