//! Resolves values of a MachineDeployment, inline or by reference, and records their fields.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::field_map::FieldMap;
use super::secrets::Secrets;
use crate::model::{
    ConfigVar, ConfigVarBool, ConfigVarValue, FieldPath, FindingKind, KeyReference, Quantity,
    ReferenceKind,
};
use crate::validate::report::{FieldCursor, FindingSink};

/// Result of looking up a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ResolvedValue {
    Found(String),
    /// The value cannot be read, for this reason.
    Missing(String),
    /// The command has no connection and cannot continue without the value.
    Offline,
    /// The command has no connection and validates the rest without the value.
    Skipped,
    /// The value is looked up later.
    Pending,
}

pub(super) struct ValueResolver<'a> {
    look: &'a dyn Fn(&KeyReference) -> ResolvedValue,
    pub(super) report: FindingSink,
    pub(super) field_map: FieldMap,
    pub(super) secrets: Secrets,
    /// References to values outside of the manifest, in the order in which they were resolved.
    pub(super) references: Vec<KeyReference>,
    /// Number of values that are looked up later.
    pub(super) open: usize,
    /// Fields whose values are not looked up.
    pub(super) unasked: Vec<FieldPath>,
}

impl<'a> ValueResolver<'a> {
    pub(super) fn new(look: &'a dyn Fn(&KeyReference) -> ResolvedValue) -> Self {
        Self {
            look,
            report: FindingSink::default(),
            field_map: FieldMap::default(),
            secrets: Secrets::default(),
            references: Vec::new(),
            open: 0,
            unasked: Vec::new(),
        }
    }

    /// Resolves a string and records `to` as its field in the pool; an empty value is absent.
    pub(super) fn text(
        &mut self,
        to: &str,
        var: Option<&ConfigVar>,
        at: &FieldCursor,
    ) -> Option<String> {
        let var = var?;
        self.field_map.put(to, at);
        self.resolved(var.resolve(), at)
    }

    /// Resolves a case-insensitive word, in lower case.
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
        let text = self.resolved(var?.resolve(), at)?;
        match text.to_ascii_lowercase().as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => {
                let message = format!("must be true or false (is {text:?})");
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

    /// Counters that grow with each error, and with each value that is not known.
    pub(super) fn counters(&self) -> (usize, usize) {
        (self.report.errors.len(), self.open + self.unasked.len())
    }

    /// Warns about a field without effect.
    pub(super) fn ignored(&mut self, at: &FieldCursor, why: &str) {
        let message = format!("has no effect: {why}");
        self.report.warning(
            at,
            FindingKind::NotSupported,
            "machine-deployment/ignored",
            message,
        );
    }

    /// Checks only the format of a kubeconfig; its content is never shown.
    pub(super) fn kubeconfig(&mut self, var: &ConfigVar, at: &FieldCursor) {
        let text = match var.resolve() {
            ConfigVarValue::Inline(text) => text,
            ConfigVarValue::Reference(it) if it.kind == ReferenceKind::Secret => return,
            ConfigVarValue::Reference(_) => {
                return self.ignored(at, "a kubeconfig must be in a Secret");
            }
        };
        let text: String = text.split_whitespace().collect();
        if STANDARD.decode(&text).is_err() {
            self.report
                .error(
                    at,
                    FindingKind::Invalid,
                    "machine-deployment/kubeconfig",
                    "not valid base64",
                )
                .hint("write the output of `base64 -w0 FILE`, or remove it to use --kubeconfig or KUBECONFIG");
        }
    }

    fn resolved(&mut self, counts: ConfigVarValue, at: &FieldCursor) -> Option<String> {
        let reference = match counts {
            ConfigVarValue::Inline(text) => return Some(text).filter(|it| !it.is_empty()),
            ConfigVarValue::Reference(reference) => reference,
        };
        self.references.push(reference.clone());
        let (report, code) = (&mut self.report, "machine-deployment/reference");
        let at_reference = &at.key(match reference.kind {
            ReferenceKind::Secret => "secretKeyRef",
            ReferenceKind::ConfigMap => "configMapKeyRef",
        });
        let KeyReference {
            kind: holder,
            name,
            key,
            ..
        } = &reference;
        match (self.look)(&reference) {
            ResolvedValue::Found(text) => {
                if reference.kind == ReferenceKind::Secret {
                    self.secrets.put(at.path(), &text);
                    let message = format!(
                        "key {key:?} of Secret {name:?} is stored in plain text in machines and in the record"
                    );
                    report.warning(at_reference, FindingKind::Forbidden, code, message);
                }
                return Some(text).filter(|it| !it.is_empty());
            }
            ResolvedValue::Pending => self.open += 1,
            ResolvedValue::Skipped => {
                self.unasked.push(at.path());
                let message = format!(
                    "not validated: only plan, apply and run read key {key:?} of {holder} {name:?} from the provider cluster"
                );
                report.warning(at_reference, FindingKind::Required, code, message);
            }
            ResolvedValue::Missing(why) => {
                let message = format!("cannot read key {key:?} of {holder} {name:?}: {why}");
                report.error(at_reference, FindingKind::Required, code, message);
            }
            ResolvedValue::Offline => {
                let message =
                    format!("key {key:?} of {holder} {name:?} is in the provider cluster");
                report
                    .error(at_reference, FindingKind::Required, code, message)
                    .hint(
                        "only plan, apply and run read it; write the value inline for this command",
                    );
            }
        }
        None
    }
}
