//! The digest of a whole content: the ordinary one of every byte, or the sparse
//! one of contents with more zeros than [`MOST_ZEROS`](crate::model::sampling::MOST_ZEROS).
//!
//! A sparse digest is the same hash over what is not zero: a header with the size,
//! then each block of [`ZERO_BLOCK`] that holds another byte than zero, behind a
//! header with its offset. Where the zeros come from, a hole or a disk, makes no
//! difference. Until it is known which kind a content has, both are made: only of
//! contents that are longer than `MOST_ZEROS`.

use super::hasher::Hasher;
use crate::model::sampling::{ZERO_BLOCK, most_zeros};
use crate::model::{Algorithm, Digest};

/// Headers are as long as a block of SHA-256, which is fastest at such offsets.
const HEADER: usize = 64;
/// Begins the first header. Another way to make sparse digests needs another name.
const NAME: &[u8] = b"dupescan sparse 1";
/// Bytes of the counters in a saved state.
const COUNTERS: usize = 16;

/// The digest of a content in the making.
#[derive(Clone)]
pub(crate) struct ContentHasher {
    /// Of every byte; `None` once there are known to be too many zeros for it.
    ordinary: Option<Hasher>,
    /// Of what is not zero; `None` once there cannot be too many zeros.
    sparse: Option<Box<SparseHasher>>,
}

#[derive(Clone)]
struct SparseHasher {
    hasher: Hasher,
    /// The length of the content.
    size: u64,
    /// Zeros beyond which the digest is a sparse one.
    most_zeros: u64,
    /// Bytes in blocks of nothing but zeros.
    zeros: u64,
    /// Bytes in all other blocks.
    data: u64,
}

impl ContentHasher {
    /// A hasher that has seen nothing of a content of this length.
    pub(crate) fn new(algorithm: Algorithm, size: u64) -> Self {
        Self::with(algorithm, size, most_zeros())
    }

    fn with(algorithm: Algorithm, size: u64, most_zeros: u64) -> Self {
        let ordinary = Some(Hasher::new(algorithm));
        let sparse = (size > most_zeros).then(|| {
            let mut hasher = Hasher::new(algorithm);
            hasher.update(&header(NAME, size));
            Box::new(SparseHasher {
                hasher,
                size,
                most_zeros,
                zeros: 0,
                data: 0,
            })
        });
        Self { ordinary, sparse }
    }

    /// Takes it from the caller that there are too many zeros for an ordinary digest.
    pub(crate) fn expect_sparse(&mut self) {
        if self.sparse.is_some() {
            self.ordinary = None;
        }
    }

    /// Whether blocks of zeros can be skipped.
    pub(crate) fn skips_zeros(&self) -> bool {
        self.ordinary.is_none()
    }

    /// Skips blocks of zeros, where they can be skipped.
    pub(crate) fn skip_zeros(&mut self, length: u64) {
        debug_assert!(self.skips_zeros(), "an ordinary digest is of every byte");
        if let Some(sparse) = &mut self.sparse {
            sparse.zeros += length;
        }
    }

