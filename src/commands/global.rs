//! Options of all commands.

use super::logging::LogFormat;
use crate::app::context::{DEFAULT_SANDBOX, ProviderOptions};
use crate::app::error::{CommandError, Exit};
use crate::ui::{Color, ProgressMode, UiSettings};
use clap::ArgMatches;
use clap::builder::FalseyValueParser;
use clap::parser::ValueSource;
use std::path::PathBuf;

/// Options of all commands.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Provider cluster")]
pub(crate) struct Global {
    /// Kubeconfig of the provider cluster
    #[arg(long, global = true, value_name = "FILE", env = "KVSHOOT_KUBECONFIG")]
    kubeconfig: Option<PathBuf>,
    /// Context in the kubeconfig
    #[arg(long, global = true, value_name = "NAME", env = "KVSHOOT_CONTEXT")]
    context: Option<String>,
    /// Cluster in the kubeconfig, overriding that of the context
    #[arg(long, global = true, value_name = "NAME", env = "KVSHOOT_CLUSTER")]
    cluster: Option<String>,
    /// User in the kubeconfig, overriding that of the context
    #[arg(long, global = true, value_name = "NAME", env = "KVSHOOT_USER")]
    user: Option<String>,
    /// Namespace in the provider cluster, overriding that of the context
    #[arg(
        short,
        long,
        global = true,
        value_name = "NAME",
        env = "KVSHOOT_NAMESPACE"
    )]
    namespace: Option<String>,
    /// Use a sandbox as the provider cluster; see `kvshoot sandbox`
    #[arg(
        long,
        global = true,
        value_name = "NAME",
        env = "KVSHOOT_SANDBOX",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = DEFAULT_SANDBOX,
    )]
    sandbox: Option<String>,
    /// Allow exec credential plugins in kubeconfigs from manifests
    #[arg(long, global = true, env = "KVSHOOT_ALLOW_EXEC", value_parser = FalseyValueParser::new())]
    allow_exec: bool,
    /// Allow manifests to name files in this folder (file:// URLs of network manifests); can be repeated
    #[arg(long, global = true, value_name = "DIR", env = "KVSHOOT_ALLOW_FILES", value_hint = clap::ValueHint::DirPath)]
    allow_files: Vec<PathBuf>,
    #[command(flatten)]
    output: OutputFlags,
}

/// Output options of all commands.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputFlags {
    /// Print results and errors only
    #[arg(short, long, global = true, env = "KVSHOOT_QUIET", value_parser = FalseyValueParser::new())]
    quiet: bool,
    /// Increase log verbosity (repeatable)
    #[arg(short, long, global = true, env = "KVSHOOT_VERBOSE", action = clap::ArgAction::Count)]
    verbose: u8,
    /// Log format
    #[arg(
        long,
        global = true,
        value_name = "FORMAT",
        env = "KVSHOOT_LOG_FORMAT",
        default_value = "text",
        hide_possible_values = false
    )]
    log_format: Option<LogFormat>,
    /// Append a detailed log to a file
    #[arg(long, global = true, value_name = "FILE", env = "KVSHOOT_LOG_FILE")]
    log_file: Option<PathBuf>,
    /// When to use colors
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        env = "KVSHOOT_COLOR",
        default_value = "auto"
    )]
    color: Option<Color>,
    /// Progress output format
    #[arg(
        long,
        global = true,
        value_name = "FORMAT",
        env = "KVSHOOT_PROGRESS",
        default_value = "auto"
    )]
    progress: Option<ProgressMode>,
    /// Never prompt
    #[arg(long, global = true, env = "KVSHOOT_NO_INPUT", value_parser = FalseyValueParser::new())]
    no_input: bool,
}

impl Global {
    /// Converts the flags to options.
    ///
    /// A flag overrides environment variables of other flags, and two flags must not select different clusters.
    pub(super) fn provider_options(
        &self,
        matches: &ArgMatches,
    ) -> Result<ProviderOptions, CommandError> {
        let is_typed = |id: &&str| {
            let source = matches
                .try_contains_id(id)
                .is_ok()
                .then(|| matches.value_source(id));
            source.flatten() == Some(ValueSource::CommandLine)
        };
        let names = [
            "kubeconfig",
            "context",
            "cluster",
            "user",
            "namespace",
            "sandbox",
        ];
        let typed: Vec<&'static str> = names.into_iter().filter(is_typed).collect();
        let selects = ["kubeconfig", "context", "cluster", "user"];
        let other = selects.iter().find(|name| typed.contains(*name));
        if let Some(other) = other
            && typed.contains(&"sandbox")
        {
            let message = format!("--sandbox and --{other} select different provider clusters");
            return Err(CommandError::new(Exit::Usage, message));
        }
        Ok(ProviderOptions {
            sandbox: self.sandbox().filter(|_| other.is_none()),
            typed,
            ..self.environment_options()
        })
    }

    /// The options without a check for contradictions, for shell completion.
    pub(super) fn environment_options(&self) -> ProviderOptions {
        ProviderOptions {
            kubeconfig: self.kubeconfig.clone(),
            context: self.context.clone(),
            cluster: self.cluster.clone(),
            user: self.user.clone(),
            namespace: self.namespace.clone(),
            sandbox: self.sandbox(),
            allow_exec: self.allow_exec,
            allow_files: self.allow_files.clone(),
            typed: Vec::new(),
        }
    }

    pub(super) fn output_settings(&self) -> UiSettings {
        UiSettings {
            color: self.output.color.unwrap_or_default(),
            progress: self.output.progress.unwrap_or_default(),
            quiet: self.output.quiet,
            no_input: self.output.no_input,
            ..UiSettings::default()
        }
    }

    /// Verbosity, format and file of the log.
    pub(super) fn log(&self) -> (u8, LogFormat, Option<&std::path::Path>) {
        let flags = &self.output;
        (
            flags.verbose,
            flags.log_format.unwrap_or_default(),
            flags.log_file.as_deref(),
        )
    }

    /// The name of the selected sandbox. The flag and its variable also take truth values.
    fn sandbox(&self) -> Option<String> {
        match self.sandbox.as_deref()? {
            "" | "0" | "false" | "no" | "off" => None,
            "1" | "true" | "yes" | "on" => Some(DEFAULT_SANDBOX.to_owned()),
            name => Some(name.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, FromArgMatches};

    fn options(line: &str) -> Result<ProviderOptions, CommandError> {
        let command = Global::augment_args(clap::Command::new("kvshoot"));
        let matches = command.get_matches_from(line.split(' '));
        let global = Global::from_arg_matches(&matches).unwrap();
        global.provider_options(&matches)
    }

    #[test]
    fn a_sandbox_has_a_name_or_the_default_name() {
        let default = Some("default".to_owned());
        let sandbox = |line: &str| options(line).unwrap().sandbox;
        assert_eq!(sandbox("kvshoot -q"), None);
        assert_eq!(sandbox("kvshoot --sandbox"), default);
        assert_eq!(sandbox("kvshoot --sandbox=1"), default);
        assert_eq!(sandbox("kvshoot --sandbox=two"), Some("two".to_owned()));
        assert_eq!(sandbox("kvshoot --sandbox=off"), None);
    }

    #[test]
    fn two_flags_must_not_select_different_clusters() {
        let error = options("kvshoot --sandbox --context=a").unwrap_err();
        assert_eq!(
            error.message,
            "--sandbox and --context select different provider clusters"
        );
        assert_eq!(options("kvshoot -n lab").unwrap().typed, ["namespace"]);
    }
}
