//! Digests, probes and the algorithms that make digests.

use std::fmt;
use std::str::FromStr;

/// A digest over the whole content of a file. There are two kinds: the ordinary
/// one, which other programs make as well, and the sparse one of contents with
/// many zeros (`ContentHasher` says how it is made). The bytes of a content alone
/// decide which it has, so equal contents always have equal digests.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest {
    len: u8,
    bytes: [u8; Digest::MAX_LEN],
}

impl Digest {
    /// Length of the longest digest: SHA-512, and the mark of a sparse one.
    pub const MAX_LEN: usize = 64 + 1;
    /// What stands in front of the digits of a sparse digest.
    pub const SPARSE: &str = "sparse:";
    /// The last byte of a sparse digest, which makes it longer than any other kind.
    const SPARSE_MARK: u8 = 1;

    /// Wraps the raw bytes of a digest; `None` when they are too long.
    pub fn from_bytes(raw: &[u8]) -> Option<Self> {
        let len = u8::try_from(raw.len()).ok()?;
        let mut bytes = [0; Self::MAX_LEN];
        bytes.get_mut(..raw.len())?.copy_from_slice(raw);
        Some(Self { len, bytes })
    }

    /// The raw bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// A sparse digest, given what was hashed for it.
    pub(crate) fn sparse(hashed: Self) -> Self {
        let mut sparse = hashed;
        sparse.bytes[usize::from(hashed.len)] = Self::SPARSE_MARK;
        sparse.len += 1;
        sparse
    }

    /// Whether it is a sparse digest, which no other program makes.
    pub const fn is_sparse(&self) -> bool {
        matches!(self.len, 33 | 65)
    }

    /// The digest that [`Self::to_hex`] made this text of; `None` for a text of
    /// another kind or length.
    pub fn from_hex(text: &str) -> Option<Self> {
        let (is_sparse, digits) = match text.strip_prefix(Self::SPARSE) {
            Some(digits) => (true, digits),
            None => (false, text),
        };
        let is_plain = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
        if !matches!(digits.len(), 64 | 128) || !digits.bytes().all(is_plain) {
            return None;
        }
        let pairs = (0..digits.len()).step_by(2);
        let bytes = pairs.map(|at| u8::from_str_radix(&digits[at..at + 2], 16).ok());
        let hashed = Self::from_bytes(&bytes.collect::<Option<Vec<u8>>>()?)?;
        Some(if is_sparse {
            Self::sparse(hashed)
        } else {
            hashed
        })
    }

    /// Its first digits: enough to distinguish groups and to find one again in the
    /// catalog.
    pub fn short(&self) -> String {
        let digits = match self.is_sparse() {
            true => Self::SPARSE.len() + 12,
            false => 12,
        };
        self.to_hex().chars().take(digits).collect()
    }

    /// Lower-case hexadecimal, as `sha256sum` prints it; a sparse digest has
    /// [`Self::SPARSE`] in front.
    pub fn to_hex(&self) -> String {
        use fmt::Write;
        let (start, bytes) = match self.as_bytes() {
            [hashed @ .., _] if self.is_sparse() => (Self::SPARSE, hashed),
            bytes => ("", bytes),
        };
        bytes.iter().fold(start.to_owned(), |mut hex, byte| {
            write!(hex, "{byte:02x}").expect("writing to a String cannot fail");
            hex
        })
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_hex())
    }
}

/// The hash of a file's head and tail: a filter in front of the digest, never
/// a proof of equality.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Probe(pub i64);

/// The digest algorithm of a catalog.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub enum Algorithm {
    /// SHA-256, the default: `sha256sum` agrees with it.
    #[serde(rename = "sha256")]
    Sha256,
    /// SHA-512.
    #[serde(rename = "sha512")]
    Sha512,
    /// SHA3-256.
    #[serde(rename = "sha3-256")]
    Sha3_256,
    /// BLAKE3 with its 32-byte output.
    #[serde(rename = "blake3")]
    Blake3,
}

impl Algorithm {
    /// Every algorithm, in the order in which help and messages list them.
    pub const ALL: [Self; 4] = [Self::Sha256, Self::Sha512, Self::Sha3_256, Self::Blake3];

