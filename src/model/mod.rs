//! The plain types that every layer shares: ids, file metadata, digests and
//! duplicate groups. No I/O and no SQL.

pub mod escape;
pub mod fault;
pub mod globs;
pub mod limits;
pub mod options;

pub use escape::escape;
pub(crate) use escape::{disarm, is_hazardous};
pub use fault::{Fault, FaultClass, Step};
pub use globs::{Globs, meant_below};
pub use limits::Limits;
pub use options::{IoMode, ListingOptions, Mode, ScanOptions};

use std::ffi::OsStr;
use std::fmt;
use std::ops::Deref;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use smallvec::SmallVec;

/// Declares a newtype over the integer key of one table, so that a folder id
/// can never be passed where a scan id is meant.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub i64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// Key of `volumes`: one filesystem (and btrfs subvolume).
    VolumeId
);
id!(
    /// Key of `roots`: one folder that the user asked to scan.
    RootId
);
id!(
    /// Key of `scans`: one run over one root, possibly resumed.
    ScanId
);
id!(
    /// Key of `folders`.
    FolderId
);
id!(
    /// Key of `faults`: one dead letter.
    FaultId
);

/// What `stat` says about a regular file, as far as dupescan cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileMeta {
    /// Length in bytes.
    pub size: u64,
    /// Bytes allocated on disk (less than `size` for sparse files).
    pub allocated: u64,
    /// Modification time, signed nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Change time, signed nanoseconds since 1970.
    pub ctime_ns: i64,
    /// Inode number as the filesystem reports it.
    pub ino: u64,
    /// Number of hard links.
    pub nlink: u64,
}

/// A digest over the whole content of a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest {
    len: u8,
    bytes: [u8; Digest::MAX_LEN],
}

impl Digest {
    /// Length of the longest digest (SHA-512).
    pub const MAX_LEN: usize = 64;

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

    /// Lower-case hexadecimal, as `sha256sum` prints it.
    pub fn to_hex(&self) -> String {
        use fmt::Write;
        self.as_bytes().iter().fold(String::new(), |mut hex, byte| {
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

/// A name in a folder. Most are short enough to need no memory of their own: a
/// scan makes one for every file on one thread and drops it on another.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileName(SmallVec<[u8; FileName::SHORT]>);

impl FileName {
    /// Bytes of a name that needs no memory of its own.
    const SHORT: usize = 24;
}

impl From<&OsStr> for FileName {
    fn from(name: &OsStr) -> Self {
        Self(SmallVec::from_slice(name.as_bytes()))
    }
}

impl Deref for FileName {
    type Target = OsStr;

    fn deref(&self) -> &OsStr {
        OsStr::from_bytes(&self.0)
    }
}

impl fmt::Debug for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
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

    /// Length of its digests in bytes.
    pub const fn digest_len(self) -> usize {
        match self {
            Self::Sha512 => 64,
            Self::Sha256 | Self::Sha3_256 | Self::Blake3 => 32,
        }
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

/// A moment in whole seconds since 1970, as the catalog stores it. Used for
/// display only: order comes from scan numbers, since clocks go backwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The present moment by the wall clock.
    pub fn now() -> Self {
        Self(now_ns() / 1_000_000_000)
    }
}

/// The wall clock in signed nanoseconds since 1970, comparable with file times.
pub fn now_ns() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |ns| -ns),
    }
}

/// Files with equal size and digest, as a report shows them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The common digest.
    pub digest: Digest,
    /// The algorithm behind `digest`.
    pub algorithm: Algorithm,
    /// The common size in bytes.
    pub size: u64,
    /// Whether all copies were compared byte for byte with each other.
    pub verified: bool,
    /// The copies, sorted by the bytes of their paths.
    pub copies: Vec<CopyEntry>,
}

impl Group {
    /// Bytes that would be free if one copy stayed.
    pub fn reclaimable(&self) -> u64 {
        self.size
            .saturating_mul((self.copies.len() as u64).saturating_sub(1))
    }
}

/// One copy (volume and inode) in a group, under all its known names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyEntry {
    /// Absolute path: the first of the copy's names in byte order.
    pub path: PathBuf,
    /// Path of the root that `path` lies in.
    pub root: PathBuf,
    /// Modification time in nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Change time in nanoseconds since 1970.
    pub ctime_ns: i64,
    /// The volume's identity, for instance `uuid:…`.
    pub volume: String,
    /// Inode number; `None` where the filesystem's numbers are not stable.
    pub inode: Option<u64>,
    /// The copy's other names (hard links, bind mounts), in byte order.
    pub links: Vec<PathBuf>,
}

impl CopyEntry {
    /// All names of the copy.
    pub fn names(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.path).chain(&self.links)
    }
}

/// A group as a summary shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopGroup {
    /// The common size in bytes.
    pub size: u64,
    /// Number of copies.
    pub copies: u64,
    /// The first path in byte order.
    pub path: PathBuf,
}

impl TopGroup {
    /// Bytes that would be free if one copy stayed.
    pub fn reclaimable(&self) -> u64 {
        self.size.saturating_mul(self.copies.saturating_sub(1))
    }
}

impl From<&Group> for TopGroup {
    fn from(group: &Group) -> Self {
        Self {
            size: group.size,
            copies: group.copies.len() as u64,
            path: group
                .copies
                .first()
                .map(|copy| copy.path.clone())
                .unwrap_or_default(),
        }
    }
}

/// A folder as a summary shows it: what its redundant copies would free. In
/// each group all copies but the first, in the byte order of their paths, are
/// redundant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopFolder {
    /// The folder that the copies lie in.
    pub path: PathBuf,
    /// The number of redundant copies.
    pub copies: u64,
    /// Their bytes.
    pub reclaimable: u64,
}

/// What a scan ends with, over the whole catalog.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summary {
    /// The sums.
    pub totals: Totals,
    /// The groups that free most.
    pub groups: Vec<TopGroup>,
    /// The folders that free most.
    pub folders: Vec<TopFolder>,
}

/// Up to which scan an answer from the catalog holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AsOf {
    /// The newest scan in the catalog.
    pub scan: ScanId,
    /// When that scan ended; `None` while it is unfinished.
    pub finished: Option<Timestamp>,
}

/// The sums under a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Number of groups.
    pub groups: u64,
    /// Number of copies in them.
    pub copies: u64,
    /// Bytes that would be free if one copy of each group stayed.
    pub reclaimable: u64,
    /// Files that are neither known duplicates nor known unique.
    pub undetermined: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_prints_as_hex_and_keeps_its_length() {
        let digest = Digest::from_bytes(&[0x00, 0xab, 0xff]).unwrap();
        assert_eq!(digest.to_hex(), "00abff");
        assert_eq!(digest.as_bytes(), [0x00, 0xab, 0xff]);
        assert!(Digest::from_bytes(&[0; 65]).is_none());
        assert!(Digest::from_bytes(&[0; 64]).is_some());
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

    #[test]
    fn one_copy_frees_nothing() {
        let copy = CopyEntry {
            path: "/a".into(),
            root: "/".into(),
            mtime_ns: 0,
            ctime_ns: 0,
            volume: "uuid:x".into(),
            inode: Some(1),
            links: vec![],
        };
        let mut group = Group {
            digest: Digest::from_bytes(&[1; 32]).unwrap(),
            algorithm: Algorithm::Sha256,
            size: 10,
            verified: false,
            copies: vec![copy.clone()],
        };
        assert_eq!(group.reclaimable(), 0);
        group.copies.push(copy);
        assert_eq!(group.reclaimable(), 10);
    }
}
