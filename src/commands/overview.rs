//! The overview of commands in `kvshoot -h` and `kvshoot --help`, in groups.

use clap::Command;

/// A group of commands.
struct Group {
    title: &'static str,
    commands: &'static [&'static str],
    /// Rows of the short help, which has to fit on one screen: commands, and what they do.
    rows: &'static [(&'static str, &'static str)],
}

const GROUPS: [Group; 7] = [
    Group {
        title: "Create and change",
        commands: &["apply", "plan", "run", "delete"],
        rows: &[
            ("apply", "Create or update a cluster from a manifest"),
            ("plan", "Show what apply would do"),
            ("run", "Run a command against a temporary cluster"),
            ("delete", "Delete a cluster and verify that nothing remains"),
        ],
    },
    Group {
        title: "Manifests",
        commands: &["init", "validate", "render", "convert", "explain", "schema"],
        rows: &[
            ("init", "Write the manifest of a new cluster"),
            ("validate, render", "Check manifests, print their objects"),
            (
                "explain, schema",
                "Describe fields; convert MachineDeployments",
            ),
        ],
    },
    Group {
        title: "Look",
        commands: &[
            "list",
            "get",
            "status",
            "wait",
            "why",
            "events",
            "bundle",
            "conformance",
            "nodes",
            "pools",
            "images",
        ],
        rows: &[
            ("list, get, status", "List clusters, show one"),
            (
                "wait, why, conformance",
                "Wait for a condition, explain it, check a cluster",
            ),
            ("events, bundle", "List events, create a support bundle"),
            ("nodes, pools, images", "List the parts of a cluster"),
        ],
    },
    Group {
        title: "Reach",
        commands: &["kubeconfig", "exec", "tunnel"],
        rows: &[
            ("kubeconfig", "Get, merge or remove a kubeconfig"),
            ("exec", "Run a command with KUBECONFIG set to a cluster"),
            ("tunnel", "Forward a local port to an API server"),
        ],
    },
    Group {
        title: "Keep",
        commands: &[
            "keep",
            "ttl",
            "gc",
            "protect",
            "unprotect",
            "evacuate",
            "rotate",
            "scale",
            "repair",
            "hibernate",
            "wake",
            "upgrade",
            "backup",
            "backups",
            "restore",
            "etcd",
        ],
        rows: &[
            ("keep, ttl, gc", "Keep clusters, delete expired ones"),
            ("protect, unprotect", "Protect a cluster from deletion"),
            (
                "evacuate, scale, repair",
                "Move machines, change their number, detach volumes",
            ),
            ("hibernate, wake", "Stop a cluster, start it again"),
            (
                "upgrade, rotate, etcd",
                "Upgrade Kubernetes, replace keys, defragment etcd",
            ),
            (
                "backup, backups",
                "Back up a cluster; restore it from a backup",
            ),
        ],
    },
    Group {
        title: "Provider and sandbox",
        commands: &["doctor", "sandbox"],
        rows: &[
            ("doctor", "Check the provider cluster's prerequisites"),
            ("sandbox", "Run a provider cluster on this computer"),
        ],
    },
    Group {
        title: "Shell",
        commands: &["completions", "version", "help"],
        rows: &[("completions, version", "Completion scripts, the version")],
    },
];

const TEMPLATE: &str = "{about}\n\n{usage-heading} {usage}\n\n{before-help}{options}{after-help}";
const TOPICS: &str = "More: kvshoot --help; kvshoot help COMMAND, options, exit-codes, environment,\ncontrol-plane or provider";
/// Replaces the options of all commands in the short help of each command.
const OPTIONS: &str =
    "Options of all commands, such as -n, --context and --sandbox: kvshoot help options";

/// Groups the commands in the help of the program, and shortens the help of each command.
pub(super) fn attach(command: Command) -> Command {
    let long = long_overview(&command);
    command
        .mut_args(|arg| match arg.is_global_set() {
            true => arg.hide_short_help(true),
            false => arg,
        })
        .mut_subcommands(shorten)
        .help_template(TEMPLATE)
        .before_help(short_overview())
        .before_long_help(format!("{long}\nOptions:"))
        .after_help(TOPICS)
}

