//! Settings of the control plane components in `spec.kubernetes`. Unsupported settings are rejected.

use crate::model::{
    EncryptionConfig, FindingKind, HorizontalPodAutoscaler, KubeApiServer, KubeScheduler,
    Kubernetes, OidcConfig,
};
use crate::validate::releases;
use crate::validate::report::{FieldCursor, FindingSink};

/// How often kubelets renew the Lease of their node.
const LEASE_RENEWAL: std::time::Duration = std::time::Duration::from_secs(10);

const REFUSED: &str = "kubernetes/not-supported";

pub(crate) fn check(kubernetes: &Kubernetes, at: &FieldCursor, report: &mut FindingSink) {
    if kubernetes.allow_privileged_containers == Some(false) {
        let at = &at.key("allowPrivilegedContainers");
        refuse(
            at,
            report,
            "cannot be disabled: the API server always allows privileged containers",
        )
        .hint("configure the admission plugin PodSecurity in kubeAPIServer.admissionPlugins");
    }
    if kubernetes.enable_static_token_kubeconfig == Some(true) {
        let at = &at.key("enableStaticTokenKubeconfig");
        refuse(at, report, "static tokens are not supported")
            .hint("use `kvshoot kubeconfig get`, which issues short-lived certificates");
    }
    let minor = releases::minor(&kubernetes.version);
    if let Some(it) = &kubernetes.kube_api_server {
        let at = &at.key("kubeAPIServer");
        api_server(it, minor, at, report);
        super::api_server::check(it, at, report);
        let gates = it.feature_gates.as_ref();
        releases::check_feature_gates("kube-apiserver", minor, gates, at, report);
        let apis = it.runtime_config.as_ref();
        releases::check_runtime_config(minor, apis, &at.key("runtimeConfig"), report);
    }
    if let Some(it) = &kubernetes.kube_scheduler {
        let at = &at.key("kubeScheduler");
        scheduler(it, at, report);
        let gates = it.feature_gates.as_ref();
        releases::check_feature_gates("kube-scheduler", minor, gates, at, report);
    }
    let manager = kubernetes.kube_controller_manager.as_ref();
    if let Some(it) = manager {
        let (at, gates) = (&at.key("kubeControllerManager"), it.feature_gates.as_ref());
        releases::check_feature_gates("kube-controller-manager", minor, gates, at, report);
    }
    let grace = manager.and_then(|it| it.node_monitor_grace_period.as_ref());
    if let Some(grace) = grace.filter(|it| it.value < LEASE_RENEWAL) {
        let at = &at.key("kubeControllerManager");
        let message =
            format!("must be at least 10s, in which kubelets renew their Lease (is {grace})");
        report.error(
            &at.key("nodeMonitorGracePeriod"),
            FindingKind::Invalid,
            "kubernetes/too-low",
            message,
        );
    }
    if let Some(it) = &kubernetes.cluster_autoscaler {
        super::cluster_autoscaler::check(it, &at.key("clusterAutoscaler"), report);
    }
    if let Some(it) = &kubernetes.kube_proxy {
        let (at, gates) = (&at.key("kubeProxy"), it.feature_gates.as_ref());
        releases::check_feature_gates("kube-proxy", minor, gates, at, report);
    }
    if let Some(it) = manager.and_then(|it| it.horizontal_pod_autoscaler.as_ref()) {
        let at = &at.key("kubeControllerManager");
        autoscaler(it, &at.key("horizontalPodAutoscaler"), report);
    }
}

fn refuse<'r>(
    at: &FieldCursor,
    report: &'r mut FindingSink,
    message: &str,
) -> crate::validate::report::PendingFinding<'r> {
    report.error(at, FindingKind::NotSupported, REFUSED, message)
}

