//! A quick fingerprint of chunks, to find an equal one among many. It never
//! decides that chunks are equal, only that they differ, so that it need not
//! resist anybody: files are told apart by their bytes and digests.

/// Numbers without pattern, one for each of the four independent sums that
/// keep the processor's multiplier busy.
const FACTORS: [u64; 4] = [
    0x9e37_79b9_7f4a_7c15,
    0xbf58_476d_1ce4_e5b9,
    0x94d0_49bb_1331_11eb,
    0xd6e8_feb8_6659_fd93,
];
const BLOCK: usize = 16 * FACTORS.len();

/// The fingerprint of the bytes after those of fingerprint `before`: equal for
/// equal bytes, and nearly always different for others.
pub(crate) fn fingerprint(before: u64, bytes: &[u8]) -> u64 {
    // Another order than below, or the two words of a pair could be swapped.
    let mut sums = FACTORS;
    sums.reverse();
    let (blocks, rest) = bytes.as_chunks();
    for block in blocks {
        take_in(&mut sums, block);
    }
    let mut last = [0; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    take_in(&mut sums, &last);
    let start = fold(before ^ FACTORS[2], bytes.len() as u64 ^ FACTORS[3]);
    sums.into_iter()
        .fold(start, |all, sum| fold(all ^ FACTORS[0], sum ^ FACTORS[1]))
}

fn take_in(sums: &mut [u64; 4], block: &[u8; BLOCK]) {
    let (words, _) = block.as_chunks();
    let (pairs, _) = words.as_chunks();
    for ((sum, [one, two]), factor) in sums.iter_mut().zip(pairs).zip(FACTORS) {
        *sum = fold(
            u64::from_le_bytes(*one) ^ factor,
            u64::from_le_bytes(*two) ^ *sum,
        );
    }
}

/// Both halves of a product, so that every bit moves many others.
#[allow(clippy::cast_possible_truncation, reason = "the halves are wanted")]
fn fold(one: u64, two: u64) -> u64 {
    let product = u128::from(one) * u128::from(two);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_single_bit_and_every_length_counts() {
        let content = [7_u8; 1_000];
        let mut seen = HashSet::new();
        for length in 0..=content.len() {
            assert!(seen.insert(fingerprint(0, &content[..length])), "{length}");
        }
        for bit in 0..8_000 {
            let mut flipped = content;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(seen.insert(fingerprint(0, &flipped)), "bit {bit}");
        }
        for before in 1..1_000 {
            assert!(seen.insert(fingerprint(before, &content)), "after {before}");
        }
    }
}
