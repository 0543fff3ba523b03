//! Why machines are deleted or restarted.

use crate::load::LastApplied;
use crate::state::desired::machine_content::{ContentChange, MachineContent};
use crate::state::desired::{
    self, PoolHashes, attachments, changed_parts, disks_in_words, expandable_disks,
    former_pool_hashes, pool_parts,
};
use crate::state::facts::{Evacuation, Facts, MachinePhase, ObservedMachine};
use crate::validate::{Input, PoolSpec, ValidShoot, validate};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Reasons for the deletion and the restart of machines, by pool.
pub(super) struct DeletionReasons<'a> {
    facts: &'a Facts,
    shoot: &'a ValidShoot,
    edits: BTreeMap<&'a str, PoolEdit>,
}

/// An edit of a pool that existing machines cannot adopt.
struct PoolEdit {
    /// Hashes of machines before and after the edit.
    before: PoolHashes,
    after: PoolHashes,
    /// The least change that makes existing machines follow the edit.
    least: ContentChange,
    is_updated_in_place: bool,
    /// Names of what differs.
    changed: Vec<&'static str>,
}

impl<'a> DeletionReasons<'a> {
    /// Compares with the manifest that was applied last.
    pub(super) fn new(
        shoot: &'a ValidShoot,
        facts: &'a Facts,
        last: Option<&LastApplied>,
    ) -> DeletionReasons<'a> {
        let last = last.and_then(valid);
        let edits = shoot.pools.iter().map(|pool| {
            let after = parts(shoot, &pool.name, facts).unwrap_or_default();
            let before = last.as_ref().and_then(|it| parts(it, &pool.name, facts));
            let before = before.unwrap_or_else(|| after.clone());
            let changed = changed_parts(&before, &after);
            let hashes = |parts| PoolHashes::of(parts, pool.is_updated_in_place);
            let (before, after) = (hashes(before), hashes(after));
            let expandable = expandable_disks(facts, pool);
            let edit = PoolEdit {
                changed,
                least: before.content.change_to(&after.content, &expandable),
                before,
                after,
                is_updated_in_place: pool.is_updated_in_place,
            };
            (pool.name.as_str(), edit)
        });
        DeletionReasons {
            facts,
            shoot,
            edits: edits.collect(),
        }
    }

    /// The effect of the restart of a machine of this pool.
    pub(super) fn restart(&self, pool: &str, machine: &ObservedMachine) -> Option<String> {
        let edit = self.edits.get(pool)?;
        let pool = self.shoot.pools.iter().find(|it| it.name == pool)?;
        let (size, disks) = (pool.machine_type.in_words(), disks_in_words(pool));
        let content = machine.content.as_ref()?;
        let gains = content.gains(&edit.after.content, &size, &disks);
        Some(format!(
            "drained and restarted with {gains}, one after another; disks stay"
        ))
    }

    /// The machines of a pool before the present step of a rotation.
    fn former(&self, pool: &PoolSpec) -> Option<PoolHashes> {
        let attachments = attachments(self.shoot, self.facts);
        let rotation = &self.facts.record.as_ref()?.rotation;
        former_pool_hashes(self.shoot, pool, &attachments, rotation)
    }

    /// Why a machine of this pool is deleted.
    pub(super) fn of(&self, pool: &str, machine: &ObservedMachine) -> String {
        let Some(edit) = self.edits.get(pool) else {
            return "its pool is not in the manifest".to_owned();
        };
        let spec = self.shoot.pools.iter().find(|it| it.name == pool);
        let size = spec.map(|it| desired::pool_size(self.facts, it));
        if size.is_some_and(|it| it.deletes(&machine.uid)) {
            return "to make the pool smaller".to_owned();
        }
        if machine.evacuation == Some(Evacuation::Replacement) {
            return "its node is being drained".to_owned();
        }
        if let Some(why) = &machine.instance.replace {
            return why.to_string();
        }
        let is_of = |it: &PoolHashes| match &machine.content {
            Some(content) => content.is_same(&it.content),
            None => machine.hash == it.all,
        };
        if is_of(&edit.before) && !edit.changed.is_empty() {
            let changed = edit.changed.join(", ");
            return format!("replaced, because these change: {changed}{}", edit.hint());
        }
        let former = spec.and_then(|it| self.former(it));
        if former.as_ref().is_some_and(is_of) {
            let why = match (edit.is_updated_in_place, &machine.content) {
                (false, _) => "with updateStrategy AutoInPlaceUpdate it would take the new one",
                (true, Some(MachineContent { roots: Some(_), .. })) => {
                    "it has not taken the new one in time"
                }
                (true, _) => {
                    "it was created with another updateStrategy, or by an earlier version of kvshoot"
                }
            };
            return format!("replaced, because the certificate authority is rotated; {why}");
        }
        if !is_of(&edit.after) {
            return "replaced, because it is of an older manifest or version of kvshoot".to_owned();
        }
        match machine.phase {
            MachinePhase::Failed => "it has failed".to_owned(),
            _ => "its zone has more machines than the pool needs there".to_owned(),
        }
    }
}

