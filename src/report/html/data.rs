//! Groups as the page's script reads them: compact JSON, one group a line,
//! in which nothing can end the script element around it.
//!
//! A group is `[size, reclaimable, about, digest, copies, folders, links, roots,
//! symlinks, kept]`; empty lists at its end are omitted. `copies` is flat: folder, name,
//! modification time in seconds, and so on. `links` is flat too: which copy of
//! the group, folder, name. `folders` lists the folders that were not named
//! before, flat: parent, name; they count from 1, and 0 is `/`. `roots` lists
//! folders that were found to be roots, `symlinks` which of the links are symbolic,
//! and `kept` which of the copies keep rules keep.
//!
//! Names are escaped as on a terminal. That is exact, since no two names have
//! the same escaped text; the script undoes it where a path is copied.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::model::{CopyEntry, Group, escape, is_hazardous};
use crate::report::encode::write_escaping;
use crate::report::text::comparison;

/// Folders that are remembered. Beyond that all are forgotten and named again
/// as they turn up, so that memory does not grow with the report.
const REMEMBERED: usize = 1 << 16;

const NANOS: i64 = 1_000_000_000;

/// Writes a value into a script element: as JSON in which no character means
/// anything to a reader of HTML.
pub(crate) fn write_data<W: Write>(out: &mut W, value: &impl Serialize) -> io::Result<()> {
    write_escaping(out, value, |character| {
        matches!(character, '<' | '>' | '&') || is_hazardous(character)
    })
}

/// A number or a name in one of the flat lists.
#[derive(Serialize)]
#[serde(untagged)]
enum Item {
    Number(u64),
    Time(i64),
    Text(String),
}

/// What the page says about a plan.
#[derive(Serialize)]
pub(crate) struct PlanData {
    pub(crate) number: i64,
    pub(crate) action: &'static str,
    pub(crate) files: u64,
}

/// What is said of a group as a whole.
pub(crate) struct Facts {
    pub(crate) size: u64,
    pub(crate) reclaimable: u64,
    /// How its copies were compared, or which group of a plan it is.
    pub(crate) about: String,
    pub(crate) digest: String,
    /// Which of the copies are kept, where that is known.
    pub(crate) kept: Vec<usize>,
}

impl Facts {
    /// Those of a group of duplicates.
    pub(crate) fn of(group: &Group) -> Self {
        Self {
            size: group.size,
            reclaimable: group.reclaimable(),
            about: comparison(group),
            digest: group.digest.short(),
            kept: Vec::from_iter(group.kept),
        }
    }
}

/// Packs groups, and remembers which folders the reader knows.
#[derive(Default)]
pub(crate) struct Packer {
    folders: Folders,
    roots: HashSet<PathBuf>,
}

impl Packer {
    /// Writes one group without a newline.
    pub(crate) fn write<'c, W: Write>(
        &mut self,
        out: &mut W,
        facts: &Facts,
        group: impl Iterator<Item = &'c CopyEntry>,
    ) -> io::Result<()> {
        let (mut copies, mut links) = (Vec::new(), Vec::new());
        let (mut roots, mut symlinks) = (Vec::new(), Vec::new());
        for (index, copy) in (0_u64..).zip(group) {
            if !self.roots.contains(&copy.root) {
                self.roots.insert(copy.root.clone());
                roots.push(Item::Number(
                    self.folders.id(copy.root.as_os_str().as_bytes()),
                ));
            }
            copies.extend(self.place(&copy.path));
            copies.push(Item::Time(copy.mtime_ns.div_euclid(NANOS)));
            for link in &copy.links {
                links.push(Item::Number(index));
                links.extend(self.place(link));
            }
            for link in &copy.symlinks {
                symlinks.push(Item::Number(links.len() as u64 / 3));
                links.push(Item::Number(index));
                links.extend(self.place(link));
            }
        }
        let Facts {
            size,
            reclaimable,
            about,
            digest,
            kept,
        } = facts;
        write!(out, "[{size},{reclaimable},\"{about}\",\"{digest}\"")?;
        let lists = [
            copies,
            std::mem::take(&mut self.folders.fresh),
            links,
            roots,
            symlinks,
            kept.iter().map(|kept| Item::Number(*kept as u64)).collect(),
        ];
        let used = lists.iter().rposition(|list| !list.is_empty());
        for list in lists.iter().take(used.map_or(1, |last| last + 1)) {
            out.write_all(b",")?;
            write_data(out, list)?;
        }
        out.write_all(b"]")
    }

    fn place(&mut self, path: &Path) -> [Item; 2] {
        let bytes = path.as_os_str().as_bytes();
        let cut = bytes.iter().rposition(|&byte| byte == b'/');
        let (folder, name) = bytes.split_at(cut.map_or(0, |slash| slash + 1));
        [
            Item::Number(self.folders.id(folder)),
            Item::Text(escape(OsStr::from_bytes(name))),
        ]
    }
}

/// The numbers of folders, and those not written yet.
#[derive(Default)]
struct Folders {
    known: HashMap<(u64, Box<[u8]>), u64>,
    used: u64,
    fresh: Vec<Item>,
}

impl Folders {
    /// The number of an absolute path's folder.
    fn id(&mut self, folder: &[u8]) -> u64 {
        if self.known.len() >= REMEMBERED {
            self.known.clear();
        }
        let names = folder.split(|&byte| byte == b'/');
        names
            .filter(|name| !name.is_empty())
            .fold(0, |parent, name| self.child(parent, name))
    }

    fn child(&mut self, parent: u64, name: &[u8]) -> u64 {
        let key = (parent, name.into());
        if let Some(&id) = self.known.get(&key) {
            return id;
        }
        self.used += 1;
        self.fresh.push(Item::Number(parent));
        self.fresh.push(Item::Text(escape(OsStr::from_bytes(name))));
        self.known.insert(key, self.used);
        self.used
    }
}
