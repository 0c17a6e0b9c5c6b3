//! The one connection that may change the catalog: it is opened only after the
//! file was found sound, and brought up to date.

use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::connection::{check_sqlite, configure, temp_files_beside};
use super::error::CatalogError;
use super::files::{create_parent, create_private, locate, require, with_suffix};
use super::integrity::{integrity, integrity_beside_files, is_damage, refuse_damage};
use super::lock::Lock;
use super::read_only::ReadOnly;
use super::schema::{SCHEMA, Schema};
use crate::model::sampling::PROBE_VERSION;
use crate::model::{Algorithm, Durability, Timestamp};

/// Catalogs up to this size, about 100,000 files, are checked as a whole before
/// they are changed.
const CHECKED_AT_MOST: u64 = 8 << 20;
/// Bytes that the WAL keeps when it starts over. A long reader can make it
/// grow further; once that is gone, the file shrinks to this again.
const WAL_KEPT: i64 = 64 << 20;
/// Pages in the WAL after which a commit waits for a checkpoint, 128 MiB. The
/// writer checkpoints by the clock, long before; each checkpoint copies a page
/// once, however often it was changed.
const WAL_PAGES: i64 = 16_384;

/// The one connection that may change the catalog, together with its lock.
pub struct Exclusive {
    pub(crate) connection: Connection,
    lock: Lock,
    path: PathBuf,
}

impl Exclusive {
    /// Opens the catalog for `command`, creating it (mode 0600) with
    /// `algorithm` where there is none.
    pub fn open_or_create(
        path: &Path,
        command: &str,
        algorithm: Algorithm,
    ) -> Result<Self, CatalogError> {
        create_parent(path)?;
        let path = &locate(path)?;
        let lock = Lock::take(path, command)?;
        create_private(path)?;
        Self::open_locked(path, lock, Some(algorithm), &SCHEMA).map_err(|error| error.at(path))
    }

    /// Opens an existing catalog for `command`.
    pub fn open(path: &Path, command: &str) -> Result<Self, CatalogError> {
        Self::open_as(path, command, &SCHEMA)
    }

    /// Opens an existing catalog as a program with this schema does.
    pub(crate) fn open_as(
        path: &Path,
        command: &str,
        schema: &Schema,
    ) -> Result<Self, CatalogError> {
        let path = &require(path)?;
        let lock = Lock::take(path, command)?;
        Self::open_locked(path, lock, None, schema).map_err(|error| error.at(path))
    }

    /// Without an algorithm for a new catalog, one without tables is refused.
    fn open_locked(
        path: &Path,
        lock: Lock,
        algorithm: Option<Algorithm>,
        schema: &Schema,
    ) -> Result<Self, CatalogError> {
        check_sqlite()?;
        let mut connection = Connection::open_with_flags(
            path,
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )?;
        // Closing the last connection would write what an earlier process left in
        // the -wal into the file: not before the file is known to be sound.
        let no_checkpoint = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
        connection.set_db_config(no_checkpoint, true)?;
        let found = schema.version_of(&connection)?;
        if found == 0 && algorithm.is_none() {
            return Err(CatalogError::Empty);
        }
        refuse_damaged(&connection, path)?;
        match schema.is_intact(&connection, found) {
            Ok(true) => {}
            Ok(false) => return Err(CatalogError::Damaged),
            Err(error) if is_damage(&error) => return Err(CatalogError::Damaged),
            Err(error) => return Err(error.into()),
        }
        connection.set_db_config(no_checkpoint, false)?;
        if found == 0 {
            connection.pragma_update(None, "page_size", 8192)?;
        }
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "journal_size_limit", WAL_KEPT)?;
        connection.pragma_update(None, "wal_autocheckpoint", WAL_PAGES)?;
        connection.pragma_update(None, "cache_size", -8192)?;
        configure(&connection)?;
        temp_files_beside(&connection, path)?;
        make_tables(
            &mut connection,
            schema,
            algorithm.unwrap_or(Algorithm::Sha256),
        )?;
        if found == 0 {
            // Before the first checkpoint a power cut would leave a database without
            // tables, which looks like a foreign one.
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        }
        Ok(Self {
            connection,
            lock,
            path: path.to_owned(),
        })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sets how much of what this connection commits a power cut may lose.
    pub fn set_durability(&self, durability: Durability) -> Result<(), CatalogError> {
        let level = match durability {
            Durability::Normal => "NORMAL",
            Durability::Full => "FULL",
        };
        Ok(self.connection.pragma_update(None, "synchronous", level)?)
    }

    /// Another connection to the same file, for reading only.
    pub fn reader(&self) -> Result<ReadOnly, CatalogError> {
        ReadOnly::open(&self.path)
    }

