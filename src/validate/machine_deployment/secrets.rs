//! Values from Secrets, which are masked in findings.

use crate::model::{FieldPath, Finding};

const MASK: &str = "(from a Secret)";
/// Shorter values are part of many words, so they are masked only in findings about their own field.
const TELLING: usize = 8;

#[derive(Debug, Default)]
pub(crate) struct Secrets(Vec<(FieldPath, String)>);

impl Secrets {
    /// Adds the value of the field `at`.
    pub(super) fn put(&mut self, at: FieldPath, value: &str) {
        if !value.is_empty() {
            self.0.push((at, value.to_owned()));
        }
    }

    /// Masks the values in a finding of this MachineDeployment.
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
