//! Changes of a manifest that wait for the maintenance window.

use super::next_window;
use crate::model::{Shoot, ShootSpec};
use crate::validate::ValidShoot;
use jiff::Timestamp;

/// Returns why an apply has to wait, if `confineSpecUpdateRollout` is set and the window is closed at `now`, in seconds
/// since 1970. None if it need not: if nothing but maintenance and hibernation differs from the manifest of the last apply,
/// there is nothing to wait for, and an interrupted apply is resumed.
pub(crate) fn confinement(before: &Shoot, after: &ValidShoot, now: i64) -> Option<String> {
    let maintenance = after.manifest.spec.maintenance.as_ref()?;
    if maintenance.confine_spec_update_rollout != Some(true)
        || confined(before) == confined(&after.manifest)
    {
        return None;
    }
    let next = next_window(after, now, None).filter(|it| *it != now)?;
    let (name, next) = (&after.name, Timestamp::from_second(next).ok()?);
    Some(format!(
        "changes of shoot {name} wait for its maintenance window, which opens at {next}"
    ))
}

/// The part of a Shoot that only changes in the window.
fn confined(shoot: &Shoot) -> ShootSpec {
    ShootSpec {
        maintenance: None,
        hibernation: None,
        ..shoot.spec.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::testing::{SHOOT, valid_for_tests};

    const WINDOW: &str = "timeWindow: {begin: 220000+0000, end: 230000+0000}";

    fn shoot(maintenance: &str, maximum: u32) -> ValidShoot {
        let text = SHOOT
            .replace("maximum: 1", &format!("maximum: {maximum}"))
            .replace(
                "  region:",
                &format!("  maintenance: {{{maintenance}}}\n  region:"),
            );
        valid_for_tests(&text)
    }

    fn waits(before: &ValidShoot, after: &ValidShoot, time: &str) -> Option<String> {
        let time: Timestamp = time.parse().expect("a time");
        confinement(&before.manifest, after, time.as_second())
    }

    #[test]
    fn a_change_waits_for_the_window() {
        let confined = format!("confineSpecUpdateRollout: true, {WINDOW}");
        let (one, two) = (shoot(&confined, 1), shoot(&confined, 2));
        let (noon, within) = ("2026-07-01T12:00:00Z", "2026-07-01T22:10:00Z");
        assert_eq!(
            waits(&one, &two, noon).as_deref(),
            Some(
                "changes of shoot demo wait for its maintenance window, which opens at 2026-07-01T22:00:00Z"
            )
        );
        assert_eq!(waits(&one, &two, within), None);
        assert_eq!(waits(&two, &two, noon), None);
        // Nothing is begun in the last quarter of an hour.
        assert!(waits(&one, &two, "2026-07-01T22:50:00Z").is_some());
        // Changes of the maintenance itself take effect at once.
        let other = shoot("confineSpecUpdateRollout: true", 1);
        assert_eq!(waits(&other, &one, noon), None);
        // There is no window to wait for, and nothing is confined.
        let always = shoot("confineSpecUpdateRollout: true", 2);
        assert_eq!(waits(&one, &always, noon), None);
        assert_eq!(waits(&one, &shoot(WINDOW, 2), noon), None);
    }
}
