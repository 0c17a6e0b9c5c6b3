//! A catalog in a temporary folder for unit tests, filled through the same
//! records that a scan sends.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use tempfile::TempDir;

use super::query::count_unchecked;
use super::runs::{NameRange, NewScan, VolumeRow};
use super::store::{Exclusive, FolderPaths, ReadOnly, rows};
use super::write::{
    FileChange, FileOutcome, FileResult, FolderListing, NewFolder, PartListing, Record, Writer,
    WriterHandle,
};
use crate::model::sampling::SHORT;
use crate::model::{
    Algorithm, Digest, FileMeta, FileState, FolderId, Probe, RootId, ScanCounters, ScanId,
    ScanOptions, Summary, Totals, VolumeId,
};

/// A file to catalogue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TestFile<'a> {
    path: &'a str,
    size: u64,
    ino: Option<u64>,
    content: Option<u8>,
    compared: Option<i64>,
    is_link: bool,
}

/// A file below its root, with content 1.
pub(crate) fn file(path: &str, size: u64, ino: u64) -> TestFile<'_> {
    TestFile {
        path,
        size,
        ino: Some(ino),
        content: Some(1),
        compared: None,
        is_link: false,
    }
}

impl TestFile<'_> {
    /// Other content: its digest repeats this byte.
    pub(crate) fn content(mut self, byte: u8) -> Self {
        self.content = Some(byte);
        self
    }

    /// Listed, but never read.
    pub(crate) fn unread(mut self) -> Self {
        self.content = None;
        self
    }

    /// A symbolic link to the file with this inode.
    pub(crate) fn link(mut self) -> Self {
        self.is_link = true;
        self
    }

    /// On a filesystem whose inode numbers are not stable.
    pub(crate) fn without_inode(mut self) -> Self {
        self.ino = None;
        self
    }

    /// Compared byte for byte in this comparison.
    pub(crate) fn compared(mut self, comparison: i64) -> Self {
        self.compared = Some(comparison);
        self
    }

    pub(crate) fn state(&self) -> FileState {
        FileState {
            size: self.size,
            mtime_ns: 1_000,
            ctime_ns: 1_000,
            ino: self.ino,
        }
    }

    /// As a listing would see it, beside a row of this size, or one that is gone.
    fn change(&self, replaces: Option<u64>, returns: bool) -> FileChange {
        FileChange {
            name: Path::new(self.path).file_name().unwrap().into(),
            meta: FileMeta {
                size: self.size,
                allocated: self.size,
                mtime_ns: 1_000,
                ctime_ns: 1_000,
                ino: self.ino.unwrap_or(0),
                ..FileMeta::default()
            },
            ino: self.ino,
            is_link: self.is_link,
            keeps_digest: false,
            replaces,
            returns,
            sample: None,
        }
    }

    fn folder(&self) -> PathBuf {
        Path::new(self.path).parent().unwrap().to_owned()
    }
}

/// A catalog that ends with the test.
pub(crate) struct Bed {
    folder: TempDir,
    path: PathBuf,
}

impl Bed {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("catalog.db");
        drop(Exclusive::open_or_create(&path, "test", Algorithm::Sha256).unwrap());
        Self { folder, path }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn open(&self) -> Exclusive {
        Exclusive::open(&self.path, "test").unwrap()
    }

    pub(crate) fn reader(&self) -> ReadOnly {
        ReadOnly::open(&self.path).unwrap()
    }

    /// Runs SQL that the catalog itself would refuse, to plant damage.
    pub(crate) fn sql(&self, sql: &str) {
        let connection = Connection::open(&self.path).unwrap();
        connection
            .execute_batch("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON;")
            .unwrap();
        connection.execute_batch(sql).unwrap();
    }

    pub(crate) fn count(&self, table: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM {table}");
        let reader = self.reader();
        reader
            .connection
            .query_row(&sql, [], |row| row.get(0))
            .unwrap()
    }

    /// The paths of all file rows, sorted.
    pub(crate) fn paths(&self) -> Vec<String> {
        let reader = self.reader();
        let roots = reader.roots().unwrap();
        let mut paths = FolderPaths::default();
        let mut statement = reader
            .connection
            .prepare("SELECT folder, name FROM files")
            .unwrap();
        let mut found = statement.query([]).unwrap();
        let mut list = Vec::new();
        while let Some(row) = found.next().unwrap() {
            let (root, below) = paths.get(&reader, FolderId(row.get(0).unwrap())).unwrap();
            let root = roots.iter().find(|known| known.id == root).unwrap();
            let path = root.path.join(below).join(rows::name(row, 1).unwrap());
            list.push(path.into_os_string().into_string().unwrap());
        }
        list.sort();
        list
    }

