//! The digest algorithms behind one type.

use sha2::digest::Update;
use sha2::digest::common::hazmat::SerializableState;
use sha2::{Digest as _, Sha512};
use sha3::Sha3_256;

use super::sha256::Sha256Hasher;
use crate::model::{Algorithm, Digest};
use crate::platform::sha256_at_once;

/// Version of what [`Hasher::save`] returns. The crates promise a stable
/// serialisation within a minor version only, so it is raised with them.
pub const STATE_FORMAT: i64 = 1;

/// A digest in the making. Cloned when a class of equal prefixes splits.
#[derive(Clone)]
pub enum Hasher {
    /// SHA-256.
    Sha256(Sha256Hasher),
    /// SHA-512.
    Sha512(Sha512),
    /// SHA3-256.
    Sha3_256(Sha3_256),
    /// BLAKE3; boxed because its state is twenty times larger.
    Blake3(Box<blake3::Hasher>),
}

impl Hasher {
    /// A hasher that has seen nothing.
    pub fn new(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Sha256 => Self::Sha256(Sha256Hasher::new()),
            Algorithm::Sha512 => Self::Sha512(Sha512::new()),
            Algorithm::Sha3_256 => Self::Sha3_256(Sha3_256::new()),
            Algorithm::Blake3 => Self::Blake3(Box::default()),
        }
    }

    /// Hashes the next bytes of the content.
    pub fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(hasher) => Sha256Hasher::update_all(&mut [(hasher, bytes)]),
            Self::Sha512(hasher) => Update::update(hasher, bytes),
            Self::Sha3_256(hasher) => Update::update(hasher, bytes),
            Self::Blake3(hasher) => {
                hasher.update(bytes);
            }
        }
    }

    /// How many contents are best hashed together by [`Hasher::update_all`].
    pub fn at_once(algorithm: Algorithm) -> usize {
        match algorithm {
            Algorithm::Sha256 => sha256_at_once(),
            Algorithm::Sha512 | Algorithm::Sha3_256 | Algorithm::Blake3 => 1,
        }
    }

    /// Hashes the next bytes of several contents. With SHA-256, several at once
    /// take little longer than one, where the processor has the instructions.
    pub fn update_all(pieces: &mut [(&mut Self, &[u8])]) {
        let mut together = Vec::with_capacity(pieces.len());
        for (hasher, piece) in pieces {
            match hasher {
                Self::Sha256(hasher) => together.push((hasher, *piece)),
                other => other.update(piece),
            }
        }
        Sha256Hasher::update_all(&mut together);
    }

    /// The digest of everything hashed.
    pub fn finish(self) -> Digest {
        match self {
            Self::Sha256(hasher) => wrap(&hasher.finish()),
            Self::Sha512(hasher) => wrap(&hasher.finalize()),
            Self::Sha3_256(hasher) => wrap(&hasher.finalize()),
            Self::Blake3(hasher) => wrap(hasher.finalize().as_bytes()),
        }
    }

    /// The state in the middle of a file, for a later [`Hasher::restore`];
    /// `None` for BLAKE3, whose crate does not give its state away.
    pub fn save(&self) -> Option<Vec<u8>> {
        match self {
            Self::Sha256(hasher) => Some(hasher.save()),
            Self::Sha512(hasher) => Some(hasher.serialize().to_vec()),
            Self::Sha3_256(hasher) => Some(hasher.serialize().to_vec()),
            Self::Blake3(_) => None,
        }
    }

    /// The hasher that was saved; `None` when the state cannot be decoded.
    pub fn restore(algorithm: Algorithm, state: &[u8]) -> Option<Self> {
        fn decode<H: SerializableState>(state: &[u8]) -> Option<H> {
            H::deserialize(state.try_into().ok()?).ok()
        }
        match algorithm {
            Algorithm::Sha256 => Sha256Hasher::restore(state).map(Self::Sha256),
            Algorithm::Sha512 => decode(state).map(Self::Sha512),
            Algorithm::Sha3_256 => decode(state).map(Self::Sha3_256),
            Algorithm::Blake3 => None,
        }
    }

    /// The digest of one piece of content.
    pub fn digest(algorithm: Algorithm, content: &[u8]) -> Digest {
        let mut hasher = Self::new(algorithm);
        hasher.update(content);
        hasher.finish()
    }
}

