//! Duplicate groups for a report: found in one pass, ranked in a temporary
//! table, and handed out one at a time, so that memory does not grow with
//! the report and no snapshot is held while it is printed.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rusqlite::{Row, Statement, params};

use super::rows::{self, path_blob, signed, unsigned};
use super::{CatalogError, FolderPaths, ReadOnly};
use crate::model::{Algorithm, CopyEntry, Digest, FolderId, Group, RootId, Totals, VolumeId};

/// In which order groups come; ties are broken by digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Most reclaimable bytes first.
    #[default]
    Reclaimable,
    /// Largest files first.
    Size,
    /// Most copies first.
    Count,
    /// By the first path in each group.
    Path,
}

/// Decides from the path below its root whether a file is left out.
pub type Exclusion = Box<dyn Fn(&Path) -> bool>;

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
    /// Only groups with copies under more than one root.
    pub across: bool,
    /// Only groups with a copy below one of these paths.
    pub below: Vec<PathBuf>,
    /// Only files with one of these extensions, compared without case.
    pub extensions: Vec<String>,
    /// Files left out before copies are counted.
    pub exclude: Option<Exclusion>,
    /// The order of the groups.
    pub order: Order,
    /// At most this many groups.
    pub limit: Option<u64>,
}

/// The groups that passed a filter.
pub struct GroupList {
    catalog: ReadOnly,
    algorithm: Algorithm,
    roots: Vec<(RootId, PathBuf)>,
    volumes: Vec<(VolumeId, String)>,
    paths: FolderPaths,
    filter: GroupFilter,
    totals: Totals,
    rank: i64,
}

/// One name of a file in a group.
struct Member {
    volume: VolumeId,
    ino: Option<i64>,
    folder: FolderId,
    name: std::ffi::OsString,
    mtime_ns: i64,
    ctime_ns: i64,
    compared: Option<i64>,
}

/// What the first pass adds up about one group.
struct Tally {
    digest: Vec<u8>,
    size: i64,
    first: i64,
    last: i64,
    copies: u64,
    last_copy: Option<(VolumeId, i64)>,
    root: Option<RootId>,
    several_roots: bool,
    below: bool,
    first_path: Option<PathBuf>,
}

impl GroupList {
    /// Finds and ranks the groups.
    pub fn build(catalog: ReadOnly, filter: GroupFilter) -> Result<Self, CatalogError> {
        let algorithm = catalog.algorithm()?;
        let roots = catalog
            .roots()?
            .into_iter()
            .map(|root| (root.id, root.path))
            .collect();
        let volumes = volumes(&catalog)?;
        let undetermined = catalog.undetermined()?;
        let mut list = Self {
            catalog,
            algorithm,
            roots,
            volumes,
            paths: FolderPaths::default(),
            filter,
            totals: Totals {
                undetermined,
                ..Totals::default()
            },
            rank: 0,
        };
        // One transaction: one snapshot, and not one commit for every group.
        list.catalog.connection.execute_batch("BEGIN")?;
        list.collect_members()?;
        list.tally_groups()?;
        list.rank_groups()?;
        list.catalog.connection.execute_batch("COMMIT")?;
        Ok(list)
    }

    /// The sums over all groups, whatever the limit.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// The next group in order; `None` at the end.
    pub fn next_group(&mut self) -> Result<Option<Group>, CatalogError> {
        let limit = self.filter.limit.map_or(i64::MAX, signed);
        if self.rank >= limit {
            return Ok(None);
        }
        self.rank += 1;
        let found = {
            let mut statement = self.catalog.connection.prepare_cached(
                "SELECT digest, size, first, last FROM temp.ranked WHERE rank = ?1",
            )?;
            let mut rows = statement.query([self.rank])?;
            match rows.next()? {
                Some(row) => (
                    rows::digest(row, 0)?,
                    unsigned(row.get(1)?),
                    row.get(2)?,
                    row.get(3)?,
                ),
                None => return Ok(None),
            }
        };
        let (Some(digest), size, first, last) = found else {
            return Ok(None);
        };
        self.load(digest, size, first, last).map(Some)
    }

