//! Reading the whole `files` table on several connections at once, each
//! taking ranges of folders, all of them on one snapshot. What is gathered from
//! the rows is up to a [`Pass`].

mod part;

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;

use rusqlite::{Row, Rows};

pub(crate) use part::{Key, Keyed, Part, Parts, Sink};

use crate::catalog::store::{CatalogError, FolderPaths, ReadOnly, sql};
use crate::model::{CopyId, Reach, RootId, VolumeId};

/// More connections than this only wait for each other's memory.
const MOST_READERS: usize = 4;
/// Below this a second connection takes longer to open than it saves.
const WORTH_SHARING: i64 = 4 << 20;
/// Ranges of folders per connection: folders differ in size, and a connection
/// that finishes early takes another range.
const RANGES_EACH: i64 = 16;
/// Attempts to get a snapshot common to all connections.
const SNAPSHOT_ATTEMPTS: usize = 10;

/// Rows that a thread gathers before it hands them over.
const BATCH: usize = 1024;

/// Selects the folders of a range for [`Places`].
const PLACES: &str =
    "SELECT id, root, volume, linked FROM folders WHERE id BETWEEN ?1 AND ?2 ORDER BY id";

impl ReadOnly {
    /// About how many live files there are, by what the catalog claims.
    pub(crate) fn files_expected(&self) -> Result<usize, CatalogError> {
        let files = "SELECT ifnull(sum(files), 0) FROM roots";
        let files: i64 = sql::value(&self.connection, files, [])?;
        Ok(usize::try_from(files).unwrap_or(0))
    }
}

/// One connection, and the paths it used recently.
pub(crate) struct Reader {
    pub(crate) catalog: ReadOnly,
    pub(crate) paths: FolderPaths,
}

/// Connections to one catalog that share the work of a sweep.
pub(crate) struct Readers {
    all: Vec<Reader>,
    /// How many of them see the same snapshot.
    active: usize,
}

/// Gathers something from all files, on several threads.
pub(crate) trait Pass: Sync {
    /// What a thread gathers.
    type Batch: Keyed + Default;
    /// Selects files of the folders ?1 to ?2, by folder, which is the first
    /// column.
    fn sql(&self) -> &str;
    /// Where batches go.
    fn sink(&self) -> &Sink<Self::Batch>;
    /// Takes what is wanted of a row.
    fn take(
        &self,
        row: &Row<'_>,
        at: &mut Position<'_>,
        batch: &mut Self::Batch,
    ) -> Result<(), CatalogError>;
}

/// How far a thread has come in its range of folders.
pub(crate) struct Position<'a> {
    pub(crate) catalog: &'a ReadOnly,
    pub(crate) paths: &'a mut FolderPaths,
    places: Places<'a>,
}

impl Position<'_> {
    /// Where the file of a row is; `None` if its folder does not exist. Rows must
    /// come in the order of their folders.
    pub(crate) fn place(&mut self, row: &Row<'_>) -> Result<Option<Place>, CatalogError> {
        self.places.find(row.get(0)?)
    }
}

/// The first and the last of a range of folder ids.
type FolderRange = [i64; 2];

