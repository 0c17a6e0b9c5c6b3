//! Digests of many short contents at once: SHA-256 of several takes hardly
//! longer than of one ([`sha256_compress_all`]). First all whole blocks are
//! taken in, then what follows them: the rest, the padding and the length.

use super::hasher::Hasher;
use crate::model::{Algorithm, Digest};
use crate::platform::{Sha256Block, Sha256Message, Sha256State, sha256_compress_all};

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
pub(crate) fn digest_all(algorithm: Algorithm, contents: &[&[u8]]) -> Vec<Digest> {
    match algorithm {
        Algorithm::Sha256 => digest_together(contents),
        _ => contents
            .iter()
            .map(|content| Hasher::digest(algorithm, content))
            .collect(),
    }
}

fn digest_together(contents: &[&[u8]]) -> Vec<Digest> {
    let mut messages: Vec<_> = contents
        .iter()
        .map(|content| Sha256Message {
            state: INITIAL,
            blocks: content.as_chunks().0,
        })
        .collect();
    sha256_compress_all(&mut messages);
    let endings: Vec<_> = contents.iter().map(|content| Ending::of(content)).collect();
    for (message, ending) in messages.iter_mut().zip(&endings) {
        message.blocks = ending.blocks();
    }
    sha256_compress_all(&mut messages);
    messages
        .iter()
        .map(|message| digest(&message.state))
        .collect()
}

/// What follows the whole blocks of a content.
struct Ending {
    blocks: [Sha256Block; 2],
    used: usize,
}

impl Ending {
    fn of(content: &[u8]) -> Self {
        let (_, rest) = content.as_chunks::<BLOCK>();
        let mut blocks = [[0; BLOCK]; 2];
        blocks[0][..rest.len()].copy_from_slice(rest);
        blocks[0][rest.len()] = 0x80;
        let used = if rest.len() < LENGTH_AT { 1 } else { 2 };
        let bits = content.len() as u64 * 8;
        blocks[used - 1][LENGTH_AT..].copy_from_slice(&bits.to_be_bytes());
        Self { blocks, used }
    }

    fn blocks(&self) -> &[Sha256Block] {
        &self.blocks[..self.used]
    }
}

fn digest(state: &Sha256State) -> Digest {
    let mut bytes = [0; 32];
    for (bytes, word) in bytes.chunks_exact_mut(4).zip(state) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    Digest::from_bytes(&bytes).expect("32 bytes are no longer than Digest::MAX_LEN")
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::testing::proptest_config;

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
        #![proptest_config(proptest_config())]

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