/// The digests of several whole contents, in their order.
pub(crate) fn digest_all(algorithm: Algorithm, contents: &[&[u8]]) -> Vec<Digest> {
    if algorithm != Algorithm::Sha256 {
        let digest = |content: &&[u8]| Hasher::digest(algorithm, content);
        return contents.iter().map(digest).collect();
    }
    let mut hashers = vec![Sha256Hasher::new(); contents.len()];
    let pieces = hashers.iter_mut().zip(contents.iter().copied());
    Sha256Hasher::update_all(&mut pieces.collect::<Vec<_>>());
    let digests = Sha256Hasher::finish_all(&hashers).into_iter();
    digests.map(|digest| wrap(&digest)).collect()
}

fn wrap(digest: &[u8]) -> Digest {
    Digest::from_bytes(digest).expect("no algorithm's output is longer than Digest::MAX_LEN")
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::hash::probe;
    use crate::testing::proptest_config;

    #[test]
    fn digests_of_nothing_and_abc_are_the_published_ones() {
        let expected = [
            (
                Algorithm::Sha256,
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            ),
            (
                Algorithm::Sha512,
                "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
                 2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
            ),
            (
                Algorithm::Sha3_256,
                "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532",
            ),
            (
                Algorithm::Blake3,
                "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85",
            ),
        ];
        for (algorithm, hex) in expected {
            assert_eq!(Hasher::digest(algorithm, b"abc").to_hex(), hex);
            let mut pieces = Hasher::new(algorithm);
            pieces.update(b"a");
            let mut clone = pieces.clone();
            pieces.update(b"bc");
            clone.update(b"bc");
            assert_eq!(pieces.finish(), clone.finish());
        }
    }

    #[test]
    fn a_saved_state_resumes_where_it_was() {
        let content: Vec<u8> = (0..1_000_u32).flat_map(u32::to_le_bytes).collect();
        for algorithm in Algorithm::ALL {
            let mut hasher = Hasher::new(algorithm);
            hasher.update(&content[..1_001]);
            let Some(state) = hasher.save() else {
                assert_eq!(algorithm, Algorithm::Blake3);
                continue;
            };
            let mut restored = Hasher::restore(algorithm, &state).unwrap();
            restored.update(&content[1_001..]);
            assert_eq!(restored.finish(), Hasher::digest(algorithm, &content));
            assert!(Hasher::restore(algorithm, &state[1..]).is_none());
        }
    }

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

        /// Contents in arbitrary pieces, hashed together: digests and saved states
        /// are those of each hashed by itself.
        #[test]
        fn pieces_hashed_together_are_the_same_as_one_by_one(
            rounds in vec(vec(0..700_usize, 20), 0..6),
            byte in any::<u8>(),
        ) {
            for algorithm in Algorithm::ALL {
                let mut together = vec![Hasher::new(algorithm); 20];
                let mut alone = together.clone();
                for lengths in &rounds {
                    let content = |(seed, length): (usize, &usize)| {
                        let bytes = seed..seed + length;
                        bytes.map(|at| at.to_le_bytes()[0] ^ byte).collect()
                    };
                    let pieces: Vec<Vec<u8>> = lengths.iter().enumerate().map(content).collect();
                    let pieces = pieces.iter().map(Vec::as_slice);
                    let work = together.iter_mut().zip(pieces.clone());
                    Hasher::update_all(&mut work.collect::<Vec<_>>());
                    for (hasher, piece) in alone.iter_mut().zip(pieces) {
                        hasher.update(piece);
                    }
                }
                for (one, other) in together.into_iter().zip(alone) {
                    prop_assert_eq!(one.save(), other.save());
                    prop_assert_eq!(one.finish(), other.finish());
                }
            }
        }
    }

    /// Stored in catalogs: a different state means a new `STATE_FORMAT`.
    #[test]
    fn the_serialised_states_never_change() {
        let fingerprints =
            [Algorithm::Sha256, Algorithm::Sha512, Algorithm::Sha3_256].map(|algorithm| {
                let mut hasher = Hasher::new(algorithm);
                hasher.update(&[7; 200]);
                let state = hasher.save().unwrap();
                (state.len(), probe(u64::MAX, &state).0)
            });
        assert_eq!(fingerprints, STATES_AFTER_200_SEVENS);
    }

    const STATES_AFTER_200_SEVENS: [(usize, i64); 3] = [
        (104, -6454267229392475795),
        (208, -4414150399730804949),
        (201, 8259270113821505833),
    ];
}
