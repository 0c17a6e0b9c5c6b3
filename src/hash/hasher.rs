//! The digest algorithms behind one type, and the probe function.

use sha2::digest::Update;
use sha2::digest::common::hazmat::SerializableState;
use sha2::{Digest as _, Sha512};
use sha3::Sha3_256;

use super::fingerprint::fingerprint;
use super::sha256::Sha256Hasher;
use crate::catalog::SHORT;
use crate::model::{Algorithm, Digest, Probe};
use crate::platform::sha256_at_once;

/// Bytes of the head that a probe covers.
pub const HEAD: usize = 8 * 1024;
/// Bytes of the tail that a probe covers.
pub const TAIL: usize = 8 * 1024;
/// Files up to this size are probed whole: what costs is to open them, and
/// files that share head and tail with another need not be read again.
pub const WHOLE: u64 = 64 * 1024;
// A probe never covers a byte twice.
const _: () = assert!(WHOLE >= SHORT && WHOLE >= (HEAD + TAIL) as u64);

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

    /// Takes in the next bytes of the content.
    pub fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(hasher) => hasher.update(bytes),
            Self::Sha512(hasher) => Update::update(hasher, bytes),
            Self::Sha3_256(hasher) => Update::update(hasher, bytes),
            Self::Blake3(hasher) => {
                hasher.update(bytes);
            }
        }
    }

    /// How many contents are best taken in together by [`Hasher::update_abreast`].
    pub fn at_once(algorithm: Algorithm) -> usize {
        match algorithm {
            Algorithm::Sha256 => sha256_at_once(),
            Algorithm::Sha512 | Algorithm::Sha3_256 | Algorithm::Blake3 => 1,
        }
    }

    /// Takes in the next bytes of several contents, and leaves in `pieces` what
    /// is still to come. SHA-256 of several at once, where the processor can,
    /// takes little longer than of one, as long as there are several: so it takes in
    /// only as much of each as the shortest one has. Others take in everything.
    pub fn update_abreast(pieces: &mut [(&mut Self, &[u8])]) {
        let mut abreast = Vec::with_capacity(pieces.len());
        for (hasher, piece) in pieces {
            match hasher {
                Self::Sha256(hasher) => abreast.push((hasher, piece)),
                other => other.update(std::mem::take(piece)),
            }
        }
        Sha256Hasher::update_abreast(&mut abreast);
    }

    /// The digest of everything taken in.
    pub fn finish(self) -> Digest {
        let digest = match self {
            Self::Sha256(hasher) => Digest::from_bytes(&hasher.finish()),
            Self::Sha512(hasher) => Digest::from_bytes(&hasher.finalize()),
            Self::Sha3_256(hasher) => Digest::from_bytes(&hasher.finalize()),
            Self::Blake3(hasher) => Digest::from_bytes(hasher.finalize().as_bytes()),
        };
        digest.expect("no algorithm's output is longer than Digest::MAX_LEN")
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

/// The probe of a file longer than `SHORT` and no longer than `WHOLE`: several
/// times as fast as any digest. Fixed for all catalogs like [`probe`].
pub fn probe_whole(content: &[u8]) -> Probe {
    Probe(fingerprint(0, content).cast_signed())
}

/// The probe of a file longer than `WHOLE`. Fixed for all catalogs:
/// changing it means raising `catalog::PROBE_VERSION`.
///
/// `ends` are the head and the tail, one behind the other: in one piece, so that
/// BLAKE3 computes sixteen of its chunks at once instead of eight.
pub fn probe(ends: &[u8]) -> Probe {
    let mut first = [0; 8];
    first.copy_from_slice(&blake3::hash(ends).as_bytes()[..8]);
    Probe(i64::from_le_bytes(first))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
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
    fn a_saved_state_goes_on_where_it_was() {
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

    proptest! {
        #![proptest_config(proptest_config())]

        /// Contents in arbitrary pieces, taken in together: digests and saved
        /// states are those of each taken in by itself.
        #[test]
        fn many_abreast_are_the_same_as_one_by_one(
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
                    let mut left: Vec<_> = together.iter_mut().zip(pieces.clone()).collect();
                    while left.iter().any(|(_, piece)| !piece.is_empty()) {
                        Hasher::update_abreast(&mut left);
                        left.retain(|(_, piece)| !piece.is_empty());
                    }
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
                (state.len(), probe(&state).0)
            });
        assert_eq!(fingerprints, STATES_AFTER_200_SEVENS);
    }

    const STATES_AFTER_200_SEVENS: [(usize, i64); 3] = [
        (104, -6454267229392475795),
        (208, -4414150399730804949),
        (201, 8259270113821505833),
    ];

    #[test]
    fn the_probe_never_changes() {
        assert_eq!(probe(b"headtail"), Probe(PROBE_OF_HEAD_TAIL));
        assert_eq!(probe_whole(b"content"), Probe(PROBE_OF_CONTENT));
    }

    /// Stored in catalogs: a different value means a new `PROBE_VERSION`.
    const PROBE_OF_CONTENT: i64 = 945681899674452792;
    const PROBE_OF_HEAD_TAIL: i64 = -7604758601981788546;
}
