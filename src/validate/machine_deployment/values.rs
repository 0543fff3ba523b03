//! Values that stand in the MachineDeployment or elsewhere, each noted with its place.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::model::{
    ConfigVar, ConfigVarBool, Counts, FieldPath, Holder, Kind, Quantity, Reference,
};

use super::{At, Looked, Places, Report, Secrets};

pub(super) struct Values<'a> {
    look: &'a dyn Fn(&Reference) -> Looked,
    pub(super) report: Report,
    pub(super) places: Places,
    pub(super) secrets: Secrets,
    /// References to values outside of the manifest, in the order in which they were resolved.
    pub(super) references: Vec<Reference>,
    /// Values that are to come.
    pub(super) open: usize,
    /// The fields whose values do not come.
    pub(super) unasked: Vec<FieldPath>,
}

impl<'a> Values<'a> {
    pub(super) fn new(look: &'a dyn Fn(&Reference) -> Looked) -> Self {
        Self {
            look,
            report: Report::default(),
            places: Places::default(),
            secrets: Secrets::default(),
            references: Vec::new(),
            open: 0,
            unasked: Vec::new(),
        }
    }

    /// The text of a value, and that the pool has it as `to`; empty is absent.
    pub(super) fn text(&mut self, to: &str, var: Option<&ConfigVar>, at: &At) -> Option<String> {
        let var = var?;
        self.places.put(to, at);
        self.resolved(var.counts(), at)
    }

    /// The same of a word whose capitals do not matter.
    pub(super) fn word(&mut self, to: &str, var: Option<&ConfigVar>, at: &At) -> Option<String> {
        let text = self.text(to, var, at)?;
        Some(text.to_ascii_lowercase())
    }

    pub(super) fn quantity(
        &mut self,
        to: &str,
        var: Option<&ConfigVar>,
        at: &At,
    ) -> Option<Quantity> {
        let text = self.text(to, var, at)?;
        match Quantity::parse(&text) {
            Ok(quantity) => Some(quantity),
            Err(message) => {
                self.report
                    .error(at, Kind::Invalid, "machine-deployment/quantity", message);
                None
            }
        }
    }

    pub(super) fn truth(&mut self, var: Option<&ConfigVarBool>, at: &At) -> Option<bool> {
        let text = self.resolved(var?.counts(), at)?;
        match text.to_ascii_lowercase().as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => {
                let message = format!("{text:?} is neither true nor false");
                self.report
                    .error(at, Kind::Invalid, "machine-deployment/truth", message);
                None
            }
        }
    }

    /// Grows when something is told, or left open.
    pub(super) fn told(&self) -> (usize, usize) {
        (self.report.errors.len(), self.open + self.unasked.len())
    }

    /// Tells that a field that is given does nothing.
    pub(super) fn ignored(&mut self, at: &At, why: &str) {
        let message = format!("has no effect: {why}");
        self.report.warning(
            at,
            Kind::NotSupported,
            "machine-deployment/ignored",
            message,
        );
    }

    /// The kubeconfig is for whoever connects; here only its form is judged, and nothing of it is repeated.
    pub(super) fn kubeconfig(&mut self, var: &ConfigVar, at: &At) {
        let text = match var.counts() {
            Counts::Text(text) => text,
            Counts::There(it) if it.holder == Holder::Secret => return,
            Counts::There(_) => return self.ignored(at, "kubeconfigs stand in Secrets"),
        };
        let text: String = text.split_whitespace().collect();
        if STANDARD.decode(&text).is_err() {
            self.report
                .error(
                    at,
                    Kind::Invalid,
                    "machine-deployment/kubeconfig",
                    "is no base64",
                )
                .hint("remove it to use --kubeconfig or KUBECONFIG, or write `base64 -w0` of the file");
        }
    }

    fn resolved(&mut self, counts: Counts, at: &At) -> Option<String> {
        let reference = match counts {
            Counts::Text(text) => return Some(text).filter(|it| !it.is_empty()),
            Counts::There(reference) => reference,
        };
        self.references.push(reference.clone());
        let (report, code) = (&mut self.report, "machine-deployment/reference");
        let at_reference = &at.key(match reference.holder {
            Holder::Secret => "secretKeyRef",
            Holder::ConfigMap => "configMapKeyRef",
        });
        let Reference {
            holder, name, key, ..
        } = &reference;
        match (self.look)(&reference) {
            Looked::Found(text) => {
                if reference.holder == Holder::Secret {
                    self.secrets.put(at.path(), &text);
                    let message = format!(
                        "the value of key {key} of Secret {name} is no secret any more: it stands in machines and in the record"
                    );
                    report.warning(at_reference, Kind::Forbidden, code, message);
                }
                return Some(text).filter(|it| !it.is_empty());
            }
            Looked::Later => self.open += 1,
            Looked::Unasked => {
                self.unasked.push(at.path());
                let message = format!(
                    "is not judged: key {key} of {holder} {name} stands in the provider, where plan, apply and run look"
                );
                report.warning(at_reference, Kind::Required, code, message);
            }
            Looked::Missing(why) => {
                let message = format!("key {key} of {holder} {name} is not to be had: {why}");
                report.error(at_reference, Kind::Required, code, message);
            }
            Looked::Offline => {
                let message = format!("key {key} of {holder} {name} stands in the provider");
                report
                    .error(at_reference, Kind::Required, code, message)
                    .hint(
                        "plan, apply and run look there; write the value itself for this command",
                    );
            }
        }
        None
    }
}
