//! Which files a scan has to open. The candidates are copied into a temporary
//! table once per stage and read back in pages, so that no statement stays
//! open while files are read and memory does not grow with their number.

use std::ffi::OsString;

use rusqlite::{Connection, Row};

use crate::catalog::store::{CatalogError, Pages, ReadOnly, rows, signed, unsigned};
use crate::model::{FileState, FolderId, RootId, VolumeId};

/// True of a group of rows that are more than one copy: a copy is one
/// (volume, inode), and each path where inodes are not stable (NULL).
pub(crate) const SEVERAL_COPIES: &str = "count(*) > 1 AND (count(files.ino) < count(*)
    OR min(files.ino) <> max(files.ino) OR min(folders.volume) <> max(folders.volume))";

/// Which of the unresolved files are wanted.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Smallest size that is hashed.
    pub min_size: Option<u64>,
    /// Largest size that is hashed.
    pub max_size: Option<u64>,
    /// Every file without a digest, not only possible duplicates.
    pub hash_all: bool,
    /// Roots whose files can be opened now.
    pub online: Vec<RootId>,
    /// Only files of these sizes, for a retry of particular files.
    pub sizes: Option<Vec<u64>>,
}

/// A name of a copy: its folder and its name in it.
pub type WorkName = (FolderId, OsString);

/// One copy to be opened, under all the names that share its state.
#[derive(Debug, Clone)]
pub struct WorkCopy {
    /// Its names; at least one.
    pub names: Vec<WorkName>,
    /// The state the catalog holds.
    pub state: FileState,
    /// The volume it lies on.
    pub volume: VolumeId,
}

impl WorkCopy {
    /// Whether another one is the same file under other names.
    pub fn is_same_file(&self, other: &Self) -> bool {
        self.state.ino.is_some() && self.volume == other.volume && self.state == other.state
    }
}

/// Files that agree in size and probe and of which some are unresolved.
#[derive(Debug, Clone)]
pub struct HashClass {
    /// The common size.
    pub size: u64,
    /// Whether even a copy that equals no other here needs its digest,
    /// because it must be compared with files that are not read now.
    pub must_digest: bool,
    /// The copies to read.
    pub copies: Vec<WorkCopy>,
}

/// The candidates of one stage, handed out page by page.
pub struct Candidates {
    catalog: ReadOnly,
    rows: Pages<WorkRow>,
    /// Number of copies in all.
    pub files: u64,
    /// Bytes in them.
    pub bytes: u64,
}

struct WorkRow {
    class: i64,
    must_digest: bool,
    volume: VolumeId,
    state: FileState,
    name: WorkName,
}

impl Candidates {
    /// Files to probe, in (volume, inode) order: those without probe and
    /// digest whose size occurs in more than one copy.
    pub fn to_probe(catalog: ReadOnly, selection: &Selection) -> Result<Self, CatalogError> {
        let connection = &catalog.connection;
        prepare(connection, selection)?;
        let shared = if selection.hash_all {
            "true".to_owned()
        } else {
            connection.execute_batch(&format!(
                "DROP TABLE IF EXISTS temp.shared_sizes;
                 CREATE TEMP TABLE shared_sizes (size INTEGER PRIMARY KEY);
                 INSERT INTO temp.shared_sizes
                 SELECT files.size FROM files JOIN folders ON folders.id = files.folder
                  WHERE files.removed_in IS NULL AND {}
                  GROUP BY files.size
                 HAVING {SEVERAL_COPIES} AND sum(files.digest IS NULL AND files.probe IS NULL) > 0",
                selection.condition()
            ))?;
            "files.size IN (SELECT size FROM temp.shared_sizes)".to_owned()
        };
        connection.execute_batch(&format!(
            "INSERT INTO temp.work (class, must_digest, volume, ino, size, mtime_ns, ctime_ns, folder, name)
             SELECT 0, 0, folders.volume, files.ino, files.size, files.mtime_ns, files.ctime_ns,
                    files.folder, files.name
               FROM files JOIN folders ON folders.id = files.folder
               JOIN temp.online ON online.root = folders.root
              WHERE files.removed_in IS NULL AND files.digest IS NULL AND files.probe IS NULL
                AND {} AND {shared}
              ORDER BY folders.volume, files.ino, files.folder, files.name",
            selection.condition()
        ))?;
        Self::over(catalog)
    }

