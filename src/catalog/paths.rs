//! Whole paths from folder ids. Folders store only their own name, so that a
//! tree 10,000 levels deep stays small and moving a root rewrites one row.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;

use super::{CatalogError, ReadOnly, rows};
use crate::model::{FolderId, RootId};

/// Bytes of cached paths after which the cache starts over.
const CACHE_BYTES: usize = 4 << 20;

/// Deeper than any filesystem goes: the folders of a damaged catalog may lie
/// in each other, in a ring.
const MOST_LEVELS: usize = 1_000_000;

/// Remembers the paths of folders met lately.
#[derive(Debug, Default)]
pub struct FolderPaths {
    cache: HashMap<FolderId, (RootId, Arc<Path>)>,
    bytes: usize,
}

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
        let (root, mut base, names) = self.climb(&catalog.connection, folder)?;
        for name in names.iter().rev() {
            base.push(name);
        }
        let path: Arc<Path> = base.into();
        self.remember(folder, root, &path);
        Ok((root, path))
    }

    /// Walks up to the root or to a cached ancestor: the root's id, the path
    /// of the ancestor, and the names below it, innermost first.
    fn climb(
        &self,
        connection: &Connection,
        folder: FolderId,
    ) -> Result<(RootId, PathBuf, Vec<OsString>), CatalogError> {
        let mut names = Vec::new();
        let mut at = folder;
        loop {
            if let Some((root, path)) = self.cache.get(&at) {
                return Ok((*root, path.to_path_buf(), names));
            }
            let (root, parent, name) = connection
                .prepare_cached("SELECT root, parent, name FROM folders WHERE id = ?1")?
                .query_row([at.0], |row| {
                    let parent: Option<i64> = row.get(1)?;
                    Ok((RootId(row.get(0)?), parent, rows::name(row, 2)?))
                })?;
            match parent {
                Some(parent) => {
                    if names.len() >= MOST_LEVELS {
                        return Err(CatalogError::Damaged);
                    }
                    names.push(name);
                    at = FolderId(parent);
                }
                None => return Ok((root, PathBuf::new(), names)),
            }
        }
    }

    fn remember(&mut self, folder: FolderId, root: RootId, path: &Arc<Path>) {
        self.bytes += path.as_os_str().len() + 64;
        if self.bytes > CACHE_BYTES {
            self.cache.clear();
            self.bytes = 0;
        }
        self.cache.insert(folder, (root, Arc::clone(path)));
    }
}
