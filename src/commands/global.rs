//! Flags that every subcommand takes, and what they are made into.

use crate::ui::Ui;
use std::path::PathBuf;

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Global {
    /// Kubeconfig of the provider cluster
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        env = "KVSHOOT_KUBECONFIG",
        help_heading = "Provider cluster"
    )]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig
    #[arg(
        long,
        global = true,
        value_name = "NAME",
        env = "KVSHOOT_CONTEXT",
        help_heading = "Provider cluster"
    )]
    pub(crate) context: Option<String>,
    /// Namespace of the shoot's objects, instead of that of the context
    #[arg(
        short,
        long,
        global = true,
        value_name = "NAME",
        env = "KVSHOOT_NAMESPACE",
        help_heading = "Provider cluster"
    )]
    pub(crate) namespace: Option<String>,
}

/// What a subcommand works with beside its own arguments.
pub(crate) struct Context {
    pub(crate) global: Global,
    pub(crate) ui: Ui,
}

impl Context {
    pub(crate) fn new(global: Global) -> Self {
        Self {
            global,
            ui: Ui::default(),
        }
    }
}
