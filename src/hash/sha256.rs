//! SHA-256 of one content in the making. While whole blocks are taken in, which
//! is nearly always, its state lies open, so that many contents can be taken in
//! abreast ([`sha256_compress_all`]). Rests, padding, lengths and saved states
//! are the sha2 crate's.

use sha2::digest::Update;
use sha2::digest::common::hazmat::SerializableState;
use sha2::{Digest as _, Sha256};

use crate::platform::{Sha256Block, Sha256Message, Sha256State, sha256_compress_all};

const BLOCK: usize = size_of::<Sha256Block>();

/// A digest in the making.
#[derive(Clone)]
pub struct Sha256Hasher(Position);

#[derive(Clone)]
enum Position {
    /// Only whole blocks were taken in.
    Between(BetweenBlocks),
    /// The last block is not whole.
    Within(Sha256),
}

impl Sha256Hasher {
    /// A hasher that has seen nothing.
    pub(crate) fn new() -> Self {
        Self::of(Sha256::new())
    }

    fn of(hasher: Sha256) -> Self {
        match BetweenBlocks::of(&hasher) {
            Some(between) => Self(Position::Between(between)),
            None => Self(Position::Within(hasher)),
        }
    }

    /// The same as the crate's own.
    fn plain(self) -> Sha256 {
        match self.0 {
            Position::Between(between) => between.plain(),
            Position::Within(hasher) => hasher,
        }
    }

    /// Takes in the next bytes of the content.
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        let mut plain = self.clone().plain();
        Update::update(&mut plain, bytes);
        *self = Self::of(plain);
    }

    /// Takes in as much of every piece as the shortest one has, and leaves the
    /// rest in `pieces`. Of a longer one only whole blocks are taken in.
    pub(crate) fn update_abreast(pieces: &mut [(&mut Self, &mut &[u8])]) {
        let shortest = pieces.iter().map(|(_, piece)| piece.len()).min();
        let common = shortest.unwrap_or(0) / BLOCK;
        let mut messages = Vec::with_capacity(pieces.len());
        for (hasher, piece) in &*pieces {
            if let Position::Between(between) = &hasher.0 {
                messages.push(Sha256Message {
                    state: between.state,
                    blocks: &piece.as_chunks().0[..common],
                });
            }
        }
        sha256_compress_all(&mut messages);
        let mut states = messages.into_iter().map(|message| message.state);
        for (hasher, piece) in pieces {
            if let Position::Between(between) = &mut hasher.0
                && let Some(state) = states.next()
            {
                between.state = state;
                between.blocks += common as u64;
                **piece = &piece[common * BLOCK..];
            }
            // The end of a content, or one that is in the middle of a block.
            let is_between = matches!(hasher.0, Position::Between(_));
            if !is_between || piece.len() < BLOCK {
                hasher.update(std::mem::take(*piece));
            }
        }
    }

    /// The digest of everything taken in.
    pub(crate) fn finish(self) -> [u8; 32] {
        self.plain().finalize().into()
    }

    /// The state in the middle of a file, for a later [`Self::restore`].
    pub(crate) fn save(&self) -> Vec<u8> {
        self.clone().plain().serialize().to_vec()
    }

    /// The hasher that was saved; `None` when the state cannot be decoded.
    pub(crate) fn restore(state: &[u8]) -> Option<Self> {
        Sha256::deserialize(state.try_into().ok()?)
            .ok()
            .map(Self::of)
    }
}

/// The inside of a [`Sha256`] that has taken in whole blocks. Its serialised
/// form is the only door to it, and is pinned by `STATE_FORMAT`: the state's
/// words and the number of blocks, little-endian, then what is buffered.
#[derive(Clone)]
struct BetweenBlocks {
    state: Sha256State,
    blocks: u64,
}

impl BetweenBlocks {
    const BLOCKS_AT: usize = 32;
    const BUFFERED_AT: usize = 40;

    /// `None` in the middle of a block.
    fn of(hasher: &Sha256) -> Option<Self> {
        let serialised = hasher.serialize();
        let (words, _) = serialised[..Self::BLOCKS_AT].as_chunks();
        let (blocks, _) = serialised[Self::BLOCKS_AT..].as_chunks();
        let is_between = serialised[Self::BUFFERED_AT] == 0;
        is_between.then(|| Self {
            state: std::array::from_fn(|word| u32::from_le_bytes(words[word])),
            blocks: u64::from_le_bytes(blocks[0]),
        })
    }

    fn plain(&self) -> Sha256 {
        let mut serialised = Sha256::new().serialize();
        for (bytes, word) in serialised.chunks_exact_mut(4).zip(&self.state) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        let blocks = self.blocks.to_le_bytes();
        serialised[Self::BLOCKS_AT..Self::BUFFERED_AT].copy_from_slice(&blocks);
        Sha256::deserialize(&serialised).expect("nothing is buffered, so any state is valid")
    }
}
