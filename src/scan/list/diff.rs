//! What differs between the files of a folder and the rows the catalog holds
//! for it. Pure.

use std::ffi::OsString;
use std::iter::Peekable;
use std::os::unix::ffi::OsStrExt;
use std::vec::IntoIter;

use super::entries::FoundFile;
use super::inodes::Inodes;
use crate::catalog::{FileChange, KnownFile};
use crate::model::{FileState, ScanCounters};
use crate::platform::Stat;

/// The difference, as the writer needs it.
#[derive(Debug, Default)]
pub(crate) struct Diff {
    /// New, changed and returning files.
    pub changes: Vec<FileChange>,
    /// Live rows whose names are gone.
    pub vanished: Vec<OsString>,
    /// Files that are as the catalog holds them.
    pub unchanged: u64,
    /// What the summary counts.
    pub counts: ScanCounters,
}

/// Compares the files in scope (sorted by name) with the rows, which come one
/// by one (sorted by name).
pub(crate) struct Comparison<'a> {
    files: Peekable<IntoIter<FoundFile>>,
    /// Rows of these names (sorted) stay as they are.
    unsure: &'a [OsString],
    /// How files are numbered, where that is stable.
    inodes: Option<Inodes>,
    ignore_ctime: bool,
    diff: Diff,
}

impl<'a> Comparison<'a> {
    pub(crate) fn new(
        files: Vec<FoundFile>,
        unsure: &'a [OsString],
        inodes: Option<Inodes>,
        ignore_ctime: bool,
    ) -> Self {
        Self {
            files: files.into_iter().peekable(),
            unsure,
            inodes,
            ignore_ctime,
            diff: Diff::default(),
        }
    }

    /// Takes the next row.
    pub(crate) fn row(&mut self, row: &KnownFile<'_>) {
        while let Some(file) = self
            .files
            .next_if(|file| file.name.as_bytes() < row.name.as_bytes())
        {
            self.add(file, None);
        }
        match self.files.next_if(|file| *file.name == *row.name) {
            Some(file) => self.add(file, Some(row)),
            None => self.diff.pass_over(row, self.unsure),
        }
    }

    /// The difference, after the last row.
    pub(crate) fn finish(mut self) -> Diff {
        while let Some(file) = self.files.next() {
            self.add(file, None);
        }
        self.diff
    }

    fn add(&mut self, file: FoundFile, row: Option<&KnownFile<'_>>) {
        let FoundFile {
            name,
            stat,
            is_link,
        } = file;
        let mut meta = stat.meta;
        let ino = self.inodes.and_then(|inodes| inodes.number(&stat));
        if ino.is_none() && meta.allocated == 0 {
            // Some FUSE filesystems know nothing of blocks.
            meta.allocated = meta.size;
        }
        let change = row.map(|row| match row.is_replaced {
            true => Change::Content,
            false => Change::between(&row.state, &meta, ino),
        });
        let is_trusted = row.is_some_and(|row| !row.racy);
        let is_removed = row.is_some_and(|row| row.removed);
        let keeps_digest = is_trusted
            && match change {
                Some(Change::None) => true,
                Some(Change::CtimeOnly) => self.ignore_ctime,
                Some(Change::Content) | None => false,
            };
        self.count(meta.size, row, change);
        let is_same_kind = row.is_some_and(|row| row.is_link == is_link);
        let is_settled =
            keeps_digest && is_same_kind && change == Some(Change::None) && !is_removed;
        if !is_settled {
            self.diff.changes.push(FileChange {
                name,
                meta,
                ino,
                is_link,
                keeps_digest,
                replaces: row.filter(|row| !row.removed).map(|row| row.state.size),
                returns: is_removed,
                sample: None,
            });
        }
    }

