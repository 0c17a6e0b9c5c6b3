//! Which files appeared and disappeared between two scans.

use rusqlite::params;

use super::files::{FileFilter, FileList, Fold, Verdict};
use super::places::Extent;
use crate::catalog::store::{CatalogError, ReadOnly, sql};
use crate::model::{FolderId, ScanId};

impl FileList {
    /// The files below `tops` that existed after scan `until` but not after scan
    /// `from`, or the other way round, by path.
    pub fn changes(
        catalog: ReadOnly,
        tops: &[FolderId],
        filter: FileFilter,
        (from, until): (ScanId, ScanId),
    ) -> Result<Self, CatalogError> {
        let place = (tops, Extent::Ever);
        Self::build(
            catalog,
            place,
            filter,
            Fold::Names,
            |catalog, (low, high)| {
                let changes = format!(
                "INSERT INTO temp.listed (folder, name, size, mtime_ns, digest, copies, verdict)
                 SELECT files.folder, files.name, files.size, files.mtime_ns, files.digest, 0,
                        CASE WHEN {was_there} THEN ?6 ELSE ?5 END
                   FROM temp.places JOIN files ON files.folder = places.folder
                  WHERE files.size BETWEEN ?1 AND ?2 AND {was_there} <> {is_there}
                  ORDER BY places.rank, files.name",
                was_there = was_there("?3"),
                is_there = was_there("?4"),
            );
                let (appeared, vanished) = (Verdict::Appeared as i64, Verdict::Vanished as i64);
                let values = params![low, high, from, until, appeared, vanished];
                Ok(sql::run(&catalog.connection, &changes, values)?)
            },
        )
    }
}

/// True of a row of `files` that existed after this scan.
fn was_there(scan: &str) -> String {
    format!(
        "(files.first_scan <= {scan}
          AND (files.removed_in IS NULL OR files.removed_in > {scan})
          AND NOT {})",
        was_gone(scan)
    )
}

/// True of a row of `files` that was gone after a scan and is back now. `scan` is
/// a parameter of the statement.
fn was_gone(scan: &str) -> String {
    format!(
        "EXISTS (SELECT 1 FROM absences
                  WHERE absences.folder = files.folder AND absences.name = files.name
                    AND absences.removed_in <= {scan} AND absences.returned_in > {scan})"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::testing::{Bed, file};

    fn changes(bed: &Bed, from: i64, until: i64) -> Vec<String> {
        let reader = bed.reader();
        let tops = reader.all_tops().unwrap();
        let scans = (ScanId(from), ScanId(until));
        let mut list = FileList::changes(reader, &tops, FileFilter::default(), scans).unwrap();
        let mut found = Vec::new();
        while let Some(file) = list.next_file().unwrap() {
            found.push(format!("{} {}", file.verdict.name(), file.path.display()));
        }
        found
    }

    #[test]
    fn a_file_that_is_back_was_gone_in_between() {
        let bed = Bed::new();
        bed.scan("/r", &[file("a", 1, 1), file("b", 2, 2)]);
        bed.remove("/r", &[], &["a"]);
        bed.scan("/r", &[]);
        bed.scan("/r", &[file("a", 1, 1)]);
        bed.remove("/r", &[], &["a"]);
        bed.scan("/r", &[file("a", 1, 1)]);
        let nothing = [""; 0];
        assert_eq!(changes(&bed, 1, 2), ["deleted /r/a"]);
        assert_eq!(changes(&bed, 2, 3), nothing);
        assert_eq!(changes(&bed, 1, 3), ["deleted /r/a"]);
        assert_eq!(changes(&bed, 3, 4), ["added /r/a"]);
        assert_eq!(changes(&bed, 1, 4), nothing);
        assert_eq!(changes(&bed, 4, 5), ["deleted /r/a"]);
        assert_eq!(changes(&bed, 2, 6), ["added /r/a"]);
        assert_eq!(bed.count("absences"), 2);
        assert_eq!(bed.reader().verify().unwrap(), []);
        // What was gone is what a purge forgets.
        bed.open().purge(None).unwrap();
        assert_eq!(bed.count("absences"), 0);
        assert_eq!(changes(&bed, 1, 2), nothing);
    }

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
        let changes = |from, until| changes(&bed, from, until);
        let all = ["added /r/comes", "deleted /r/goes", "deleted /r/d/goes"];
        assert_eq!(changes(1, 3), all);
        assert_eq!(changes(1, 2), ["added /r/comes", "added /r/visits"]);
        assert_eq!(
            changes(2, 3),
            ["deleted /r/goes", "deleted /r/visits", "deleted /r/d/goes"]
        );
        assert_eq!(changes(0, 3), ["added /r/comes", "added /r/stays"]);
        assert_eq!(changes(3, 3), [""; 0]);
    }
}