fn api_server(
    settings: &KubeApiServer,
    minor: Option<u64>,
    at: &FieldCursor,
    report: &mut FindingSink,
) {
    if settings.enable_basic_authentication == Some(true) {
        let at = &at.key("enableBasicAuthentication");
        refuse(
            at,
            report,
            "basic authentication was removed in Kubernetes 1.19",
        )
        .hint("use oidcConfig");
    }
    if settings.enable_anonymous_authentication == Some(false) && minor == Some(31) {
        let at = &at.key("enableAnonymousAuthentication");
        refuse(at, report, "cannot be disabled in Kubernetes 1.31")
            .hint("use Kubernetes 1.32 or newer");
    }
    if settings.structured_authorization.is_some() {
        refuse(&at.key("structuredAuthorization"), report, "not supported")
            .hint("remove it; requests are authorized by Node and RBAC");
    }
    if let Some(it) = &settings.encryption_config {
        encryption(it, &at.key("encryptionConfig"), report);
    }
    if let Some(it) = &settings.oidc_config {
        let at = &at.key("oidcConfig");
        oidc(it, at, report);
        if settings.structured_authentication.is_some() {
            let message = "cannot be combined with structuredAuthentication";
            report
                .error(
                    at,
                    FindingKind::Forbidden,
                    "kubernetes/two-authentications",
                    message,
                )
                .hint("add the issuer to the AuthenticationConfiguration");
        }
    }
    let accounts = settings.service_account_config.as_ref();
    if accounts.is_some_and(|it| it.signing_key_secret_name.is_some()) {
        let at = &at.key("serviceAccountConfig");
        refuse(
            &at.key("signingKeySecretName"),
            report,
            "not supported: kvshoot generates the key",
        )
        .hint("remove it");
    }
    let sizes = settings.watch_cache_sizes.as_ref();
    if sizes.is_some_and(|it| it.default.is_some()) {
        let at = &at.key("watchCacheSizes");
        refuse(
            &at.key("default"),
            report,
            "not supported: watch caches grow dynamically",
        )
        .hint("list resources with size 0 to disable their caches");
    }
    plugins(settings, minor, &at.key("admissionPlugins"), report);
    counts(settings, at, report);
}

fn plugins(
    settings: &KubeApiServer,
    minor: Option<u64>,
    at: &FieldCursor,
    report: &mut FindingSink,
) {
    for (index, plugin) in settings.admission_plugins.iter().enumerate() {
        let at = &at.index(index);
        releases::check_admission_plugin(&plugin.name, minor, &at.key("name"), report);
        if plugin.kubeconfig_secret_name.is_some() {
            refuse(&at.key("kubeconfigSecretName"), report, "not supported")
                .hint("remove it; webhooks in the cluster need no kubeconfig");
        }
        if plugin.name == "NodeRestriction" && plugin.disabled == Some(true) {
            refuse(
                &at.key("disabled"),
                report,
                "NodeRestriction cannot be disabled: it isolates nodes from each other",
            )
            .hint("remove it");
        }
    }
}

fn encryption(settings: &EncryptionConfig, at: &FieldCursor, report: &mut FindingSink) {
    for (index, resource) in settings.resources.iter().enumerate() {
        if !["secrets", "secrets."].contains(&resource.as_str()) {
            let at = &at.key("resources");
            let message = format!("resource {resource:?} cannot be encrypted");
            refuse(&at.index(index), report, &message).hint("only secrets are encrypted");
        }
    }
    let type_ = settings
        .provider
        .as_ref()
        .and_then(|it| it.type_.as_deref());
    if let Some(other) = type_.filter(|it| *it != "secretbox") {
        let at = &at.key("provider");
        let message = format!("unsupported value {other:?}");
        refuse(&at.key("type"), report, &message).hint("supported values: secretbox");
    }
}

