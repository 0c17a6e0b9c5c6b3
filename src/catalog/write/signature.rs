//! One hash for all files of a folder. If a listing gives the hash that the
//! folder's row holds, every file is in the state of its row, and none of the
//! rows need be read.
//!
//! The rule that makes this safe: a folder has a signature only while its live
//! rows are exactly the files it was made of, and none of them is racy.
//! Anything but a listing that changes such a row forgets the signature;
//! `verify` computes all of them again.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use rusqlite::{Connection, Row};

use crate::catalog::store::{rows, sql};
use crate::model::{FileState, FolderId};

const LENGTH: usize = 16;

/// The signature of a folder: half of a BLAKE3 hash, long enough that no two
/// listings share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature([u8; LENGTH]);

impl Signature {
    /// What the catalog stores.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The signature in a column, `None` where there is none.
    pub(crate) fn in_row(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Self>> {
        let bytes = row.get_ref(column)?.as_blob_or_null()?;
        Ok(bytes.and_then(|bytes| bytes.try_into().ok()).map(Self))
    }
}

/// Computes a signature of files, which must come in the order of their names.
#[derive(Debug, Default)]
pub struct Signer(Vec<u8>);

impl Signer {
    /// Adds the next file.
    pub fn add(&mut self, name: &OsStr, state: &FileState, is_link: bool) {
        let name = name.as_bytes();
        let (is_known, ino) = match state.ino {
            Some(ino) => (1, ino),
            None => (0, 0),
        };
        // A name contains no NUL, so no two lists of files look the same.
        self.0.extend_from_slice(name);
        self.0
            .extend_from_slice(&[0, is_known | u8::from(is_link) << 1]);
        self.0.extend_from_slice(&state.size.to_le_bytes());
        self.0.extend_from_slice(&state.mtime_ns.to_le_bytes());
        self.0.extend_from_slice(&state.ctime_ns.to_le_bytes());
        self.0.extend_from_slice(&ino.to_le_bytes());
    }

    /// The signature of all files added; starts over for the next folder.
    pub fn finish(&mut self) -> Signature {
        let hash = blake3::hash(&self.0);
        self.0.clear();
        let mut signature = [0; LENGTH];
        signature.copy_from_slice(&hash.as_bytes()[..LENGTH]);
        Signature(signature)
    }
}

/// Forgets a folder's signature: one of its rows changes without a listing.
pub(crate) fn forget(connection: &Connection, folder: FolderId) -> rusqlite::Result<()> {
    let forget = "UPDATE folders SET signature = NULL WHERE id = ?1";
    sql::run(connection, forget, [folder]).map(drop)
}

/// Forgets all signatures.
pub(crate) fn forget_all(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("UPDATE folders SET signature = NULL WHERE signature IS NOT NULL")
}

/// Says which folders have a signature that is not that of their rows, if any.
pub(crate) fn wrong(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let mut folders =
        connection.prepare("SELECT id, signature FROM folders WHERE signature IS NOT NULL")?;
    let mut files = connection.prepare(
        "SELECT name, size, mtime_ns, ctime_ns, ino, racy, link FROM files
          WHERE folder = ?1 AND removed_in IS NULL ORDER BY name",
    )?;
    let mut signer = Signer::default();
    let (mut count, mut first) = (0_u64, None);
    let mut folders = folders.query([])?;
    while let Some(folder) = folders.next()? {
        let id: i64 = folder.get(0)?;
        let (mut files, mut is_racy) = (files.query([id])?, false);
        while let Some(file) = files.next()? {
            signer.add(
                rows::name_ref(file, 0)?,
                &rows::state(file, 1)?,
                file.get(6)?,
            );
            is_racy |= file.get::<_, bool>(5)?;
        }
        if Some(signer.finish()) != Signature::in_row(folder, 1)? || is_racy {
            count += 1;
            first.get_or_insert(id);
        }
    }
    Ok(first.map(|first| {
        format!("folders with a signature of other files: {count} (first: folder {first})")
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATE: FileState = FileState {
        size: 1,
        mtime_ns: 2,
        ctime_ns: 3,
        ino: Some(4),
    };

    fn sign(files: &[(&str, FileState)]) -> Signature {
        let mut signer = Signer::default();
        for (name, state) in files {
            signer.add(OsStr::new(name), state, false);
        }
        signer.finish()
    }

    #[test]
    fn every_name_and_every_part_of_a_state_counts() {
        let alone = sign(&[("a", STATE)]);
        assert_eq!(sign(&[("a", STATE)]), alone);
        let others = [
            FileState { size: 9, ..STATE },
            FileState {
                mtime_ns: 9,
                ..STATE
            },
            FileState {
                ctime_ns: 9,
                ..STATE
            },
            FileState {
                ino: Some(9),
                ..STATE
            },
            FileState { ino: None, ..STATE },
        ];
        for other in others {
            assert_ne!(sign(&[("a", other)]), alone, "{other:?}");
        }
        let mut link = Signer::default();
        link.add(OsStr::new("a"), &STATE, true);
        assert_ne!(link.finish(), alone);
        assert_ne!(sign(&[("b", STATE)]), alone);
        assert_ne!(sign(&[]), alone);
        assert_ne!(sign(&[("a", STATE), ("b", STATE)]), alone);
        let no_inode = FileState { ino: None, ..STATE };
        let inode_zero = FileState {
            ino: Some(0),
            ..STATE
        };
        assert_ne!(sign(&[("a", no_inode)]), sign(&[("a", inode_zero)]));
    }

    #[test]
    fn a_signer_starts_over() {
        let mut signer = Signer::default();
        signer.add(OsStr::new("a"), &STATE, false);
        let first = signer.finish();
        signer.add(OsStr::new("a"), &STATE, false);
        assert_eq!(signer.finish(), first);
    }
}