    fn count(&mut self, size: u64, row: Option<&KnownFile<'_>>, change: Option<Change>) {
        let counts = &mut self.diff.counts;
        counts.files += 1;
        counts.bytes = counts.bytes.saturating_add(size);
        let Some(row) = row.filter(|row| !row.removed) else {
            counts.new_bytes = counts.new_bytes.saturating_add(size);
            match row {
                None => counts.added += 1,
                Some(_) => counts.restored += 1,
            }
            return;
        };
        match change {
            Some(Change::CtimeOnly) if !self.ignore_ctime => {
                counts.changed += 1;
                counts.ctime_only += 1;
            }
            Some(Change::Content) => counts.changed += 1,
            _ if row.racy => counts.young += 1,
            _ => self.diff.unchanged += 1,
        }
    }
}

impl Diff {
    /// The difference of a folder whose files are all what their rows say.
    pub(crate) fn of_unchanged<'s>(files: impl Iterator<Item = &'s Stat>) -> Self {
        let mut diff = Self::default();
        for stat in files {
            diff.unchanged += 1;
            diff.counts.files += 1;
            diff.counts.bytes = diff.counts.bytes.saturating_add(stat.meta.size);
        }
        diff
    }

    /// A row without a file in scope: gone, unless it is out of scope.
    fn pass_over(&mut self, row: &KnownFile<'_>, unsure: &[OsString]) {
        let is_unsure = unsure
            .binary_search_by(|name| name.as_bytes().cmp(row.name.as_bytes()))
            .is_ok();
        if !row.removed && !is_unsure {
            self.vanished.push(row.name.to_owned());
        }
    }
}

/// How a file differs from its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    None,
    CtimeOnly,
    Content,
}