    /// Adds files to a root on a volume with stable inode numbers.
    pub(crate) fn scan(&self, root: &str, files: &[TestFile<'_>]) -> ScanId {
        self.scan_on("uuid:1", root, files)
    }

    /// Adds files to a root on this volume; inode numbers are stable on those
    /// with a uuid.
    pub(crate) fn scan_on(&self, volume: &str, root: &str, files: &[TestFile<'_>]) -> ScanId {
        let run = Run::start(self, volume, root);
        let folders = run.list(self, files);
        run.read(&folders, files);
        run.complete(self)
    }

    /// Flags folders and files of a root removed.
    pub(crate) fn remove(&self, root: &str, folders: &[&str], files: &[&str]) -> ScanId {
        let reader = self.reader();
        let at = |path: &Path| reader.folder_at(path).unwrap().unwrap();
        let run = Run::start(self, "uuid:1", root);
        for &gone in folders {
            let path = Path::new(root).join(gone);
            let mut listing = run.listing(at(path.parent().unwrap()));
            listing.vanished_folders = vec![at(&path)];
            run.send(Record::Listed(Box::new(listing)));
        }
        for &gone in files {
            let path = Path::new(root).join(gone);
            let mut listing = run.listing(at(path.parent().unwrap()));
            listing.files.vanished = vec![path.file_name().unwrap().to_owned()];
            run.send(Record::Listed(Box::new(listing)));
        }
        run.complete(self)
    }
}

/// One scan in progress.
struct Run {
    writer: Writer,
    handle: WriterHandle,
    scan: ScanId,
    root: RootId,
    top: FolderId,
    volume: VolumeId,
}

impl Run {
    fn start(bed: &Bed, volume: &str, root: &str) -> Self {
        let mut catalog = bed.open();
        let volume = catalog
            .register_volume(&VolumeRow {
                identity: volume.to_owned(),
                fstype: "ext4".to_owned(),
                stable_inodes: volume.starts_with("uuid:"),
                disk: None,
            })
            .unwrap();
        let placement = catalog.place(Path::new(root), volume).unwrap();
        let scan = catalog
            .begin_scan(&NewScan {
                root: placement.root,
                subpath: Path::new(""),
                mode: "all",
                algorithm: Algorithm::Sha256,
                options: &ScanOptions::default(),
            })
            .unwrap();
        let writer = Writer::start(catalog, 1000, Duration::from_millis(250)).unwrap();
        Self {
            handle: writer.handle(),
            writer,
            scan,
            root: placement.root,
            top: placement.start,
            volume,
        }
    }

    fn send(&self, record: Record) {
        self.handle.send(record).unwrap();
        self.handle.flush().unwrap();
    }

    fn listing(&self, folder: FolderId) -> FolderListing {
        FolderListing {
            files: PartListing {
                scan: self.scan,
                root: self.root,
                folder,
                changes: Vec::new(),
                vanished: Vec::new(),
                bytes_read: 0,
                sizes: crate::model::SizeLimits::default(),
            },
            signature: None,
            is_repeat: false,
            volume: self.volume,
            is_elsewhere: false,
            mount_point: false,
            is_linked: false,
            times: None,
            new_folders: Vec::new(),
            returned_folders: Vec::new(),
            vanished_folders: Vec::new(),
            counts: ScanCounters::default(),
        }
    }

    /// Lists every folder on the way to a file, parents first.
    fn list(&self, bed: &Bed, files: &[TestFile<'_>]) -> BTreeMap<PathBuf, FolderId> {
        let reader = bed.reader();
        let folders: BTreeSet<PathBuf> = files
            .iter()
            .flat_map(|file| {
                file.folder()
                    .ancestors()
                    .map(PathBuf::from)
                    .collect::<Vec<_>>()
            })
            .chain([PathBuf::new()])
            .collect();
        let mut ids = BTreeMap::from([(PathBuf::new(), self.top)]);
        for path in &folders {
            let mut listing = self.listing(ids[path]);
            for child in folders.iter().filter(|child| child.parent() == Some(path)) {
                let known = reader.subfolders_of(listing.files.folder).unwrap();
                let name = child.file_name().unwrap().to_owned();
                let id = match known.into_iter().find(|known| known.name == name) {
                    Some(known) => known.id,
                    None => {
                        let id = self.handle.allocate_folder();
                        listing.new_folders.push(NewFolder { id, name });
                        id
                    }
                };
                ids.insert(child.clone(), id);
            }
            let mut known: BTreeMap<OsString, Option<u64>> = BTreeMap::new();
            reader
                .files_of(listing.files.folder, NameRange::default(), |row| {
                    let size = (!row.removed).then_some(row.state.size);
                    known.insert(row.name.to_owned(), size);
                })
                .unwrap();
            for file in files.iter().filter(|file| &file.folder() == path) {
                let name = Path::new(file.path).file_name().unwrap();
                let row = known.get(name).copied();
                let change = file.change(row.flatten(), row == Some(None));
                listing.files.changes.push(change);
            }
            self.send(Record::Listed(Box::new(listing)));
        }
        ids
    }

    fn read(&self, folders: &BTreeMap<PathBuf, FolderId>, files: &[TestFile<'_>]) {
        for file in files.iter().filter(|file| file.size > 0) {
            let Some(byte) = file.content else { continue };
            let folder = folders[&file.folder()];
            let name = Path::new(file.path).file_name().unwrap().to_owned();
            let mut outcomes = Vec::new();
            if file.size > SHORT {
                outcomes.push(FileOutcome::Probed {
                    probe: Probe(byte.into()),
                    racy: false,
                });
            }
            outcomes.push(FileOutcome::Digested {
                digest: Digest::from_bytes(&[byte; 32]).unwrap(),
                compared: file.compared,
                racy: false,
            });
            let results = outcomes.into_iter().map(|outcome| FileResult {
                names: vec![(folder, name.clone())],
                state: file.state(),
                outcome,
            });
            self.send(Record::Files {
                scan: self.scan,
                bytes_read: file.size,
                results: results.collect(),
            });
        }
    }

    fn complete(self, bed: &Bed) -> ScanId {
        let totals = Totals {
            unchecked: count_unchecked(&bed.reader().connection).unwrap(),
            ..Totals::default()
        };
        let summary = Summary {
            totals,
            ..Summary::default()
        };
        self.handle.complete(vec![self.scan], summary).unwrap();
        self.writer.finish().unwrap();
        self.scan
    }
}
