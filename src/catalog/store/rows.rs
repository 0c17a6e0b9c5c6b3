//! Conversions between Rust values and column values: names are BLOBs, sizes
//! saturate, inode numbers keep their bit pattern.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rusqlite::Row;
use rusqlite::types::Type;

use crate::model::{Algorithm, Digest, FileState};

/// What is wrong with a digest that no algorithm makes.
pub(crate) const WRONG_LENGTH: &str = "a hash has the wrong length";

/// The bytes of a name, to be bound as a BLOB.
pub(crate) fn blob(name: &OsStr) -> &[u8] {
    name.as_bytes()
}

/// The bytes of a path, to be bound as a BLOB.
pub(crate) fn path_blob(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// Column `index` as a name. One that would lead out of its folder was not
/// written by dupescan and is refused.
pub(crate) fn name(row: &Row<'_>, index: usize) -> rusqlite::Result<OsString> {
    name_ref(row, index).map(OsStr::to_owned)
}

/// [`name`] without a copy.
pub(crate) fn name_ref<'r>(row: &'r Row<'_>, index: usize) -> rusqlite::Result<&'r OsStr> {
    let name = row.get_ref(index)?.as_blob().map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(index, Type::Blob, Box::new(error))
    })?;
    if name.contains(&b'/') || name.contains(&0) || name == b"." || name == b".." {
        let reason = format!("{:?} is not a file name", OsStr::from_bytes(name));
        return Err(malformed(index, &reason));
    }
    Ok(OsStr::from_bytes(name))
}

/// The columns from `first` on as a file's state, in the order of
/// [`STATE`](super::terms::STATE).
pub(crate) fn state(row: &Row<'_>, first: usize) -> rusqlite::Result<FileState> {
    let ino: Option<i64> = row.get(first + 3)?;
    Ok(FileState {
        size: unsigned(row.get(first)?),
        mtime_ns: row.get(first + 1)?,
        ctime_ns: row.get(first + 2)?,
        ino: ino.map(i64::cast_unsigned),
    })
}

/// Column `index` as a digest.
pub(crate) fn digest(row: &Row<'_>, index: usize) -> rusqlite::Result<Option<Digest>> {
    Ok(digest_bytes(row, index)?.and_then(Digest::from_bytes))
}

/// Column `index` as a path.
pub(crate) fn path(row: &Row<'_>, index: usize) -> rusqlite::Result<PathBuf> {
    let path: Vec<u8> = row.get(index)?;
    Ok(PathBuf::from(OsString::from_vec(path)))
}

/// A size or count as SQLite stores it.
pub(crate) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A column that a CHECK keeps non-negative.
pub(crate) fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// Column `index` as the bytes of a digest, without copying them. One of another
/// length was not written by dupescan and is refused.
pub(crate) fn digest_bytes<'a>(
    row: &'a Row<'_>,
    index: usize,
) -> rusqlite::Result<Option<&'a [u8]>> {
    let bytes = row.get_ref(index)?.as_blob_or_null()?;
    match bytes.is_some_and(|bytes| !Algorithm::is_digest_len(bytes.len())) {
        true => Err(malformed(index, WRONG_LENGTH)),
        false => Ok(bytes),
    }
}

/// The error for a column that holds what this program never writes.
fn malformed(index: usize, reason: &str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(index, Type::Blob, reason.into())
}

/// Column `index` as a word of an enumeration.
pub(crate) fn word<T>(
    row: &Row<'_>,
    index: usize,
    parse: impl FnOnce(&str) -> Option<T>,
) -> rusqlite::Result<T> {
    let text: String = row.get(index)?;
    parse(&text).ok_or_else(|| {
        rusqlite::Error::FromSqlConversionFailure(
            index,
            Type::Text,
            format!("unknown word {text:?}").into(),
        )
    })
}

/// Column `index` as an algorithm.
pub(crate) fn algorithm(row: &Row<'_>, index: usize) -> rusqlite::Result<Algorithm> {
    word(row, index, |text| text.parse().ok())
}