    /// Splits into what the writer thread needs and the lock to keep.
    pub(crate) fn into_parts(self) -> (Connection, Lock) {
        (self.connection, self.lock)
    }
}

/// Checks a catalog before it is changed, so that a damaged one stays as it is. A
/// small one is checked completely, a larger one without `files`: that would
/// double the time of a rescan, and the rest takes a hundredth of it. Damage in
/// `files` shows when a query meets it, or with `dupescan verify`.
fn refuse_damaged(connection: &Connection, path: &Path) -> Result<(), CatalogError> {
    let length = |path: PathBuf| std::fs::metadata(path).map_or(0, |file| file.len());
    let is_small = length(path.to_owned()) + length(with_suffix(path, "-wal")) <= CHECKED_AT_MOST;
    let complaints = if is_small {
        integrity(connection)
    } else {
        integrity_beside_files(connection)
    };
    refuse_damage(complaints)
}

/// Brings the tables up to date, and says once which algorithm a new catalog
/// has. In one transaction, since a kill between the two would leave a catalog
/// that no command can use.
fn make_tables(
    connection: &mut Connection,
    schema: &Schema,
    algorithm: Algorithm,
) -> Result<(), CatalogError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    schema.migrate(&transaction)?;
    // Only while no file is known: in place of a lost row this would be a guess
    // about the algorithm.
    transaction.execute(
        "INSERT INTO catalog (id, identity, algorithm, probe_version, unsettled, created_at)
         SELECT 1, lower(hex(randomblob(16))), ?1, ?2, 0, ?3 WHERE NOT EXISTS (SELECT 1 FROM files)
         ON CONFLICT DO NOTHING",
        (algorithm.name(), PROBE_VERSION, Timestamp::now().0),
    )?;
    Ok(transaction.commit()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version_of(path: &Path) -> i32 {
        SCHEMA
            .version_of(&ReadOnly::open(path).unwrap().connection)
            .unwrap()
    }

    #[test]
    fn a_new_catalog_is_private_and_has_the_current_version() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a b%?#/catalog.db");
        let catalog = Exclusive::open_or_create(&path, "scan", Algorithm::Blake3).unwrap();
        assert_eq!(version_of(&path), SCHEMA.version());
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        drop(catalog);
        assert_eq!(version_of(&path), SCHEMA.version());
    }

    #[test]
    fn a_new_catalog_does_not_depend_on_its_wal() {
        let folder = tempfile::tempdir().unwrap();
        let (path, copy) = (folder.path().join("a.db"), folder.path().join("b.db"));
        let _catalog = Exclusive::open_or_create(&path, "scan", Algorithm::Blake3).unwrap();
        std::fs::copy(&path, &copy).unwrap();
        assert_eq!(version_of(&copy), SCHEMA.version());
    }

    #[test]
    fn a_foreign_database_and_a_text_file_are_refused_untouched() {
        let folder = tempfile::tempdir().unwrap();
        let foreign = folder.path().join("foreign.db");
        Connection::open(&foreign)
            .unwrap()
            .execute_batch("CREATE TABLE t (x)")
            .unwrap();
        let text = folder.path().join("notes.txt");
        std::fs::write(
            &text,
            "not a database, but long enough to look at".repeat(30),
        )
        .unwrap();
        for path in [foreign, text] {
            let before = std::fs::read(&path).unwrap();
            assert!(Exclusive::open_or_create(&path, "scan", Algorithm::Sha256).is_err());
            assert!(ReadOnly::open(&path).is_err());
            assert_eq!(std::fs::read(&path).unwrap(), before, "{path:?}");
        }
    }

    #[test]
    fn durability_reaches_sqlite() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("catalog.db");
        let catalog = Exclusive::open_or_create(&path, "scan", Algorithm::Sha256).unwrap();
        let synchronous = || -> i64 {
            let level = catalog
                .connection
                .pragma_query_value(None, "synchronous", |row| row.get(0));
            level.unwrap()
        };
        assert_eq!(synchronous(), 1);
        catalog.set_durability(Durability::Full).unwrap();
        assert_eq!(synchronous(), 2);
        catalog.set_durability(Durability::Normal).unwrap();
        assert_eq!(synchronous(), 1);
    }

    #[test]
    fn readers_cannot_write() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("catalog.db");
        let catalog = Exclusive::open_or_create(&path, "scan", Algorithm::Sha256).unwrap();
        let reader = catalog.reader().unwrap();
        assert!(
            reader
                .connection
                .execute("DELETE FROM catalog", [])
                .is_err()
        );
    }
}
