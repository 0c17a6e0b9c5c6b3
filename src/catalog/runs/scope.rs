//! The scope of a root: storing it, and marking every file with how it stands to
//! it. Files that a scan lists later are marked as they are listed.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};

use super::roots::{RootRow, read_limits};
use crate::catalog::store::terms::{NOT_COMPARED, STANDING_BY_SIZE};
use crate::catalog::store::{CatalogError, Exclusive, ReadOnly, blob, rows, signed, sql, unsigned};
use crate::catalog::write::{forget_summary, unsettle};
use crate::model::{FolderId, Globs, NotCompared, RootScope, SizeLimits, Standing};

impl Exclusive {
    /// Gives a root another scope and marks its files accordingly; also where the
    /// scope is the same but the root has taken in others (`has_grown`). What is
    /// known of a file's content stays known.
    pub fn set_scope(
        &mut self,
        root: &RootRow,
        scope: &RootScope,
        has_grown: bool,
    ) -> Result<(), CatalogError> {
        if root.scope == *scope && !has_grown {
            return Ok(());
        }
        let transaction = self.connection.transaction()?;
        let set = "UPDATE roots SET excludes = ?2, min_size = ?3, max_size = ?4 WHERE id = ?1";
        let SizeLimits { min, max } = scope.sizes;
        let [min, max] = [min, max].map(|limit| limit.map(signed));
        let values = params![root.id, scope.excludes.to_json(), min, max];
        sql::run(&transaction, set, values)?;
        let none = "UPDATE folders SET scope = 0 WHERE root = ?1 AND scope <> 0";
        sql::run(&transaction, none, [root.id])?;
        let globs = scope.excludes.compile();
        let marked = match globs.is_empty() {
            true => mark_by_size(&transaction, root)?,
            false => Marking::of(&transaction, &globs, scope.sizes).mark(root.top)?,
        };
        if marked > 0 {
            unsettle(&transaction)?;
            forget_summary(&transaction)?;
        }
        Ok(transaction.commit()?)
    }
}

impl ReadOnly {
    /// The files that are not compared because of their size, if there are any.
    pub fn not_compared(&self) -> Result<Option<NotCompared>, CatalogError> {
        // Looks at files only if there are limits.
        let count = format!(
            "SELECT roots.min_size, roots.max_size, count(*)
               FROM roots JOIN folders ON folders.root = roots.id
               JOIN files ON files.folder = folders.id
              WHERE (roots.min_size IS NOT NULL OR roots.max_size IS NOT NULL)
                AND files.removed_in IS NULL AND {NOT_COMPARED}
              GROUP BY roots.min_size, roots.max_size"
        );
        let found: Vec<NotCompared> = sql::all(&self.connection, &count, [], |row| {
            Ok(NotCompared {
                limits: Some(read_limits(row, 0)?),
                files: unsigned(row.get(2)?),
            })
        })?;
        Ok(found.into_iter().reduce(|one, other| NotCompared {
            limits: None,
            files: one.files + other.files,
        }))
    }
}

/// Sets how a file stands, where that changes. In scope again, it may have missed
/// others that joined its class.
fn mark(standing: &str, condition: &str) -> String {
    format!(
        "UPDATE files SET scope = {standing},
                settled_in = CASE WHEN {standing} <> 0 THEN settled_in END
          WHERE {condition} AND scope <> {standing}"
    )
}

/// Marks the files of a root without excludes.
fn mark_by_size(connection: &Connection, root: &RootRow) -> rusqlite::Result<usize> {
    let standing = format!("(SELECT {STANDING_BY_SIZE} FROM roots WHERE roots.id = ?1)");
    let of_root = "folder IN (SELECT id FROM folders WHERE root = ?1)";
    sql::run(connection, &mark(&standing, of_root), [root.id])
}

/// Marks file after file.
struct Marking<'a> {
    connection: &'a Connection,
    globs: &'a Globs,
    sizes: SizeLimits,
}

impl<'a> Marking<'a> {
    fn of(connection: &'a Connection, globs: &'a Globs, sizes: SizeLimits) -> Self {
        Self {
            connection,
            globs,
            sizes,
        }
    }

