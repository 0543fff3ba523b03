//! A plan in the making, with the observation that it is made from.

use crate::state::action::{Action, Wanted};
use crate::state::facts::Object;
use crate::state::failure::{Class, Failure};
use crate::state::observed::Observed;
use crate::state::plan::{Id, Item, Need, Plan, REQUEST_SENT, State};
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
    /// Needs hold back what is due, never what is done: an old address that flickers does not undo a
    /// certificate. What was sent is waited for, and what was refused as it stands has failed.
    pub(crate) fn add(
        &mut self,
        id: Id,
        title: String,
        needs: impl Into<Arc<[Need]>>,
        state: State,
    ) -> Need {
        let needs = needs.into();
        let is_open = || self.observed.ahead || needs.iter().all(|it| self.plan.is_done(*it));
        let state = match state {
            State::Due(_) if !is_open() => State::Blocked,
            State::Due(action) => self.in_run(action),
            other => other,
        };
        self.plan.push(Item {
            id,
            title,
            needs,
            state,
        })
    }

    /// What this run knows about an action that is due.
    pub(crate) fn in_run(&self, action: Action) -> State {
        if self.observed.sent.contains_key(action.key()) {
            return State::Waiting(self.sent_for(&action));
        }
        match self.observed.refused.get(action.key()) {
            Some((refused, failure)) if refused.is_same(&action) => State::Failed(failure.clone()),
            _ => State::Due(action),
        }
    }

    /// Emptying a machine takes long, and says what is still on it.
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

/// Due unless it is there with the wanted content; then `ready` says how far it is.
pub(crate) fn present(
    observed: &Observed,
    wanted: Wanted,
    ready: impl Fn(&Object) -> State,
) -> State {
    if observed.facts.foreign.contains_key(&wanted.key) {
        let message = format!("{} exists and is of another shoot of that name", wanted.key);
        return State::Failed(Failure::new(Class::Foreign, message));
    }
    match observed.facts.objects.get(&wanted.key) {
        Some(it) if it.leaving => State::Waiting("the old one to be gone".into()),
        Some(it) if it.hash == wanted.hash => ready(it),
        _ => State::Due(Action::Apply(wanted)),
    }
}
