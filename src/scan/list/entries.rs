//! What the entries of a folder are, as far as a scan cares.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

use super::inodes::Inodes;
use crate::model::{FileName, is_trash};
use crate::platform::{Dir, EntryKind, Links, OpenFile, RawEntry, Stat};
use crate::scan::context::ListingContext;
use crate::scan::devices::Disks;
use crate::scan::scope::{IgnoreChain, Scope};

/// A file that a name leads to.
#[derive(Debug)]
pub(crate) struct FoundFile {
    pub(crate) name: FileName,
    pub(crate) stat: Stat,
    /// Whether the name is a symbolic link.
    pub(crate) is_link: bool,
}

/// What a folder holds. Entries that are neither file nor folder (links,
/// devices) are skipped: a row of their name stands for something that is gone.
#[derive(Default)]
pub(crate) struct Found {
    /// Files in scope.
    pub(crate) files: Vec<FoundFile>,
    /// Handles of some of them, in the same order.
    pub(crate) open: Vec<OpenFile>,
    /// Folders in scope, and whether a link leads there.
    pub(crate) folders: Vec<(OsString, bool)>,
    /// Names whose file rows stay as they are: out of scope, or unreadable.
    pub(crate) unsure_files: Vec<OsString>,
    /// Names whose folder rows stay as they are.
    pub(crate) unsure_folders: Vec<OsString>,
}

/// Looks at the entries of one folder.
pub(crate) struct Examiner<'a> {
    pub(crate) dir: &'a Dir,
    pub(crate) folder: &'a Stat,
    pub(crate) below: &'a Path,
    pub(crate) ignores: &'a IgnoreChain,
    pub(crate) start_depth: usize,
    /// How files are numbered, where that is stable.
    pub(crate) inodes: Option<Inodes>,
    /// How many files may be opened rather than asked about.
    pub(crate) most_open: usize,
    /// Where calls are counted that wait for a server.
    pub(crate) far: Option<&'a Disks>,
    pub(crate) listing: &'a ListingContext,
    /// The name filters of its root.
    pub(crate) scope: &'a Scope,
}

impl Examiner<'_> {
    /// Puts an entry where it belongs, asking the system only where the
    /// folder itself does not tell. Gives the name back with an error.
    ///
    /// `answer` is what the system said of it already, if it was asked.
    pub(crate) fn sort(
        &self,
        entry: RawEntry,
        answer: Option<io::Result<Stat>>,
        found: &mut Found,
    ) -> Result<(), (FileName, io::Error)> {
        let RawEntry {
            name,
            ino_hint,
            kind_hint,
        } = entry;
        match kind_hint {
            Some(EntryKind::Special) => return Ok(()),
            Some(EntryKind::Link) if !self.follows() => return Ok(()),
            Some(EntryKind::Folder) => {
                self.add_folder(&name, false, found);
                return Ok(());
            }
            Some(EntryKind::File) if !self.admits(&name, false) => {
                found.unsure_files.push(name.to_os_string());
                return Ok(());
            }
            Some(EntryKind::File) if self.may_open(ino_hint, found) => {
                // Whatever fails here is asked about by name.
                if let Ok(file) = self.dir.open_entry(&name, self.folder.mount) {
                    if self.add_file(name, *file.opened_as(), false, found) {
                        found.open.push(file);
                    }
                    return Ok(());
                }
            }
            Some(EntryKind::File | EntryKind::Link) | None => {}
        }
        match self.look_at(&name, answer) {
            Ok(None) => {}
            Ok(Some((stat, is_link))) => match stat.kind {
                EntryKind::Folder => self.add_folder(&name, is_link, found),
                EntryKind::File => {
                    self.add_file(name, stat, is_link, found);
                }
                EntryKind::Link | EntryKind::Special => {}
            },
            Err(error) => return Err((name, error)),
        }
        Ok(())
    }

    /// Whether a file is opened rather than asked about. Never the catalog, by
    /// whatever name: closing it again would drop SQLite's locks.
    fn may_open(&self, ino: u64, found: &Found) -> bool {
        found.open.len() < self.most_open && self.listing.own_files.iter().all(|own| own.ino != ino)
    }

    /// The state of an entry, or of what a link leads to, and whether it is a
    /// link; `None` for one that is not followed or leads nowhere.
    fn look_at(
        &self,
        name: &OsStr,
        answer: Option<io::Result<Stat>>,
    ) -> io::Result<Option<(Stat, bool)>> {
        let ask = || {
            if let Some(disks) = self.far {
                disks.count_far(1);
            }
            self.dir.stat_entry(name, Links::Refuse)
        };
        let stat = answer.unwrap_or_else(ask)?;
        if stat.kind != EntryKind::Link {
            return Ok(Some((stat, false)));
        }
        if !self.follows() {
            return Ok(None);
        }
        match self.dir.stat_entry(name, Links::Follow) {
            Ok(target) => Ok(Some((target, true))),
            // A broken link is no fault of the scan's.
            Err(error) if leads_nowhere(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn add_folder(&self, name: &OsStr, is_link: bool, found: &mut Found) {
        if is_trash(name) {
            return;
        }
        if self.admits(name, true) {
            found.folders.push((name.to_owned(), is_link));
        } else {
            found.unsure_folders.push(name.to_owned());
        }
    }

    /// Takes a file in; `false` when it is skipped.
    fn add_file(&self, name: FileName, stat: Stat, is_link: bool, found: &mut Found) -> bool {
        // A single file mounted over another says nothing about this folder.
        let is_mounted_over = !is_link && stat.mount != self.folder.mount;
        // Without an inode to know it by, a file that a link leads to would
        // count as a copy of itself.
        let is_unknown = is_link && !self.inodes.is_some_and(|inodes| inodes.are_of(&stat));
        if self.listing.own_files.contains(&stat.id()) || is_mounted_over || is_unknown {
            return false;
        }
        let is_admitted = self.admits(&name, false);
        if is_admitted {
            found.files.push(FoundFile {
                name,
                stat,
                is_link,
            });
        } else {
            found.unsure_files.push(name.to_os_string());
        }
        is_admitted
    }

    fn follows(&self) -> bool {
        self.listing.options.follow_links
    }

    fn admits(&self, name: &OsStr, is_folder: bool) -> bool {
        let scope = self.scope;
        if scope.admits_all() {
            return true;
        }
        let below = self.below.join(name);
        if is_folder {
            scope.admits_subfolder(&below, self.start_depth, self.ignores)
        } else {
            scope.admits_file(&below, self.ignores)
        }
    }
}

/// Whether a link has no end, rather than one that cannot be reached now.
fn leads_nowhere(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(errno, Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP))
}
