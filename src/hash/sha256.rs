//! SHA-256: the state of a content in the making, its length and its padding.
//! Compressing blocks is the platform's, which does it for many contents at
//! once ([`sha256_compress_all`]): several take hardly longer than one.

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
const BLOCK: usize = size_of::<Sha256Block>();
/// Where the length in bits stands in the last block.
const LENGTH_AT: usize = BLOCK - 8;

/// A digest in the making.
#[derive(Clone)]
pub struct Sha256Hasher {
    state: Sha256State,
    /// Whole blocks hashed.
    blocks: u64,
    /// The bytes after them, and how many they are: fewer than a block.
    rest: Sha256Block,
    rest_len: usize,
}

impl Sha256Hasher {
    /// A hasher that has seen nothing.
    pub(crate) fn new() -> Self {
        Self {
            state: INITIAL,
            blocks: 0,
            rest: [0; BLOCK],
            rest_len: 0,
        }
    }

    /// Hashes the next bytes of several contents.
    pub(crate) fn update_all(pieces: &mut [(&mut Self, &[u8])]) {
        for (hasher, piece) in &mut *pieces {
            hasher.fill_rest(piece);
        }
        let messages = pieces.iter().map(|(hasher, piece)| Sha256Message {
            state: hasher.state,
            blocks: piece.as_chunks().0,
        });
        let mut messages: Vec<_> = messages.collect();
        sha256_compress_all(&mut messages);
        for ((hasher, piece), message) in pieces.iter_mut().zip(messages) {
            let (blocks, rest) = piece.as_chunks::<BLOCK>();
            hasher.state = message.state;
            hasher.blocks += blocks.len() as u64;
            hasher.keep(rest);
        }
    }

    /// Completes a block that was begun, which is rare: chunks are multiples of
    /// it. Takes the bytes for it off the piece.
    fn fill_rest(&mut self, piece: &mut &[u8]) {
        if self.rest_len == 0 {
            return;
        }
        let (first, others) = piece.split_at(piece.len().min(BLOCK - self.rest_len));
        *piece = others;
        self.keep(first);
        if self.rest_len == BLOCK {
            self.state = compress(self.state, &[self.rest]);
            self.blocks += 1;
            self.rest_len = 0;
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.rest[self.rest_len..][..bytes.len()].copy_from_slice(bytes);
        self.rest_len += bytes.len();
    }

    /// The digest of everything hashed.
    pub(crate) fn finish(self) -> [u8; 32] {
        let ending = self.ending();
        to_bytes(compress(self.state, ending.blocks()))
    }

    /// The digests of several hashers.
    pub(crate) fn finish_all(hashers: &[Self]) -> Vec<[u8; 32]> {
        let endings: Vec<_> = hashers.iter().map(Self::ending).collect();
        let messages = hashers.iter().zip(&endings);
        let messages = messages.map(|(hasher, ending)| Sha256Message {
            state: hasher.state,
            blocks: ending.blocks(),
        });
        let mut messages: Vec<_> = messages.collect();
        sha256_compress_all(&mut messages);
        let states = messages.into_iter().map(|message| message.state);
        states.map(to_bytes).collect()
    }

    /// The rest, the padding and the length.
    fn ending(&self) -> Ending {
        let mut blocks = [[0; BLOCK]; 2];
        blocks[0][..self.rest_len].copy_from_slice(&self.rest[..self.rest_len]);
        blocks[0][self.rest_len] = 0x80;
        let used = if self.rest_len < LENGTH_AT { 1 } else { 2 };
        let bits = (self.blocks * BLOCK as u64 + self.rest_len as u64) * 8;
        blocks[used - 1][LENGTH_AT..].copy_from_slice(&bits.to_be_bytes());
        Ending { blocks, used }
    }
}

/// What follows the whole blocks of a content.
struct Ending {
    blocks: [Sha256Block; 2],
    used: usize,
}

impl Ending {
    fn blocks(&self) -> &[Sha256Block] {
        &self.blocks[..self.used]
    }
}

/// A saved state, as the sha2 crate serialises it and `STATE_FORMAT` pins it:
/// the state's words and the number of blocks, little-endian, then the length of
/// the rest and the rest.
const SAVED: usize = REST_AT + BLOCK - 1;
const BLOCKS_AT: usize = 32;
const REST_LEN_AT: usize = 40;
const REST_AT: usize = 41;

impl Sha256Hasher {
    /// The state in the middle of a file, for a later [`Self::restore`].
    pub(crate) fn save(&self) -> Vec<u8> {
        let mut saved = vec![0; SAVED];
        for (bytes, word) in saved.chunks_exact_mut(4).zip(self.state) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        saved[BLOCKS_AT..REST_LEN_AT].copy_from_slice(&self.blocks.to_le_bytes());
        saved[REST_LEN_AT] = self.rest_len.to_le_bytes()[0];
        saved[REST_AT..][..self.rest_len].copy_from_slice(&self.rest[..self.rest_len]);
        saved
    }

    /// The hasher that was saved; `None` when the state cannot be decoded.
    pub(crate) fn restore(saved: &[u8]) -> Option<Self> {
        let saved: &[u8; SAVED] = saved.try_into().ok()?;
        let (words, _) = saved.as_chunks();
        let (blocks, _) = saved[BLOCKS_AT..].as_chunks();
        let mut hasher = Self {
            state: std::array::from_fn(|word| u32::from_le_bytes(words[word])),
            blocks: u64::from_le_bytes(blocks[0]),
            ..Self::new()
        };
        let rest_len = usize::from(saved[REST_LEN_AT]);
        hasher.keep(saved[REST_AT..].get(..rest_len)?);
        Some(hasher)
    }
}

fn compress(state: Sha256State, blocks: &[Sha256Block]) -> Sha256State {
    let mut message = [Sha256Message { state, blocks }];
    sha256_compress_all(&mut message);
    message[0].state
}

fn to_bytes(state: Sha256State) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (bytes, word) in bytes.chunks_exact_mut(4).zip(state) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use sha2::digest::common::hazmat::SerializableState;
    use sha2::{Digest as _, Sha256};

    use super::*;

    /// Every length around the padding, in two pieces: digests and saved states
    /// are those of the sha2 crate.
    #[test]
    fn the_sha2_crate_agrees() {
        let content: Vec<u8> = (0..=255).cycle().take(300).collect();
        for length in 0..content.len() {
            let (first, second) = content[..length].split_at(length / 3);
            let mut ours = Sha256Hasher::new();
            let mut theirs = Sha256::new();
            for piece in [first, second] {
                Sha256Hasher::update_all(&mut [(&mut ours, piece)]);
                theirs.update(piece);
                assert_eq!(ours.save(), theirs.serialize().to_vec(), "{length}");
                ours = Sha256Hasher::restore(&ours.save()).unwrap();
            }
            let expected: [u8; 32] = theirs.finalize().into();
            assert_eq!(Sha256Hasher::finish_all(&[ours.clone()]), [expected]);
            assert_eq!(ours.finish(), expected, "{length}");
        }
    }

    #[test]
    fn a_state_that_cannot_be_is_refused() {
        let mut saved = Sha256Hasher::new().save();
        saved[REST_LEN_AT] = 64;
        assert!(Sha256Hasher::restore(&saved).is_none());
        assert!(Sha256Hasher::restore(&saved[1..]).is_none());
    }
}
