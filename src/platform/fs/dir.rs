//! Folders by handle: everything below a root is reached relative to an open
//! folder, so that neither long paths nor renames above it matter.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags, openat};

use super::file::OpenFile;
use super::open::{Links, open_quietly, plain_name};
use super::stat::Stat;
use super::{resolve, stat};
use crate::model::FolderIdentity;

/// How a file is opened for reading. Should it be something else by now, opening
/// neither waits for it nor makes it this process's terminal.
const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// An open folder.
#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
}

impl Dir {
    /// Takes over the descriptor of a folder.
    pub(super) fn from_fd(fd: OwnedFd) -> Self {
        Self { fd }
    }

    /// Opens a root by its path, links followed.
    pub fn open_root(path: &Path) -> io::Result<Self> {
        let fd = open_quietly(resolve::FOLDER, |flags| {
            openat(CWD, path, flags, Mode::empty())
        })?;
        Ok(Self { fd })
    }

    /// Opens the folder that `components` lead to from this one; none lead to
    /// this one again, through a handle of its own.
    ///
    /// Neither the depth nor the length of the whole path is limited, and
    /// mounts may be crossed. `..`, `.` and names with a slash are refused.
    /// With [`Links::Refuse`] a link fails with `ELOOP`, or with `ENOTDIR` on
    /// systems without `openat2`.
    pub fn open_beneath<I>(&self, components: I, links: Links) -> io::Result<Self>
    where
        I: IntoIterator<Item: AsRef<OsStr>>,
    {
        let fd = resolve::open_beneath(self.as_fd(), components, links, resolve::FOLDER)?;
        Ok(Self { fd })
    }

    /// Opens the regular file `name` in the folder that `below` leads to from
    /// this one, under the rules of [`Dir::open_beneath`] and [`Dir::open_file`],
    /// in one call. Where that takes more than one, it is `Unsupported`, and the
    /// folder is better opened first.
    pub fn open_file_beneath(
        &self,
        below: &Path,
        name: &OsStr,
        links: Links,
    ) -> io::Result<OpenFile> {
        let length = below.as_os_str().len() + name.len();
        if !resolve::takes_one_call(length, links) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let components = below.iter().chain(std::iter::once(name));
        OpenFile::new(resolve::open_beneath(
            self.as_fd(),
            components,
            links,
            FILE,
        )?)
    }

    /// The state of the folder itself.
    pub fn stat(&self) -> io::Result<Stat> {
        stat::of_fd(&self.fd)
    }

    /// Which folder it is, wherever it is mounted; `None` where the filesystem does
    /// not tell.
    pub fn identity(&self) -> io::Result<Option<FolderIdentity>> {
        stat::folder_identity(&self.fd)
    }

    /// The state of the entry `name`, or of what a link leads to.
    ///
    /// [`Links::Refuse`] reports the link itself rather than failing.
    pub fn stat_entry(&self, name: &OsStr, links: Links) -> io::Result<Stat> {
        stat::of_name(self.as_fd(), plain_name(name)?, links.stat_flags())
    }

    /// Opens the regular file `name` under the rules of [`Dir::open_file`], and
    /// learns its mount too: what [`Dir::stat_entry`] tells and a handle, for
    /// little more than the handle alone. `mount` is that of this folder; a file
    /// mounted over another fails where the system can refuse it, which is less
    /// work than asking for the mount of every file.
    pub fn open_entry(&self, name: &OsStr, mount: Option<u64>) -> io::Result<OpenFile> {
        if mount.is_none() || !resolve::openat2_works() {
            let fd = self.open_regular(name, Links::Refuse)?;
            let opened_as = stat::of_fd(&fd)?;
            return OpenFile::opened(fd, opened_as);
        }
        let name = plain_name(name)?;
        let fd = open_quietly(FILE | Links::Refuse.open_flags(), |flags| {
            resolve::open_on_mount(self.as_fd(), name, flags)
        })?;
        let opened_as = stat::of_file(&fd)?;
        OpenFile::opened(fd, Stat { mount, ..opened_as })
    }

    /// Opens the regular file `name` for reading, without ever waiting and
    /// where possible without touching its access time.
    ///
    /// Anything but a regular file fails: a link with `ELOOP` (unless
    /// followed), a folder with `EISDIR`, anything else with `ENXIO`.
    pub fn open_file(&self, name: &OsStr, links: Links) -> io::Result<OpenFile> {
        OpenFile::new(self.open_regular(name, links)?)
    }

