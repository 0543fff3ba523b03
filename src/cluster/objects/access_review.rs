//! Answers to questions about permissions.

use serde::Deserialize;

/// A SubjectAccessReview with its answer.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialAccessReview {
    pub(crate) status: AccessReviewStatus,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct AccessReviewStatus {
    pub(crate) allowed: bool,
}

/// A SelfSubjectRulesReview with its answer.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialRulesReview {
    #[serde(default)]
    pub(crate) status: RulesReviewStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RulesReviewStatus {
    /// True if the server cannot list all rules, as with an authorization webhook.
    pub(crate) incomplete: bool,
    pub(crate) resource_rules: Vec<ResourceRule>,
}

/// A rule of a Role; `*` matches everything.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ResourceRule {
    pub(crate) verbs: Vec<String>,
    pub(crate) api_groups: Vec<String>,
    pub(crate) resources: Vec<String>,
    /// Empty for all objects.
    pub(crate) resource_names: Vec<String>,
}
