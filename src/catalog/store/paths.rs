//! Whole paths from folder ids. Folders store only their own name, so that a
//! tree 10,000 levels deep stays small and moving a root rewrites one row.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;

use super::error::CatalogError;
use super::read_only::ReadOnly;
use super::rows;
use crate::model::{FolderId, RootId};

/// Bytes of cached paths after which the cache starts over.
const CACHE_BYTES: usize = 4 << 20;

/// Deeper than any filesystem goes: in a damaged catalog, folders may contain each
/// other in a ring.
const MOST_LEVELS: usize = 1_000_000;

/// Caches the paths of folders used recently.
#[derive(Debug, Default)]
pub struct FolderPaths {
    cache: HashMap<FolderId, (RootId, Arc<Path>)>,
    bytes: usize,
}

/// The way from a folder up to one whose path is known: its root, that path, and
/// the folders below it with their names, innermost first.
type Climb = (RootId, PathBuf, Vec<(FolderId, OsString)>);

impl FolderPaths {
    /// The root of a folder and its path below that root.
    pub fn get(
        &mut self,
        catalog: &ReadOnly,
        folder: FolderId,
    ) -> Result<(RootId, Arc<Path>), CatalogError> {
        if let Some(known) = self.cache.get(&folder) {
            return Ok(known.clone());
        }
        let (root, mut path, below) = self.climb(&catalog.connection, folder)?;
        for (level, (id, name)) in below.iter().enumerate().rev() {
            path.push(name);
            if level == 1 {
                // The folder above too: others in it are likely to come next.
                // All of them would take space quadratic in the depth.
                self.remember(*id, root, &path.as_path().into());
            }
        }
        let path: Arc<Path> = path.into();
        self.remember(folder, root, &path);
        Ok((root, path))
    }

    /// Remembers the path of a folder that is known anyway.
    pub fn remember(&mut self, folder: FolderId, root: RootId, path: &Arc<Path>) {
        self.bytes += path.as_os_str().len() + 64;
        if self.bytes > CACHE_BYTES {
            self.cache.clear();
            self.bytes = 0;
        }
        self.cache.insert(folder, (root, Arc::clone(path)));
    }

    /// Walks up to the root or to a cached ancestor.
    fn climb(&self, connection: &Connection, folder: FolderId) -> Result<Climb, CatalogError> {
        let mut below = Vec::new();
        let mut at = folder;
        loop {
            if let Some((root, path)) = self.cache.get(&at) {
                return Ok((*root, path.to_path_buf(), below));
            }
            let (root, parent, name) = connection
                .prepare_cached("SELECT root, parent, name FROM folders WHERE id = ?1")?
                .query_row([at], |row| {
                    Ok((row.get(0)?, row.get(1)?, rows::name(row, 2)?))
                })?;
            match parent {
                Some(parent) => {
                    if below.len() >= MOST_LEVELS {
                        return Err(CatalogError::Damaged);
                    }
                    below.push((at, name));
                    at = parent;
                }
                None => return Ok((root, PathBuf::new(), below)),
            }
        }
    }
}