    /// What is left to hash of the next block: hash all of it with
    /// [`Hasher::update_all`].
    pub(crate) fn pieces<'a>(
        &'a mut self,
        offset: u64,
        block: &'a [u8],
    ) -> impl Iterator<Item = (&'a mut Hasher, &'a [u8])> {
        let mut is_data = false;
        if let Some(sparse) = &mut self.sparse {
            is_data = sparse.meet(offset, block);
            if sparse.is_certain() {
                self.ordinary = None;
            } else if sparse.is_impossible() {
                self.sparse = None;
            }
        }
        let sparse = self.sparse.as_mut().filter(|_| is_data);
        let hashers = self.ordinary.iter_mut();
        let hashers = hashers.chain(sparse.map(|sparse| &mut sparse.hasher));
        hashers.map(move |hasher| (hasher, block))
    }

    /// Hashes the next block.
    pub(crate) fn update(&mut self, offset: u64, block: &[u8]) {
        for (hasher, piece) in self.pieces(offset, block) {
            hasher.update(piece);
        }
    }

    /// The digest of the whole content. `None` when it has fewer zeros than the
    /// caller took for certain: it changed.
    pub(crate) fn finish(self) -> Option<Digest> {
        match (self.ordinary, self.sparse) {
            (_, Some(sparse)) if sparse.is_certain() => {
                Some(Digest::sparse(sparse.hasher.finish()))
            }
            (ordinary, _) => ordinary.map(Hasher::finish),
        }
    }

    /// The state in the middle of a content, for a later [`Self::restore`]; `None`
    /// where the algorithm's state cannot be saved.
    pub(crate) fn save(&self) -> Option<Vec<u8>> {
        let ordinary = self.ordinary.as_ref().map(Hasher::save);
        let Some(sparse) = &self.sparse else {
            return ordinary?;
        };
        let mut saved = sparse.zeros.to_le_bytes().to_vec();
        saved.extend(sparse.data.to_le_bytes());
        saved.extend(sparse.hasher.save()?);
        saved.extend(ordinary.flatten().unwrap_or_default());
        Some(saved)
    }

    /// The hasher that was saved; `None` when the state cannot be decoded.
    pub(crate) fn restore(algorithm: Algorithm, size: u64, saved: &[u8]) -> Option<Self> {
        Self::restore_with(Self::new(algorithm, size), algorithm, saved)
    }

    /// The states of one algorithm are all equally long: that tells apart what
    /// was saved.
    fn restore_with(mut fresh: Self, algorithm: Algorithm, saved: &[u8]) -> Option<Self> {
        if let Some(ordinary) = Hasher::restore(algorithm, saved) {
            return Some(Self {
                ordinary: Some(ordinary),
                sparse: None,
            });
        }
        let sparse = fresh.sparse.as_mut()?;
        let (counters, states) = saved.split_at_checked(COUNTERS)?;
        let (counters, _) = counters.as_chunks();
        [sparse.zeros, sparse.data] = [counters[0], counters[1]].map(u64::from_le_bytes);
        if let Some(hasher) = Hasher::restore(algorithm, states) {
            sparse.hasher = hasher;
            fresh.ordinary = None;
        } else {
            let (first, second) = states.split_at(states.len() / 2);
            sparse.hasher = Hasher::restore(algorithm, first)?;
            fresh.ordinary = Some(Hasher::restore(algorithm, second)?);
        }
        Some(fresh)
    }
}

impl SparseHasher {
    /// Counts a block; says whether it is to be hashed, of which the header was.
    fn meet(&mut self, offset: u64, block: &[u8]) -> bool {
        debug_assert!(
            offset.is_multiple_of(ZERO_BLOCK)
                && block.len() as u64 == ZERO_BLOCK.min(self.size - offset),
            "sparse digests are made of whole blocks"
        );
        if is_zero(block) {
            self.zeros += block.len() as u64;
            return false;
        }
        self.data += block.len() as u64;
        self.hasher.update(&header(b"at", offset));
        true
    }

    fn is_certain(&self) -> bool {
        self.zeros > self.most_zeros
    }

    fn is_impossible(&self) -> bool {
        self.size - self.data <= self.most_zeros
    }
}

fn header(name: &[u8], number: u64) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..name.len()].copy_from_slice(name);
    header[HEADER - 8..].copy_from_slice(&number.to_le_bytes());
    header
}

