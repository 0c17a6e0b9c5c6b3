//! Files that are known to be corrupted (bit rot): an audit found that their
//! content does not match their digest, although their times have not changed.
//! Such a file is not a copy of anything until an audit finds it OK or a scan
//! finds it changed.

use std::collections::HashSet;
use std::ffi::OsString;

use rusqlite::{Connection, Transaction, params};

use crate::catalog::store::terms::{COPY, CORRUPTED, CopyColumns};
use crate::catalog::store::{CatalogError, ReadOnly, blob, rows, sql};
use crate::catalog::write::{WorkName, WriterHandle, forget_summary};
use crate::model::{Digest, FileState, FolderId, Timestamp};

/// The marks with their files. CROSS: look the few marks up among the files, not
/// all files among the marks.
const MARKED_FILES: &str = "corrupted
    CROSS JOIN files ON files.folder = corrupted.folder AND files.name = corrupted.name
    JOIN folders ON folders.id = files.folder";

/// Marks a name as corrupted.
pub(crate) fn mark(
    transaction: &Transaction<'_>,
    now: Timestamp,
    (folder, name): &WorkName,
    state: &FileState,
    digest: &Digest,
) -> rusqlite::Result<()> {
    let (name, mtime, ctime) = (blob(name), state.mtime_ns, state.ctime_ns);
    let mark =
        "INSERT OR REPLACE INTO corrupted (folder, name, found_at, mtime_ns, ctime_ns, digest)
         SELECT folder, name, ?3, ?4, ?5, ?6 FROM files WHERE folder = ?1 AND name = ?2";
    let values = params![folder, name, now, mtime, ctime, digest.as_bytes()];
    sql::run(transaction, mark, values)?;
    forget_summary(transaction)
}

/// Removes the mark from a name that was found OK, and from the other names of
/// its copy.
pub(crate) fn heal(
    transaction: &Transaction<'_>,
    (folder, name): &WorkName,
) -> rusqlite::Result<()> {
    let values = params![folder, blob(name)];
    let heal = "DELETE FROM corrupted WHERE folder = ?1 AND name = ?2";
    if sql::run(transaction, heal, values)? == 0 {
        return Ok(());
    }
    let others = format!(
        "DELETE FROM corrupted WHERE (folder, name) IN (
             SELECT corrupted.folder, corrupted.name FROM {MARKED_FILES}
               JOIN files AS sound ON sound.folder = ?1 AND sound.name = ?2
               JOIN folders AS its ON its.id = sound.folder
              WHERE {})",
        COPY.is(&CopyColumns::of("its.volume", "sound.ino"))
    );
    sql::run(transaction, &others, values)?;
    forget_summary(transaction)
}

/// Removes the marks of all files in a folder, which will be read again; returns
/// how many there were.
pub(crate) fn forget(connection: &Connection, folder: FolderId) -> rusqlite::Result<usize> {
    sql::run(
        connection,
        "DELETE FROM corrupted WHERE folder = ?1",
        [folder],
    )
}

/// Deletes marks that no longer count, since the file has changed.
pub(crate) fn forget_stale(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(&format!(
        "DELETE FROM corrupted WHERE NOT EXISTS (
             SELECT 1 FROM files
              WHERE files.folder = corrupted.folder AND files.name = corrupted.name AND {CORRUPTED})"
    ))
}

/// Marks the other names of corrupted copies: hard links, and names under another
/// mount point.
pub(crate) fn spread(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    if !sql::value(transaction, "SELECT EXISTS (SELECT 1 FROM corrupted)", [])? {
        return Ok(());
    }
    transaction.execute_batch(&format!(
        "INSERT OR REPLACE INTO corrupted (folder, name, found_at, mtime_ns, ctime_ns, digest)
         WITH marked AS MATERIALIZED (
             SELECT folders.volume AS volume, files.ino AS ino, corrupted.mtime_ns AS mtime_ns,
                    corrupted.ctime_ns AS ctime_ns, corrupted.digest AS digest,
                    max(corrupted.found_at) AS found_at
               FROM {MARKED_FILES}
              WHERE files.ino IS NOT NULL AND {CORRUPTED}
              GROUP BY 1, 2, 3, 4, 5)
         SELECT files.folder, files.name, marked.found_at, files.mtime_ns, files.ctime_ns,
                files.digest
           FROM files JOIN folders ON folders.id = files.folder
           JOIN marked ON {same_copy} AND marked.mtime_ns = files.mtime_ns
                AND marked.ctime_ns = files.ctime_ns AND marked.digest = files.digest",
        same_copy = CopyColumns::of("marked.volume", "marked.ino").is(&COPY)
    ))
}

