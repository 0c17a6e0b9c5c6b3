//! What is looked for: files and digests as they were typed.

use std::io;
use std::path::{Path, PathBuf};

use crate::answers::place::PlaceError;
use crate::catalog::{CatalogError, ReadOnly};
use crate::model::{Algorithm, Digest};

/// Fewest digits that may stand for a digest. Two digests of a catalog are very
/// unlikely to start with the same twelve, and it is reported if they do.
const LEAST_DIGITS: usize = 12;

/// Why something cannot be looked for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FindError {
    #[error(
        "expected the {} hexadecimal digits of a {_0} hash, or at least the first {LEAST_DIGITS} \
         of them",
        2 * _0.digest_len()
    )]
    NotADigest(Algorithm),
    #[error("more than one hash starts with it; give more digits")]
    Ambiguous,
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}

/// Something that is looked for.
pub(crate) enum Sought {
    /// A file, and its size.
    File(PathBuf, u64),
    /// A file that cannot be looked at, and why.
    Unreadable(PathBuf, String),
    Digest(Digest),
    /// The start of a digest that no file in the catalog has.
    NoDigest(String),
}

impl Sought {
    pub(crate) fn file(path: &Path) -> Self {
        let unreadable = |why| Self::Unreadable(path.to_owned(), why);
        match std::fs::metadata(path) {
            Ok(meta) if meta.is_file() => Self::File(path.to_owned(), meta.len()),
            Ok(_) => unreadable("not a file".to_owned()),
            Err(error) => unreadable(error.to_string()),
        }
    }

    /// The digest that was typed, or the only one in the catalog that starts so.
    pub(crate) fn digest(catalog: &ReadOnly, typed: &str) -> Result<Self, FindError> {
        let (hex, is_sparse) = match typed.strip_prefix(Digest::SPARSE) {
            Some(hex) => (hex, true),
            None => (typed, false),
        };
        let algorithm = catalog.algorithm()?;
        let digits = 2 * algorithm.digest_len();
        let is_hex = !hex.is_empty() && hex.bytes().all(|digit| digit.is_ascii_hexdigit());
        // A whole digest of another algorithm is not a prefix.
        let is_other = hex.len() == 64 && digits != 64;
        if !is_hex || is_other || !(LEAST_DIGITS..=digits).contains(&hex.len()) {
            return Err(FindError::NotADigest(algorithm));
        }
        if let Some(digest) = whole_digest(hex).filter(|_| hex.len() == digits && !is_sparse) {
            return Ok(Self::Digest(digest));
        }
        let nothing = algorithm.digest_of_nothing();
        let mut known = catalog.digests_beginning(hex, 2)?;
        if is_sparse {
            known.retain(Digest::is_sparse);
        } else if nothing.to_hex().starts_with(&hex.to_ascii_lowercase()) {
            known.push(nothing);
        }
        match known.as_slice() {
            [] => Ok(Self::NoDigest(typed.to_ascii_lowercase())),
            [digest] => Ok(Self::Digest(*digest)),
            _ => Err(FindError::Ambiguous),
        }
    }
}

fn whole_digest(hex: &str) -> Option<Digest> {
    let digits = hex.as_bytes().chunks(2);
    let bytes: Option<Vec<u8>> = digits
        .map(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok())
        .collect();
    Digest::from_bytes(&bytes?)
}