    fn open_regular(&self, name: &OsStr, links: Links) -> io::Result<OwnedFd> {
        let name = plain_name(name)?;
        open_quietly(FILE | links.open_flags(), |flags| {
            openat(&self.fd, name, flags, Mode::empty())
        })
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use rustix::io::Errno;

    use super::*;
    use crate::platform::fs::stat::EntryKind;

    fn tree() -> (tempfile::TempDir, Dir) {
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir(temp.path().join("folder")).unwrap();
        fs::write(temp.path().join("file"), "content").unwrap();
        symlink("file", temp.path().join("link")).unwrap();
        symlink("loop", temp.path().join("loop")).unwrap();
        let dir = Dir::open_root(temp.path()).unwrap();
        (temp, dir)
    }

    fn name(text: &str) -> &OsStr {
        OsStr::new(text)
    }

    #[test]
    fn an_entry_opened_is_the_entry_asked_about() {
        let (_temp, dir) = tree();
        let asked = dir.stat_entry(name("file"), Links::Refuse).unwrap();
        for mount in [None, asked.mount] {
            let opened = dir.open_entry(name("file"), mount).unwrap();
            assert_eq!(*opened.opened_as(), asked);
            for other in ["link", "folder", "nothing", ".."] {
                let opened = dir.open_entry(name(other), mount);
                assert!(opened.is_err(), "{other}");
            }
        }
    }

    #[test]
    fn entries_are_told_apart() {
        let (_temp, dir) = tree();
        let kind = |entry, links| dir.stat_entry(name(entry), links).unwrap().kind;
        assert_eq!(kind("file", Links::Refuse), EntryKind::File);
        assert_eq!(kind("folder", Links::Refuse), EntryKind::Folder);
        assert_eq!(kind("link", Links::Refuse), EntryKind::Link);
        assert_eq!(kind("link", Links::Follow), EntryKind::File);
        assert_eq!(kind("loop", Links::Refuse), EntryKind::Link);
        assert!(dir.stat_entry(name("loop"), Links::Follow).is_err());
        assert_eq!(dir.stat().unwrap().kind, EntryKind::Folder);
    }

    #[test]
    fn a_file_is_opened_and_a_link_only_when_followed() {
        let (_temp, dir) = tree();
        let mut content = [0; 16];
        for (entry, links) in [("file", Links::Refuse), ("link", Links::Follow)] {
            let file = dir.open_file(name(entry), links).unwrap();
            assert_eq!(file.read_at(&mut content, 0).unwrap(), 7);
            let by_name = dir.stat_entry(name("file"), Links::Refuse).unwrap();
            let without_mount = Stat {
                mount: None,
                ..by_name
            };
            assert_eq!(*file.opened_as(), without_mount);
        }
        let error = dir.open_file(name("link"), Links::Refuse).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(Errno::LOOP.raw_os_error()));
        let error = dir.open_file(name("folder"), Links::Refuse).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::IsADirectory);
    }

    #[test]
    fn a_file_far_below_is_opened_under_the_same_rules() {
        let (temp, dir) = tree();
        fs::write(temp.path().join("folder/deep"), "content").unwrap();
        symlink("folder", temp.path().join("way")).unwrap();
        symlink("deep", temp.path().join("folder/last")).unwrap();
        let open = |path: &str, links| {
            let (below, name) = path.rsplit_once('/').unwrap_or(("", path));
            dir.open_file_beneath(Path::new(below), name.as_ref(), links)
        };
        if open("folder/deep", Links::Refuse).is_err_and(|e| e.kind() == io::ErrorKind::Unsupported)
        {
            eprintln!("SKIPPED: no openat2 here");
            return;
        }
        let size = |opened: io::Result<OpenFile>| opened.unwrap().opened_as().meta.size;
        assert_eq!(size(open("folder/deep", Links::Refuse)), 7);
        for through_link in ["way/deep", "folder/last"] {
            assert!(open(through_link, Links::Refuse).is_err());
            assert_eq!(size(open(through_link, Links::Follow)), 7);
        }
        for no_file in ["folder", "folder/../file", "folder/none", ""] {
            assert!(open(no_file, Links::Follow).is_err(), "{no_file}");
        }
        let long = open(&format!("{}deep", "folder/".repeat(600)), Links::Follow);
        assert_eq!(long.unwrap_err().kind(), io::ErrorKind::Unsupported);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_fifo_is_special_and_opening_it_never_waits() {
        let (_temp, dir) = tree();
        rustix::fs::mkfifoat(dir.as_fd(), "fifo", Mode::RWXU).unwrap();
        let stat = dir.stat_entry(name("fifo"), Links::Refuse).unwrap();
        assert_eq!(stat.kind, EntryKind::Special);
        let error = dir.open_file(name("fifo"), Links::Refuse).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(Errno::NXIO.raw_os_error()));
    }

    #[test]
    fn a_socket_is_special_and_cannot_be_opened() {
        let (temp, dir) = tree();
        let _socket = std::os::unix::net::UnixListener::bind(temp.path().join("socket")).unwrap();
        let stat = dir.stat_entry(name("socket"), Links::Refuse).unwrap();
        assert_eq!(stat.kind, EntryKind::Special);
        assert!(dir.open_file(name("socket"), Links::Refuse).is_err());
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        let (_temp, dir) = tree();
        for elsewhere in ["..", ".", "", "/etc/passwd", "folder/../file"] {
            let stat = dir.stat_entry(name(elsewhere), Links::Follow);
            let open = dir.open_file(name(elsewhere), Links::Follow);
            assert_eq!(stat.unwrap_err().kind(), io::ErrorKind::InvalidInput);
            assert_eq!(open.unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
        assert!(
            dir.stat_entry(name("..."), Links::Refuse)
                .is_err_and(|e| e.kind() == io::ErrorKind::NotFound)
        );
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn reading_leaves_the_access_time_alone() {
        use std::os::unix::fs::MetadataExt;
        let (temp, dir) = tree();
        let path = temp.path().join("file");
        let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1);
        let times = fs::FileTimes::new().set_accessed(old);
        fs::File::options()
            .append(true)
            .open(&path)
            .unwrap()
            .set_times(times)
            .unwrap();
        let file = dir.open_file(name("file"), Links::Refuse).unwrap();
        file.read_at(&mut [0; 16], 0).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().atime(), 1);
    }

    #[test]
    fn a_folder_knows_its_mount() {
        let (_temp, dir) = tree();
        let folder = dir.open_beneath(["folder"], Links::Refuse).unwrap();
        assert_eq!(folder.stat().unwrap().mount, dir.stat().unwrap().mount);
        assert_eq!(folder.stat().unwrap().dev, dir.stat().unwrap().dev);
    }
}
