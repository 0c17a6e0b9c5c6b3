//! Opening a folder or a file far below a folder: in chunks that the system accepts,
//! and without passing through a link unless asked to.

use std::ffi::{CStr, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::retry_on_intr;

use super::open::{Links, open_quietly, plain_name};

/// How a folder is opened for listing.
pub(crate) const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// How a folder is opened that is only passed through: as in a plain path, the
/// right to search it is enough.
#[cfg(target_os = "linux")]
pub(super) const PASSAGE: OFlags = FOLDER.union(OFlags::PATH);
#[cfg(not(target_os = "linux"))]
pub(super) const PASSAGE: OFlags = FOLDER;

/// The longest path in one call, NUL included.
#[cfg(target_os = "linux")]
const PATH_MAX: usize = 4096;
#[cfg(not(target_os = "linux"))]
const PATH_MAX: usize = 1024;

/// Opens what `components` lead to from `start`.
pub(crate) fn open_beneath<I>(
    start: BorrowedFd<'_>,
    components: I,
    links: Links,
    flags: OFlags,
) -> io::Result<OwnedFd>
where
    I: IntoIterator<Item: AsRef<OsStr>>,
{
    descend(start, components, method(links), flags)
}

/// Whether one call can open a path of this many bytes.
pub(crate) fn takes_one_call(length: usize, links: Links) -> bool {
    let with_slash_and_nul = length + 2;
    with_slash_and_nul <= method(links).chunk_limit()
}

fn method(links: Links) -> Method {
    match links {
        Links::Follow => Method::Follow,
        Links::Refuse if openat2_works() => Method::Beneath,
        Links::Refuse => Method::NameByName,
    }
}

/// How one chunk of the path is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    /// A plain `openat`, which follows links.
    Follow,
    /// `openat2`, which refuses links anywhere in the chunk.
    Beneath,
    /// `openat` for every single name, since it refuses links only in the last.
    NameByName,
}

impl Method {
    fn open(self, dir: BorrowedFd<'_>, path: &CStr, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        match self {
            Self::Follow => openat(dir, path, flags, Mode::empty()),
            Self::Beneath => open_chunk_beneath(dir, path, flags),
            Self::NameByName => openat(dir, path, flags | OFlags::NOFOLLOW, Mode::empty()),
        }
    }

    fn chunk_limit(self) -> usize {
        match self {
            Self::Follow | Self::Beneath => PATH_MAX,
            Self::NameByName => 0,
        }
    }
}

fn descend<I>(
    start: BorrowedFd<'_>,
    components: I,
    method: Method,
    flags: OFlags,
) -> io::Result<OwnedFd>
where
    I: IntoIterator<Item: AsRef<OsStr>>,
{
    let mut descent = Descent {
        start,
        reached: None,
        chunk: Vec::new(),
        method,
    };
    for component in components {
        descent.push(plain_name(component.as_ref())?)?;
    }
    descent.finish(flags)
}

/// A walk down from `start`: the folder reached so far and the names after it
/// that wait to be opened in one call.
struct Descent<'d> {
    start: BorrowedFd<'d>,
    reached: Option<OwnedFd>,
    chunk: Vec<u8>,
    method: Method,
}

impl Descent<'_> {
    fn push(&mut self, name: &OsStr) -> io::Result<()> {
        let with_slash_and_nul = self.chunk.len() + name.len() + 2;
        if !self.chunk.is_empty() {
            if with_slash_and_nul > self.method.chunk_limit() {
                self.pass_through()?;
            } else {
                self.chunk.push(b'/');
            }
        }
        self.chunk.extend_from_slice(name.as_bytes());
        Ok(())
    }

    fn pass_through(&mut self) -> io::Result<()> {
        self.chunk.push(0);
        let opened = retry_on_intr(|| self.open_chunk(PASSAGE))?;
        self.reached = Some(opened);
        self.chunk.clear();
        Ok(())
    }

    fn finish(mut self, flags: OFlags) -> io::Result<OwnedFd> {
        if self.chunk.is_empty() {
            self.chunk.push(b'.');
        }
        self.chunk.push(0);
        open_quietly(flags, |flags| self.open_chunk(flags))
    }

    fn open_chunk(&self, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        let dir = self.reached.as_ref().map_or(self.start, AsFd::as_fd);
        let path = CStr::from_bytes_with_nul(&self.chunk).map_err(|_| rustix::io::Errno::INVAL)?;
        self.method.open(dir, path, flags)
    }
}

