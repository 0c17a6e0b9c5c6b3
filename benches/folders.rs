//! Writes a catalog of folders to measure `dupescan folders` on, through the
//! same records that a scan sends: seeded, and equal on every machine. No
//! file of it exists.
//!
//! `cargo bench --bench folders -- CATALOG [KIND] [FOLDERS]` where KIND is
//! - `backups` (the default): trees and their copies with one file in ten
//!   changed, and a licence text in every tenth folder;
//! - `crowd`: every folder holds the same two texts and a file of its own, so
//!   that all of them are half alike.
//!
//! There are ten files a folder in `backups`, three in `crowd`, and 100,000
//! folders unless told otherwise. Then
//! `/usr/bin/time -v dupescan --db CATALOG folders --similar`.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use dupescan::catalog::{
    CatalogError, Exclusive, FileChange, FileOutcome, FileResult, FolderListing, NewFolder,
    NewScan, PartListing, Record, VolumeRow, Writer, WriterHandle,
};
use dupescan::model::{
    Algorithm, Digest, FileMeta, FileState, FolderId, RootId, ScanCounters, ScanId, ScanOptions,
    SizeLimits, Summary, VolumeId,
};

/// A generator whose numbers are the same everywhere (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Folders in a folder, and leaves in one of those.
const FAN: u64 = 100;

/// The scan that is pretended.
struct Scan {
    handle: WriterHandle,
    scan: ScanId,
    root: RootId,
    volume: VolumeId,
    inode: u64,
}

impl Scan {
    /// Lists a folder with files of these contents and subfolders of these
    /// names; returns the subfolders' ids.
    fn list(
        &mut self,
        folder: FolderId,
        contents: &[u64],
        subfolders: u64,
    ) -> Result<Vec<FolderId>, CatalogError> {
        let ids: Vec<_> = (0..subfolders)
            .map(|_| self.handle.allocate_folder())
            .collect();
        let first = self.inode + 1;
        self.inode += contents.len() as u64;
        let files = || (first..).zip(contents);
        let new_folders = ids.iter().enumerate().map(|(at, &id)| NewFolder {
            id,
            name: format!("folder{at:05}").into(),
        });
        self.handle.send(Record::Listed(Box::new(FolderListing {
            files: PartListing {
                scan: self.scan,
                root: self.root,
                folder,
                changes: files()
                    .map(|(ino, &content)| change(ino, content))
                    .collect(),
                vanished: Vec::new(),
                bytes_read: 0,
                sizes: SizeLimits::default(),
            },
            volume: self.volume,
            is_elsewhere: false,
            mount_point: false,
            is_linked: false,
            times: None,
            new_folders: new_folders.collect(),
            returned_folders: Vec::new(),
            vanished_folders: Vec::new(),
            signature: None,
            is_repeat: false,
            counts: ScanCounters::default(),
        })))?;
        let results = files().map(|(ino, &content)| FileResult {
            names: vec![(folder, name(ino))],
            state: FileState {
                size: size(content),
                mtime_ns: 1_000,
                ctime_ns: 1_000,
                ino: Some(ino),
            },
            outcome: FileOutcome::Digested {
                digest: digest(content),
                compared: None,
                racy: false,
            },
        });
        self.handle.send(Record::Files {
            scan: self.scan,
            bytes_read: 0,
            results: results.collect(),
        })?;
        Ok(ids)
    }
}

fn name(ino: u64) -> OsString {
    format!("file{ino:08}.dat").into()
}

/// Small enough that no probe comes before the digest.
fn size(content: u64) -> u64 {
    1 + content % 16_000
}

fn digest(content: u64) -> Digest {
    let mut bytes = [0; 32];
    let mut random = Random(content);
    for part in bytes.chunks_mut(8) {
        part.copy_from_slice(&random.next().to_le_bytes());
    }
    Digest::from_bytes(&bytes).expect("32 bytes are a digest")
}

fn change(ino: u64, content: u64) -> FileChange {
    FileChange {
        name: name(ino).as_os_str().into(),
        meta: FileMeta {
            size: size(content),
            allocated: size(content),
            mtime_ns: 1_000,
            ctime_ns: 1_000,
            ino,
            nlink: 1,
        },
        ino: Some(ino),
        is_link: false,
        keeps_digest: false,
        replaces: None,
        returns: false,
        sample: None,
    }
}

/// The contents of leaf `leaf` of tree `tree`.
fn contents(kind: &str, tree: u64, leaf: u64, random: &mut Random) -> Vec<u64> {
    if kind == "crowd" {
        return vec![1, 2, 1_000_000 + tree * 1_000_000 + leaf];
    }
    let original = tree - tree % 2;
    let mut contents: Vec<u64> = (0..10)
        .map(|file| match random.next() % 10 {
            // A copy has one file in ten changed; one original in ten is a
            // copy of something elsewhere.
            0 if tree % 2 == 1 => 1 << 40 | random.next() >> 24,
            0 => 100 + random.next() % 100_000,
            _ => 1_000_000 + (original * 1_000_000 + leaf) * 10 + file,
        })
        .collect();
    if leaf.is_multiple_of(10) {
        contents[0] = 1;
    }
    contents
}

fn fill(path: &Path, kind: &str, folders: u64) -> Result<u64, CatalogError> {
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
    let writer = Writer::start(catalog, 10_000, Duration::from_millis(250))?;
    let mut run = Scan {
        handle: writer.handle(),
        scan,
        root: placement.root,
        volume,
        inode: 0,
    };
    let mut random = Random(42);
    let per_tree = FAN * FAN;
    let trees = run.list(placement.start, &[], folders.div_ceil(per_tree))?;
    for (tree, top) in (0..).zip(trees) {
        let leaves = per_tree.min(folders - tree * per_tree);
        for (branch, folder) in (0..).zip(run.list(top, &[], leaves.div_ceil(FAN))?) {
            let leaves = FAN.min(leaves - branch * FAN);
            for (leaf, folder) in (0..).zip(run.list(folder, &[], leaves)?) {
                let contents = contents(kind, tree, branch * FAN + leaf, &mut random);
                run.list(folder, &contents, 0)?;
            }
        }
    }
    run.handle.flush()?;
    run.handle.complete(vec![scan], Summary::default())?;
    let files = run.inode;
    drop(run);
    writer.finish()?;
    Ok(files)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let Some(path) = arguments.first() else {
        // `cargo bench` without arguments has nothing to write.
        eprintln!("usage: cargo bench --bench folders -- CATALOG [backups|crowd] [FOLDERS]");
        return ExitCode::SUCCESS;
    };
    let kind = arguments.get(1).map_or("backups", String::as_str);
    let folders = arguments.get(2).and_then(|text| text.parse().ok());
    match fill(Path::new(path), kind, folders.unwrap_or(100_000)) {
        Ok(files) => {
            println!("{files} files in {path}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
