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
}

/// The least that gives a machine another content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentChange {
    None,
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
        if self == wanted {
            return ContentChange::None;
        }
        let disks = || self.disks.iter().zip(&*wanted.disks);
        let can_change = |((before, after), expandable): ((&u64, &u64), &bool)| {
            before == after || before < after && *expandable
        };
        let is_restarted = self.fixed == wanted.fixed
            && [wanted.disks.len(), expandable.len()] == [self.disks.len(); 2]
            && disks().zip(expandable).all(can_change);
        match is_restarted {
            true => ContentChange::Restart,
            false => ContentChange::Replacement,
        }
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
        }
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