/// Comparing with zeros is several times as fast as looking at each byte.
fn is_zero(block: &[u8]) -> bool {
    const ZEROS: [u8; 4096] = [0; 4096];
    let mut parts = block.chunks(ZEROS.len());
    parts.all(|part| *part == ZEROS[..part.len()])
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::testing::proptest_config;

    const BLOCK: usize = 64 << 10;
    const MOST: u64 = 3 * ZERO_BLOCK;

    /// Bytes in blocks of nothing but zeros, counted one by one.
    fn zeros(content: &[u8]) -> u64 {
        let blocks = content.chunks(BLOCK);
        let zero = blocks.filter(|block| block.iter().all(|byte| *byte == 0));
        zero.map(|block| block.len() as u64).sum()
    }

    /// Blocks of zeros, of one byte that is not, and of noise; then a part of one.
    fn content(blocks: &[u8], tail: usize) -> Vec<u8> {
        let mut content = vec![0; blocks.len() * BLOCK + tail];
        for (block, kind) in content
            .chunks_mut(BLOCK)
            .zip(blocks.iter().chain(&[u8::from(tail % 2 == 1)]))
        {
            let last = block.len() - 1;
            match kind {
                0 => {}
                1 => block[last] = 1,
                kind => block[usize::from(*kind)] = *kind,
            }
        }
        content
    }

    fn hasher(content: &[u8]) -> ContentHasher {
        ContentHasher::with(Algorithm::Sha256, content.len() as u64, MOST)
    }

    fn feed(hasher: &mut ContentHasher, content: &[u8], blocks: std::ops::Range<usize>) {
        let all = content.chunks(BLOCK).enumerate();
        for (at, block) in all.skip(blocks.start).take(blocks.len()) {
            hasher.update((at * BLOCK) as u64, block);
        }
    }

    fn digest(content: &[u8]) -> Digest {
        let mut hasher = hasher(content);
        feed(&mut hasher, content, 0..usize::MAX);
        hasher.finish().unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 32, ..proptest_config() })]

        /// The kind follows from the bytes alone, ordinary digests are those of the
        /// algorithm, and only equal contents have equal ones. Skipping zeros, and
        /// stopping and resuming, change nothing.
        #[test]
        fn equal_contents_and_no_others_have_equal_digests(
            one in vec(0_u8..3, 0..9),
            other in vec(0_u8..3, 0..9),
            tail in 1_usize..BLOCK,
            skipped in vec(any::<bool>(), 10),
            stop in 0_usize..10,
        ) {
            let (one, other) = (content(&one, tail), content(&other, tail));
            let known = digest(&one);
            prop_assert_eq!(known.is_sparse(), zeros(&one) > MOST);
            if !known.is_sparse() {
                prop_assert_eq!(known, Hasher::digest(Algorithm::Sha256, &one));
            }
            prop_assert_eq!(known == digest(&other), one == other);

            let mut skipping = hasher(&one);
            if known.is_sparse() {
                skipping.expect_sparse();
            }
            for ((at, block), skip) in one.chunks(BLOCK).enumerate().zip(skipped) {
                if skip && skipping.skips_zeros() && is_zero(block) {
                    skipping.skip_zeros(block.len() as u64);
                } else {
                    skipping.update((at * BLOCK) as u64, block);
                }
                if at == stop {
                    let saved = skipping.save().unwrap();
                    let fresh = hasher(&one);
                    skipping = ContentHasher::restore_with(fresh, Algorithm::Sha256, &saved).unwrap();
                    prop_assert_eq!(skipping.save().unwrap(), saved);
                }
            }
            prop_assert_eq!(skipping.finish(), Some(known));
        }
    }

    #[test]
    fn zeros_that_were_taken_for_certain_and_are_missing_give_no_digest() {
        let content = content(&[0, 2, 0, 2, 0, 2], 1);
        let mut hasher = hasher(&content);
        hasher.expect_sparse();
        feed(&mut hasher, &content, 0..usize::MAX);
        assert_eq!(hasher.finish(), None);
    }

    #[test]
    fn a_state_that_cannot_be_is_refused() {
        let content = content(&[0, 2, 0, 0, 0, 0], 1);
        let mut hasher = hasher(&content);
        feed(&mut hasher, &content, 0..2);
        let saved = hasher.save().unwrap();
        let restore = |saved: &[u8]| {
            let fresh = ContentHasher::with(Algorithm::Sha256, content.len() as u64, MOST);
            ContentHasher::restore_with(fresh, Algorithm::Sha256, saved).is_some()
        };
        assert!(restore(&saved));
        assert!(!restore(&saved[..saved.len() - 1]));
        assert!(!restore(&saved[..COUNTERS]));
        assert!(!restore(&saved[..5]));
    }

    /// Stored in catalogs: a different digest means a new [`NAME`].
    #[test]
    fn sparse_digests_never_change() {
        let content = content(&[0, 2, 0, 0, 0], 7);
        let mut hashed = header(NAME, content.len() as u64).to_vec();
        for block in [1, 5] {
            let start = block * BLOCK;
            hashed.extend(header(b"at", start as u64));
            hashed.extend(&content[start..content.len().min(start + BLOCK)]);
        }
        let hashed = Hasher::digest(Algorithm::Sha256, &hashed);
        assert_eq!(digest(&content), Digest::sparse(hashed));
    }
}