    /// Classes to read whole, those first that would free most.
    pub fn to_hash(catalog: ReadOnly, selection: &Selection) -> Result<Self, CatalogError> {
        let connection = &catalog.connection;
        prepare(connection, selection)?;
        // As SEVERAL_COPIES, of the live ones.
        let wanted = if selection.hash_all {
            "sum(live AND NOT digested) > 0"
        } else {
            "sum(live) > 1 AND (count(ino) < sum(live) OR min(ino) <> max(ino)
                                OR min(volume) <> max(volume))
             AND sum(live AND NOT digested AND NOT settled) > 0"
        };
        // Digests made earlier, members that cannot be read now and files that
        // may come back are compared by digest: then every member read needs
        // one.
        connection.execute_batch(&format!(
            "DROP TABLE IF EXISTS temp.classes;
             CREATE TEMP TABLE classes (
                 size INTEGER, probe INTEGER, frees INTEGER, must_digest INTEGER,
                 PRIMARY KEY (size, probe)) WITHOUT ROWID;
             WITH members AS (
                 SELECT files.size AS size, files.probe AS probe,
                        files.removed_in IS NULL AS live, files.digest IS NOT NULL AS digested,
                        files.settled_in IS NOT NULL AS settled, online.root IS NULL AS offline,
                        CASE WHEN files.removed_in IS NULL THEN files.ino END AS ino,
                        CASE WHEN files.removed_in IS NULL THEN folders.volume END AS volume
                   FROM files JOIN folders ON folders.id = files.folder
                   LEFT JOIN temp.online ON online.root = folders.root
                  WHERE files.probe IS NOT NULL AND {condition})
             INSERT INTO temp.classes
             SELECT size, probe, size * (sum(live) - 1),
                    {hash_all} OR max(digested OR (live AND offline))
               FROM members GROUP BY size, probe HAVING {wanted};
             INSERT INTO temp.work (class, must_digest, volume, ino, size, mtime_ns, ctime_ns, folder, name)
             SELECT classes.probe, classes.must_digest, folders.volume, files.ino, files.size,
                    files.mtime_ns, files.ctime_ns, files.folder, files.name
               FROM files JOIN folders ON folders.id = files.folder
               JOIN temp.online ON online.root = folders.root
               JOIN temp.classes ON classes.size = files.size AND classes.probe = files.probe
              WHERE files.removed_in IS NULL AND files.digest IS NULL
              ORDER BY classes.frees DESC, classes.size, classes.probe,
                       folders.volume, files.ino, files.folder, files.name",
            hash_all = selection.hash_all,
            condition = selection.condition(),
        ))?;
        Self::over(catalog)
    }

    fn over(catalog: ReadOnly) -> Result<Self, CatalogError> {
        let (files, bytes): (i64, i64) = catalog.connection.query_row(
            // Rows of one copy are names of one file: it is read once.
            "SELECT count(*), coalesce(sum(size), 0) FROM (
                 SELECT size FROM temp.work GROUP BY volume, ifnull(ino, -id), size)",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        Ok(Self {
            catalog,
            rows: Pages::new(WORK, work_row),
            files: unsigned(files),
            bytes: unsigned(bytes),
        })
    }

    /// The next copies to probe, at most `limit`; empty at the end.
    pub fn next_batch(&mut self, limit: usize) -> Result<Vec<WorkCopy>, CatalogError> {
        let mut copies: Vec<WorkCopy> = Vec::new();
        while let Some(row) = self.peek()? {
            if copies.len() >= limit && !copies.last().is_some_and(|last| row.is_name_of(last)) {
                break;
            }
            self.take_into(&mut copies)?;
        }
        Ok(copies)
    }

    /// The next class to read whole; `None` at the end.
    pub fn next_class(&mut self) -> Result<Option<HashClass>, CatalogError> {
        let Some(first) = self.peek()? else {
            return Ok(None);
        };
        let (size, probe, must_digest) = (first.state.size, first.class, first.must_digest);
        let mut copies = Vec::new();
        while let Some(row) = self.peek()? {
            if row.state.size != size || row.class != probe {
                break;
            }
            self.take_into(&mut copies)?;
        }
        Ok(Some(HashClass {
            size,
            must_digest,
            copies,
        }))
    }

    fn peek(&mut self) -> Result<Option<&WorkRow>, CatalogError> {
        Ok(self.rows.peek(&self.catalog.connection)?)
    }

    /// Moves the next row into `copies`, as another name of the last copy
    /// where it is one.
    fn take_into(&mut self, copies: &mut Vec<WorkCopy>) -> Result<(), CatalogError> {
        let Some(row) = self.rows.next(&self.catalog.connection)? else {
            return Ok(());
        };
        match copies.last_mut() {
            Some(last) if row.is_name_of(last) => last.names.push(row.name),
            _ => copies.push(WorkCopy {
                names: vec![row.name],
                state: row.state,
                volume: row.volume,
            }),
        }
        Ok(())
    }
}

