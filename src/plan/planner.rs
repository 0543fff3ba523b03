//! A plan in the making, with the observation that it is made from.

use crate::state::action::{Action, Desired};
use crate::state::facts::ObservedObject;
use crate::state::failure::{ErrorClass, Failure};
use crate::state::observed::Observed;
use crate::state::plan::{Dependency, Item, ItemKind, ItemState, Plan, REQUEST_SENT};
use std::sync::Arc;

/// Collects the items of a plan.
pub(crate) struct Planner<'a> {
    pub(crate) observed: &'a Observed,
    pub(crate) plan: Plan,
}

impl<'a> Planner<'a> {
    pub(crate) fn new(observed: &'a Observed) -> Planner<'a> {
        Planner {
            observed,
            plan: Plan::default(),
        }
    }

    /// Adds an item, and settles its state.
    ///
    /// Dependencies hold back what is due, never what is done: an old address that flickers does not undo a
    /// certificate. A sent request is waited for, and a rejected one has failed.
    pub(crate) fn add(
        &mut self,
        kind: ItemKind,
        title: String,
        needs: impl Into<Arc<[Dependency]>>,
        state: ItemState,
    ) -> Dependency {
        let needs = needs.into();
        let is_open = || self.observed.ahead || needs.iter().all(|it| self.plan.is_done(*it));
        let state = match state {
            ItemState::Due(_) if !is_open() => ItemState::Blocked,
            ItemState::Due(action) => self.in_run(action),
            other => other,
        };
        self.plan.push(Item {
            id: kind.id(),
            kind,
            title,
            needs,
            state,
        })
    }

    /// State of a due action, given what this run has sent and what was rejected.
    pub(crate) fn in_run(&self, action: Action) -> ItemState {
        if self.observed.sent.contains_key(action.key()) {
            return ItemState::Waiting(self.sent_for(&action));
        }
        match self.observed.refused.get(action.key()) {
            Some((refused, failure)) if refused.is_same(&action) => {
                ItemState::Failed(failure.clone())
            }
            _ => ItemState::Due(action),
        }
    }

    /// Draining takes long, so it reports the pods that are left.
    fn sent_for(&self, action: &Action) -> String {
        let key = action.key();
        let mut machines = self.observed.facts.machines.values();
        let machine = machines.find_map(|it| it.get(&key.name));
        match (action, machine.and_then(|it| it.cause.as_deref())) {
            (Action::Drain(_), Some(cause)) => cause.to_owned(),
            _ => REQUEST_SENT.to_owned(),
        }
    }
}

/// Due unless the object exists with the desired content; then `ready` gives its state.
pub(crate) fn present(
    observed: &Observed,
    wanted: Desired,
    ready: impl Fn(&ObservedObject) -> ItemState,
) -> ItemState {
    if observed.facts.foreign.contains_key(&wanted.key) {
        let message = format!(
            "{} already exists and belongs to another shoot of that name",
            wanted.key
        );
        return ItemState::Failed(Failure::new(ErrorClass::Foreign, message));
    }
    match observed.facts.objects.get(&wanted.key) {
        Some(it) if it.leaving => {
            ItemState::Waiting(format!("the old {} is terminating", wanted.key))
        }
        Some(it) if it.hash == wanted.hash => ready(it),
        _ => ItemState::Due(Action::Apply(wanted)),
    }
}
