//! Which groups are wanted, and which files take part in them.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::ranking::Order;
use crate::catalog::query::paths::RootPaths;
use crate::catalog::query::unresolved::{count_unchecked, each_unchecked};
use crate::catalog::store::{CatalogError, FolderPaths, ReadOnly, signed};
use crate::model::{Digest, FolderId};

/// Whether to exclude a file, given its path below its root.
pub type Exclusion = Box<dyn Fn(&Path) -> bool + Send + Sync>;

/// Which groups are wanted.
#[derive(Default)]
pub struct GroupFilter {
    /// Fewest copies (two when smaller).
    pub min_count: u64,
    /// Smallest file size.
    pub min_size: Option<u64>,
    /// Largest file size.
    pub max_size: Option<u64>,
    /// Include empty files, under the digest of nothing.
    pub empty: Option<Digest>,
    /// Only groups with copies under more than one root; with several paths in
    /// `below`, in more than one of those.
    pub across: bool,
    /// Only groups with a copy below one of these paths.
    pub below: Vec<PathBuf>,
    /// Only files with one of these extensions, compared without case.
    pub extensions: Vec<String>,
    /// Files to exclude before copies are counted.
    pub exclude: Option<Exclusion>,
    /// Names that are known to be corrupted, which are copies of nothing; looked up
    /// when the groups are built.
    pub corrupted: HashSet<(FolderId, OsString)>,
    /// The order of the groups.
    pub order: Order,
    /// At most this many groups.
    pub limit: Option<u64>,
}

impl GroupFilter {
    /// The sizes of files that take part. Empty ones have no digest of their
    /// own, and take part only where they are given one.
    pub(crate) fn sizes(&self) -> RangeInclusive<i64> {
        let smallest = i64::from(self.empty.is_none());
        signed(self.min_size.unwrap_or(0)).max(smallest)..=signed(self.max_size.unwrap_or(u64::MAX))
    }

    /// The digest under which a row counts, given the one it has.
    pub(crate) fn content<'a>(&'a self, size: i64, digest: Option<&'a [u8]>) -> Option<&'a [u8]> {
        match size {
            0 => self.empty.as_ref().map(Digest::as_bytes),
            _ => digest,
        }
    }

    /// Fewest copies of a group.
    pub(crate) fn fewest(&self) -> u64 {
        self.min_count.max(2)
    }

    /// Whether the name of a file decides if it takes part.
    pub(crate) fn judges_names(&self) -> bool {
        !self.extensions.is_empty()
            || self.exclude.is_some()
            || !self.below.is_empty()
            || !self.corrupted.is_empty()
    }

    /// Whether the places of its members decide if a group is wanted.
    pub(crate) fn judges_places(&self) -> bool {
        self.across || !self.below.is_empty()
    }

    /// Whether a file takes part at all.
    pub(crate) fn admits(
        &self,
        catalog: &ReadOnly,
        paths: &mut FolderPaths,
        folder: FolderId,
        name: &OsStr,
    ) -> Result<bool, CatalogError> {
        if !self.corrupted.is_empty() && self.corrupted.contains(&(folder, name.to_owned())) {
            return Ok(false);
        }
        let exclude = self.exclude.as_ref();
        admits_name(catalog, paths, &self.extensions, exclude, (folder, name))
    }

    /// The number of unchecked files that could be in a group that is wanted.
    pub(crate) fn unchecked(
        &self,
        catalog: &ReadOnly,
        roots: &RootPaths,
    ) -> Result<u64, CatalogError> {
        let is_open = self.min_size.is_none()
            && self.max_size.is_none()
            && self.extensions.is_empty()
            && self.exclude.is_none()
            && self.below.is_empty();
        if is_open {
            return count_unchecked(&catalog.connection);
        }
        let (sizes, mut paths, mut unchecked) = (self.sizes(), FolderPaths::default(), 0);
        each_unchecked(&catalog.connection, |folder, name, size| {
            let file = (folder, name);
            let exclude = self.exclude.as_ref();
            if sizes.contains(&size)
                && admits_name(catalog, &mut paths, &self.extensions, exclude, file)?
                && self.is_below(&roots.absolute(catalog, &mut paths, folder, name)?)
            {
                unchecked += 1;
            }
            Ok(())
        })?;
        Ok(unchecked)
    }

    /// Whether a path is in one of the wanted folders.
    fn is_below(&self, path: &Path) -> bool {
        self.below.is_empty() || folder_of(&self.below, path).is_some()
    }

    /// Where a path is.
    pub(crate) fn whereabouts<R>(&self, root: R, path: &Path) -> Whereabouts<R> {
        let folder = folder_of(&self.below, path);
        Whereabouts { root, folder }
    }

    /// Whether a group with copies in these places is wanted.
    pub(crate) fn wants_places<R: PartialEq>(
        &self,
        places: impl Iterator<Item = Whereabouts<R>>,
    ) -> bool {
        wants_places(self.across, &self.below, places)
    }
}

/// Where a copy is: its root, and which of the wanted folders it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Whereabouts<R> {
    /// Its root.
    pub root: R,
    /// The number of the wanted folder, the innermost if several contain it.
    pub folder: Option<u32>,
}

/// The number of the innermost of the folders `below` that contains a path.
pub fn folder_of(below: &[PathBuf], path: &Path) -> Option<u32> {
    let containing = (0..).zip(below).filter(|(_, top)| path.starts_with(top));
    let innermost = containing.max_by_key(|(_, top)| top.components().count());
    innermost.map(|(number, _)| number)
}

/// Whether copies in these places are in one of the folders `below`, if there
/// are any, and with `across` in more than one of them, or of the roots if there
/// are not several folders.
pub fn wants_places<R: PartialEq>(
    across: bool,
    below: &[PathBuf],
    places: impl Iterator<Item = Whereabouts<R>>,
) -> bool {
    let (mut first, mut is_across, mut is_below) = (None, false, below.is_empty());
    for place in places {
        is_below |= place.folder.is_some();
        if below.len() > 1 && place.folder.is_none() {
            continue;
        }
        let is_apart = |first: &Whereabouts<R>| match below.len() > 1 {
            true => first.folder != place.folder,
            false => first.root != place.root,
        };
        is_across |= first.as_ref().is_some_and(is_apart);
        first.get_or_insert(place);
    }
    is_below && (is_across || !across)
}

/// Whether a name has one of the extensions, if there are any, and is not
/// excluded.
pub(crate) fn admits_name(
    catalog: &ReadOnly,
    paths: &mut FolderPaths,
    extensions: &[String],
    exclude: Option<&Exclusion>,
    (folder, name): (FolderId, &OsStr),
) -> Result<bool, CatalogError> {
    if !has_extension(name, extensions) {
        return Ok(false);
    }
    let Some(exclude) = exclude else {
        return Ok(true);
    };
    let (_, below) = paths.get(catalog, folder)?;
    Ok(!exclude(&below.join(name)))
}

/// Whether a name has one of the wanted extensions, compared without case. Every
/// name passes if none is wanted.
pub fn has_extension(name: &OsStr, wanted: &[String]) -> bool {
    let is_wanted = |extension: &OsStr| {
        let is = |want: &String| extension.as_bytes().eq_ignore_ascii_case(want.as_bytes());
        wanted.iter().any(is)
    };
    wanted.is_empty() || Path::new(name).extension().is_some_and(is_wanted)
}
