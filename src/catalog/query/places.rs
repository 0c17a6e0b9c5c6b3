//! The part of the catalog that a question is about: a folder with everything in
//! it, or all roots at and below a path, in the order of a walk.

use std::path::Path;

use rusqlite::params;

use crate::catalog::store::terms::EXCLUDED_FOLDER;
use crate::catalog::store::{CatalogError, ReadOnly, sql};
use crate::model::FolderId;

/// Which folders belong to a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Only folders that exist.
    Live,
    /// Only folders that exist and that no exclude matches.
    InScope,
    /// Also those that are marked as deleted.
    Ever,
    /// Only the folders that are named.
    Alone,
}

impl ReadOnly {
    /// The folders that a path stands for: the live one at it, or the tops of
    /// all roots below it. Empty where the catalog knows none.
    pub fn tops_of(&self, place: &Path) -> Result<Vec<FolderId>, CatalogError> {
        let is_live = "SELECT removed_in IS NULL FROM folders WHERE id = ?1";
        let mut live = Vec::new();
        for top in self.tops_ever(place)? {
            if sql::value(&self.connection, is_live, [top])? {
                live.push(top);
            }
        }
        Ok(live)
    }

    /// As [`ReadOnly::tops_of`], including deleted folders.
    pub fn tops_ever(&self, place: &Path) -> Result<Vec<FolderId>, CatalogError> {
        let below: Vec<FolderId> = self
            .roots()?
            .into_iter()
            .filter(|root| root.path.starts_with(place))
            .map(|root| root.top)
            .collect();
        match below.is_empty() {
            true => Ok(self.folder_at(place)?.into_iter().collect()),
            false => Ok(below),
        }
    }

    /// The tops of all roots.
    pub fn all_tops(&self) -> Result<Vec<FolderId>, CatalogError> {
        Ok(self.roots()?.into_iter().map(|root| root.top).collect())
    }

    /// Fills the temporary table `table` (`rank`, `folder`) with the folders
    /// at and below `tops`: a folder comes before its subfolders, siblings by name.
    pub(crate) fn collect_places(
        &self,
        table: &str,
        tops: &[FolderId],
        extent: Extent,
    ) -> Result<(), CatalogError> {
        let belongs = match extent {
            Extent::Live => "folders.removed_in IS NULL".to_owned(),
            Extent::InScope => format!("folders.removed_in IS NULL AND NOT {EXCLUDED_FOLDER}"),
            Extent::Ever => "true".to_owned(),
            Extent::Alone => "false".to_owned(),
        };
        self.connection.execute_batch(&format!(
            "DROP TABLE IF EXISTS temp.{table};
             CREATE TEMP TABLE {table} (rank INTEGER PRIMARY KEY, folder INTEGER NOT NULL UNIQUE);"
        ))?;
        // Deepest first, then by name: the order of a walk.
        let sql = format!(
            "INSERT INTO temp.{table} (folder)
             WITH RECURSIVE below (id, level, name) AS (
                 VALUES (?1, 0, x'')
                 UNION ALL
                 SELECT folders.id, below.level + 1, folders.name
                   FROM below JOIN folders ON folders.parent = below.id
                  WHERE {belongs}
                  ORDER BY 2 DESC, 3)
             SELECT id FROM below"
        );
        let mut statement = self.connection.prepare(&sql)?;
        for top in tops {
            statement.execute(params![top.0])?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::store::FolderPaths;
    use crate::catalog::testing::{Bed, file};

    fn walked(bed: &Bed, place: &str, extent: Extent) -> Vec<String> {
        let reader = bed.reader();
        let tops = match extent {
            Extent::Live | Extent::InScope => reader.tops_of(Path::new(place)),
            Extent::Ever | Extent::Alone => reader.tops_ever(Path::new(place)),
        };
        reader
            .collect_places("walked", &tops.unwrap(), extent)
            .unwrap();
        let mut statement = reader
            .connection
            .prepare("SELECT folder FROM temp.walked ORDER BY rank")
            .unwrap();
        let folders: Vec<i64> = statement
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let mut paths = FolderPaths::default();
        let path = |folder| {
            let (_, path) = paths.get(&reader, FolderId(folder)).unwrap();
            path.display().to_string()
        };
        folders.into_iter().map(path).collect()
    }

    #[test]
    fn a_place_is_walked_depth_first_and_by_name() {
        let bed = Bed::new();
        let names = ["b/z/f", "b/a/f", "a/c/f", "a/b/d/f", "top"];
        let files: Vec<_> = names.iter().zip(1..).map(|(n, i)| file(n, 10, i)).collect();
        bed.scan("/r", &files);
        let all = ["", "a", "a/b", "a/b/d", "a/c", "b", "b/a", "b/z"];
        assert_eq!(walked(&bed, "/r", Extent::Live), all);
        assert_eq!(walked(&bed, "/", Extent::Live), all);
        assert_eq!(
            walked(&bed, "/r/a", Extent::Live),
            ["a", "a/b", "a/b/d", "a/c"]
        );
        assert_eq!(walked(&bed, "/r/none", Extent::Live), [""; 0]);
    }

    #[test]
    fn what_is_gone_belongs_to_a_place_only_when_asked_for() {
        let bed = Bed::new();
        bed.scan("/r", &[file("a/b/f", 10, 1), file("c/f", 10, 2)]);
        bed.remove("/r", &["a"], &[]);
        assert_eq!(walked(&bed, "/r", Extent::Live), ["", "c"]);
        assert_eq!(walked(&bed, "/r", Extent::Ever), ["", "a", "a/b", "c"]);
        assert_eq!(walked(&bed, "/r/a", Extent::Live), [""; 0]);
        assert_eq!(walked(&bed, "/r/a", Extent::Ever), ["a", "a/b"]);
    }
}