/// The rows to read, by page.
const WORK: &str =
    "SELECT id, class, must_digest, volume, ino, size, mtime_ns, ctime_ns, folder, name
       FROM temp.work WHERE id > ?1 ORDER BY id LIMIT ?2";

impl WorkRow {
    fn is_name_of(&self, copy: &WorkCopy) -> bool {
        self.state.ino.is_some() && self.volume == copy.volume && self.state == copy.state
    }
}

fn work_row(row: &Row<'_>) -> rusqlite::Result<WorkRow> {
    Ok(WorkRow {
        class: row.get(1)?,
        must_digest: row.get(2)?,
        volume: VolumeId(row.get(3)?),
        state: FileState {
            ino: row.get::<_, Option<i64>>(4)?.map(i64::cast_unsigned),
            size: unsigned(row.get(5)?),
            mtime_ns: row.get(6)?,
            ctime_ns: row.get(7)?,
        },
        name: (FolderId(row.get(8)?), rows::name(row, 9)?),
    })
}

impl Selection {
    /// The condition on `files.size` as SQL; made of numbers only.
    fn condition(&self) -> String {
        let low = signed(self.min_size.unwrap_or(1).max(1));
        let high = signed(self.max_size.unwrap_or(u64::MAX));
        let listed = match self.sizes {
            Some(_) => " AND files.size IN (SELECT size FROM temp.wanted_sizes)",
            None => "",
        };
        format!("files.size BETWEEN {low} AND {high}{listed}")
    }
}

/// Fills the temporary tables that every selection starts from.
fn prepare(connection: &Connection, selection: &Selection) -> Result<(), CatalogError> {
    connection.execute_batch(
        "DROP TABLE IF EXISTS temp.work;
         CREATE TEMP TABLE work (
             id INTEGER PRIMARY KEY, class INTEGER, must_digest INTEGER, volume INTEGER,
             ino INTEGER, size INTEGER, mtime_ns INTEGER, ctime_ns INTEGER,
             folder INTEGER, name BLOB);
         DROP TABLE IF EXISTS temp.online;
         CREATE TEMP TABLE online (root INTEGER PRIMARY KEY);
         DROP TABLE IF EXISTS temp.wanted_sizes;
         CREATE TEMP TABLE wanted_sizes (size INTEGER PRIMARY KEY);",
    )?;
    let mut insert = connection.prepare("INSERT INTO temp.online VALUES (?1)")?;
    for root in &selection.online {
        insert.execute([root.0])?;
    }
    let mut insert = connection.prepare("INSERT OR IGNORE INTO temp.wanted_sizes VALUES (?1)")?;
    for size in selection.sizes.iter().flatten() {
        insert.execute([signed(*size)])?;
    }
    Ok(())
}

impl HashClass {
    /// Splits a class that is too large to be read in step into parts whose
    /// digests are compared instead.
    pub fn split(self, most: usize) -> Vec<Self> {
        if self.copies.len() <= most {
            return vec![self];
        }
        let mut parts = Vec::with_capacity(self.copies.len() / most + 1);
        let mut copies = self.copies.into_iter().peekable();
        while copies.peek().is_some() {
            parts.push(Self {
                size: self.size,
                must_digest: true,
                copies: copies.by_ref().take(most).collect(),
            });
        }
        parts
    }
}
