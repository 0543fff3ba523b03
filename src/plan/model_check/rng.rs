//! A deterministic random number generator.

/// Marsaglia's xorshift, which is good enough to produce many different orders.
pub(super) struct Rng(u64);

impl Rng {
    pub(super) fn new(seed: u64) -> Rng {
        // Never zero, where xorshift would stay. The first numbers of similar seeds are similar, so they are discarded.
        let mut rng = Rng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for _ in 0..8 {
            rng.below(2);
        }
        rng
    }

    /// Returns a number from 0 to `sides` - 1.
    pub(super) fn below(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).expect("less than `sides`")
    }

    pub(super) fn one_in(&mut self, sides: usize) -> bool {
        self.below(sides) == 0
    }
}
