//! ValueResolver that came from Secrets: what is said of a field repeats none of them.

use crate::model::{FieldPath, Finding};

const MASK: &str = "(of a Secret)";
/// Shorter ones stand in many a word, and are taken out only of what is said of their own field.
const TELLING: usize = 8;

#[derive(Debug, Default)]
pub(crate) struct Secrets(Vec<(FieldPath, String)>);

impl Secrets {
    /// `at` is the field whose value it is.
    pub(super) fn put(&mut self, at: FieldPath, value: &str) {
        if !value.is_empty() {
            self.0.push((at, value.to_owned()));
        }
    }

    /// Takes them out of a finding of this MachineDeployment.
    pub(crate) fn mask(&self, finding: &mut Finding) {
        for (at, value) in &self.0 {
            let is_own = finding.path.segments().starts_with(at.segments());
            if is_own || value.len() >= TELLING {
                let hint = finding.hint.iter_mut();
                for text in hint.chain([&mut finding.message]) {
                    *text = text.replace(value, MASK);
                }
            }
        }
    }
}
