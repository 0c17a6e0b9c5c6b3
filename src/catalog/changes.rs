//! What came and went between two scans.

use rusqlite::params;

use super::CatalogError;
use super::files::{FileFilter, FileList, Fold};
use super::places::Extent;
use super::{ReadOnly, Verdict};
use crate::model::{FolderId, ScanId};

impl FileList {
    /// The names below `tops` that were there after scan `until` and not after
    /// scan `from`, or the other way round, by path.
    ///
    /// A file that came back is stored as if it had never been away.
    pub fn changes(
        catalog: ReadOnly,
        tops: &[FolderId],
        filter: FileFilter,
        (from, until): (ScanId, ScanId),
    ) -> Result<Self, CatalogError> {
        let place = (tops, Extent::Ever);
        Self::build(catalog, place, filter, Fold::Names, |catalog, filter| {
            let (low, high) = filter.sizes();
            catalog.connection.execute(
                "INSERT INTO temp.listed (folder, name, size, mtime_ns, digest, copies, verdict)
                 SELECT files.folder, files.name, files.size, files.mtime_ns, files.digest, 0,
                        CASE WHEN files.first_scan > ?3 THEN ?5 ELSE ?6 END
                   FROM temp.places JOIN files ON files.folder = places.folder
                  WHERE files.size BETWEEN ?1 AND ?2
                    AND (files.first_scan <= ?3
                         AND (files.removed_in IS NULL OR files.removed_in > ?3))
                     <> (files.first_scan <= ?4
                         AND (files.removed_in IS NULL OR files.removed_in > ?4))
                  ORDER BY places.rank, files.name",
                params![
                    low,
                    high,
                    from.0,
                    until.0,
                    Verdict::Appeared as i64,
                    Verdict::Vanished as i64
                ],
            )?;
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bed, file};
    use super::*;

    #[test]
    fn a_name_counts_by_whether_it_was_there_at_either_end() {
        let bed = Bed::new();
        bed.scan(
            "/r",
            &[
                file("stays", 1, 1),
                file("goes", 2, 2),
                file("d/goes", 3, 3),
            ],
        );
        bed.scan("/r", &[file("comes", 4, 4), file("visits", 5, 5)]);
        bed.remove("/r", &["d"], &["goes", "visits"]);
        let changes = |from, until| {
            let reader = bed.reader();
            let tops = reader.all_tops().unwrap();
            let scans = (ScanId(from), ScanId(until));
            let mut list = FileList::changes(reader, &tops, FileFilter::default(), scans).unwrap();
            let mut found = Vec::new();
            while let Some(file) = list.next_file().unwrap() {
                found.push(format!("{} {}", file.verdict.name(), file.path.display()));
            }
            found
        };
        let all = [
            "appeared /r/comes",
            "vanished /r/goes",
            "vanished /r/d/goes",
        ];
        assert_eq!(changes(1, 3), all);
        assert_eq!(changes(1, 2), ["appeared /r/comes", "appeared /r/visits"]);
        assert_eq!(
            changes(2, 3),
            [
                "vanished /r/goes",
                "vanished /r/visits",
                "vanished /r/d/goes"
            ]
        );
        assert_eq!(changes(0, 3), ["appeared /r/comes", "appeared /r/stays"]);
        assert_eq!(changes(3, 3), [""; 0]);
    }
}
