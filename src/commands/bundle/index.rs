//! The first file that a maintainer opens: what is in a bundle, and what is not.

use std::fmt::Write as _;

/// What is told of a bundle as a whole.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// Facts and their values: what, when, which versions.
    pub(super) facts: Vec<(&'static str, String)>,
    /// What could not be read, and why.
    pub(super) missing: Vec<(String, String)>,
    /// What is not there, and need not be.
    pub(super) notes: Vec<String>,
}

/// What the folders hold, in the order in which to read them.
const FOLDERS: [(&str, &str); 10] = [
    (
        "summary/",
        "what status, plan, nodes, images and doctor say",
    ),
    (
        "record/",
        "the manifest as it was applied, the last operation, the history of runs",
    ),
    ("run/", "what the run that ended so has told, if it was one"),
    (
        "provider/events.txt",
        "what was said of the shoot's objects in the provider cluster, by time",
    ),
    (
        "provider/objects/",
        "these objects, and what they depend on, by kind",
    ),
    (
        "provider/logs/",
        "logs of the control plane, of virt-launcher and importer pods",
    ),
    ("provider/consoles/", "what guests wrote to their consoles"),
    ("shoot/events.txt", "events inside the shoot, by time"),
    ("shoot/objects/", "objects inside the shoot, by kind"),
    ("shoot/logs/", "logs of pods in kube-system"),
];

const SECRETS: &str = "Secrets are told by names, types, keys and lengths. What they hold was looked for in everything else and taken out, and so was what\nlooks like a token, a key, a password or a login: <redacted> and the like stand in its place. User data is told by its length.\n";

impl Index {
    pub(super) fn text(&self, files: &[(String, usize)]) -> String {
        let mut text = String::new();
        for (what, value) in &self.facts {
            let _ = writeln!(text, "{what:<20} {value}");
        }
        let _ = write!(text, "\n{SECRETS}\n# Where to look\n\n");
        for (folder, what) in FOLDERS {
            let is_there = files.iter().any(|it| it.0.contains(&format!("/{folder}")));
            if is_there {
                let _ = writeln!(text, "{folder:<22} {what}");
            }
        }
        let _ = writeln!(text, "\n# What could not be read\n");
        for (what, why) in &self.missing {
            let _ = writeln!(text, "{what}: {}", why.replace('\n', " "));
        }
        if self.missing.is_empty() {
            text += "Everything could.\n";
        }
        if !self.notes.is_empty() {
            let _ = writeln!(text, "\n# What is not there\n");
            let mut notes: Vec<&String> = self.notes.iter().collect();
            notes.sort();
            notes.iter().for_each(|it| text += &format!("{it}\n"));
        }
        let _ = writeln!(text, "\n# Files\n");
        let mut files: Vec<_> = files.iter().collect();
        files.sort();
        for (path, length) in files {
            let _ = writeln!(text, "{length:>10} {path}");
        }
        text
    }
}
