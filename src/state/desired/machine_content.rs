//! Content of machines, and the changes that another content requires.

use crate::state::hash::Hash;
use std::sync::Arc;

/// Content of a machine, without its name, labels and annotations.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MachineContent {
    /// Hash of its machine type with CPU and memory.
    pub(crate) size: Hash,
    /// Sizes of its root disk and its data volumes, in bytes.
    pub(crate) disks: Arc<[u64]>,
    /// Hash of everything else.
    pub(crate) fixed: Hash,
    /// None for a machine that takes no new CAs in place.
    pub(crate) roots: Option<MachineRoots>,
}

/// The CAs that a machine trusts. A timer in it takes new ones.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MachineRoots {
    /// In the words of [`KeyGeneration`](crate::state::record::rotation::KeyGeneration).
    pub(crate) trusted: Arc<str>,
    /// Hash of everything that is fixed but them.
    pub(crate) base: Hash,
}

/// The least that gives a machine another content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentChange {
    None,
    /// It takes new CAs while it runs. Another size follows later.
    Roots,
    /// It is halted and started again. Its disks stay, and may become larger.
    Restart,
    Replacement,
}

/// A disk that becomes larger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DiskGrowth {
    /// Name of its PersistentVolumeClaim.
    pub(crate) claim: Arc<str>,
    /// Size of the disk before, in bytes.
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl MachineContent {
    /// `expandable` has for each disk whether its StorageClass allows it to grow.
    pub(crate) fn change_to(&self, wanted: &MachineContent, expandable: &[bool]) -> ContentChange {
        let takes_roots = self.takes_roots(wanted);
        let is_fixed = takes_roots || self.fixed == wanted.fixed;
        if !is_fixed || !self.keeps_disks(wanted, expandable) {
            return ContentChange::Replacement;
        }
        match self.size == wanted.size && self.disks == wanted.disks {
            // A machine has the CAs that it reports, so other changes wait for it.
            _ if takes_roots => ContentChange::Roots,
            true => ContentChange::None,
            false => ContentChange::Restart,
        }
    }

    /// True if it differs in its CAs, and needs no replacement for that.
    fn takes_roots(&self, wanted: &MachineContent) -> bool {
        let both = self.roots.as_ref().zip(wanted.roots.as_ref());
        both.is_some_and(|(own, new)| own.base == new.base && own.trusted != new.trusted)
    }

    /// True if it takes new CAs in place, and its node reports those of `wanted`.
    pub(crate) fn has_taken_roots(&self, wanted: &MachineContent, reported: &str) -> bool {
        let wanted_roots = wanted.roots.as_ref();
        self.takes_roots(wanted) && wanted_roots.is_some_and(|it| *it.trusted == *reported)
    }

    /// Compares all but whether machines take new CAs in place.
    pub(crate) fn is_same(&self, other: &MachineContent) -> bool {
        (self.size, &self.disks, self.fixed) == (other.size, &other.disks, other.fixed)
    }

    /// True if each of its disks stays as it is, or can become larger.
    fn keeps_disks(&self, wanted: &MachineContent, expandable: &[bool]) -> bool {
        if self.disks == wanted.disks {
            return true;
        }
        let can_change = |((before, after), expandable): ((&u64, &u64), &bool)| {
            before == after || before < after && *expandable
        };
        let disks = self.disks.iter().zip(&*wanted.disks);
        [wanted.disks.len(), expandable.len()] == [self.disks.len(); 2]
            && disks.zip(expandable).all(can_change)
    }

    /// The disks that are larger in `wanted`. `claim` names the claim of the disk with an index.
    pub(crate) fn growth(
        &self,
        wanted: &MachineContent,
        claim: impl Fn(usize) -> Arc<str>,
    ) -> Arc<[DiskGrowth]> {
        let disks = self.disks.iter().zip(&*wanted.disks).enumerate();
        let growing = disks.filter(|(_, (before, after))| before < after);
        growing
            .map(|(index, (&from, &to))| DiskGrowth {
                claim: claim(index),
                from,
                to,
            })
            .collect()
    }

    /// The words for its size and for its disks, as far as a restart with `wanted` changes them.
    pub(crate) fn gains(&self, wanted: &MachineContent, size: &str, disks: &[String]) -> String {
        let size = (self.size != wanted.size).then_some(size);
        let grown = self.disks.iter().zip(&*wanted.disks).zip(disks);
        let grown = grown.filter(|((before, after), _)| before < after);
        let gains: Vec<&str> = size
            .into_iter()
            .chain(grown.map(|it| it.1.as_str()))
            .collect();
        gains.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(size: u64, disks: &[u64], fixed: u64) -> MachineContent {
        MachineContent {
            size: Hash(size),
            disks: disks.into(),
            fixed: Hash(fixed),
            roots: None,
        }
    }

    fn with_roots(content: MachineContent, trusted: &str, base: u64) -> MachineContent {
        let roots = MachineRoots {
            trusted: trusted.into(),
            base: Hash(base),
        };
        MachineContent {
            roots: Some(roots),
            ..content
        }
    }

    #[test]
    fn new_cas_need_a_replacement_only_if_the_machine_cannot_take_them_or_something_else_changes() {
        let before = || content(1, &[20], 1);
        let after = |size, disk| content(size, &[disk], 2);
        for (own, wanted, change) in [
            (
                "0/alone",
                with_roots(after(1, 20), "1/leading", 7),
                ContentChange::Roots,
            ),
            (
                "0/alone",
                with_roots(after(2, 30), "1/leading", 7),
                ContentChange::Roots,
            ),
            (
                "0/alone",
                with_roots(after(1, 10), "1/leading", 7),
                ContentChange::Replacement,
            ),
            (
                "0/alone",
                with_roots(after(1, 20), "1/leading", 8),
                ContentChange::Replacement,
            ),
            // The pool is no longer updated in place.
            ("0/alone", after(1, 20), ContentChange::Replacement),
            // Something else than the CAs changes.
            (
                "0/alone",
                with_roots(after(1, 20), "0/alone", 8),
                ContentChange::Replacement,
            ),
            (
                "0/alone",
                with_roots(before(), "0/alone", 7),
                ContentChange::None,
            ),
            ("0/alone", before(), ContentChange::None),
        ] {
            let own = with_roots(before(), own, 7);
            assert_eq!(own.change_to(&wanted, &[true]), change, "{wanted:?}");
        }
        // It was created before its pool was updated in place.
        let wanted = with_roots(after(1, 20), "1/leading", 7);
        assert_eq!(
            before().change_to(&wanted, &[true]),
            ContentChange::Replacement
        );
        let same = with_roots(before(), "0/alone", 7);
        assert_eq!(before().change_to(&same, &[true]), ContentChange::None);
    }

    #[test]
    fn sizes_and_larger_disks_need_a_restart_and_all_else_a_replacement() {
        let before = content(1, &[20, 10], 1);
        for (after, expandable, change) in [
            (content(1, &[20, 10], 1), [true, true], ContentChange::None),
            (
                content(1, &[20, 10], 1),
                [false, false],
                ContentChange::None,
            ),
            (
                content(2, &[20, 10], 1),
                [false, false],
                ContentChange::Restart,
            ),
            (
                content(1, &[30, 10], 1),
                [true, false],
                ContentChange::Restart,
            ),
            (
                content(2, &[30, 20], 1),
                [true, true],
                ContentChange::Restart,
            ),
            (
                content(1, &[30, 10], 1),
                [false, true],
                ContentChange::Replacement,
            ),
            (
                content(1, &[30, 9], 1),
                [true, true],
                ContentChange::Replacement,
            ),
            (
                content(1, &[10, 10], 1),
                [true, true],
                ContentChange::Replacement,
            ),
            (
                content(1, &[20, 10], 2),
                [true, true],
                ContentChange::Replacement,
            ),
            (
                content(1, &[20, 10, 5], 1),
                [true, true],
                ContentChange::Replacement,
            ),
            (
                content(1, &[20], 1),
                [true, true],
                ContentChange::Replacement,
            ),
        ] {
            assert_eq!(
                before.change_to(&after, &expandable),
                change,
                "{after:?} {expandable:?}"
            );
        }
    }

    #[test]
    fn only_disks_that_become_larger_grow() {
        let (before, after) = (content(1, &[20, 10, 5], 1), content(2, &[20, 15, 4], 1));
        let words = ["a root disk of 20Gi", "data of 15Gi", "logs of 4Gi"].map(str::to_owned);
        assert_eq!(before.gains(&after, "2 CPU", &words), "2 CPU, data of 15Gi");
        let growth = before.growth(&after, |index| index.to_string().into());
        let second = DiskGrowth {
            claim: "1".into(),
            from: 10,
            to: 15,
        };
        assert_eq!(*growth, [second]);
    }
}
