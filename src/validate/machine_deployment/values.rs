//! ValueResolver that stand in the MachineDeployment or elsewhere, each noted with its place.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::field_map::FieldMap;
use super::secrets::Secrets;
use crate::model::{
    ConfigVar, ConfigVarBool, ConfigVarValue, FieldPath, FindingKind, KeyReference, Quantity,
    ReferenceKind,
};
use crate::validate::report::{FieldCursor, FindingSink};

/// What is known of a value that stands elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ResolvedValue {
    Found(String),
    /// It is not to be had, and why.
    Missing(String),
    /// Nobody is there to be asked, and nothing can be done without it.
    Offline,
    /// Nobody is there to be asked, and the rest is judged without it.
    Unasked,
    /// It is asked for before what comes of it counts.
    Later,
}

pub(super) struct ValueResolver<'a> {
    look: &'a dyn Fn(&KeyReference) -> ResolvedValue,
    pub(super) report: FindingSink,
    pub(super) field_map: FieldMap,
    pub(super) secrets: Secrets,
    /// ValueResolver that are to come.
    pub(super) open: usize,
    /// The fields whose values do not come.
    pub(super) unasked: Vec<FieldPath>,
}

impl<'a> ValueResolver<'a> {
    pub(super) fn new(look: &'a dyn Fn(&KeyReference) -> ResolvedValue) -> Self {
        Self {
            look,
            report: FindingSink::default(),
            field_map: FieldMap::default(),
            secrets: Secrets::default(),
            open: 0,
            unasked: Vec::new(),
        }
    }

    /// The text of a value, and that the pool has it as `to`; empty is absent.
    pub(super) fn text(
        &mut self,
        to: &str,
        var: Option<&ConfigVar>,
        at: &FieldCursor,
    ) -> Option<String> {
        let var = var?;
        self.field_map.put(to, at);
        self.resolved(var.counts(), at)
    }

    /// The same of a word whose capitals do not matter.
    pub(super) fn word(
        &mut self,
        to: &str,
        var: Option<&ConfigVar>,
        at: &FieldCursor,
    ) -> Option<String> {
        let text = self.text(to, var, at)?;
        Some(text.to_ascii_lowercase())
    }

    pub(super) fn quantity(
        &mut self,
        to: &str,
        var: Option<&ConfigVar>,
        at: &FieldCursor,
    ) -> Option<Quantity> {
        let text = self.text(to, var, at)?;
        match Quantity::parse(&text) {
            Ok(quantity) => Some(quantity),
            Err(message) => {
                self.report.error(
                    at,
                    FindingKind::Invalid,
                    "machine-deployment/quantity",
                    message,
                );
                None
            }
        }
    }

    pub(super) fn truth(&mut self, var: Option<&ConfigVarBool>, at: &FieldCursor) -> Option<bool> {
        let text = self.resolved(var?.counts(), at)?;
        match text.to_ascii_lowercase().as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => {
                let message = format!("{text:?} is neither true nor false");
                self.report.error(
                    at,
                    FindingKind::Invalid,
                    "machine-deployment/truth",
                    message,
                );
                None
            }
        }
    }

    /// Grows when something is told, or left open.
    pub(super) fn told(&self) -> (usize, usize) {
        (self.report.errors.len(), self.open + self.unasked.len())
    }

    /// Tells that a field that is given does nothing.
    pub(super) fn ignored(&mut self, at: &FieldCursor, why: &str) {
        let message = format!("has no effect: {why}");
        self.report.warning(
            at,
            FindingKind::NotSupported,
            "machine-deployment/ignored",
            message,
        );
    }

    /// The kubeconfig is for whoever connects; here only its form is judged, and nothing of it is repeated.
    pub(super) fn kubeconfig(&mut self, var: &ConfigVar, at: &FieldCursor) {
        let text = match var.counts() {
            ConfigVarValue::Text(text) => text,
            ConfigVarValue::There(it) if it.holder == ReferenceKind::Secret => return,
            ConfigVarValue::There(_) => return self.ignored(at, "kubeconfigs stand in Secrets"),
        };
        let text: String = text.split_whitespace().collect();
        if STANDARD.decode(&text).is_err() {
            self.report
                .error(
                    at,
                    FindingKind::Invalid,
                    "machine-deployment/kubeconfig",
                    "is no base64",
                )
                .hint("remove it to use --kubeconfig or KUBECONFIG, or write `base64 -w0` of the file");
        }
    }

    fn resolved(&mut self, counts: ConfigVarValue, at: &FieldCursor) -> Option<String> {
        let reference = match counts {
            ConfigVarValue::Text(text) => return Some(text).filter(|it| !it.is_empty()),
            ConfigVarValue::There(reference) => reference,
        };
        let (report, code) = (&mut self.report, "machine-deployment/reference");
        let at_reference = &at.key(match reference.holder {
            ReferenceKind::Secret => "secretKeyRef",
            ReferenceKind::ConfigMap => "configMapKeyRef",
        });
        let KeyReference {
            holder, name, key, ..
        } = &reference;
        match (self.look)(&reference) {
            ResolvedValue::Found(text) => {
                if reference.holder == ReferenceKind::Secret {
                    self.secrets.put(at.path(), &text);
                    let message = format!(
                        "the value of key {key} of Secret {name} is no secret any more: it stands in machines and in the record"
                    );
                    report.warning(at_reference, FindingKind::Forbidden, code, message);
                }
                return Some(text).filter(|it| !it.is_empty());
            }
            ResolvedValue::Later => self.open += 1,
            ResolvedValue::Unasked => {
                self.unasked.push(at.path());
                let message = format!(
                    "is not judged: key {key} of {holder} {name} stands in the provider, where plan, apply and run look"
                );
                report.warning(at_reference, FindingKind::Required, code, message);
            }
            ResolvedValue::Missing(why) => {
                let message = format!("key {key} of {holder} {name} is not to be had: {why}");
                report.error(at_reference, FindingKind::Required, code, message);
            }
            ResolvedValue::Offline => {
                let message = format!("key {key} of {holder} {name} stands in the provider");
                report
                    .error(at_reference, FindingKind::Required, code, message)
                    .hint(
                        "plan, apply and run look there; write the value itself for this command",
                    );
            }
        }
        None
    }
}
