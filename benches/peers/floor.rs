//! What no scan can do without: listing every folder and a stat for every
//! file, on all cores and with nothing else; and the same with reading every
//! file, which also warms the page cache.

use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, StatxFlags, openat, statx};

/// The argument of the instance that only lists.
pub(crate) const LIST_AND_STAT: &str = "--list-and-stat";
/// The argument of the instance that also reads.
pub(crate) const LIST_STAT_AND_READ: &str = "--list-stat-and-read";

/// Folders that are still to be listed, and how many are not done yet.
struct Work {
    waiting: Mutex<Vec<PathBuf>>,
    unfinished: AtomicUsize,
    files: Files,
}

/// What is done with the files beside listing and a stat.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Files {
    Skip,
    Read,
}

/// Lists `top` and stats its files, as a process of its own that is measured
/// as the programs are.
pub(crate) fn walk(top: &str, files: Files) -> ExitCode {
    match for_all_files(Path::new(top), files) {
        Ok(files) => {
            println!("{files} files");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Reads every file, so that the page cache has what fits.
pub(crate) fn warm(top: &Path) -> io::Result<()> {
    for_all_files(top, Files::Read).map(drop)
}

/// Lists and stats everything, and reads it if it is to. Returns how many files
/// there are.
fn for_all_files(top: &Path, files: Files) -> io::Result<usize> {
    let work = Work {
        waiting: Mutex::new(vec![top.to_path_buf()]),
        unfinished: AtomicUsize::new(1),
        files,
    };
    let threads = thread::available_parallelism()?.get();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| work.run())).collect();
        let results = workers.into_iter().map(|worker| {
            let gone = |_| Err(io::Error::other("a listing thread panicked"));
            worker.join().unwrap_or_else(gone)
        });
        results.sum()
    })
}

/// Reads a file of this size, and forgets what it read.
fn read(folder: &OwnedFd, name: &CStr, size: u64, chunk: &mut [u8]) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let mut file = File::from(openat(folder, name, flags, Mode::empty())?);
    let mut left = size;
    while left > 0 {
        match file.read(chunk)? as u64 {
            0 => break,
            some => left = left.saturating_sub(some),
        }
    }
    Ok(())
}

impl Work {
    fn run(&self) -> io::Result<usize> {
        let mut files = 0;
        let mut buffers = (Vec::with_capacity(64 * 1024), vec![0; 128 * 1024]);
        while self.unfinished.load(Ordering::Acquire) > 0 {
            let next = self
                .waiting
                .lock()
                .ok()
                .and_then(|mut waiting| waiting.pop());
            let Some(folder) = next else {
                thread::yield_now();
                continue;
            };
            let listed = self.list(&folder, &mut buffers);
            self.unfinished.fetch_sub(1, Ordering::AcqRel);
            // What may not be read is not part of the floor.
            files += listed.unwrap_or(0);
        }
        Ok(files)
    }

    fn list(&self, folder: &Path, buffers: &mut (Vec<u8>, Vec<u8>)) -> io::Result<usize> {
        let (buffer, chunk) = buffers;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let handle = openat(CWD, folder, flags, Mode::empty())?;
        let mut entries = RawDir::new(&handle, buffer.spare_capacity_mut());
        let mut files = 0;
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name();
            match entry.file_type() {
                FileType::Directory if !matches!(name.to_bytes(), b"." | b"..") => {
                    self.unfinished.fetch_add(1, Ordering::AcqRel);
                    if let Ok(mut waiting) = self.waiting.lock() {
                        waiting.push(folder.join(OsStr::from_bytes(name.to_bytes())));
                    }
                }
                FileType::RegularFile => {
                    let flags = AtFlags::SYMLINK_NOFOLLOW;
                    let found = statx(&handle, name, flags, StatxFlags::BASIC_STATS)?;
                    if self.files == Files::Read {
                        read(&handle, name, found.stx_size, chunk)?;
                    }
                    files += 1;
                }
                _ => {}
            }
        }
        Ok(files)
    }
}
