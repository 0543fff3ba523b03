//! Validity periods of certificates.

/// Start is backdated by this many seconds to tolerate clock skew, as in kubeadm.
const BACKDATED: i64 = 5 * 60;

pub(super) const DAY: i64 = 24 * 60 * 60;

/// Validity period of a certificate, counted from the time of issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Validity {
    pub(super) now: i64,
    seconds: i64,
}

impl Validity {
    /// Ten years, kubeadm's default for a CA.
    pub(crate) fn for_ca(now: i64) -> Validity {
        Validity::for_seconds(now, 10 * 365 * DAY)
    }

    /// One year, kubeadm's default for a leaf certificate.
    pub(crate) fn for_leaf(now: i64) -> Validity {
        Validity::for_seconds(now, 365 * DAY)
    }

    pub(crate) fn for_seconds(now: i64, seconds: i64) -> Validity {
        Validity { now, seconds }
    }

    pub(super) fn not_before(self) -> i64 {
        self.now.saturating_sub(BACKDATED)
    }

    pub(super) fn not_after(self) -> i64 {
        self.now.saturating_add(self.seconds)
    }
}