    /// The name used on the command line, in the catalog and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Sha512 => "sha512",
            Self::Sha3_256 => "sha3-256",
            Self::Blake3 => "blake3",
        }
    }

    /// How one of its digests is made: its name, or that of its sparse digests.
    pub const fn name_of(self, digest: &Digest) -> &'static str {
        match self {
            _ if !digest.is_sparse() => self.name(),
            Self::Sha256 => "sparse-sha256",
            Self::Sha512 => "sparse-sha512",
            Self::Sha3_256 => "sparse-sha3-256",
            Self::Blake3 => "sparse-blake3",
        }
    }

    /// Length of its ordinary digests in bytes; sparse ones are a byte longer.
    pub const fn digest_len(self) -> usize {
        match self {
            Self::Sha512 => 64,
            Self::Sha256 | Self::Sha3_256 | Self::Blake3 => 32,
        }
    }

    /// Whether some algorithm makes digests of this length.
    pub fn is_digest_len(length: usize) -> bool {
        Self::ALL.iter().any(|algorithm| {
            let ordinary = algorithm.digest_len();
            length == ordinary || length == ordinary + 1
        })
    }
}

impl Algorithm {
    /// The digest of nothing, which every empty file has.
    pub fn digest_of_nothing(self) -> Digest {
        use sha2::Digest as _;
        let raw: Vec<u8> = match self {
            Self::Sha256 => sha2::Sha256::digest([]).to_vec(),
            Self::Sha512 => sha2::Sha512::digest([]).to_vec(),
            Self::Sha3_256 => sha3::Sha3_256::digest([]).to_vec(),
            Self::Blake3 => blake3::hash(&[]).as_bytes().to_vec(),
        };
        Digest::from_bytes(&raw).expect("no algorithm makes more than 64 bytes")
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Algorithm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|algorithm| algorithm.name() == text)
            .ok_or_else(|| "expected sha256, sha512, sha3-256 or blake3".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_prints_as_hex_and_keeps_its_length() {
        let digest = Digest::from_bytes(&[0x00, 0xab, 0xff]).unwrap();
        assert_eq!(digest.to_hex(), "00abff");
        assert_eq!(digest.as_bytes(), [0x00, 0xab, 0xff]);
        assert!(Digest::from_bytes(&[0; 66]).is_none());
        assert!(Digest::from_bytes(&[0; 64]).is_some());
    }

    #[test]
    fn a_sparse_digest_is_no_other_one() {
        for algorithm in Algorithm::ALL {
            let ordinary = algorithm.digest_of_nothing();
            let sparse = Digest::sparse(ordinary);
            assert!(sparse.is_sparse() && !ordinary.is_sparse());
            assert_ne!(sparse, ordinary);
            assert_eq!(sparse.to_hex(), format!("sparse:{}", ordinary.to_hex()));
            assert_eq!(Digest::from_bytes(sparse.as_bytes()), Some(sparse));
            assert_eq!(algorithm.name_of(&ordinary), algorithm.name());
            assert_eq!(algorithm.name_of(&sparse), format!("sparse-{algorithm}"));
            for digest in [ordinary, sparse] {
                assert_eq!(Digest::from_hex(&digest.to_hex()), Some(digest));
                assert!(Algorithm::is_digest_len(digest.as_bytes().len()));
            }
        }
    }

    #[test]
    fn text_that_no_digest_prints_as_is_none() {
        let hex = Algorithm::Sha256.digest_of_nothing().to_hex();
        for text in [
            "",
            "sparse:",
            &hex[1..],
            &hex.to_uppercase(),
            &format!("{hex}00"),
        ] {
            assert_eq!(Digest::from_hex(text), None, "{text}");
        }
    }

    #[test]
    fn algorithm_names_round_trip() {
        for algorithm in Algorithm::ALL {
            assert_eq!(algorithm.name().parse(), Ok(algorithm));
        }
        let error = "md5".parse::<Algorithm>().unwrap_err();
        assert!(error.contains("sha3-256"), "{error}");
    }

    #[test]
    fn the_digest_of_nothing_is_the_well_known_one() {
        for (algorithm, start) in [
            (Algorithm::Sha256, "e3b0c44298fc1c14"),
            (Algorithm::Sha512, "cf83e1357eefb8bd"),
            (Algorithm::Sha3_256, "a7ffc6f8bf1ed766"),
            (Algorithm::Blake3, "af1349b9f5f9a1a6"),
        ] {
            let digest = algorithm.digest_of_nothing();
            assert!(digest.to_hex().starts_with(start), "{algorithm}");
            assert_eq!(digest.as_bytes().len(), algorithm.digest_len());
        }
    }
}
