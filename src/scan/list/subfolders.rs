//! Pairing the subfolders found in a folder with those the catalog knows.
//! Pure.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use crate::catalog::{KnownFolder, Signature};
use crate::model::{FolderId, VolumeId};

/// A subfolder in scope.
#[derive(Debug)]
pub(crate) struct Subfolder {
    pub(crate) id: FolderId,
    pub(crate) name: OsString,
    pub(crate) is_link: bool,
    pub(crate) is_new: bool,
    pub(crate) returned: bool,
    pub(crate) was_mount_point: bool,
    /// The signature that the catalog holds of its files.
    pub(crate) signature: Option<Signature>,
    /// Whether the catalog knows live subfolders of it.
    pub(crate) has_subfolders: bool,
    /// The volume that the catalog holds of it.
    pub(crate) volume: Option<VolumeId>,
}

/// All subfolders of a folder, and those that are gone.
#[derive(Debug, Default)]
pub(crate) struct Subfolders {
    pub(crate) all: Vec<Subfolder>,
    pub(crate) vanished: Vec<(FolderId, OsString)>,
    /// Gone together with what was mounted on them: desktops remove the
    /// folder when the disk is unplugged.
    pub(crate) unplugged: Vec<OsString>,
}

impl Subfolders {
    /// Pairs what was found (sorted by name, with whether a link leads there)
    /// with the rows (sorted by name). Rows named in `unsure` stay as they are.
    pub(crate) fn pair(
        found: &[(OsString, bool)],
        unsure: &[OsString],
        known: Vec<KnownFolder>,
        allow_empty: bool,
        allocate: impl Fn() -> FolderId,
    ) -> Self {
        let mut result = Self::default();
        let mut known = known.into_iter().peekable();
        for (name, is_link) in found {
            while let Some(row) = known.next_if(|row| row.name.as_bytes() < name.as_bytes()) {
                result.pass_over(row, unsure, allow_empty);
            }
            let row = known.next_if(|row| row.name == *name);
            result.all.push(Subfolder {
                id: row.as_ref().map_or_else(&allocate, |row| row.id),
                name: name.clone(),
                is_link: *is_link,
                is_new: row.is_none(),
                returned: row.as_ref().is_some_and(|row| row.removed),
                was_mount_point: row.as_ref().is_some_and(|row| row.mount_point),
                has_subfolders: row.as_ref().is_some_and(|row| row.has_subfolders),
                volume: row.as_ref().and_then(|row| row.volume),
                signature: row.and_then(|row| row.signature),
            });
        }
        for row in known {
            result.pass_over(row, unsure, allow_empty);
        }
        result
    }

    /// Treats folders with a mount point somewhere below them as unplugged too.
    pub(crate) fn keep_unplugged<E>(
        &mut self,
        holds_mount_point: impl Fn(FolderId) -> Result<bool, E>,
    ) -> Result<(), E> {
        for (id, name) in std::mem::take(&mut self.vanished) {
            if holds_mount_point(id)? {
                self.unplugged.push(name);
            } else {
                self.vanished.push((id, name));
            }
        }
        Ok(())
    }

    /// A row without a folder in scope: gone, unless it is out of scope.
    fn pass_over(&mut self, row: KnownFolder, unsure: &[OsString], allow_empty: bool) {
        let is_unsure = unsure
            .binary_search_by(|name| name.as_bytes().cmp(row.name.as_bytes()))
            .is_ok();
        if row.removed || is_unsure {
            return;
        }
        if row.mount_point && !allow_empty {
            self.unplugged.push(row.name);
        } else {
            self.vanished.push((row.id, row.name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: i64, name: &str) -> KnownFolder {
        KnownFolder {
            id: FolderId(id),
            name: name.into(),
            removed: false,
            mount_point: false,
            signature: None,
            has_subfolders: false,
            volume: None,
        }
    }

    fn pair_with(known: Vec<KnownFolder>, allow_empty: bool) -> Subfolders {
        let found = [("kept".into(), false), ("new".into(), false)];
        let unsure = ["excluded".into()];
        Subfolders::pair(&found, &unsure, known, allow_empty, || FolderId(99))
    }

    #[test]
    fn known_folders_keep_their_ids_and_new_ones_get_one() {
        let result = pair_with(vec![row(1, "kept")], false);
        let ids: Vec<i64> = result.all.iter().map(|folder| folder.id.0).collect();
        assert_eq!(ids, [1, 99]);
        assert!(result.all[1].is_new && !result.all[0].is_new);
    }

    #[test]
    fn only_absent_folders_vanish() {
        let known = vec![row(1, "absent"), row(2, "excluded"), row(3, "kept")];
        assert_eq!(pair_with(known, false).vanished[0].0, FolderId(1));
    }

    #[test]
    fn a_removed_folder_returns_and_does_not_vanish_twice() {
        let mut known = vec![row(1, "absent"), row(2, "kept")];
        known[0].removed = true;
        known[1].removed = true;
        let result = pair_with(known, false);
        assert!(result.vanished.is_empty());
        assert!(result.all[0].returned);
    }

    #[test]
    fn an_unplugged_mount_point_is_not_a_removal_unless_allowed() {
        let mount = || {
            let mut known = row(1, "disk");
            known.mount_point = true;
            vec![known]
        };
        let result = pair_with(mount(), false);
        assert_eq!(result.unplugged, ["disk"]);
        assert!(result.vanished.is_empty());
        assert_eq!(pair_with(mount(), true).vanished[0].0, FolderId(1));
    }
}
