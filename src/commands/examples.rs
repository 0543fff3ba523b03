//! The examples in the help of each command.

use clap::Command;

/// A comment and a command line.
type Example = (&'static str, &'static str);

/// Subcommands with their examples.
const EXAMPLES: &[(&str, &[Example])] = &[
    (
        "init",
        &[
            (
                "Write dev.yaml, and ask for what is not given",
                "kvshoot init dev",
            ),
            (
                "Print a manifest without questions",
                "kvshoot init dev --no-input --nodes 3 -f -",
            ),
            (
                "Choose from a CloudProfile",
                "kvshoot init dev --profile profile.yaml",
            ),
            (
                "Write a CloudProfile for several clusters",
                "kvshoot init --profile-only -f profile.yaml",
            ),
        ],
    ),
    (
        "validate",
        &[
            (
                "Check all manifests of a directory",
                "kvshoot validate -f manifests/",
            ),
            (
                "Print the problems for a program",
                "kvshoot validate -f shoot.yaml -o json",
            ),
        ],
    ),
    (
        "render",
        &[
            (
                "Print the objects in the provider cluster",
                "kvshoot render -f shoot.yaml",
            ),
            (
                "List the container images to mirror",
                "kvshoot render -f shoot.yaml -o images",
            ),
        ],
    ),
    (
        "plan",
        &[
            ("Show what apply would do", "kvshoot plan -f shoot.yaml"),
            (
                "Detect drift in a pipeline",
                "kvshoot plan -f shoot.yaml --exit-code",
            ),
        ],
    ),
    (
        "apply",
        &[
            ("Create or update a cluster", "kvshoot apply -f shoot.yaml"),
            (
                "Create the namespace as well",
                "kvshoot apply -f shoot.yaml -n ci --create-namespace",
            ),
            (
                "Apply the last applied manifest again",
                "kvshoot get dev -o yaml | kvshoot apply -f -",
            ),
        ],
    ),
    (
        "run",
        &[
            (
                "Run the tests of a pipeline against a new cluster",
                "kvshoot run -f shoot.yaml --generate-name -- make e2e",
            ),
            (
                "Keep a failed cluster for four hours",
                "kvshoot run -f shoot.yaml --keep-on-failure=4h -- make e2e",
            ),
        ],
    ),
    (
        "rotate",
        &[
            (
                "Make a new CA, and keep the old one working",
                "kvshoot rotate minimal ca --start",
            ),
            (
                "Remove the old CA, once users have new kubeconfigs",
                "kvshoot rotate minimal ca --complete",
            ),
            (
                "Show where all rotations are",
                "kvshoot rotate minimal all --status",
            ),
        ],
    ),
    (
        "keep",
        &[
            ("Keep a cluster until Ctrl-C", "kvshoot keep minimal"),
            (
                "Keep all clusters of a namespace, without deleting expired ones",
                "kvshoot keep --all -n ci --skip=expiry",
            ),
            (
                "Let the provider cluster do it",
                "kvshoot keep -n ci --print | kubectl apply -n ci -f -",
            ),
        ],
    ),
    (
        "conformance",
        &[
            (
                "Check DNS, Services, volumes, logs and more",
                "kvshoot conformance dev --quick",
            ),
            (
                "Write a report for a CI system",
                "kvshoot conformance dev --quick -o junit > conformance.xml",
            ),
            (
                "Only check the network",
                "kvshoot conformance dev --quick --only pod-to-pod,large-packets",
            ),
        ],
    ),
    (
        "repair",
        &[
            (
                "Show volumes that hang after their machine is gone",
                "kvshoot repair dev --dry-run",
            ),
            ("Detach them", "kvshoot repair dev"),
        ],
    ),
    (
        "scale",
        &[
            (
                "Let a pool have three machines",
                "kvshoot scale minimal worker=3",
            ),
            ("Change two pools at once", "kvshoot scale dev cpu=5 gpu=1"),
        ],
    ),
    (
        "hibernate",
        &[("Stop a cluster for the night", "kvshoot hibernate minimal")],
    ),
    ("wake", &[("Start it again", "kvshoot wake minimal")]),
    (
        "upgrade",
        &[
            (
                "Show the versions that are offered",
                "kvshoot upgrade dev --list",
            ),
            (
                "Upgrade to the newest patch of a minor version",
                "kvshoot upgrade dev --to 1.34",
            ),
            (
                "Upgrade the control plane and one pool",
                "kvshoot upgrade dev --to 1.34 --pools cpu",
            ),
            (
                "Upgrade in spite of disruption budgets that allow no eviction",
                "kvshoot upgrade dev --to 1.34 --ignore disruption-budget",
            ),
        ],
    ),
    (
        "evacuate",
        &[
            ("Move machines from draining nodes once", "kvshoot evacuate"),
            (
                "Let the provider cluster do it",
                "kvshoot evacuate -n ci --print-cronjob | kubectl apply -n ci -f -",
            ),
        ],
    ),
    (
        "etcd defrag",
        &[
            (
                "Free space in the volume of etcd",
                "kvshoot etcd defrag dev",
            ),
            (
                "In a CronJob, only if it pays",
                "kvshoot etcd defrag dev --when-worthwhile",
            ),
        ],
    ),
    (
        "backup",
        &[
            (
                "Back up a cluster to a directory, encrypted",
                "kvshoot backup dev --to backups --recipient age1...",
            ),
            (
                "Back up to a bucket of AWS",
                "kvshoot backup dev --to s3://etcd-backups/lab -R recipients.txt",
            ),
            (
                "Back up to another S3 server",
                "kvshoot backup dev --to s3://etcd -R recipients.txt --s3-endpoint https://s3.example.org",
            ),
        ],
    ),
    (
        "backups list",
        &[(
            "List the backups of all clusters",
            "kvshoot backups list --from s3://etcd-backups/lab",
        )],
    ),
    (
        "backups verify",
        &[
            (
                "Verify the newest backup, with its contents",
                "kvshoot backups verify dev --from backups --identity key.txt",
            ),
            (
                "Verify the hashes of all backups",
                "kvshoot backups verify --all --from backups",
            ),
        ],
    ),
    (
        "backups prune",
        &[(
            "Keep a day of hourly and a month of daily backups",
            "kvshoot backups prune dev --from backups --keep-hourly 24 --keep-daily 30",
        )],
    ),
    (
        "restore",
        &[
            (
                "Restore the newest backup",
                "kvshoot restore dev --from backups --identity key.txt",
            ),
            (
                "Restore the state of a time into another namespace",
                "kvshoot restore dev --from s3://etcd-backups/lab --identity key.txt --to-time 2026-07-24T08:00:00Z -n other",
            ),
            (
                "Bring back a root Secret that was deleted",
                "kvshoot restore dev --from backups --identity key.txt --secrets-only",
            ),
        ],
    ),
    (
        "delete",
        &[
            ("Delete a cluster after a prompt", "kvshoot delete dev"),
            (
                "Delete a cluster in a pipeline",
                "kvshoot delete dev --yes --ignore-not-found",
            ),
        ],
    ),
    (
        "ttl",
        &[
            ("Show the expiry", "kvshoot ttl dev"),
            ("Let the cluster expire in two hours", "kvshoot ttl dev 2h"),
            ("Extend its life by one hour", "kvshoot ttl dev +1h"),
        ],
    ),
    (
        "gc",
        &[
            ("List what would be deleted", "kvshoot gc --dry-run"),
            (
                "Let the provider cluster do it",
                "kvshoot gc -n ci --print-cronjob | kubectl apply -n ci -f -",
            ),
        ],
    ),
    (
        "protect",
        &[(
            "Protect a cluster",
            "kvshoot protect prod --reason 'in use by team a'",
        )],
    ),
    (
        "unprotect",
        &[("Allow the deletion again", "kvshoot unprotect prod")],
    ),
    (
        "list",
        &[
            ("List the clusters of the namespace", "kvshoot list"),
            (
                "List all clusters with more columns",
                "kvshoot list -A -o wide",
            ),
        ],
    ),
    (
        "get",
        &[(
            "Save the last applied manifest",
            "kvshoot get dev -o yaml > shoot.yaml",
        )],
    ),
    (
        "status",
        &[
            ("Show the conditions of a cluster", "kvshoot status dev"),
            (
                "Check the health in a script",
                "kvshoot status dev -o json | jq .healthy",
            ),
        ],
    ),
    (
        "wait",
        &[
            (
                "Wait until a cluster is healthy",
                "kvshoot wait dev --timeout 20m",
            ),
            ("Wait for three nodes", "kvshoot wait dev --for nodes=3"),
            ("Wait for a deletion", "kvshoot wait dev --for deleted"),
        ],
    ),
    (
        "why",
        &[("Find the root cause of a problem", "kvshoot why dev")],
    ),
    (
        "events",
        &[
            ("List the events of a cluster", "kvshoot events dev"),
            (
                "Watch warnings only",
                "kvshoot events dev --watch --types Warning",
            ),
        ],
    ),
    ("bundle", &[("Write dev-TIME.tar.gz", "kvshoot bundle dev")]),
    (
        "nodes list",
        &[
            ("List the nodes of a cluster", "kvshoot nodes list dev"),
            (
                "Watch the nodes of one pool",
                "kvshoot nodes list dev --pool worker --watch",
            ),
        ],
    ),
    (
        "nodes describe",
        &[(
            "Show a node, its machine and their events",
            "kvshoot nodes describe dev shoot--local--dev-worker-z1-8c2f1-0",
        )],
    ),
    (
        "nodes restart",
        &[(
            "Start the machine of a node again",
            "kvshoot nodes restart dev shoot--local--dev-worker-z1-8c2f1-0",
        )],
    ),
    (
        "nodes replace",
        &[(
            "Replace the machine of a node",
            "kvshoot nodes replace dev shoot--local--dev-worker-z1-8c2f1-0",
        )],
    ),
    (
        "nodes delete",
        &[(
            "Make a pool smaller by the machine of a node",
            "kvshoot nodes delete dev shoot--local--dev-worker-z1-8c2f1-0",
        )],
    ),
    (
        "nodes console",
        &[(
            "Follow the serial console of a machine while it boots",
            "kvshoot nodes console dev shoot--local--dev-worker-z1-8c2f1-0 -f",
        )],
    ),
    (
        "nodes logs",
        &[
            (
                "Print the end of the kubelet's log",
                "kvshoot nodes logs dev shoot--local--dev-worker-z1-8c2f1-0",
            ),
            (
                "Print the last lines of containerd's log",
                "kvshoot nodes logs dev shoot--local--dev-worker-z1-8c2f1-0 --service containerd --tail 50",
            ),
        ],
    ),
    (
        "nodes drain",
        &[(
            "Evict the pods of a node, for at most ten minutes",
            "kvshoot nodes drain dev shoot--local--dev-worker-z1-8c2f1-0 --timeout 10m",
        )],
    ),
    (
        "nodes cordon",
        &[(
            "Keep new pods off a node",
            "kvshoot nodes cordon dev shoot--local--dev-worker-z1-8c2f1-0",
        )],
    ),
    (
        "nodes uncordon",
        &[(
            "Let a node accept pods again",
            "kvshoot nodes uncordon dev shoot--local--dev-worker-z1-8c2f1-0",
        )],
    ),
    (
        "pools list",
        &[("List the pools of a cluster", "kvshoot pools list dev")],
    ),
    (
        "images list",
        &[(
            "Show the progress of image imports",
            "kvshoot images list dev",
        )],
    ),
    (
        "kubeconfig get",
        &[(
            "Write a kubeconfig that is valid for one hour",
            "kvshoot kubeconfig get dev --ttl 1h --file dev.yaml",
        )],
    ),
    (
        "kubeconfig merge",
        &[(
            "Add a context, and make it the current one",
            "kvshoot kubeconfig merge dev --switch",
        )],
    ),
    (
        "kubeconfig remove",
        &[("Remove the context again", "kvshoot kubeconfig remove dev")],
    ),
    (
        "exec",
        &[
            (
                "List the nodes of a cluster",
                "kvshoot exec dev -- kubectl get nodes",
            ),
            ("Open a shell", "kvshoot exec dev -- bash"),
        ],
    ),
    (
        "tunnel",
        &[(
            "Forward port 6443 to the API server",
            "kvshoot tunnel dev --port 6443",
        )],
    ),
    (
        "doctor",
        &[
            ("Check the provider cluster", "kvshoot doctor"),
            (
                "Check what a manifest needs",
                "kvshoot doctor -f shoot.yaml",
            ),
            (
                "Print the roles that kvshoot needs",
                "kvshoot doctor --rbac -n ci",
            ),
        ],
    ),
    (
        "sandbox install",
        &[(
            "Install the programs of the sandbox",
            "kvshoot sandbox install",
        )],
    ),
    (
        "sandbox up",
        &[
            ("Start the sandbox", "kvshoot sandbox up"),
            (
                "Create a cluster in it",
                "kvshoot apply --sandbox -f shoot.yaml",
            ),
        ],
    ),
    (
        "sandbox down",
        &[
            ("Stop the sandbox", "kvshoot sandbox down"),
            ("Stop all sandboxes", "kvshoot sandbox down --all"),
        ],
    ),
    (
        "sandbox list",
        &[("List all sandboxes", "kvshoot sandbox list")],
    ),
    (
        "sandbox doctor",
        &[("Check what a sandbox needs", "kvshoot sandbox doctor")],
    ),
    (
        "sandbox status",
        &[(
            "Show the processes of the sandbox",
            "kvshoot sandbox status",
        )],
    ),
    (
        "sandbox reset",
        &[("Start again from scratch", "kvshoot sandbox reset")],
    ),
    (
        "sandbox kubeconfig",
        &[(
            "Save the kubeconfig of the sandbox",
            "kvshoot sandbox kubeconfig > sandbox.yaml",
        )],
    ),
    (
        "sandbox clock",
        &[
            (
                "Let certificates expire",
                "kvshoot sandbox clock --forward 365d",
            ),
            (
                "Move to the evening",
                "kvshoot sandbox clock --to 2030-01-31T20:00:00Z",
            ),
        ],
    ),
    (
        "sandbox fail import-404",
        &[(
            "Let image downloads fail",
            "kvshoot sandbox fail import-404",
        )],
    ),
    (
        "sandbox fail import-stuck",
        &[(
            "Let image imports hang",
            "kvshoot sandbox fail import-stuck",
        )],
    ),
    (
        "sandbox fail no-room",
        &[(
            "Fill the nodes of a zone",
            "kvshoot sandbox fail no-room zone-a",
        )],
    ),
    (
        "sandbox fail vm-crash",
        &[(
            "Let the machines of a cluster crash",
            "kvshoot sandbox fail vm-crash shoot--local--dev-",
        )],
    ),
    (
        "sandbox fail pod-crash",
        &[(
            "Let API servers crash",
            "kvshoot sandbox fail pod-crash shoot--local--dev-kube-apiserver",
        )],
    ),
    (
        "sandbox fail guest-boot",
        &[(
            "Keep machines from booting",
            "kvshoot sandbox fail guest-boot",
        )],
    ),
    (
        "sandbox fail guest-network",
        &[(
            "Cut machines off their API server",
            "kvshoot sandbox fail guest-network",
        )],
    ),
    (
        "sandbox fail guest-clock",
        &[(
            "Set back the clocks of machines",
            "kvshoot sandbox fail guest-clock",
        )],
    ),
    (
        "sandbox fail node-silent",
        &[(
            "Stop the reports of nodes",
            "kvshoot sandbox fail node-silent",
        )],
    ),
    (
        "sandbox fail kubelet-certificate",
        &[(
            "Serve with self-signed certificates",
            "kvshoot sandbox fail kubelet-certificate",
        )],
    ),
    (
        "sandbox fail migration-fail",
        &[(
            "Let migrations to other hosts fail",
            "kvshoot sandbox fail migration-fail",
        )],
    ),
    (
        "sandbox fail migration-stuck",
        &[(
            "Let migrations to other hosts hang",
            "kvshoot sandbox fail migration-stuck",
        )],
    ),
    (
        "sandbox fail quota",
        &[(
            "Limit the memory of a namespace",
            "kvshoot sandbox fail quota requests.memory=4Gi -n ci",
        )],
    ),
    (
        "sandbox fail none",
        &[("Clear all faults", "kvshoot sandbox fail none")],
    ),
    (
        "sandbox fail list",
        &[("List the injected faults", "kvshoot sandbox fail list")],
    ),
    (
        "convert",
        &[
            (
                "Print the pools of MachineDeployments",
                "kvshoot convert -f machinedeployments.yaml",
            ),
            (
                "Use the zones of a CloudProfile",
                "kvshoot convert -f machinedeployments.yaml --profile cloudprofile.yaml",
            ),
        ],
    ),
    (
        "explain",
        &[(
            "Describe the fields of a pool",
            "kvshoot explain shoot.spec.provider.workers",
        )],
    ),
    (
        "schema",
        &[(
            "Save the schema for an editor",
            "kvshoot schema shoot > shoot.schema.json",
        )],
    ),
    (
        "completions",
        &[
            (
                "Install the script for your shell",
                "kvshoot completions --install",
            ),
            (
                "bash",
                "kvshoot completions bash > ~/.local/share/bash-completion/completions/kvshoot",
            ),
            ("zsh", "kvshoot completions zsh > \"${fpath[1]}/_kvshoot\""),
            (
                "fish",
                "kvshoot completions fish > ~/.config/fish/completions/kvshoot.fish",
            ),
        ],
    ),
    (
        "version",
        &[
            (
                "Print the versions for a program",
                "kvshoot version -o json",
            ),
            (
                "Print only the version of kvshoot",
                "kvshoot version --client",
            ),
        ],
    ),
    (
        "help",
        &[
            ("Show all options of a command", "kvshoot help apply"),
            ("List the exit codes", "kvshoot help exit-codes"),
        ],
    ),
];

/// Adds the examples to the help of each command.
pub(super) fn attach(command: Command) -> Command {
    EXAMPLES.iter().fold(command, |command, (path, examples)| {
        let words: Vec<&str> = path.split(' ').collect();
        add(command, &words, &format(examples))
    })
}

fn add(command: Command, path: &[&str], text: &str) -> Command {
    match path {
        [] => command.after_help(text.to_owned()),
        [first, rest @ ..] => command.mut_subcommand(first, |command| add(command, rest, text)),
    }
}

fn format(examples: &[Example]) -> String {
    let lines: Vec<String> = examples
        .iter()
        .map(|(comment, line)| format!("  # {comment}\n  {line}"))
        .collect();
    format!("Examples:\n{}", lines.join("\n"))
}