#[cfg(target_os = "linux")]
fn open_chunk_beneath(
    dir: BorrowedFd<'_>,
    path: &CStr,
    flags: OFlags,
) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::ResolveFlags;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(dir, path, flags, Mode::empty(), resolve)
}

/// Opens `name`, unless something is mounted on it; only where [`openat2_works`].
#[cfg(target_os = "linux")]
pub(crate) fn open_on_mount(
    dir: BorrowedFd<'_>,
    name: &OsStr,
    flags: OFlags,
) -> rustix::io::Result<OwnedFd> {
    let resolve = rustix::fs::ResolveFlags::NO_XDEV;
    rustix::fs::openat2(dir, name, flags, Mode::empty(), resolve)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn open_on_mount(
    _: BorrowedFd<'_>,
    _: &OsStr,
    _: OFlags,
) -> rustix::io::Result<OwnedFd> {
    Err(rustix::io::Errno::NOSYS)
}

#[cfg(not(target_os = "linux"))]
fn open_chunk_beneath(_: BorrowedFd<'_>, _: &CStr, _: OFlags) -> rustix::io::Result<OwnedFd> {
    Err(rustix::io::Errno::NOSYS)
}

/// Whether this system has `openat2` and its sandbox lets it through, asked
/// once. Asking apart keeps a real `EPERM` of a folder from looking like a
/// sandbox's.
pub(crate) fn openat2_works() -> bool {
    use std::sync::OnceLock;
    static WORKS: OnceLock<bool> = OnceLock::new();
    *WORKS.get_or_init(|| {
        openat(rustix::fs::CWD, c"/", PASSAGE, Mode::empty())
            .is_ok_and(|root| open_chunk_beneath(root.as_fd(), c".", PASSAGE).is_ok())
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use rustix::fs::{AtFlags, mkdirat, unlinkat};

    use super::*;
    use crate::platform::fs::dir::Dir;

    fn descend_to_folder<I>(
        start: BorrowedFd<'_>,
        components: I,
        method: Method,
    ) -> io::Result<OwnedFd>
    where
        I: IntoIterator<Item: AsRef<OsStr>>,
    {
        descend(start, components, method, FOLDER)
    }

    /// The ways to refuse links, as far as this system and its sandbox go.
    fn refusing() -> Vec<Method> {
        let mut methods = vec![Method::NameByName];
        methods.extend(openat2_works().then_some(Method::Beneath));
        methods
    }

    fn all() -> Vec<Method> {
        let mut methods = refusing();
        methods.push(Method::Follow);
        methods
    }

    /// A chain of folders, removed from its bottom up: `remove_dir_all` keeps a
    /// descriptor and a stack frame for every level.
    struct Chain<'t> {
        top: &'t Dir,
        names: Vec<String>,
    }

    impl<'t> Chain<'t> {
        fn create(top: &'t Dir, depth: usize, name_len: usize) -> Self {
            let names: Vec<_> = (0..depth).map(|n| format!("{n:0>name_len$}")).collect();
            let mut here = open(top.as_fd(), c".");
            for name in &names {
                mkdirat(&here, name.as_str(), Mode::RWXU).unwrap();
                here = openat(&here, name.as_str(), FOLDER, Mode::empty()).unwrap();
            }
            mkdirat(&here, "bottom", Mode::RWXU).unwrap();
            Self { top, names }
        }
    }

    impl Drop for Chain<'_> {
        fn drop(&mut self) {
            let mut here =
                descend_to_folder(self.top.as_fd(), &self.names, Method::Follow).unwrap();
            unlinkat(&here, "bottom", AtFlags::REMOVEDIR).unwrap();
            while let Some(name) = self.names.pop() {
                here = open(here.as_fd(), c"..");
                unlinkat(&here, name, AtFlags::REMOVEDIR).unwrap();
            }
        }
    }

    fn open(dir: BorrowedFd<'_>, path: &CStr) -> OwnedFd {
        openat(dir, path, FOLDER, Mode::empty()).unwrap()
    }

    fn assert_reaches_bottom(depth: usize, name_len: usize) {
        let temp = tempfile::tempdir().unwrap();
        let top = Dir::open_root(temp.path()).unwrap();
        let chain = Chain::create(&top, depth, name_len);
        for method in all() {
            let deep = descend_to_folder(top.as_fd(), &chain.names, method).unwrap();
            let bottom = openat(deep, "bottom", FOLDER, Mode::empty());
            assert!(bottom.is_ok(), "{method:?}");
        }
        drop(chain);
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_megabyte_of_path_is_no_obstacle() {
        assert_reaches_bottom(5_000, 200);
    }

    #[test]
    fn chunks_end_exactly_at_the_limit() {
        // 16 names of 255 bytes with their slashes and NUL are 4096 bytes.
        for depth in 15..=18 {
            assert_reaches_bottom(depth, 255);
        }
        for name_len in 250..255 {
            assert_reaches_bottom(17, name_len);
        }
    }

    fn tree_with_links() -> (tempfile::TempDir, Dir) {
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir_all(temp.path().join("real/inner")).unwrap();
        symlink("real", temp.path().join("link")).unwrap();
        symlink(temp.path(), temp.path().join("real/up")).unwrap();
        fs::write(temp.path().join("file"), "").unwrap();
        let dir = Dir::open_root(temp.path()).unwrap();
        (temp, dir)
    }

    #[test]
    fn links_are_followed_when_asked() {
        let (_temp, dir) = tree_with_links();
        let expected = dir.open_beneath(["real", "inner"], Links::Refuse).unwrap();
        for path in [&["link", "inner"][..], &["real", "up", "link", "inner"]] {
            let reached = dir.open_beneath(path, Links::Follow).unwrap();
            assert_eq!(reached.stat().unwrap(), expected.stat().unwrap());
        }
    }

    #[test]
    fn links_are_refused_at_the_end_and_on_the_way() {
        let (_temp, dir) = tree_with_links();
        for path in [&["link"][..], &["link", "inner"], &["real", "up", "real"]] {
            for method in refusing() {
                let error = descend_to_folder(dir.as_fd(), path, method).unwrap_err();
                let error = error.raw_os_error().unwrap();
                let refusals = [rustix::io::Errno::LOOP, rustix::io::Errno::NOTDIR];
                let refusals = refusals.map(rustix::io::Errno::raw_os_error);
                assert!(refusals.contains(&error), "{path:?} {method:?} {error}");
            }
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_folder_that_may_only_be_searched_is_passed_through() {
        use std::os::unix::fs::PermissionsExt;
        let (temp, dir) = tree_with_links();
        let set_mode = |mode| {
            let mode = fs::Permissions::from_mode(mode);
            fs::set_permissions(temp.path().join("real"), mode).unwrap();
        };
        set_mode(0o111);
        for method in all() {
            let inner = descend_to_folder(dir.as_fd(), ["real", "inner"], method);
            assert!(inner.is_ok(), "{method:?}");
        }
        set_mode(0o700);
    }

    #[test]
    fn nothing_leads_upwards() {
        let (_temp, dir) = tree_with_links();
        for name in ["..", ".", "", "/", "real/..", "/etc", "real/inner"] {
            for method in all() {
                let error = descend_to_folder(dir.as_fd(), ["real", name], method).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{name}");
            }
        }
        assert!(dir.open_beneath(["nul\0"], Links::Refuse).is_err());
    }

    #[test]
    fn no_names_lead_to_the_same_folder() {
        let (_temp, dir) = tree_with_links();
        for method in all() {
            let again = descend_to_folder(dir.as_fd(), [""; 0], method).unwrap();
            let again = crate::platform::fs::stat::of_fd(again).unwrap();
            assert_eq!(again, dir.stat().unwrap());
        }
    }

    #[test]
    fn files_and_missing_names_fail_as_such() {
        let (_temp, dir) = tree_with_links();
        for method in all() {
            let error = |name: &str| descend_to_folder(dir.as_fd(), [name], method).unwrap_err();
            assert_eq!(error("file").kind(), io::ErrorKind::NotADirectory);
            assert_eq!(error("none").kind(), io::ErrorKind::NotFound);
            let too_long = "n".repeat(256);
            assert_eq!(error(&too_long).kind(), io::ErrorKind::InvalidFilename);
        }
    }
}