    /// Copies every digested live name into a table sorted by digest and copy.
    fn collect_members(&self) -> Result<(), CatalogError> {
        let low = signed(self.filter.min_size.unwrap_or(0));
        let high = signed(self.filter.max_size.unwrap_or(u64::MAX));
        let connection = &self.catalog.connection;
        connection.execute_batch(
            "DROP TABLE IF EXISTS temp.members;
             CREATE TEMP TABLE members (
                 id INTEGER PRIMARY KEY, digest BLOB, size INTEGER, volume INTEGER, ino INTEGER,
                 root INTEGER, folder INTEGER, name BLOB, mtime_ns INTEGER, ctime_ns INTEGER,
                 compared INTEGER);
             DROP TABLE IF EXISTS temp.tallied;
             CREATE TEMP TABLE tallied (
                 digest BLOB, size INTEGER, first INTEGER, last INTEGER, copies INTEGER, path BLOB);",
        )?;
        connection.execute(
            "INSERT INTO temp.members
                 (digest, size, volume, ino, root, folder, name, mtime_ns, ctime_ns, compared)
             SELECT CASE files.size WHEN 0 THEN ?3 ELSE files.digest END AS content, files.size,
                    folders.volume, files.ino, folders.root, files.folder, files.name,
                    files.mtime_ns, files.ctime_ns, files.compared
               FROM files JOIN folders ON folders.id = files.folder
              WHERE files.removed_in IS NULL AND files.size BETWEEN ?1 AND ?2
                AND content IS NOT NULL
              ORDER BY content, folders.volume, files.ino",
            params![low, high, self.filter.empty.as_ref().map(Digest::as_bytes)],
        )?;
        Ok(())
    }

