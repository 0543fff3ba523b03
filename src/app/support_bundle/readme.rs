//! The README of a support bundle: its contents, and what is missing.

use std::fmt::Write as _;

/// The README of a support bundle.
#[derive(Debug, Default)]
pub(super) struct Readme {
    /// Properties such as versions, with their values.
    pub(super) facts: Vec<(&'static str, String)>,
    /// Parts that could not be read, with the reason.
    pub(super) missing: Vec<(String, String)>,
    /// Parts that do not exist and are not required.
    pub(super) notes: Vec<String>,
}

/// The contents of the directories, in the order in which to read them.
const FOLDERS: [(&str, &str); 10] = [
    (
        "summary/",
        "output of status, plan, nodes, images and doctor",
    ),
    (
        "record/",
        "the last applied manifest, the last operation, the history of runs",
    ),
    ("run/", "output of the failed run"),
    (
        "provider/events.txt",
        "events of the shoot's objects in the provider cluster, by time",
    ),
    (
        "provider/objects/",
        "these objects and their dependencies, by kind",
    ),
    (
        "provider/logs/",
        "logs of the control plane, of virt-launcher and importer pods",
    ),
    ("provider/consoles/", "serial consoles of the machines"),
    ("shoot/events.txt", "events inside the shoot, by time"),
    ("shoot/objects/", "objects inside the shoot, by kind"),
    ("shoot/logs/", "logs of pods in kube-system"),
];

const SECRETS: &str = "Secrets are listed with their names, types, keys and lengths. Their values, and anything that looks like a token, key, password or\nlogin, are replaced by <redacted> in all files. User data is listed with its length.\n";

impl Readme {
    pub(super) fn text(&self, files: &[(String, usize)]) -> String {
        let mut text = String::new();
        for (what, value) in &self.facts {
            let _ = writeln!(text, "{what:<20} {value}");
        }
        let _ = write!(text, "\n{SECRETS}\n# Where to look\n\n");
        for (folder, what) in FOLDERS {
            let exists = files.iter().any(|it| it.0.contains(&format!("/{folder}")));
            if exists {
                let _ = writeln!(text, "{folder:<22} {what}");
            }
        }
        let _ = writeln!(text, "\n# Missing data\n");
        for (what, why) in &self.missing {
            let _ = writeln!(text, "{what}: {}", why.replace('\n', " "));
        }
        if self.missing.is_empty() {
            text += "None.\n";
        }
        if !self.notes.is_empty() {
            let _ = writeln!(text, "\n# Objects that do not exist\n");
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