impl WriterHandle {
    /// Marks all names of corrupted copies.
    pub fn spread_corruption(&self) -> Result<(), CatalogError> {
        self.run(|transaction| Ok(spread(transaction)?))
    }
}

impl ReadOnly {
    /// The live names that are known to be corrupted.
    pub fn corrupted(&self) -> Result<HashSet<(FolderId, OsString)>, CatalogError> {
        let names = format!(
            "SELECT files.folder, files.name FROM {MARKED_FILES}
              WHERE files.removed_in IS NULL AND {CORRUPTED}"
        );
        Ok(sql::all(&self.connection, &names, [], |row| {
            Ok((row.get(0)?, rows::name(row, 1)?))
        })?)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::*;
    use crate::catalog::runs::audits::{AuditFinding, AuditNote};
    use crate::catalog::testing::{Bed, file};
    use crate::catalog::write::Writer;

    fn digest(byte: u8) -> Digest {
        Digest::from_bytes(&[byte; 32]).unwrap()
    }

    /// Tells the catalog what an audit found of a file.
    fn find(bed: &Bed, name: &str, ino: u64, finding: AuditFinding) {
        let run = bed.open().begin_audit(Path::new("")).unwrap().id;
        let folder = bed.reader().folder_at(Path::new("/r")).unwrap().unwrap();
        let writer = Writer::start(bed.open(), 1_000, Duration::from_millis(250)).unwrap();
        let note = AuditNote {
            names: vec![(folder, name.into())],
            state: file(name, 10, ino).state(),
            finding,
        };
        writer.handle().note_audits(run, vec![note]).unwrap();
        writer.handle().spread_corruption().unwrap();
        writer.finish().unwrap();
    }

    fn marked(bed: &Bed) -> Vec<String> {
        let names = bed.reader().corrupted().unwrap().into_iter();
        let mut names: Vec<_> = names
            .map(|(folder, name)| format!("{folder} {}", name.display()))
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_mark_holds_for_all_names_until_one_is_sound() {
        let bed = Bed::new();
        bed.scan(
            "/r",
            &[file("a", 10, 1).content(1), file("b", 10, 2).content(1)],
        );
        bed.scan("/s", &[file("link", 10, 1).content(1)]);
        find(&bed, "a", 1, AuditFinding::Corrupted(digest(1)));
        assert_eq!(marked(&bed).len(), 2, "{:?}", marked(&bed));
        assert_eq!(bed.reader().verify().unwrap(), []);
        find(&bed, "b", 2, AuditFinding::Sound);
        assert_eq!(marked(&bed).len(), 2);
        find(&bed, "a", 1, AuditFinding::Sound);
        assert_eq!(marked(&bed), [""; 0]);
        assert_eq!(bed.count("corrupted"), 0);
    }

    #[test]
    fn a_mark_is_about_one_state_and_one_digest() {
        let bed = Bed::new();
        bed.scan("/r", &[file("a", 10, 1).content(1)]);
        find(&bed, "a", 1, AuditFinding::Corrupted(digest(1)));
        assert_eq!(marked(&bed).len(), 1);
        bed.sql("UPDATE files SET ctime_ns = ctime_ns + 1");
        assert_eq!(marked(&bed).len(), 0);
        bed.sql("UPDATE files SET ctime_ns = ctime_ns - 1, digest = zeroblob(32)");
        assert_eq!(marked(&bed).len(), 0);
        // The next scan that completes sweeps it away.
        bed.scan("/r", &[]);
        assert_eq!(bed.count("corrupted"), 0);
    }

    #[test]
    fn what_will_be_read_again_is_not_known_to_be_corrupted() {
        let bed = Bed::new();
        bed.scan("/r", &[file("a", 10, 1).content(1)]);
        find(&bed, "a", 1, AuditFinding::Corrupted(digest(1)));
        let top = bed.reader().folder_at(Path::new("/r")).unwrap().unwrap();
        assert_eq!(bed.open().distrust(top).unwrap(), 1);
        assert_eq!(bed.count("corrupted"), 0);
    }
}