    /// Marks the files of a root; returns how many stand differently now.
    fn mark(&self, top: FolderId) -> Result<usize, CatalogError> {
        let mut marked = 0;
        let mut rest = vec![(top, PathBuf::new(), false)];
        let children = "SELECT id, name FROM folders WHERE parent = ?1";
        while let Some((folder, below, is_excluded)) = rest.pop() {
            marked += match is_excluded {
                true => self.exclude_all(folder)?,
                false => self.mark_files(folder, &below)?,
            };
            let found: Vec<(FolderId, PathBuf)> =
                sql::all(self.connection, children, [folder], |row| {
                    Ok((row.get(0)?, below.join(rows::name(row, 1)?)))
                })?;
            rest.extend(found.into_iter().map(|(folder, below)| {
                let is_excluded = is_excluded || self.globs.matches_name(&below);
                (folder, below, is_excluded)
            }));
        }
        Ok(marked)
    }

    fn exclude_all(&self, folder: FolderId) -> rusqlite::Result<usize> {
        let set = "UPDATE folders SET scope = 1 WHERE id = ?1";
        sql::run(self.connection, set, [folder])?;
        let standing = (Standing::Excluded as i64).to_string();
        sql::run(self.connection, &mark(&standing, "folder = ?1"), [folder])
    }

    fn mark_files(&self, folder: FolderId, below: &Path) -> rusqlite::Result<usize> {
        let files = "SELECT name, size, scope FROM files WHERE folder = ?1";
        let wrong: Vec<Option<_>> = sql::all(self.connection, files, [folder], |row| {
            let name = rows::name(row, 0)?;
            let standing = match self.globs.matches_name(&below.join(&name)) {
                true => Standing::Excluded,
                false => self.sizes.standing(unsigned(row.get(1)?)),
            };
            let is_right = row.get::<_, i64>(2)? == standing as i64;
            Ok((!is_right).then_some((name, standing)))
        })?;
        let set = mark("?3", "folder = ?1 AND name = ?2");
        let mut marked = 0;
        for (name, standing) in wrong.into_iter().flatten() {
            let values = params![folder, blob(&name), standing as i64];
            marked += sql::run(self.connection, &set, values)?;
        }
        Ok(marked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::testing::{Bed, file};
    use crate::model::Excludes;

    fn set(bed: &Bed, globs: &[&str], sizes: SizeLimits) {
        let mut catalog = bed.open();
        let root = catalog.root_at(Path::new("/r")).unwrap();
        let excludes = Excludes {
            given: globs.iter().map(ToString::to_string).collect(),
            ..Excludes::default()
        };
        let scope = RootScope { excludes, sizes };
        catalog.set_scope(&root, &scope, false).unwrap();
        drop(catalog);
        assert_eq!(bed.reader().roots().unwrap()[0].scope, scope);
    }

    #[test]
    fn every_file_is_marked_as_its_root_says() {
        let bed = Bed::new();
        bed.scan(
            "/r",
            &[
                file("a", 10, 1),
                file("skip/deep/b", 20, 2),
                file("c.tmp", 30, 3),
                file("tiny", 1, 4).unread(),
                file("known", 2, 5),
                file("empty", 0, 6),
            ],
        );
        let marks = || -> String {
            let marks = "SELECT group_concat(scope, '') FROM (
                SELECT scope FROM files ORDER BY name)";
            sql::value(&bed.reader().connection, marks, []).unwrap()
        };
        // a, b, c.tmp, empty, known, tiny
        let open = SizeLimits::default();
        let limits = SizeLimits {
            min: Some(5),
            max: None,
        };
        for (globs, sizes, expected) in [
            (&[][..], open, "000000"),
            (&["skip"], open, "010000"),
            (&["*.tmp"], open, "001000"),
            (&[], limits, "000022"),
            (&["tiny", "b"], limits, "010021"),
            (&[], open, "000000"),
        ] {
            set(&bed, globs, sizes);
            assert_eq!(marks(), expected, "{globs:?}");
            assert_eq!(bed.reader().verify().unwrap(), []);
        }
        set(&bed, &[], limits);
        let not_compared = bed.reader().not_compared().unwrap();
        let limits = Some(limits);
        assert_eq!(not_compared, Some(NotCompared { limits, files: 1 }));
    }
}