fn oidc(settings: &OidcConfig, at: &FieldCursor, report: &mut FindingSink) {
    for (name, value) in [
        ("issuerURL", &settings.issuer_url),
        ("clientID", &settings.client_id),
    ] {
        if value.as_deref().is_none_or(str::is_empty) {
            report.error(
                &at.key(name),
                FindingKind::Required,
                "kubernetes/oidc",
                "is required",
            );
        }
    }
    let url = settings.issuer_url.as_deref().filter(|it| !it.is_empty());
    if url.is_some_and(|it| !it.starts_with("https://")) {
        let at = &at.key("issuerURL");
        report.error(
            at,
            FindingKind::Invalid,
            "kubernetes/oidc",
            "must start with https://",
        );
    }
    if !settings.signing_algs.is_empty() {
        refuse(
            &at.key("signingAlgs"),
            report,
            "not supported: all asymmetric algorithms are accepted",
        )
        .hint("remove it");
    }
}

/// Checks numbers that must not be negative.
fn counts(settings: &KubeApiServer, at: &FieldCursor, report: &mut FindingSink) {
    let mut least = |at: &FieldCursor, value: Option<i64>| {
        if let Some(value) = value.filter(|it| *it < 0) {
            let message = format!("must be at least 0 (is {value})");
            report.error(at, FindingKind::Invalid, "kubernetes/too-low", message);
        }
    };
    least(
        &at.key("defaultNotReadyTolerationSeconds"),
        settings.default_not_ready_toleration_seconds,
    );
    least(
        &at.key("defaultUnreachableTolerationSeconds"),
        settings.default_unreachable_toleration_seconds,
    );
    if let Some(it) = &settings.requests {
        let at = &at.key("requests");
        least(
            &at.key("maxNonMutatingInflight"),
            it.max_non_mutating_inflight.map(i64::from),
        );
        least(
            &at.key("maxMutatingInflight"),
            it.max_mutating_inflight.map(i64::from),
        );
    }
    if let Some(it) = &settings.logging {
        let at = &at.key("logging");
        least(&at.key("verbosity"), it.verbosity.map(i64::from));
        least(
            &at.key("httpAccessVerbosity"),
            it.http_access_verbosity.map(i64::from),
        );
    }
    for (index, it) in settings
        .watch_cache_sizes
        .iter()
        .flat_map(|it| &it.resources)
        .enumerate()
    {
        let at = &at.key("watchCacheSizes");
        let at = &at.key("resources");
        least(&at.index(index).key("size"), Some(i64::from(it.size)));
    }
}

fn scheduler(settings: &KubeScheduler, at: &FieldCursor, report: &mut FindingSink) {
    let profile = settings.profile.as_deref();
    if let Some(other) = profile.filter(|it| !["balanced", "bin-packing"].contains(it)) {
        let message = format!("unsupported value {other:?}");
        report
            .error(
                &at.key("profile"),
                FindingKind::NotSupported,
                "kubernetes/scheduler-profile",
                message,
            )
            .hint("supported values: balanced, bin-packing");
    }
    let most = settings.kube_max_pd_vols.as_deref();
    if most.is_some_and(|it| it.parse::<u32>().is_err()) {
        let at = &at.key("kubeMaxPDVols");
        report.error(
            at,
            FindingKind::Invalid,
            "kubernetes/max-volumes",
            "must be a non-negative integer",
        );
    }
}

fn autoscaler(settings: &HorizontalPodAutoscaler, at: &FieldCursor, report: &mut FindingSink) {
    if let Some(tolerance) = settings.tolerance.filter(|it| *it < 0.0) {
        let message = format!("must be at least 0 (is {tolerance})");
        let at = &at.key("tolerance");
        report.error(at, FindingKind::Invalid, "kubernetes/too-low", message);
    }
    if settings.downscale_delay.is_some() {
        refuse(
            &at.key("downscaleDelay"),
            report,
            "removed in Kubernetes 1.12",
        )
        .hint("use downscaleStabilization");
    }
    if settings.upscale_delay.is_some() {
        refuse(
            &at.key("upscaleDelay"),
            report,
            "removed in Kubernetes 1.12",
        )
        .hint("remove it");
    }
}
