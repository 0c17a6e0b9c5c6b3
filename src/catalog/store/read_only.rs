//! Reading connections, also during a scan and on read-only media.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;

use super::connection::{check_sqlite, is_cant_open, open_read_only};
use super::error::CatalogError;
use super::files::{has_wal, require};
use super::schema::{SCHEMA, Schema};

/// A connection that cannot change the catalog.
pub struct ReadOnly {
    pub(crate) connection: Connection,
    path: PathBuf,
    stopped: Option<Stopped>,
}

/// Says whether long queries should stop.
type Stopped = Arc<dyn Fn() -> bool + Send + Sync>;

impl ReadOnly {
    /// Opens an existing catalog; works while a scan writes to it, and on
    /// read-only media.
    pub fn open(path: &Path) -> Result<Self, CatalogError> {
        Self::open_as(path, &SCHEMA)
    }

    /// Opens an existing catalog as a program with this schema does.
    pub(crate) fn open_as(path: &Path, schema: &Schema) -> Result<Self, CatalogError> {
        let path = &require(path)?;
        let catalog = Self::try_open(path, schema).map_err(|error| error.at(path))?;
        let refused = catalog.refuse_older(schema);
        refused.map_err(|error| error.at(path)).map(|()| catalog)
    }

    /// Opens an existing catalog, of an older version too, to check its file.
    pub fn open_to_check(path: &Path) -> Result<Self, CatalogError> {
        let path = &require(path)?;
        Self::try_open(path, &SCHEMA).map_err(|error| error.at(path))
    }

    /// Fails where the tables are not those that this program reads.
    pub(crate) fn refuse_older(&self, schema: &Schema) -> Result<(), CatalogError> {
        let (found, known) = (schema.version_of(&self.connection)?, schema.version());
        match found == known {
            true => Ok(()),
            false => Err(CatalogError::Older { found, known }),
        }
    }

    /// Reads several things as they are at one moment: faster than one by one.
    pub(crate) fn at_one_moment<T, E: From<CatalogError>>(
        &self,
        read: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let moment = self.connection.unchecked_transaction();
        let _moment = moment.map_err(CatalogError::from)?;
        read()
    }

    fn try_open(path: &Path, schema: &Schema) -> Result<Self, CatalogError> {
        check_sqlite()?;
        let connection = match open_read_only(path, "mode=ro") {
            // A read-only folder cannot hold the -shm file. Without a -wal
            // nothing is missing from the main file, and nobody can write it.
            Err(CatalogError::Sqlite(error)) if is_cant_open(&error) && !has_wal(path) => {
                open_read_only(path, "immutable=1")?
            }
            other => other?,
        };
        if schema.version_of(&connection)? == 0 {
            return Err(CatalogError::Empty);
        }
        Ok(Self {
            connection,
            path: path.to_owned(),
            stopped: None,
        })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Another connection to the same catalog, interrupted when this one is.
    pub(crate) fn sibling(&self) -> Result<Self, CatalogError> {
        let mut sibling = Self::open(&self.path)?;
        if let Some(stopped) = &self.stopped {
            sibling.interrupt_by(Arc::clone(stopped))?;
        }
        Ok(sibling)
    }

    /// Makes long queries stop with an error once `stopped` says so.
    pub fn interrupt_when<F: Fn() -> bool + Send + Sync + 'static>(
        &mut self,
        stopped: F,
    ) -> Result<(), CatalogError> {
        self.interrupt_by(Arc::new(stopped))
    }

    fn interrupt_by(&mut self, stopped: Stopped) -> Result<(), CatalogError> {
        let asked = Arc::clone(&stopped);
        self.connection
            .progress_handler(10_000, Some(move || asked()))?;
        self.stopped = Some(stopped);
        Ok(())
    }
}