impl Change {
    fn between(state: &FileState, meta: &crate::model::FileMeta, ino: Option<u64>) -> Self {
        if state.size != meta.size || state.mtime_ns != meta.mtime_ns || state.ino != ino {
            Self::Content
        } else if state.ctime_ns != meta.ctime_ns {
            Self::CtimeOnly
        } else {
            Self::None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;
    use crate::model::FileMeta;
    use crate::platform::EntryKind;

    const DEV: u64 = 7;
    const PLAIN: Inodes = Inodes {
        dev: DEV,
        is_layered: false,
    };

    fn stat(size: u64, mtime_ns: i64, ctime_ns: i64, ino: u64) -> Stat {
        Stat {
            kind: EntryKind::File,
            meta: FileMeta {
                size,
                mtime_ns,
                ctime_ns,
                ino,
                ..FileMeta::default()
            },
            dev: DEV,
            mount: None,
        }
    }

    fn row(name: &str, size: u64, mtime_ns: i64, ctime_ns: i64, ino: u64) -> KnownFile<'_> {
        KnownFile {
            name: name.as_ref(),
            state: FileState {
                size,
                mtime_ns,
                ctime_ns,
                ino: Some(ino),
            },
            racy: false,
            is_replaced: false,
            removed: false,
            is_link: false,
        }
    }

    fn found(name: &str, stat: Stat) -> FoundFile {
        FoundFile {
            name: OsStr::new(name).into(),
            stat,
            is_link: false,
        }
    }

    fn compare(
        files: Vec<FoundFile>,
        unsure: &[OsString],
        rows: &[KnownFile<'_>],
        inodes: Option<Inodes>,
        ignore_ctime: bool,
    ) -> Diff {
        let mut comparison = Comparison::new(files, unsure, inodes, ignore_ctime);
        rows.iter().for_each(|row| comparison.row(row));
        comparison.finish()
    }

    fn diff(files: &[(&str, Stat)], rows: &[KnownFile<'_>], ignore_ctime: bool) -> Diff {
        let files = files.iter().map(|(name, stat)| found(name, *stat));
        compare(files.collect(), &[], rows, Some(PLAIN), ignore_ctime)
    }

    #[test]
    fn an_unchanged_file_is_no_change() {
        let diff = diff(&[("a", stat(1, 2, 3, 4))], &[row("a", 1, 2, 3, 4)], false);
        assert!(diff.changes.is_empty() && diff.vanished.is_empty());
        assert_eq!((diff.unchanged, diff.counts.files), (1, 1));
    }

    #[test]
    fn any_of_size_times_and_inode_makes_the_digest_stale() {
        for now in [
            stat(9, 2, 3, 4),
            stat(1, 9, 3, 4),
            stat(1, 2, 9, 4),
            stat(1, 2, 3, 9),
        ] {
            let diff = diff(&[("a", now)], &[row("a", 1, 2, 3, 4)], false);
            assert!(!diff.changes[0].keeps_digest);
            assert_eq!(diff.counts.changed, 1);
        }
    }

    #[test]
    fn a_moved_ctime_alone_can_be_forgiven() {
        let rows = || [row("a", 1, 2, 3, 4)];
        let strict = diff(&[("a", stat(1, 2, 9, 4))], &rows(), false);
        assert_eq!(strict.counts.ctime_only, 1);
        let lenient = diff(&[("a", stat(1, 2, 9, 4))], &rows(), true);
        assert!(lenient.changes[0].keeps_digest);
        assert_eq!(lenient.counts.changed, 0);
    }

    #[test]
    fn a_file_that_became_a_link_to_itself_gets_a_new_row() {
        let mut link = found("a", stat(1, 2, 3, 4));
        link.is_link = true;
        let diff = compare(vec![link], &[], &[row("a", 1, 2, 3, 4)], Some(PLAIN), false);
        assert!(diff.changes[0].is_link && diff.changes[0].keeps_digest);
        assert_eq!(diff.counts.changed, 0);
    }

    #[test]
    fn a_racy_row_is_distrusted_though_nothing_moved() {
        let mut known = row("a", 1, 2, 3, 4);
        known.racy = true;
        let diff = diff(&[("a", stat(1, 2, 3, 4))], &[known], false);
        assert!(!diff.changes[0].keeps_digest);
        assert_eq!(diff.counts.changed, 0);
    }

    #[test]
    fn a_file_on_another_volume_is_a_change_though_nothing_moved() {
        let mut known = row("a", 1, 2, 3, 4);
        known.is_replaced = true;
        let diff = diff(&[("a", stat(1, 2, 3, 4))], &[known], true);
        assert!(!diff.changes[0].keeps_digest);
        assert_eq!((diff.counts.changed, diff.unchanged), (1, 0));
    }

    #[test]
    fn a_returning_file_keeps_its_digest_if_nothing_moved() {
        let mut known = row("a", 1, 2, 3, 4);
        known.removed = true;
        let diff = diff(&[("a", stat(1, 2, 3, 4))], &[known], false);
        assert!(diff.changes[0].keeps_digest);
        assert_eq!(diff.changes[0].replaces, None);
        assert!(diff.changes[0].returns);
        assert_eq!(diff.counts.restored, 1);
    }

    #[test]
    fn only_absent_names_vanish() {
        let rows = vec![
            row("absent", 1, 2, 3, 4),
            row("filtered", 1, 2, 3, 5),
            row("here", 1, 2, 3, 6),
        ];
        let files = vec![found("here", stat(1, 2, 3, 6))];
        let diff = compare(files, &["filtered".into()], &rows, Some(PLAIN), false);
        assert_eq!(diff.vanished, ["absent"]);
    }

    #[test]
    fn inodes_are_ignored_on_devices_without_stable_ones() {
        let files = vec![found("a", stat(1, 2, 3, 99))];
        let mut known = row("a", 1, 2, 3, 4);
        known.state.ino = None;
        let diff = compare(files, &[], &[known], None, false);
        assert!(diff.changes.is_empty());
    }

    #[test]
    fn a_file_without_blocks_is_all_holes_only_where_that_is_believed() {
        let allocated = |inodes| {
            let mut stat = stat(9, 2, 3, 4);
            stat.meta.allocated = 0;
            let diff = compare(vec![found("a", stat)], &[], &[], inodes, false);
            diff.changes[0].meta.allocated
        };
        assert_eq!(allocated(Some(PLAIN)), 0);
        assert_eq!(allocated(None), 9);
    }
}