/// Adds the pointer to the options of all commands below the examples.
fn shorten(command: Command) -> Command {
    let examples = command.get_after_help().map(ToString::to_string);
    let examples = examples.unwrap_or_default();
    let short = [examples.as_str(), OPTIONS]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("\n\n");
    let command = command
        .mut_args(|arg| match arg.is_global_set() {
            true => arg.hide_short_help(true),
            false => arg,
        })
        .mut_subcommands(shorten)
        .after_help(short);
    match examples.is_empty() {
        // Otherwise, the long help repeats the pointer below the options themselves.
        true => command.after_long_help("Run a subcommand with --help for examples."),
        false => command.after_long_help(examples),
    }
}

fn short_overview() -> String {
    let row = |(label, about): &(&str, &str)| format!("  {label:<21} {about}");
    let group = |group: &Group| {
        let rows = group.rows.iter().map(row).collect::<Vec<_>>();
        format!("{}:\n{}", group.title, rows.join("\n"))
    };
    GROUPS.iter().map(group).collect::<Vec<_>>().join("\n")
}

fn long_overview(command: &Command) -> String {
    let about = |name: &str| {
        let about = command.find_subcommand(name).and_then(Command::get_about);
        about.map(ToString::to_string).unwrap_or_default()
    };
    let row = |name: &&str| format!("  {name:<12} {}\n", about(name));
    let group = |group: &Group| {
        let rows: String = group.commands.iter().map(row).collect();
        format!("{}:\n{rows}", group.title)
    };
    GROUPS.iter().map(group).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn leaves(command: &Command, path: &str, found: &mut Vec<(String, Command)>) {
        for sub in command.get_subcommands() {
            let path = format!("{path} {}", sub.get_name());
            match sub.has_subcommands() {
                true => leaves(sub, &path, found),
                false => found.push((path, sub.clone())),
            }
        }
    }

    #[test]
    fn each_command_is_in_one_group_and_in_the_short_help() {
        let command = crate::commands::command();
        let names: BTreeSet<String> = command
            .get_subcommands()
            .map(|it| it.get_name().to_owned())
            .collect();
        let grouped: Vec<String> = GROUPS
            .iter()
            .flat_map(|group| group.commands)
            .map(|name| (*name).to_owned())
            .collect();
        assert_eq!(grouped.len(), names.len());
        assert_eq!(grouped.into_iter().collect::<BTreeSet<_>>(), names);
        let short = format!("{}{TOPICS}", short_overview());
        for name in names {
            assert!(short.contains(&name), "{name}");
        }
    }

    #[test]
    fn the_short_help_fits_on_one_screen() {
        let mut command = crate::commands::command();
        let help = command.render_help().to_string();
        assert!(help.lines().count() <= 40, "{help}");
        assert!(
            help.lines().all(|line| line.chars().count() <= 80),
            "{help}"
        );
        assert!(help.contains("Create and change:\n  apply "), "{help}");
        let long = command.render_long_help().to_string();
        assert!(long.contains("--kubeconfig"), "{long}");
    }

    #[test]
    fn each_command_has_examples_and_a_short_help_without_global_options() {
        let mut command = crate::commands::command();
        command.build();
        let mut found = Vec::new();
        leaves(&command, "kvshoot", &mut found);
        for (path, mut command) in found {
            let short = command.render_help().to_string();
            assert!(short.contains("Examples:\n"), "{path}");
            assert!(!short.contains("--kubeconfig"), "{path}: {short}");
            assert!(short.contains(OPTIONS), "{path}");
            let long = command.render_long_help().to_string();
            assert!(
                long.contains("Examples:\n") && long.contains("--kubeconfig"),
                "{path}"
            );
        }
    }
}
