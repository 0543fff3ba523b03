//! Flags that every subcommand takes, and what they are made into.

use super::{CommandError, Exit, complete, logging};
use crate::config::{Config, quoted};
use crate::ui::{CiSystem, Color, ProgressMode, RunLabel, Ui, UiSettings};
use clap::ArgMatches;
use clap::builder::FalseyValueParser;
use clap::parser::ValueSource;
use clap_complete::engine::ArgValueCompleter;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;
use tokio::runtime::Runtime;

#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Provider cluster")]
pub(crate) struct Global {
    /// Kubeconfig of the provider cluster
    #[arg(long, global = true, value_name = "FILE", env = "KVSHOOT_KUBECONFIG")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig
    #[arg(long, global = true, value_name = "NAME", env = "KVSHOOT_CONTEXT", add = ArgValueCompleter::new(complete::contexts))]
    pub(crate) context: Option<String>,
    /// Cluster of the kubeconfig, instead of that of the context
    #[arg(long, global = true, value_name = "NAME", env = "KVSHOOT_CLUSTER", add = ArgValueCompleter::new(complete::clusters))]
    pub(crate) cluster: Option<String>,
    /// User of the kubeconfig, instead of that of the context
    #[arg(long, global = true, value_name = "NAME", env = "KVSHOOT_USER", add = ArgValueCompleter::new(complete::users))]
    pub(crate) user: Option<String>,
    /// Namespace of the shoot's objects, instead of that of the context
    #[arg(short, long, global = true, value_name = "NAME", env = "KVSHOOT_NAMESPACE", add = ArgValueCompleter::new(complete::namespaces))]
    pub(crate) namespace: Option<String>,
    /// Take the sandbox as the provider cluster; see `kvshoot sandbox`
    #[arg(
        long,
        global = true,
        value_name = "NAME",
        env = "KVSHOOT_SANDBOX",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = SANDBOX,
    )]
    sandbox: Option<String>,
    /// Let a kubeconfig that stands in a manifest run programs
    #[arg(long, global = true, env = "KVSHOOT_ALLOW_EXEC", value_parser = FalseyValueParser::new())]
    pub(crate) allow_exec: bool,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
}

/// How to talk.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputFlags {
    /// Print results and errors only
    #[arg(short, long, global = true, env = "KVSHOOT_QUIET", value_parser = FalseyValueParser::new())]
    pub(crate) quiet: bool,
    /// Log to standard error; again for more
    #[arg(short, long, global = true, env = "KVSHOOT_VERBOSE", action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Format of the log
    #[arg(
        long,
        global = true,
        value_name = "FORMAT",
        env = "KVSHOOT_LOG_FORMAT",
        default_value = "text",
        hide_possible_values = false
    )]
    pub(crate) log_format: Option<logging::LogFormat>,
    /// Log to a file, in detail
    #[arg(long, global = true, value_name = "FILE", env = "KVSHOOT_LOG_FILE")]
    pub(crate) log_file: Option<PathBuf>,
    /// When to use colour
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        env = "KVSHOOT_COLOR",
        default_value = "auto"
    )]
    pub(crate) color: Option<Color>,
    /// How to tell how it goes
    #[arg(
        long,
        global = true,
        value_name = "HOW",
        env = "KVSHOOT_PROGRESS",
        default_value = "auto"
    )]
    pub(crate) progress: Option<ProgressMode>,
    /// Ask nothing
    #[arg(long, global = true, env = "KVSHOOT_NO_INPUT", value_parser = FalseyValueParser::new())]
    pub(crate) no_input: bool,
}

/// The sandbox that is meant when none is named.
pub(crate) const SANDBOX: &str = "default";

impl Global {
    /// A flag that was typed outdoes a variable that was set long ago; two flags contradict each other.
    pub(super) fn settle(&mut self, matches: &ArgMatches) -> Result<(), CommandError> {
        let typed = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
        let Some(other) = ["kubeconfig", "context", "cluster", "user"]
            .into_iter()
            .find(|it| typed(it))
        else {
            return Ok(());
        };
        if typed("sandbox") {
            let message = format!("--sandbox and --{other} name two provider clusters");
            return Err(CommandError::new(Exit::Usage, message));
        }
        self.sandbox = None;
        Ok(())
    }

    /// A whole command that finds the same provider cluster from wherever it is typed.
    pub(super) fn command(&self, context: &Context, words: &[&str]) -> String {
        let name = |name: &str, value: &Option<String>| {
            let value = value.clone();
            value.map(|it| format!("--{name}={it}"))
        };
        let kubeconfig = self.kubeconfig.as_ref().map(|it| it.display().to_string());
        let sandbox = self.sandbox().map(str::to_owned);
        let flags = [
            name("sandbox", &sandbox),
            name("kubeconfig", &kubeconfig.filter(|_| sandbox.is_none())),
            name("context", &self.context),
            name("cluster", &self.cluster),
            name("user", &self.user),
            name("namespace", &self.namespace),
        ];
        let words = words.iter().map(|it| (*it).to_owned());
        let program = context.config.program();
        let (verb, rest): (Vec<_>, Vec<_>) = words.enumerate().partition(|it| it.0 == 0);
        let words = [verb, rest].map(|it| it.into_iter().map(|it| quoted(it.1)));
        let [verb, rest] = words;
        let flags = flags.into_iter().flatten().map(quoted);
        let all = [program].into_iter().chain(verb).chain(flags).chain(rest);
        all.collect::<Vec<_>>().join(" ")
    }

