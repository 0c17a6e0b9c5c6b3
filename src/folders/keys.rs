//! Random 128-bit numbers that stand for values. Sums of them stand for sets:
//! two different sets share a sum as rarely as two files share a digest, and
//! nobody can provoke it, since the numbers differ from run to run.

use std::hash::{BuildHasher, Hash, RandomState};

/// Gives every value its number, which is the same throughout a run.
#[derive(Debug, Default)]
pub(crate) struct RandomKeys {
    high: RandomState,
    low: RandomState,
}

impl RandomKeys {
    pub(crate) fn of(&self, value: impl Hash) -> u128 {
        let (high, low) = (self.high.hash_one(&value), self.low.hash_one(&value));
        (u128::from(high) << 64) | u128::from(low)
    }
}
