//! Building files: content, links, holes, times, and what git cannot hold.

use std::ffi::OsStr;
use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::TestEnv;

/// Files get times that lag behind the clock by up to one tick of the kernel.
const TICK: Duration = Duration::from_millis(10);

impl TestEnv {
    /// Writes a file, and the folders above it.
    pub(crate) fn file(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> &Self {
        let path = self.above(path);
        fs::write(path, content).unwrap();
        self.wrote()
    }

    /// Writes `size` bytes that look random and depend on `seed` only.
    pub(crate) fn random(&self, path: impl AsRef<Path>, seed: u64, size: usize) -> &Self {
        self.file(path, noise(seed, size))
    }

    /// A folder, with those above it.
    pub(crate) fn folder(&self, path: impl AsRef<Path>) -> &Self {
        fs::create_dir_all(self.path(path)).unwrap();
        self.wrote()
    }

    /// A copy of a file with content of its own on the disk.
    pub(crate) fn copy(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> &Self {
        let content = fs::read(self.path(from)).unwrap();
        self.file(to, content)
    }

    /// Another name of a file.
    pub(crate) fn hard_link(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> &Self {
        let to = self.above(to);
        fs::hard_link(self.path(from), to).unwrap();
        self.wrote()
    }

    /// A symbolic link at `at`; `target` is taken as it is.
    pub(crate) fn symlink(&self, target: impl AsRef<Path>, at: impl AsRef<Path>) -> &Self {
        let at = self.above(at);
        std::os::unix::fs::symlink(target, at).unwrap();
        self.wrote()
    }

    /// A named pipe.
    pub(crate) fn fifo(&self, path: impl AsRef<Path>) -> &Self {
        self.node(path, rustix::fs::FileType::Fifo, 0)
    }

    /// A socket that nobody listens on.
    pub(crate) fn socket(&self, path: impl AsRef<Path>) -> &Self {
        // The address of a socket is short: bind by a relative name in a folder
        // handle is not possible, so go through /proc.
        let path = self.above(path);
        let parent = File::open(path.parent().unwrap()).unwrap();
        let fd = std::os::fd::AsRawFd::as_raw_fd(&parent);
        let short = Path::new("/proc/self/fd")
            .join(fd.to_string())
            .join(path.file_name().unwrap());
        drop(UnixListener::bind(short).unwrap());
        self.wrote()
    }

    /// A character device that reads as zeros for ever; needs root.
    pub(crate) fn zero_device(&self, path: impl AsRef<Path>) -> &Self {
        let zero = rustix::fs::makedev(1, 5);
        self.node(path, rustix::fs::FileType::CharacterDevice, zero)
    }

    /// A file of `size` bytes, all of them a hole.
    pub(crate) fn sparse(&self, path: impl AsRef<Path>, size: u64) -> &Self {
        let path = self.above(path);
        File::create(path).unwrap().set_len(size).unwrap();
        self.wrote()
    }

    /// Makes a file longer, by a hole.
    pub(crate) fn lengthen(&self, path: impl AsRef<Path>, size: u64) -> &Self {
        let file = File::options().write(true).open(self.path(path)).unwrap();
        file.set_len(size).unwrap();
        self.wrote()
    }

    /// Sets a file's modification time.
    pub(crate) fn mtime(&self, path: impl AsRef<Path>, time: SystemTime) -> &Self {
        let file = File::open(self.path(path)).unwrap();
        file.set_times(FileTimes::new().set_modified(time)).unwrap();
        self.wrote()
    }

    /// Changes one byte in place.
    pub(crate) fn flip(&self, path: impl AsRef<Path>, offset: u64) -> &Self {
        let mut byte = [0];
        let file = File::open(self.path(path.as_ref())).unwrap();
        file.read_exact_at(&mut byte, offset).unwrap();
        self.write_at(path, offset, [!byte[0]])
    }

    /// Writes into a file in place; a hole stays one on both sides.
    pub(crate) fn write_at(
        &self,
        path: impl AsRef<Path>,
        offset: u64,
        content: impl AsRef<[u8]>,
    ) -> &Self {
        let file = OpenOptions::new().write(true).open(self.path(path));
        file.unwrap()
            .write_all_at(content.as_ref(), offset)
            .unwrap();
        self.wrote()
    }

    /// Changes one byte in place and puts the modification time back.
    pub(crate) fn flip_secretly(&self, path: impl AsRef<Path>, offset: u64) -> &Self {
        let path = path.as_ref();
        let before = fs::metadata(self.path(path)).unwrap().modified().unwrap();
        self.flip(path, offset).mtime(path, before)
    }

    /// Adds to the end of a file.
    pub(crate) fn append(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> &Self {
        let file = OpenOptions::new().append(true).open(self.path(path));
        file.unwrap().write_all(content.as_ref()).unwrap();
        self.wrote()
    }

    /// Removes a file, or a folder with all that is in it.
    pub(crate) fn remove(&self, path: impl AsRef<Path>) -> &Self {
        let path = self.path(path);
        if path.symlink_metadata().unwrap().is_dir() {
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
        self.wrote()
    }

    /// Moves a file or folder.
    pub(crate) fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> &Self {
        let to = self.above(to);
        fs::rename(self.path(from), to).unwrap();
        self.wrote()
    }

    /// Sets the permissions.
    pub(crate) fn chmod(&self, path: impl AsRef<Path>, mode: u32) -> &Self {
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(mode)).unwrap();
        self.wrote()
    }

    /// Copies a folder of the project's fixtures here.
    pub(crate) fn fixture(&self, name: &str, to: &str) -> &Self {
        let from = fixtures().join(name);
        for entry in walkdir::WalkDir::new(&from) {
            let entry = entry.unwrap();
            let to = self
                .path(to)
                .join(entry.path().strip_prefix(&from).unwrap());
            if entry.file_type().is_dir() {
                fs::create_dir_all(to).unwrap();
            } else {
                fs::copy(entry.path(), to).unwrap();
            }
        }
        self.wrote()
    }

    /// Waits until no file written so far is too young to be trusted: nothing
    /// can set a ctime.
    pub(crate) fn settle_clock(&self) -> &Self {
        if let Some(last) = self.last_write.get() {
            let trusted_after = self.too_young.get() + TICK;
            thread::sleep(trusted_after.saturating_sub(last.elapsed()));
        }
        self
    }

    fn above(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    fn node(&self, path: impl AsRef<Path>, kind: rustix::fs::FileType, device: u64) -> &Self {
        let path = self.above(path);
        let mode = rustix::fs::Mode::from_raw_mode(0o644);
        rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, device).unwrap();
        self.wrote()
    }

    fn wrote(&self) -> &Self {
        self.last_write.set(Some(Instant::now()));
        self
    }
}

/// The project's fixtures.
pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// A relative path of arbitrary bytes.
pub(crate) fn odd(bytes: &[u8]) -> PathBuf {
    OsStr::from_bytes(bytes).into()
}

/// Bytes that look random and depend on `seed` only. Made by a dependency, which
/// is optimised in debug builds too: some tests need many of them.
pub(crate) fn noise(seed: u64, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    let mut seeded = blake3::Hasher::new();
    seeded.update(&seed.to_le_bytes());
    seeded.finalize_xof().fill(&mut bytes);
    bytes
}