    /// Variables by which a program that is started with another KUBECONFIG finds the same provider cluster.
    pub(super) fn variables(&self, context: &Context) -> Vec<(&'static str, OsString)> {
        let files: Vec<PathBuf> = context.config.kubeconfigs();
        let there: Vec<&PathBuf> = files.iter().filter(|it| it.exists()).collect();
        let kubeconfig = match (&self.kubeconfig, there.as_slice()) {
            _ if self.sandbox().is_some() => None,
            (Some(file), _) => Some(file),
            (None, [file]) => Some(*file),
            (None, _) => None,
        };
        let kubeconfig = kubeconfig.and_then(|it| std::path::absolute(it).ok());
        let text = |it: Option<&str>| it.map(OsString::from);
        let variables = [
            ("KVSHOOT_KUBECONFIG", kubeconfig.map(OsString::from)),
            ("KVSHOOT_SANDBOX", text(self.sandbox())),
            ("KVSHOOT_CONTEXT", text(self.context.as_deref())),
            ("KVSHOOT_CLUSTER", text(self.cluster.as_deref())),
            ("KVSHOOT_USER", text(self.user.as_deref())),
        ];
        let set = variables.into_iter();
        set.filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }

    /// The name of the sandbox that stands in for the provider cluster, if one does.
    pub(crate) fn sandbox(&self) -> Option<&str> {
        match self.sandbox.as_deref()? {
            "" | "0" | "false" | "no" | "off" => None,
            "1" | "true" | "yes" | "on" => Some(SANDBOX),
            name => Some(name),
        }
    }
}

/// What a subcommand works with beside its own arguments.
pub(crate) struct Context {
    pub(crate) global: Global,
    pub(crate) ui: Ui,
    pub(crate) config: Config,
    /// Names this invocation in events and locks.
    pub(crate) run_id: String,
    /// Whether a sandbox that is asked for is made when it is not there.
    pub(crate) makes_sandbox: bool,
    runtime: OnceLock<Runtime>,
}

impl Context {
    /// `verb` is that of a command that changes things, whose events have to have an end.
    pub(crate) fn new(global: Global, verb: Option<&'static str>) -> Self {
        let config = Config::default();
        let run_id = config.run_id();
        let flags = &global.output;
        let ui = Ui::new(UiSettings {
            color: flags.color.unwrap_or_default(),
            progress: flags.progress.unwrap_or_default(),
            quiet: flags.quiet,
            no_input: flags.no_input,
            ci: config.ci(),
            ci_system: forge(config),
            no_color: config.no_color(),
            force_color: config.force_color(),
            dumb: config.dumb_terminal(),
            unicode: config.unicode(),
            columns: config.columns(),
            run: verb.map(|verb| RunLabel {
                verb,
                id: run_id.clone(),
            }),
        });
        Self {
            global,
            ui,
            config,
            run_id,
            makes_sandbox: matches!(verb, Some("apply" | "run")),
            runtime: OnceLock::new(),
        }
    }

    /// Starts the log, when one is asked for.
    pub(super) fn log(&self) -> Result<(), CommandError> {
        let flags = &self.global.output;
        let format = flags.log_format.unwrap_or_default();
        logging::start(&self.ui, flags.verbose, format, flags.log_file.as_deref())
    }

    /// The runtime is made when it is first needed: help and version do without.
    pub(crate) fn block_on<F: Future>(&self, future: F) -> Result<F::Output, CommandError> {
        if self.runtime.get().is_none() {
            let runtime = Runtime::new().map_err(|error| {
                CommandError::new(Exit::Precondition, "no threads to work with")
                    .cause(error.to_string())
            })?;
            // Nobody else can have set it: a context stays on its thread until then.
            let _ = self.runtime.set(runtime);
        }
        let runtime = self.runtime.get().expect("it was just set");
        Ok(runtime.block_on(future))
    }

    /// Ends without waiting for what still runs aside, such as a name that is being resolved.
    pub(super) fn leave(self) {
        if let Some(runtime) = self.runtime.into_inner() {
            runtime.shutdown_background();
        }
    }
}

fn forge(config: Config) -> Option<CiSystem> {
    match (config.github(), config.gitlab()) {
        (true, _) => Some(CiSystem::GitHub),
        (false, true) => Some(CiSystem::GitLab),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::commands::Cli;
    use clap::{CommandFactory, FromArgMatches};

    fn check(line: &str) -> Option<String> {
        let matches = Cli::command().get_matches_from(line.split(' '));
        let mut global = Cli::from_arg_matches(&matches).unwrap().global;
        global.settle(&matches).unwrap();
        global.sandbox().map(str::to_owned)
    }

    #[test]
    fn the_sandbox_is_named_or_the_default_one() {
        let default = Some("default".to_owned());
        assert_eq!(check("kvshoot version"), None);
        assert_eq!(check("kvshoot version --sandbox"), default);
        assert_eq!(check("kvshoot --sandbox version"), default);
        assert_eq!(check("kvshoot version --sandbox=1"), default);
        assert_eq!(
            check("kvshoot version --sandbox=two"),
            Some("two".to_owned())
        );
        assert_eq!(check("kvshoot version --sandbox=off"), None);
    }
}