impl Readers {
    /// As many connections as are worth having.
    pub(crate) fn open(catalog: ReadOnly) -> Result<Self, CatalogError> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let bytes = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
        match sql::value::<i64>(&catalog.connection, bytes, [])? < WORTH_SHARING {
            true => Self::of(catalog, 1),
            false => Self::of(catalog, cores.min(MOST_READERS)),
        }
    }

    /// This many connections.
    pub(crate) fn of(catalog: ReadOnly, count: usize) -> Result<Self, CatalogError> {
        let siblings: Vec<ReadOnly> = (1..count)
            .map(|_| catalog.sibling())
            .collect::<Result<_, _>>()?;
        let all = std::iter::once(catalog).chain(siblings);
        Ok(Self {
            all: all
                .map(|catalog| Reader {
                    catalog,
                    paths: FolderPaths::default(),
                })
                .collect(),
            active: 1,
        })
    }

    /// The connection for everything that is not shared.
    pub(crate) fn first(&mut self) -> &mut Reader {
        &mut self.all[0]
    }

    /// Does `work` on one snapshot, which is released afterwards.
    pub(crate) fn on_snapshot<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, CatalogError>,
    ) -> Result<T, CatalogError> {
        self.begin()?;
        let done = work(self);
        let ended = self.end();
        let done = done?;
        ended.map(|()| done)
    }

    /// Opens a read transaction on every connection. The first one begins
    /// last: if nothing was committed since it was asked before, all the
    /// others began on the same snapshot. If a writer never pauses, one connection
    /// does all the work.
    fn begin(&mut self) -> Result<(), CatalogError> {
        for _ in 0..SNAPSHOT_ATTEMPTS {
            let before = self.all[0].data_version()?;
            for reader in self.all.iter().rev() {
                reader.begin()?;
            }
            self.active = self.all.len();
            if self.all[0].data_version()? == before {
                return Ok(());
            }
            self.end()?;
        }
        self.active = 1;
        self.all[0].begin()
    }

    fn end(&self) -> Result<(), CatalogError> {
        for reader in &self.all[..self.active] {
            reader.catalog.connection.execute_batch("COMMIT")?;
        }
        Ok(())
    }

    /// Takes `pass` over the files of every folder. Ends at the first error.
    pub(crate) fn sweep(&mut self, pass: &impl Pass) -> Result<(), CatalogError> {
        let ranges = self.ranges()?;
        let failed = AtomicBool::new(false);
        let work = |reader: &mut Reader| {
            while !failed.load(Ordering::Relaxed)
                && let Some(range) = ranges.take()
            {
                let visited = reader.visit(pass, range);
                visited.inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
            }
            Ok(())
        };
        let (first, others) = self.all[..self.active]
            .split_first_mut()
            .expect("there is at least one connection");
        thread::scope(|scope| {
            // Without another thread the first does all the work.
            let spawn = |reader| thread::Builder::new().spawn_scoped(scope, || work(reader));
            let others: Vec<_> = others.iter_mut().flat_map(spawn).collect();
            let done = work(first);
            others.into_iter().fold(done, |done, other| {
                done.and(other.join().unwrap_or_else(|panic| resume_unwind(panic)))
            })
        })
    }

    fn ranges(&self) -> Result<Ranges, CatalogError> {
        let (first, last): (i64, i64) = self.all[0].catalog.connection.query_row(
            "SELECT ifnull(min(id), 0), ifnull(max(id), -1) FROM folders",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        let parts = i64::try_from(self.active).unwrap_or(1) * RANGES_EACH;
        Ok(Ranges {
            next: AtomicI64::new(first),
            last,
            width: last.saturating_sub(first) / parts + 1,
        })
    }
}

impl Reader {
    /// Takes `pass` over a range of folders.
    fn visit<P: Pass>(&mut self, pass: &P, range: FolderRange) -> Result<(), CatalogError> {
        let Self { catalog, paths } = self;
        let mut folders = catalog.connection.prepare_cached(PLACES)?;
        let mut at = Position {
            catalog,
            paths,
            places: Places {
                rows: folders.query(range)?,
                at: None,
            },
        };
        let mut files = catalog.connection.prepare_cached(pass.sql())?;
        let mut rows = files.query(range)?;
        let mut batch = P::Batch::default();
        while let Some(row) = rows.next()? {
            pass.take(row, &mut at, &mut batch)?;
            if batch.len() >= BATCH {
                pass.sink().add(&mut batch);
            }
        }
        pass.sink().add(&mut batch);
        Ok(())
    }

    fn data_version(&self) -> Result<i64, CatalogError> {
        let connection = &self.catalog.connection;
        Ok(sql::value(connection, "PRAGMA data_version", [])?)
    }

    fn begin(&self) -> Result<(), CatalogError> {
        let connection = &self.catalog.connection;
        connection.execute_batch("BEGIN")?;
        // Only reading makes it a snapshot.
        connection.query_row("SELECT count(*) FROM catalog", [], |_| Ok(()))?;
        Ok(())
    }
}

/// The folder ids that nobody has taken yet.
struct Ranges {
    next: AtomicI64,
    last: i64,
    width: i64,
}

impl Ranges {
    fn take(&self) -> Option<FolderRange> {
        let first = self.next.fetch_add(self.width, Ordering::Relaxed);
        let last = first.saturating_add(self.width - 1);
        (first <= self.last).then(|| [first, self.last.min(last)])
    }
}

/// Root and volume of the files of one folder.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    id: i64,
    pub(crate) root: RootId,
    pub(crate) volume: Option<VolumeId>,
    is_linked: bool,
}

impl Place {
    /// How a name here leads to its file.
    pub(crate) fn reach(&self, is_link: bool) -> Reach {
        Reach::of(is_link, self.is_linked)
    }

    /// The copy of a file with this inode here.
    pub(crate) fn copy(&self, ino: Option<i64>) -> Option<CopyId> {
        CopyId::of(self.volume, ino.map(i64::cast_unsigned))
    }
}

/// The places of a range of folders, read along with its files: a merge join,
/// without a lookup for every file.
struct Places<'a> {
    rows: Rows<'a>,
    at: Option<Place>,
}

impl Places<'_> {
    /// The place of a folder whose id is not smaller than the one before;
    /// `None` for one that does not exist.
    fn find(&mut self, folder: i64) -> Result<Option<Place>, CatalogError> {
        while self.at.is_none_or(|at| at.id < folder) {
            let Some(row) = self.rows.next()? else {
                return Ok(None);
            };
            self.at = Some(Place {
                id: row.get(0)?,
                root: row.get(1)?,
                volume: row.get(2)?,
                is_linked: row.get(3)?,
            });
        }
        Ok(self.at.filter(|at| at.id == folder))
    }
}
