//! What a scan ends with: the totals, and the groups and folders with the most
//! reclaimable bytes.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::catalog::{CatalogError, GroupFilter, GroupList, ReadOnly};
use crate::model::{GROUPS_FOR_FOLDERS, Group, Summary, TopFolder, TopGroup};

/// Groups and folders that a summary shows.
const SHOWN: usize = 10;

/// Looks at all files once, for the groups with a copy below one of these paths;
/// without any, for all groups.
pub(crate) fn summarise(reader: ReadOnly, below: Vec<PathBuf>) -> Result<Summary, CatalogError> {
    let filter = GroupFilter {
        limit: Some(GROUPS_FOR_FOLDERS),
        below,
        ..GroupFilter::default()
    };
    let mut list = GroupList::build_beside_scan(reader, filter)?;
    let (mut groups, mut folders) = (Vec::new(), Folders::default());
    while let Some(group) = list.next_group()? {
        folders.add(&group);
        if groups.len() < SHOWN {
            groups.push(TopGroup::from(&group));
        }
    }
    Ok(Summary {
        totals: list.totals(),
        groups,
        folders: folders.top(),
    })
}

/// Redundant copies and their bytes, by folder.
#[derive(Default)]
struct Folders(HashMap<PathBuf, (u64, u64)>);

impl Folders {
    fn add(&mut self, group: &Group) {
        for copy in group.redundant() {
            let folder = copy.path.parent().unwrap_or(Path::new("/"));
            let sums = match self.0.get_mut(folder) {
                Some(sums) => sums,
                None => self.0.entry(folder.to_owned()).or_default(),
            };
            sums.0 += 1;
            sums.1 = sums.1.saturating_add(copy.occupied);
        }
    }

    fn top(self) -> Vec<TopFolder> {
        let folders = self.0.into_iter();
        let mut folders: Vec<_> = folders
            .map(|(path, (copies, reclaimable))| TopFolder {
                path,
                copies,
                reclaimable,
            })
            .collect();
        folders.sort_by(|a, b| (b.reclaimable, &a.path).cmp(&(a.reclaimable, &b.path)));
        folders.truncate(SHOWN);
        folders
    }
}
