//! Digests of many short contents at once. With two SHA-256 streams whose
//! rounds alternate ([`PairedSha256`]) a content takes up its stream where the
//! one before it ended, so that neither stream waits for the longer one, and
//! lengths and padding are part of the streams.

use sha2::block_api::compress256;

use super::hasher::Hasher;
use crate::model::{Algorithm, Digest};
use crate::platform::{PairedSha256, Sha256Block, Sha256State};

/// The state that SHA-256 begins with (FIPS 180-4).
const INITIAL: Sha256State = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];
const BLOCK: usize = 64;
/// Where the length in bits stands in the last block.
const LENGTH_AT: usize = BLOCK - 8;

/// The digests of the contents, in their order.
pub(super) fn digest_all(algorithm: Algorithm, contents: &[&[u8]]) -> Vec<Digest> {
    match PairedSha256::detect() {
        Some(paired) if algorithm == Algorithm::Sha256 => digest_in_pairs(paired, contents),
        _ => contents
            .iter()
            .map(|content| Hasher::digest(algorithm, content))
            .collect(),
    }
}

fn digest_in_pairs(paired: PairedSha256, contents: &[&[u8]]) -> Vec<Digest> {
    let mut digests = vec![None; contents.len()];
    let mut waiting = contents.iter().enumerate();
    let mut next = || {
        waiting
            .next()
            .map(|(at, content)| Message::new(at, content))
    };
    let mut streams = [next(), next()];
    while let [Some(one), Some(two)] = &mut streams {
        let common = one.blocks().len().min(two.blocks().len());
        Message::take_in_both(paired, one, two, common);
        for stream in &mut streams {
            if let Some(done) = stream.take_if(|message| message.blocks().is_empty()) {
                digests[done.at] = Some(done.digest());
                *stream = next();
            }
        }
    }
    for mut alone in streams.into_iter().flatten() {
        alone.take_in_all();
        digests[alone.at] = Some(alone.digest());
    }
    let all = digests.into_iter().flatten();
    all.collect()
}

/// A content on its way through a stream.
struct Message<'a> {
    /// Its place among the contents.
    at: usize,
    state: Sha256State,
    /// Whole blocks of the content that are still to be taken in.
    whole: &'a [Sha256Block],
    /// What follows them: the rest, the padding and the length.
    last: [Sha256Block; 2],
    /// Blocks of `last` that are used, and that are taken in.
    used: usize,
    taken: usize,
}

impl<'a> Message<'a> {
    fn new(at: usize, content: &'a [u8]) -> Self {
        let (whole, rest) = content.as_chunks();
        let mut last = [[0; BLOCK]; 2];
        last[0][..rest.len()].copy_from_slice(rest);
        last[0][rest.len()] = 0x80;
        let used = if rest.len() < LENGTH_AT { 1 } else { 2 };
        let bits = content.len() as u64 * 8;
        last[used - 1][LENGTH_AT..].copy_from_slice(&bits.to_be_bytes());
        Self {
            at,
            state: INITIAL,
            whole,
            last,
            used,
            taken: 0,
        }
    }

    /// The blocks that come next; empty at the end.
    fn blocks(&self) -> &[Sha256Block] {
        match self.whole {
            [] => &self.last[self.taken..self.used],
            whole => whole,
        }
    }

    /// Takes the next `count` blocks of two messages into their states.
    fn take_in_both(paired: PairedSha256, one: &mut Self, two: &mut Self, count: usize) {
        let mut states = [one.state, two.state];
        let [first, second] = &mut states;
        paired.compress(
            [first, second],
            [&one.blocks()[..count], &two.blocks()[..count]],
        );
        for (message, state) in [one, two].into_iter().zip(states) {
            message.state = state;
            message.pass(count);
        }
    }

    fn take_in_all(&mut self) {
        while !self.blocks().is_empty() {
            let mut state = self.state;
            compress256(&mut state, self.blocks());
            self.state = state;
            self.pass(self.blocks().len());
        }
    }

    fn pass(&mut self, count: usize) {
        match self.whole {
            [] => self.taken += count,
            whole => self.whole = &whole[count..],
        }
    }

    fn digest(&self) -> Digest {
        let mut bytes = [0; 32];
        for (bytes, word) in bytes.chunks_exact_mut(4).zip(self.state) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
        Digest::from_bytes(&bytes).expect("32 bytes are no longer than Digest::MAX_LEN")
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn one_by_one(algorithm: Algorithm, contents: &[&[u8]]) -> Vec<Digest> {
        let digest = |content: &&[u8]| Hasher::digest(algorithm, content);
        contents.iter().map(digest).collect()
    }

    #[test]
    fn every_length_around_the_padding_is_right() {
        let content: Vec<u8> = (0..=255).cycle().take(300).collect();
        let contents: Vec<_> = (0..300).map(|length| &content[..length]).collect();
        for algorithm in Algorithm::ALL {
            let expected = one_by_one(algorithm, &contents);
            assert_eq!(digest_all(algorithm, &contents), expected, "{algorithm}");
        }
    }

    proptest! {
        /// However many contents of whatever lengths: the digests are those of
        /// each by itself.
        #[test]
        fn many_at_once_are_the_same_as_one_by_one(
            contents in vec(vec(any::<u8>(), 0..2_000), 0..20),
        ) {
            let contents: Vec<&[u8]> = contents.iter().map(Vec::as_slice).collect();
            let expected = one_by_one(Algorithm::Sha256, &contents);
            prop_assert_eq!(digest_all(Algorithm::Sha256, &contents), expected);
        }
    }
}
