//! What no scan can do without: listing every folder and a stat for every
//! file, on all cores and with nothing else. And reading everything once, to
//! warm the page cache.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, StatxFlags, openat, statx};

/// The argument of the instance that only lists.
pub(crate) const LIST_AND_STAT: &str = "--list-and-stat";

/// Folders that are still to be listed, and how many are not done yet.
struct Work {
    waiting: Mutex<Vec<PathBuf>>,
    unfinished: AtomicUsize,
}

/// Lists `top` and stats its files, as a process of its own that is measured
/// as the programs are.
pub(crate) fn list_and_stat(top: &str) -> ExitCode {
    match for_all_files(Path::new(top), None) {
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
    let read = |path: &Path| fs::read(path).map(drop);
    for_all_files(top, Some(&read)).map(drop)
}

/// What is done with every file, if anything.
type Visit<'v> = Option<&'v (dyn Fn(&Path) -> io::Result<()> + Sync)>;

/// Lists and stats everything, and shows every file to `visit`. Returns how
/// many there are.
fn for_all_files(top: &Path, visit: Visit<'_>) -> io::Result<usize> {
    let work = Work {
        waiting: Mutex::new(vec![top.to_path_buf()]),
        unfinished: AtomicUsize::new(1),
    };
    let threads = thread::available_parallelism()?.get();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| scope.spawn(|| work.run(visit)))
            .collect();
        let results = workers.into_iter().map(|worker| {
            let gone = |_| Err(io::Error::other("a listing thread panicked"));
            worker.join().unwrap_or_else(gone)
        });
        results.sum()
    })
}

impl Work {
    fn run(&self, visit: Visit<'_>) -> io::Result<usize> {
        let mut files = 0;
        let mut buffer = Vec::with_capacity(64 * 1024);
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
            let listed = self.list(&folder, &mut buffer, visit);
            self.unfinished.fetch_sub(1, Ordering::AcqRel);
            // What may not be read is not part of the floor.
            files += listed.unwrap_or(0);
        }
        Ok(files)
    }

    fn list(&self, folder: &Path, buffer: &mut Vec<u8>, visit: Visit<'_>) -> io::Result<usize> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let handle = openat(CWD, folder, flags, Mode::empty())?;
        let mut entries = RawDir::new(&handle, buffer.spare_capacity_mut());
        let mut files = 0;
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name();
            let path = || folder.join(std::ffi::OsStr::from_bytes(name.to_bytes()));
            match entry.file_type() {
                FileType::Directory if !matches!(name.to_bytes(), b"." | b"..") => {
                    self.unfinished.fetch_add(1, Ordering::AcqRel);
                    if let Ok(mut waiting) = self.waiting.lock() {
                        waiting.push(path());
                    }
                }
                FileType::RegularFile => {
                    let flags = AtFlags::SYMLINK_NOFOLLOW;
                    statx(&handle, name, flags, StatxFlags::BASIC_STATS)?;
                    if let Some(visit) = visit {
                        visit(&path())?;
                    }
                    files += 1;
                }
                _ => {}
            }
        }
        Ok(files)
    }
}
