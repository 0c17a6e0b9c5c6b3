//! Groups in the order of their first paths: a walk over the folders in path
//! order meets every group at its first path.

use rusqlite::params;

use super::filter::GroupFilter;
use super::ranking::Ranked;
use crate::catalog::query::sweep::{Key, Reader};
use crate::catalog::store::terms::COMPARED;
use crate::catalog::store::{CatalogError, rows, unsigned};
use crate::model::FolderId;

/// A walk over all roots that stops at the first path of each group.
pub(crate) struct PathWalk {
    /// By key and size.
    groups: Vec<Ranked>,
    is_met: Vec<bool>,
    stack: Vec<std::vec::IntoIter<Step>>,
}

/// What a walk does next in a folder.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// One of the groups, by its number.
    File(usize),
    Folder(FolderId),
}

impl PathWalk {
    /// A walk that meets `groups`, which are sorted by key and size.
    pub(crate) fn new(groups: Vec<Ranked>, reader: &Reader) -> Result<Self, CatalogError> {
        let tops = reader.catalog.roots()?.into_iter().map(|root| {
            let path = with_slash(rows::path_blob(&root.path));
            (path, Step::Folder(root.top))
        });
        Ok(Self {
            is_met: vec![false; groups.len()],
            groups,
            stack: vec![in_order(tops.collect())],
        })
    }

    /// The next group.
    pub(crate) fn next(
        &mut self,
        filter: &GroupFilter,
        reader: &mut Reader,
    ) -> Result<Option<Ranked>, CatalogError> {
        while let Some(folder) = self.stack.last_mut() {
            match folder.next() {
                None => drop(self.stack.pop()),
                Some(Step::Folder(id)) => {
                    let steps = self.steps(id, filter, reader)?;
                    self.stack.push(steps);
                }
                Some(Step::File(group)) => {
                    if !std::mem::replace(&mut self.is_met[group], true) {
                        return Ok(Some(self.groups[group]));
                    }
                }
            }
        }
        Ok(None)
    }

    fn find(&self, key: Key, size: u64) -> Option<usize> {
        let found = self.groups.binary_search_by_key(&(key, size), Ranked::id);
        found.ok()
    }

    fn steps(
        &self,
        id: FolderId,
        filter: &GroupFilter,
        reader: &mut Reader,
    ) -> Result<std::vec::IntoIter<Step>, CatalogError> {
        let Reader { catalog, paths } = reader;
        let mut steps = Vec::new();
        let mut folders = catalog
            .connection
            .prepare_cached("SELECT id, name FROM folders WHERE parent = ?1")?;
        let mut found = folders.query([id])?;
        while let Some(row) = found.next()? {
            let name = rows::name(row, 1)?;
            let step = Step::Folder(row.get(0)?);
            steps.push((with_slash(rows::blob(&name)), step));
        }
        let mut files = catalog.connection.prepare_cached(&format!(
            "SELECT size, digest, name FROM files
              WHERE folder = ?1 AND size BETWEEN ?2 AND ?3 AND removed_in IS NULL
                AND link = 0 AND {COMPARED}"
        ))?;
        let sizes = filter.sizes();
        let mut found = files.query(params![id, sizes.start(), sizes.end()])?;
        while let Some(row) = found.next()? {
            let size = row.get(0)?;
            let digest = filter.content(size, rows::digest_bytes(row, 1)?);
            let group = digest.and_then(|digest| self.find(Key::of(digest), unsigned(size)));
            if let Some(group) = group.filter(|group| !self.is_met[*group]) {
                let name = rows::name(row, 2)?;
                if filter.admits(catalog, paths, id, &name)? {
                    steps.push((rows::blob(&name).to_vec(), Step::File(group)));
                }
            }
        }
        Ok(in_order(steps))
    }
}

/// A folder's name as it begins the paths in it: with the slash, `a.txt` sorts
/// before `a/b`.
fn with_slash(name: &[u8]) -> Vec<u8> {
    [name, b"/"].concat()
}

fn in_order(mut steps: Vec<(Vec<u8>, Step)>) -> std::vec::IntoIter<Step> {
    steps.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    let steps: Vec<Step> = steps.into_iter().map(|(_, step)| step).collect();
    steps.into_iter()
}