    /// Walks the members once and keeps the groups that pass the filter.
    fn tally_groups(&mut self) -> Result<(), CatalogError> {
        // Borrowed by both statements; nothing else uses the connection now.
        let catalog = &self.catalog;
        let mut members = catalog.connection.prepare(
            "SELECT id, digest, size, volume, ino, root, folder, name FROM temp.members ORDER BY id",
        )?;
        let mut insert = catalog
            .connection
            .prepare("INSERT INTO temp.tallied VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
        let mut rows = members.query([])?;
        let mut tally: Option<Tally> = None;
        while let Some(row) = rows.next()? {
            let digest: Vec<u8> = row.get(1)?;
            if tally.as_ref().is_none_or(|tally| tally.digest != digest) {
                if let Some(done) = tally.take() {
                    keep(&self.filter, &mut self.totals, &mut insert, &done)?;
                }
                tally = Some(Tally::new(digest, row)?);
            }
            if let Some(tally) = &mut tally {
                tally.last = row.get(0)?;
                let name = rows::name(row, 7)?;
                let folder = FolderId(row.get(6)?);
                if admits(catalog, &mut self.paths, &self.filter, folder, &name)? {
                    tally.count(row)?;
                    if self.filter.order == Order::Path || !self.filter.below.is_empty() {
                        let path = absolute(catalog, &mut self.paths, &self.roots, folder, &name)?;
                        tally.note_path(path, &self.filter.below);
                    }
                }
            }
        }
        if let Some(done) = tally {
            keep(&self.filter, &mut self.totals, &mut insert, &done)?;
        }
        Ok(())
    }

    fn rank_groups(&self) -> Result<(), CatalogError> {
        let order = match self.filter.order {
            Order::Reclaimable => "size * (copies - 1) DESC, digest",
            Order::Size => "size DESC, digest",
            Order::Count => "copies DESC, digest",
            Order::Path => "path, digest",
        };
        self.catalog.connection.execute_batch(&format!(
            "DROP TABLE IF EXISTS temp.ranked;
             CREATE TEMP TABLE ranked (
                 rank INTEGER PRIMARY KEY, digest BLOB, size INTEGER, first INTEGER, last INTEGER);
             INSERT INTO temp.ranked (digest, size, first, last)
             SELECT digest, size, first, last FROM temp.tallied ORDER BY {order};
             DROP TABLE temp.tallied;"
        ))?;
        Ok(())
    }

    /// Reads the members of one group and folds names into copies.
    fn load(
        &mut self,
        digest: Digest,
        size: u64,
        first: i64,
        last: i64,
    ) -> Result<Group, CatalogError> {
        let mut names = Vec::new();
        for member in self.members_between(first, last)? {
            if admits(
                &self.catalog,
                &mut self.paths,
                &self.filter,
                member.folder,
                &member.name,
            )? {
                let path = absolute(
                    &self.catalog,
                    &mut self.paths,
                    &self.roots,
                    member.folder,
                    &member.name,
                )?;
                names.push((path, member));
            }
        }
        let verified = is_verified(names.iter().map(|(_, member)| member));
        Ok(Group {
            digest,
            algorithm: self.algorithm,
            size,
            verified,
            copies: self.fold(names)?,
        })
    }

    fn members_between(&self, first: i64, last: i64) -> Result<Vec<Member>, CatalogError> {
        let mut statement = self.catalog.connection.prepare_cached(
            "SELECT volume, ino, folder, name, mtime_ns, ctime_ns, compared FROM temp.members
              WHERE id BETWEEN ?1 AND ?2 ORDER BY id",
        )?;
        let rows = statement.query_map([first, last], |row| {
            Ok(Member {
                volume: VolumeId(row.get(0)?),
                ino: row.get(1)?,
                folder: FolderId(row.get(2)?),
                name: rows::name(row, 3)?,
                mtime_ns: row.get(4)?,
                ctime_ns: row.get(5)?,
                compared: row.get(6)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Names arrive sorted by copy; each copy shows its first name in byte
    /// order, and copies are sorted by that name.
    fn fold(&mut self, names: Vec<(PathBuf, Member)>) -> Result<Vec<CopyEntry>, CatalogError> {
        let mut copies: Vec<(CopyEntry, Option<(VolumeId, i64)>)> = Vec::new();
        for (path, member) in names {
            let key = member.ino.map(|ino| (member.volume, ino));
            match copies.last_mut() {
                Some((copy, last)) if key.is_some() && *last == key => copy.links.push(path),
                _ => {
                    let (root, _) = self.paths.get(&self.catalog, member.folder)?;
                    copies.push((
                        CopyEntry {
                            path,
                            root: root_path(&self.roots, root).to_owned(),
                            mtime_ns: member.mtime_ns,
                            ctime_ns: member.ctime_ns,
                            volume: self.volume_name(member.volume),
                            inode: member.ino.map(i64::cast_unsigned),
                            links: Vec::new(),
                        },
                        key,
                    ));
                }
            }
        }
        let mut copies: Vec<CopyEntry> = copies
            .into_iter()
            .map(|(copy, _)| first_name_first(copy, &self.roots))
            .collect();
        copies.sort_by(|a, b| path_blob(&a.path).cmp(path_blob(&b.path)));
        Ok(copies)
    }

    fn volume_name(&self, id: VolumeId) -> String {
        self.volumes
            .iter()
            .find(|(volume, _)| *volume == id)
            .map(|(_, identity)| identity.clone())
            .unwrap_or_default()
    }
}

impl Tally {
    fn new(digest: Vec<u8>, row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            digest,
            size: row.get(2)?,
            first: row.get(0)?,
            last: row.get(0)?,
            copies: 0,
            last_copy: None,
            root: None,
            several_roots: false,
            below: false,
            first_path: None,
        })
    }

    fn count(&mut self, row: &Row<'_>) -> rusqlite::Result<()> {
        let volume = VolumeId(row.get(3)?);
        let copy = row.get::<_, Option<i64>>(4)?.map(|ino| (volume, ino));
        if copy.is_none() || copy != self.last_copy {
            self.copies += 1;
        }
        self.last_copy = copy;
        let root = RootId(row.get(5)?);
        self.several_roots |= self.root.is_some_and(|seen| seen != root);
        self.root = Some(root);
        Ok(())
    }

    fn note_path(&mut self, path: PathBuf, below: &[PathBuf]) {
        self.below |= below.iter().any(|top| path.starts_with(top));
        let is_first = self
            .first_path
            .as_ref()
            .is_none_or(|first| path_blob(&path) < path_blob(first));
        if is_first {
            self.first_path = Some(path);
        }
    }
}

/// Inserts a group that passes the filter and adds it to the totals.
fn keep(
    filter: &GroupFilter,
    totals: &mut Totals,
    insert: &mut Statement<'_>,
    tally: &Tally,
) -> Result<(), CatalogError> {
    let wanted = tally.copies >= filter.min_count.max(2)
        && (tally.several_roots || !filter.across)
        && (tally.below || filter.below.is_empty());
    if wanted {
        totals.groups += 1;
        totals.copies += tally.copies;
        totals.reclaimable += unsigned(tally.size) * (tally.copies - 1);
        insert.execute(params![
            tally.digest,
            tally.size,
            tally.first,
            tally.last,
            signed(tally.copies),
            tally.first_path.as_deref().map(path_blob),
        ])?;
    }
    Ok(())
}

/// Whether a file takes part at all.
fn admits(
    catalog: &ReadOnly,
    paths: &mut FolderPaths,
    filter: &GroupFilter,
    folder: FolderId,
    name: &OsStr,
) -> Result<bool, CatalogError> {
    admits_name(
        catalog,
        paths,
        &filter.extensions,
        filter.exclude.as_ref(),
        (folder, name),
    )
}

/// Whether a name has one of the extensions, if there are any, and is not
/// left out.
pub(super) fn admits_name(
    catalog: &ReadOnly,
    paths: &mut FolderPaths,
    extensions: &[String],
    exclude: Option<&Exclusion>,
    (folder, name): (FolderId, &OsStr),
) -> Result<bool, CatalogError> {
    if !extensions.is_empty() && !has_extension(name, extensions) {
        return Ok(false);
    }
    let Some(exclude) = exclude else {
        return Ok(true);
    };
    let (_, below) = paths.get(catalog, folder)?;
    Ok(!exclude(&below.join(name)))
}

fn has_extension(name: &OsStr, wanted: &[String]) -> bool {
    Path::new(name).extension().is_some_and(|extension| {
        wanted
            .iter()
            .any(|want| extension.as_bytes().eq_ignore_ascii_case(want.as_bytes()))
    })
}

/// The whole path of a name.
pub(super) fn absolute(
    catalog: &ReadOnly,
    paths: &mut FolderPaths,
    roots: &[(RootId, PathBuf)],
    folder: FolderId,
    name: &OsStr,
) -> Result<PathBuf, CatalogError> {
    let (root, below) = paths.get(catalog, folder)?;
    let mut path = root_path(roots, root).to_owned();
    if !below.as_os_str().is_empty() {
        path.push(&*below);
    }
    path.push(name);
    Ok(path)
}

/// The path of a root.
pub(super) fn root_path(roots: &[(RootId, PathBuf)], id: RootId) -> &Path {
    roots
        .iter()
        .find(|(root, _)| *root == id)
        .map_or(Path::new("/"), |(_, path)| path)
}

/// Swaps a copy's first name in byte order to the front.
fn first_name_first(mut copy: CopyEntry, roots: &[(RootId, PathBuf)]) -> CopyEntry {
    copy.links.push(std::mem::take(&mut copy.path));
    copy.links.sort_by(|a, b| path_blob(a).cmp(path_blob(b)));
    copy.path = copy.links.remove(0);
    if let Some((_, root)) = roots.iter().find(|(_, root)| copy.path.starts_with(root)) {
        copy.root.clone_from(root);
    }
    copy
}

/// All members took part in one comparison, byte for byte.
fn is_verified<'a>(mut members: impl Iterator<Item = &'a Member>) -> bool {
    let Some(first) = members.next().and_then(|member| member.compared) else {
        return false;
    };
    members.all(|member| member.compared == Some(first))
}

fn volumes(catalog: &ReadOnly) -> Result<Vec<(VolumeId, String)>, CatalogError> {
    let mut statement = catalog
        .connection
        .prepare("SELECT id, identity FROM volumes")?;
    let rows = statement.query_map([], |row| Ok((VolumeId(row.get(0)?), row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests;
