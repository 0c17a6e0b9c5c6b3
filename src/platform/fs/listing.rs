//! Reading the names in a folder.

use std::ffi::{CStr, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::FileType;

use super::dir::Dir;
use super::stat::EntryKind;
use crate::model::FileName;

/// One name in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawEntry {
    /// The name, any bytes but NUL and `/`.
    pub name: FileName,
    /// The inode number stored with the name. A filesystem put together
    /// from others may give the file itself another one.
    pub ino_hint: u64,
    /// What it is, if the filesystem stores that with the name.
    pub kind_hint: Option<EntryKind>,
}

impl RawEntry {
    /// Copies an entry out of the system's buffer; `.` and `..` are none.
    fn new(name: &CStr, ino_hint: u64, file_type: FileType) -> Option<Self> {
        let name = name.to_bytes();
        (name != b"." && name != b"..").then(|| Self {
            name: OsStr::from_bytes(name).into(),
            ino_hint,
            kind_hint: EntryKind::from_hint(file_type),
        })
    }
}

/// The names in a folder, in the filesystem's order, without `.` and `..`.
///
/// The listing is complete only if it ends without having given an error; after
/// an error it has ended. It holds its folder exclusively, since two listings
/// would share one position and each miss what the other took.
#[derive(Debug)]
pub struct Entries<'d> {
    dir: &'d Dir,
    source: Option<system::Source>,
    /// Memory that all names so far would take.
    size: usize,
}

/// Memory that the names of one folder may take: more than twenty million short
/// ones. A broken filesystem may return names for ever.
const MOST: usize = 1 << 30;

impl<'d> Entries<'d> {
    /// Begins at the first name, also after an earlier listing.
    pub fn of(dir: &'d mut Dir) -> io::Result<Self> {
        let source = Some(system::Source::new(dir)?);
        Ok(Self {
            dir,
            source,
            size: 0,
        })
    }

    /// The folder that is listed, to look at entries on the way.
    pub fn dir(&self) -> &Dir {
        self.dir
    }
}

impl Iterator for Entries<'_> {
    type Item = io::Result<RawEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut item = self.source.as_mut()?.next_entry(self.dir).transpose();
        if let Some(Ok(entry)) = &item {
            self.size += size_of::<RawEntry>() + entry.name.len();
            if self.size > MOST {
                item = Some(Err(io::Error::other(
                    "it has more names than a folder can have: they may never end",
                )));
            }
        }
        if !matches!(item, Some(Ok(_))) {
            self.source = None;
        }
        item
    }
}

/// `getdents` with a large buffer, one batch of names at a time.
#[cfg(target_os = "linux")]
mod system {
    use std::{io, vec};

    use rustix::fs::{RawDir, SeekFrom};
    use rustix::io::Errno;

    use rustix::fd::AsFd;

    use super::RawEntry;
    use crate::platform::fs::dir::Dir;

    const BUFFER: usize = 64 * 1024;

    #[derive(Debug)]
    pub(crate) struct Source {
        buffer: Vec<u8>,
        batch: vec::IntoIter<RawEntry>,
    }

    impl Source {
        pub(crate) fn new(dir: &Dir) -> io::Result<Self> {
            rustix::fs::seek(dir.as_fd(), SeekFrom::Start(0))?;
            Ok(Self {
                buffer: Vec::with_capacity(BUFFER),
                batch: Vec::new().into_iter(),
            })
        }

        pub(crate) fn next_entry(&mut self, dir: &Dir) -> io::Result<Option<RawEntry>> {
            loop {
                if let Some(entry) = self.batch.next() {
                    return Ok(Some(entry));
                }
                match self.read_batch(dir)? {
                    Some(batch) => self.batch = batch.into_iter(),
                    None => return Ok(None),
                }
            }
        }

        /// What one system call returns: `None` at the end, possibly nothing
        /// but the dots before.
        fn read_batch(&mut self, dir: &Dir) -> io::Result<Option<Vec<RawEntry>>> {
            let mut raw = RawDir::new(dir.as_fd(), self.buffer.spare_capacity_mut());
            let mut batch = Vec::new();
            loop {
                match raw.next() {
                    None => return Ok(None),
                    Some(Err(Errno::INTR)) => continue,
                    Some(Err(error)) => return Err(error.into()),
                    Some(Ok(entry)) => {
                        let (name, kind) = (entry.file_name(), entry.file_type());
                        batch.extend(RawEntry::new(name, entry.ino(), kind));
                    }
                }
                if raw.is_buffer_empty() {
                    return Ok(Some(batch));
                }
            }
        }
    }
}

