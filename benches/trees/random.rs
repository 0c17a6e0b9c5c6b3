//! Random numbers that are the same everywhere: whole numbers only, since
//! floating-point functions differ between machines.

/// A sequence of numbers that its seed decides (splitmix64).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Log-normal around `median`, where one standard deviation is
    /// `tenths` tenths of a power of two. The sum of twelve uniform numbers is
    /// nearly normal, and a line between powers of two is near enough to 2^x.
    pub(super) fn log_normal(&mut self, median: u64, tenths: i64) -> u64 {
        // A uniform number is 20 bits; so is the fraction of the exponent.
        let sum: i64 = (0..12).map(|_| (self.next() >> 44).cast_signed()).sum();
        let exponent = (sum - (6 << 20)) * tenths / 10;
        let (whole, part) = (exponent >> 20, (exponent & 0xf_ffff).cast_unsigned());
        let scaled = (median * ((1 << 20) + part)) >> 20;
        if whole >= 0 {
            scaled << whole.min(20)
        } else {
            scaled >> (-whole).min(20)
        }
    }
}
