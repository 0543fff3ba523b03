//! The hash that etcd appends to a snapshot.
//!
//! A snapshot is a bbolt database, whose length is a multiple of 512 bytes, and 32 bytes with the SHA-256 of it. `etcdutl
//! snapshot restore` checks the same, `etcdutl snapshot status` does not.

use super::sha256::{Sha256Digest, Sha256Sum};

/// Length of the hash.
const HASH: usize = 32;
/// The length of a database is a multiple of it.
const SECTOR: u64 = 512;

/// A snapshot that is not what etcd has sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SnapshotError {
    #[error("etcd snapshot is incomplete: {0} bytes, without the hash at its end")]
    Cut(u64),
    #[error("etcd snapshot is damaged: its hash does not match")]
    Damaged,
}

/// Checks the hash of a snapshot of any size, part by part.
#[derive(Debug, Default)]
pub(crate) struct SnapshotHasher {
    /// All but the last bytes.
    database: Sha256Digest,
    /// The last bytes, which are the hash if nothing follows.
    tail: Vec<u8>,
}

impl SnapshotHasher {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        let known = (self.tail.len() + bytes.len()).saturating_sub(HASH);
        let from_tail = known.min(self.tail.len());
        self.database.update(&self.tail[..from_tail]);
        self.tail.drain(..from_tail);
        let (database, tail) = bytes.split_at(known - from_tail);
        self.database.update(database);
        self.tail.extend_from_slice(tail);
    }

    /// Length of the snapshot so far, with its hash.
    pub(crate) fn length(&self) -> u64 {
        self.database.length() + self.tail.len() as u64
    }

    /// Checks the snapshot after its last byte.
    ///
    /// # Errors
    ///
    /// It was cut off or changed.
    pub(crate) fn check(&self) -> Result<Sha256Sum, SnapshotError> {
        let database = self.database.length();
        if self.tail.len() < HASH || database == 0 || !database.is_multiple_of(SECTOR) {
            return Err(SnapshotError::Cut(self.length()));
        }
        let sum = self.database.sum();
        match sum.bytes().as_slice() == self.tail {
            true => Ok(sum),
            false => Err(SnapshotError::Damaged),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backup::testing::snapshot;
    use proptest::prelude::*;

    fn check(snapshot: &[u8]) -> Result<Sha256Sum, SnapshotError> {
        let mut hasher = SnapshotHasher::default();
        hasher.update(snapshot);
        hasher.check()
    }

    #[test]
    fn a_snapshot_cut_at_any_byte_is_incomplete_or_damaged() {
        let whole = snapshot(3);
        assert!(check(&whole).is_ok());
        for length in 0..whole.len() {
            assert!(check(&whole[..length]).is_err(), "cut at {length}");
        }
    }

    #[test]
    fn a_snapshot_with_any_flipped_bit_is_damaged() {
        let mut bytes = snapshot(2);
        for index in 0..bytes.len() {
            for bit in 0..8 {
                bytes[index] ^= 1 << bit;
                assert_eq!(check(&bytes), Err(SnapshotError::Damaged), "{index}.{bit}");
                bytes[index] ^= 1 << bit;
            }
        }
    }

    proptest! {
        #[test]
        fn parts_of_any_size_have_the_same_hash(sizes in prop::collection::vec(0_usize..700, 0..12)) {
            let whole = snapshot(5);
            let mut hasher = SnapshotHasher::default();
            let mut rest = whole.as_slice();
            for size in sizes {
                let (part, after) = rest.split_at(size.min(rest.len()));
                hasher.update(part);
                rest = after;
            }
            hasher.update(rest);
            prop_assert_eq!(hasher.check(), check(&whole));
            prop_assert_eq!(hasher.length(), whole.len() as u64);
        }
    }
}
