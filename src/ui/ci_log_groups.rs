//! What the logs of CI systems make of some lines: groups that fold, and notes beside the lines of a file.

use super::Ui;
use jiff::Timestamp;
use serde_json::Value;

/// Who shows the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CiSystem {
    GitHub,
    GitLab,
}

/// Lines of the log that fold into one; they end with it.
#[derive(Debug)]
pub(crate) struct LogGroup<'a> {
    ui: &'a Ui,
    forge: Option<CiSystem>,
    /// Of a section, for GitLab.
    name: &'static str,
}

impl Ui {
    /// What is told from now on stands below `title`; `name` has letters and underscores only.
    pub(crate) fn log_group(&self, name: &'static str, title: &str) -> LogGroup<'_> {
        let forge = self.settings.forge.filter(|_| self.json.is_none());
        let title = title.replace(['\n', '\r'], " ");
        match forge {
            Some(CiSystem::GitHub) => self.err.write(&format!("::group::{title}\n")),
            Some(CiSystem::GitLab) => {
                let start = section("start", &format!("{name}[collapsed=true]"));
                self.err.write(&format!("{start}{title}\n"));
            }
            None => {}
        }
        LogGroup {
            ui: self,
            forge,
            name,
        }
    }

    /// Notes beside the lines that problems of manifests stand on, where there is somebody to show them.
    pub(super) fn annotate(&self, level: &str, problem: &Value) {
        if self.settings.forge != Some(CiSystem::GitHub) {
            return;
        }
        let text = |key: &str| problem[key].as_str().unwrap_or_default();
        let places = ["file", "line", "column"]
            .into_iter()
            .zip(["file", "line", "col"]);
        let places = places.filter_map(|(key, name)| match &problem[key] {
            Value::String(text) => Some(format!("{name}={}", escaped(text, true))),
            Value::Number(number) => Some(format!("{name}={number}")),
            _ => None,
        });
        let title = format!("title={}", escaped(text("code"), true));
        let properties: Vec<String> = places.chain([title]).collect();
        let message = match text("path") {
            "" => text("message").to_owned(),
            path => format!("{path}: {}", text("message")),
        };
        let (properties, message) = (properties.join(","), escaped(&message, false));
        self.err
            .write(&format!("::{level} {properties}::{message}\n"));
    }
}

impl Drop for LogGroup<'_> {
    fn drop(&mut self) {
        match self.forge {
            Some(CiSystem::GitHub) => self.ui.err.write("::endgroup::\n"),
            Some(CiSystem::GitLab) => {
                let end = section("end", self.name);
                self.ui.err.write(&format!("{end}\n"));
            }
            None => {}
        }
    }
}

/// The marks are overwritten by what follows, where a terminal shows them.
fn section(what: &str, name: &str) -> String {
    let now = Timestamp::now().as_second();
    format!("\x1b[0Ksection_{what}:{now}:kvshoot_{name}\r\x1b[0K")
}

/// As GitHub's own toolkit does it.
fn escaped(text: &str, is_property: bool) -> String {
    let text = text
        .replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A");
    match is_property {
        true => text.replace(':', "%3A").replace(',', "%2C"),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::super::UiSettings;
    use super::super::tests::check;
    use super::*;
    use serde_json::json;

    fn told(forge: Option<CiSystem>, tell: impl FnOnce(&Ui)) -> String {
        let settings = UiSettings {
            forge,
            ..UiSettings::default()
        };
        check(settings, tell)
    }

    #[test]
    fn a_group_folds_where_somebody_folds_it() {
        let tell = |ui: &Ui| {
            let _fold = ui.log_group("make", "Make shoot a");
            ui.status("done");
        };
        assert_eq!(told(None, tell), "--\ndone\n");
        let github = told(Some(CiSystem::GitHub), tell);
        assert_eq!(github, "--\n::group::Make shoot a\ndone\n::endgroup::\n");
        let gitlab = told(Some(CiSystem::GitLab), tell);
        let digits = |it: char| it.is_ascii_digit();
        let gitlab: Vec<&str> = gitlab.split(digits).filter(|it| !it.is_empty()).collect();
        // The zeros are of the marks: ESC [ 0 K.
        let wanted = [
            "--\n\x1b[",
            "Ksection_start:",
            ":kvshoot_make[collapsed=true]\r\x1b[",
            "KMake shoot a\ndone\n\x1b[",
            "Ksection_end:",
            ":kvshoot_make\r\x1b[",
            "K\n",
        ];
        assert_eq!(gitlab, wanted);
    }

    #[test]
    fn a_problem_stands_beside_its_line() {
        let problem = json!({
            "file": "a,b.yaml", "line": 3, "column": 5, "code": "pool/name",
            "path": "spec.x", "message": "100% wrong\nreally",
        });
        let tell = |ui: &Ui| ui.problems("text", [("warning", problem.clone())]);
        let wanted = "--\ntext\n::warning file=a%2Cb.yaml,line=3,col=5,title=pool/name::spec.x: 100%25 wrong%0Areally\n";
        assert_eq!(told(Some(CiSystem::GitHub), tell), wanted);
        assert_eq!(told(Some(CiSystem::GitLab), tell), "--\ntext\n");
    }
}