/// `readdir` on a second handle, as every Unix has it.
#[cfg(not(target_os = "linux"))]
mod system {
    use std::io;

    use rustix::fd::AsFd;

    use super::RawEntry;
    use crate::platform::fs::dir::Dir;

    #[derive(Debug)]
    pub(crate) struct Source(rustix::fs::Dir);

    impl Source {
        pub(crate) fn new(dir: &Dir) -> io::Result<Self> {
            Ok(Self(rustix::fs::Dir::read_from(dir.as_fd())?))
        }

        pub(crate) fn next_entry(&mut self, _dir: &Dir) -> io::Result<Option<RawEntry>> {
            while let Some(entry) = self.0.read() {
                let entry = entry?;
                let entry = RawEntry::new(entry.file_name(), entry.ino(), entry.file_type());
                if entry.is_some() {
                    return Ok(entry);
                }
            }
            Ok(None)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs::{self, File};

    use super::*;

    fn names(dir: &mut Dir) -> BTreeSet<FileName> {
        let entries = Entries::of(dir).unwrap();
        entries.map(|entry| entry.unwrap().name).collect()
    }

    #[test]
    fn every_byte_that_a_name_may_hold_round_trips() {
        let temp = tempfile::tempdir().unwrap();
        let expected: BTreeSet<_> = (1..=u8::MAX)
            .filter(|byte| *byte != b'/')
            .map(|byte| FileName::from(OsStr::from_bytes(&[b'n', byte])))
            .collect();
        for name in &expected {
            drop(File::create(temp.path().join(&**name)).unwrap());
        }
        let mut dir = Dir::open_root(temp.path()).unwrap();
        assert_eq!(names(&mut dir), expected);
    }

    #[test]
    fn kinds_are_known_and_the_dots_skipped() {
        let temp = tempfile::tempdir().unwrap();
        drop(File::create(temp.path().join("file")).unwrap());
        fs::create_dir(temp.path().join("folder")).unwrap();
        std::os::unix::fs::symlink("file", temp.path().join("link")).unwrap();
        let mut dir = Dir::open_root(temp.path()).unwrap();
        let mut entries: Vec<_> = Entries::of(&mut dir).unwrap().map(Result::unwrap).collect();
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        let kinds = [EntryKind::File, EntryKind::Folder, EntryKind::Link];
        for (entry, kind) in entries.iter().zip(kinds) {
            assert!(entry.kind_hint.is_none_or(|hint| hint == kind), "{entry:?}");
        }
        assert_eq!(entries.len(), 3);
    }

    #[test]
    fn a_listing_longer_than_the_buffer_is_complete_each_time() {
        let temp = tempfile::tempdir().unwrap();
        for number in 0..2_000 {
            drop(File::create(temp.path().join(format!("name-{number:0>40}"))).unwrap());
        }
        let mut dir = Dir::open_root(temp.path()).unwrap();
        let abandoned = Entries::of(&mut dir).unwrap().next().unwrap();
        assert!(abandoned.is_ok());
        assert_eq!(names(&mut dir).len(), 2_000);
        assert_eq!(names(&mut dir).len(), 2_000);
    }

    #[test]
    fn entries_can_be_looked_at_on_the_way() {
        let temp = tempfile::tempdir().unwrap();
        drop(File::create(temp.path().join("file")).unwrap());
        let mut dir = Dir::open_root(temp.path()).unwrap();
        let mut entries = Entries::of(&mut dir).unwrap();
        let entry = entries.next().unwrap().unwrap();
        let stat = entries
            .dir()
            .stat_entry(&entry.name, crate::platform::fs::open::Links::Refuse);
        assert!(stat.unwrap().is_file());
        assert!(entries.next().is_none());
        assert!(entries.next().is_none());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_folder_that_is_gone_gives_an_error_and_no_empty_listing() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("gone");
        fs::create_dir(&path).unwrap();
        let mut dir = Dir::open_root(&path).unwrap();
        fs::remove_dir(&path).unwrap();
        let mut entries = Entries::of(&mut dir).unwrap();
        let error = entries.next().unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(entries.next().is_none());
    }
}
