//! The catalog: writing rows, finding groups, streaming them.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::time::Duration;

use criterion::{BatchSize, Criterion, Throughput};
use dupescan::catalog::{
    CatalogError, Exclusive, FileChange, FolderListing, GroupFilter, GroupList, NewFolder, NewScan,
    PartListing, ReadOnly, Record, VolumeRow, Writer,
};
use dupescan::model::{
    Algorithm, FileMeta, Filters, FolderId, ScanCounters, ScanOptions, SizeLimits, Timestamp,
};
use dupescan::report::{Format, Header, Style, renderer};

use crate::setup::Setup;

const FOLDERS: u64 = 1_000;
const FILES_PER_FOLDER: u64 = 40;

/// Rows a second: records of new folders through the writer, to the commit.
pub(crate) fn writer(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("writer");
    group.throughput(Throughput::Elements(FOLDERS * FILES_PER_FOLDER));
    group.bench_function("rows of new files", |bencher| {
        bencher.iter_batched(
            || tempfile::tempdir().expect("a folder for temporary files"),
            |folder| {
                write_rows(&folder.path().join("catalog.db")).expect("the catalog can be written");
                // Given back, so that removing it is not measured.
                folder
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

fn write_rows(path: &Path) -> Result<(), CatalogError> {
    let mut catalog = Exclusive::open_or_create(path, "bench", Algorithm::Sha256)?;
    let volume = catalog.register_volume(&VolumeRow {
        identity: "uuid:bench".to_owned(),
        fstype: "ext4".to_owned(),
        stable_inodes: true,
        disk: None,
    })?;
    let placement = catalog.place(Path::new("/bench"), volume)?;
    let scan = catalog.begin_scan(&NewScan {
        root: placement.root,
        subpath: Path::new(""),
        mode: "all",
        algorithm: Algorithm::Sha256,
        options: &ScanOptions::default(),
    })?;
    let writer = Writer::start(catalog, 1_000, Duration::from_millis(250))?;
    let handle = writer.handle();
    let listing = |folder, changes, new_folders| FolderListing {
        files: PartListing {
            scan,
            root: placement.root,
            folder,
            changes,
            vanished: Vec::new(),
            bytes_read: 0,
            sizes: SizeLimits::default(),
        },
        signature: None,
        is_repeat: false,
        volume,
        is_elsewhere: false,
        mount_point: false,
        is_linked: false,
        times: None,
        new_folders,
        returned_folders: Vec::new(),
        vanished_folders: Vec::new(),
        counts: ScanCounters::default(),
    };
    let new_folder = |number| NewFolder {
        id: handle.allocate_folder(),
        name: format!("d{number:06}").into(),
    };
    let folders: Vec<_> = (0..FOLDERS).map(new_folder).collect();
    let ids: Vec<FolderId> = folders.iter().map(|folder| folder.id).collect();
    let top = listing(placement.start, Vec::new(), folders);
    handle.send(Record::Listed(Box::new(top)))?;
    for (number, id) in (0..).zip(ids) {
        let files = (0..FILES_PER_FOLDER).map(|file| new_file(number * FILES_PER_FOLDER + file));
        let listing = listing(id, files.collect(), Vec::new());
        handle.send(Record::Listed(Box::new(listing)))?;
    }
    handle.flush()?;
    writer.finish()
}

fn new_file(number: u64) -> FileChange {
    let time = 1_700_000_000_000_000_000 + number.cast_signed();
    FileChange {
        name: OsStr::new(&format!("file{number:07}.dat")).into(),
        meta: FileMeta {
            size: number % 5_000,
            allocated: 4_096,
            mtime_ns: time,
            ctime_ns: time,
            ino: number,
            nlink: 1,
        },
        ino: Some(number),
        is_link: false,
        keeps_digest: false,
        replaces: None,
        returns: false,
        sample: None,
    }
}

/// Files a second: finding and ranking the groups of a scanned tree.
pub(crate) fn grouping(criterion: &mut Criterion) {
    let setup = Setup::new("million");
    let catalog = setup.beside("catalog.db");
    setup.scan(&catalog, "all");
    let mut group = criterion.benchmark_group("grouping");
    group.throughput(Throughput::Elements(setup.files));
    group.bench_function("files of a scanned tree", |bencher| {
        bencher.iter(|| groups(&catalog).totals());
    });
    group.finish();
}

/// Groups a second, from the ranked list through the renderer to nowhere.
pub(crate) fn streaming(criterion: &mut Criterion) {
    let setup = Setup::new("million");
    let catalog = setup.beside("catalog.db");
    setup.scan(&catalog, "all");
    let mut group = criterion.benchmark_group("report streaming");
    group.throughput(Throughput::Elements(groups(&catalog).totals().groups));
    for format in [Format::Jsonl, Format::Csv, Format::Fdupes] {
        group.bench_function(format.name(), |bencher| {
            bencher.iter_batched(
                || groups(&catalog),
                |list| stream(list, format),
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

fn groups(catalog: &Path) -> GroupList {
    let catalog = ReadOnly::open(catalog).expect("the catalog was just written");
    GroupList::build(catalog, GroupFilter::default()).expect("the catalog is whole")
}

fn stream(mut list: GroupList, format: Format) {
    let mut report = renderer(format, Style::default(), io::sink());
    let header = Header {
        generated_at: Timestamp::now(),
        as_of: None,
        unfinished: 0,
        filters: Filters::default(),
        keep: Vec::new(),
        not_compared: None,
    };
    report.begin(&header).expect("a sink takes everything");
    while let Some(group) = list.next_group().expect("the catalog is whole") {
        report.group(&group).expect("a sink takes everything");
    }
    report.end(&list.totals()).expect("a sink takes everything");
}