impl PoolEdit {
    /// A remark on the strategy of the pool.
    fn hint(&self) -> &'static str {
        let (before, after) = (&self.before.content, &self.after.content);
        match (self.least, self.is_updated_in_place) {
            (ContentChange::Restart, false) => {
                "; with updateStrategy AutoInPlaceUpdate it would be restarted"
            }
            (ContentChange::Replacement, true) if before.fixed == after.fixed => {
                match before
                    .disks
                    .iter()
                    .zip(&*after.disks)
                    .all(|it| it.0 <= it.1)
                {
                    true => "; its StorageClass does not allow volumes to be expanded",
                    false => "; a volume cannot become smaller",
                }
            }
            _ => "",
        }
    }
}

fn parts(shoot: &ValidShoot, pool: &str, facts: &Facts) -> Option<serde_json::Value> {
    let pool = shoot.pools.iter().find(|it| it.name == pool)?;
    let rotation = facts.record.as_ref().map(|it| &it.rotation);
    Some(pool_parts(
        shoot,
        pool,
        &attachments(shoot, facts),
        rotation,
    ))
}

fn valid((shoot, profile): &LastApplied) -> Option<ValidShoot> {
    let input = Input {
        shoot: &Arc::new(shoot.clone()),
        profile,
        previous: Some(shoot),
        previous_profile: Some(profile),
        now: crate::clock::now(),
    };
    validate(&input).shoot
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::finished;
    use crate::state::record::rotation::{Credential, RotationStep};
    use crate::state::testing::rotation;
    use crate::validate::testing::{SHOOT, read, valid_for_tests};

    /// The reason for the machine of a cluster of this manifest, after an edit.
    fn reason(edits: &[(&str, &str)], change: fn(&mut ObservedMachine)) -> String {
        let before = SHOOT.replace("\"1.34\"", "1.34.1");
        let observed = finished(&valid_for_tests(&before));
        let last = read(&before);
        let edited = edits
            .iter()
            .fold(before, |text, (from, to)| text.replace(from, to));
        let edited = valid_for_tests(&edited);
        let facts = &observed.facts;
        let reasons = DeletionReasons::new(&edited, facts, Some(&last));
        let mut machine = facts.machines["cpu"].values().next().unwrap().clone();
        change(&mut machine);
        reasons.of("cpu", &machine)
    }

    #[test]
    fn edits_that_replace_machines_are_named() {
        assert_eq!(
            reason(
                &[("1.34.1", "1.34.2"), ("size: 20Gi", "size: 30Gi")],
                |_| {}
            ),
            "replaced, because these change: Kubernetes version, root volume"
        );
        assert_eq!(
            reason(&[("type: small", "type: large")], |_| {}),
            "replaced, because these change: machine type; with updateStrategy AutoInPlaceUpdate it would be restarted"
        );
        assert_eq!(
            reason(&[("size: 20Gi", "size: 30Gi")], |_| {}),
            "replaced, because these change: root volume; with updateStrategy AutoInPlaceUpdate it would be restarted"
        );
        let in_place = (
            "    - name: cpu\n",
            "    - name: cpu\n      updateStrategy: AutoInPlaceUpdate\n",
        );
        assert_eq!(
            reason(&[in_place, ("size: 20Gi", "size: 10Gi")], |_| {}),
            "replaced, because these change: root volume; a volume cannot become smaller"
        );
        assert_eq!(
            reason(&[("name: cpu", "name: other")], |_| {}),
            "its pool is not in the manifest"
        );
    }

    #[test]
    fn machines_with_the_former_ca_are_replaced_because_it_is_rotated() {
        let reason = |strategy: &str, change: fn(&mut ObservedMachine)| {
            let pool = format!("    - name: cpu\n      updateStrategy: {strategy}\n");
            let text = SHOOT.replace("    - name: cpu\n", &pool);
            let shoot = valid_for_tests(&text);
            let mut observed = finished(&shoot);
            let facts = Arc::make_mut(&mut observed.facts);
            let record = facts.record.as_mut().unwrap();
            record.rotation = rotation(Credential::Ca, RotationStep::Use, 0);
            let mut machine = facts.machines["cpu"].values().next().unwrap().clone();
            change(&mut machine);
            let last = read(&text);
            DeletionReasons::new(&shoot, facts, Some(&last)).of("cpu", &machine)
        };
        let rotated =
            |why: &str| format!("replaced, because the certificate authority is rotated; {why}");
        assert_eq!(
            reason("AutoRollingUpdate", |_| {}),
            rotated("with updateStrategy AutoInPlaceUpdate it would take the new one")
        );
        assert_eq!(
            reason("AutoInPlaceUpdate", |_| {}),
            rotated("it has not taken the new one in time")
        );
        assert_eq!(
            reason("AutoInPlaceUpdate", |it| it
                .content
                .as_mut()
                .unwrap()
                .roots = None),
            rotated(
                "it was created with another updateStrategy, or by an earlier version of kvshoot"
            )
        );
    }

    #[test]
    fn machines_have_their_own_reasons() {
        let reason = |change| reason(&[], change);
        assert_eq!(
            reason(|it| it.evacuation = Some(Evacuation::Replacement)),
            "its node is being drained"
        );
        assert_eq!(
            reason(|it| it.instance.replace = Some("its node is silent".into())),
            "its node is silent"
        );
        assert_eq!(
            reason(|it| (it.hash, it.content) = (it.hash.sibling(), None)),
            "replaced, because it is of an older manifest or version of kvshoot"
        );
        assert_eq!(
            reason(|it| it.phase = MachinePhase::Failed),
            "it has failed"
        );
        assert_eq!(
            reason(|_| {}),
            "its zone has more machines than the pool needs there"
        );
    }
}
