//! Facts that an upgrade of Kubernetes depends on, besides those of every run: objects of the users of a shoot.

mod check;
mod facts;

pub(crate) use check::UpgradeCheck;
pub(crate) use facts::{
    BudgetPod, ObservedBudget, ObservedWebhook, RequestedApi, StoredVersion, UpgradeFacts,
};
