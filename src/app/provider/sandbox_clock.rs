//! `kvshoot sandbox clock`.

use super::sandbox_dirs::paths;
use super::sandbox_error::failure;
use super::sandbox_steps::StepReporter;
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::clock;
use crate::sandbox::{Sandbox, clock_at};
use jiff::{SignedDuration, Span, SpanRound, Timestamp, Unit};
use std::time::Duration;

/// A new time for a sandbox.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ClockChange {
    Forward(Duration),
    To(Timestamp),
}

/// Follows the clock of the sandbox that this process runs in, or that an option names.
pub(crate) fn follow_clock(context: &Context) {
    let named = || {
        let name = context.provider.sandbox.as_deref()?;
        let sandbox = Sandbox::new(name, &paths(context).ok()?).ok()?;
        Some(sandbox.clock_file())
    };
    if let Some(file) = context.config.sandbox_clock().or_else(named) {
        clock::follow(file);
    }
}

/// Follows the clock of the sandbox that is this provider cluster. Does nothing if none is.
pub(super) fn follow_clock_of(server: &str, context: &Context) {
    let dirs = paths(context).ok();
    if let Some(file) = dirs.and_then(|it| clock_at(server, &it)) {
        clock::follow(file);
    }
}

/// Shows the time of a sandbox, after it was moved if there is a change.
pub(super) fn clock(
    sandbox: &Sandbox,
    change: Option<ClockChange>,
    context: &Context,
) -> Result<(), CommandError> {
    clock::follow(sandbox.clock_file());
    if let Some(change) = change {
        sandbox.clock_ahead().map_err(failure)?;
        let by = distance(change, clock::now())?;
        let moved = sandbox.move_clock(by, &mut StepReporter::new(context).reporter());
        moved.map_err(failure)?;
    }
    let ahead = sandbox.clock_ahead().map_err(failure)?;
    context.ui.data(&format!("{}\n", in_words(ahead)));
    Ok(())
}

/// The time of a sandbox in words; None if it is that of this computer, or if the sandbox does not run.
pub(super) fn moved_time(sandbox: &Sandbox) -> Option<String> {
    let ahead = sandbox.clock_ahead().ok().filter(|it| !it.is_zero())?;
    clock::follow(sandbox.clock_file());
    Some(in_words(ahead))
}

fn in_words(ahead: SignedDuration) -> String {
    let now = clock::now();
    match ahead.is_zero() {
        true => format!("{now:.0}"),
        false => format!("{now:.0}, {:#} ahead of this computer", in_days(ahead)),
    }
}

fn in_days(time: SignedDuration) -> Span {
    let seconds = Span::new().try_seconds(time.as_secs()).unwrap_or_default();
    let days = SpanRound::new().largest(Unit::Day).days_are_24_hours();
    seconds.round(days).unwrap_or(seconds)
}

/// How far a clock that shows `now` has to move.
fn distance(change: ClockChange, now: Timestamp) -> Result<SignedDuration, CommandError> {
    let by = match change {
        ClockChange::Forward(by) => SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX),
        ClockChange::To(time) => time.duration_since(now),
    };
    if by.is_negative() {
        let message =
            format!("it is already {now:.0} in the sandbox, and its clock only moves forward");
        let error = CommandError::new(Exit::Precondition, message);
        return Err(
            error.hint("a new sandbox has the time of this computer: kvshoot sandbox reset")
        );
    }
    Ok(by)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_times_are_in_days() {
        let text = |hours| format!("{:#}", in_days(SignedDuration::from_hours(hours)));
        assert_eq!(
            (text(9600), text(27), text(9)),
            ("400d".into(), "1d 3h".into(), "9h".into())
        );
    }

    #[test]
    fn clocks_only_move_forward() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        let later = Timestamp::from_second(1_000_090).unwrap();
        let by = |change| distance(change, now).map(|it| it.as_secs());
        assert_eq!(by(ClockChange::To(later)).unwrap(), 90);
        assert_eq!(by(ClockChange::Forward(Duration::from_secs(5))).unwrap(), 5);
        let error = distance(ClockChange::To(now), later).unwrap_err();
        assert_eq!(error.exit, Exit::Precondition);
    }
}
