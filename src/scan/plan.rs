//! From what the user asked to what will be done: which roots, which scans
//! go on and which start afresh. Refuses what would turn an unplugged disk
//! into a removal.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::ScanError;
use super::options::{Mode, ScanOptions};
use super::scope::Scope;
use super::shared::volume_row;
use super::sources::Seeds;
use crate::catalog::{
    CatalogError, Exclusive, FaultEntry, NewScan, Placement, RootRow, ScanRow, Stage,
};
use crate::model::{Algorithm, FaultId, FolderId, RootId, ScanId, Timestamp, VolumeId};
use crate::platform::{Dir, EntryKind, Volume, VolumeTable};

/// An unfinished scan older than this is listed afresh.
const STALE_SECONDS: i64 = 24 * 60 * 60;

/// The mode of a scan that tries dead letters again.
const RETRY: &str = "retry";

/// What the user asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// The folders, as typed.
    pub paths: Vec<PathBuf>,
    /// What to do with them.
    pub options: ScanOptions,
    /// List afresh even where an unfinished scan could go on.
    pub restart: bool,
    /// Believe a root that is empty, or a mount point without its filesystem.
    pub allow_empty: bool,
    /// Believe a root that lies on another filesystem than last time.
    pub moved: bool,
}

/// Something the user should know before or while a scan runs.
#[derive(Debug, Clone)]
pub enum Notice {
    /// An unfinished scan goes on.
    Resumed(ScanId, PathBuf),
    /// An unfinished scan is not gone on with.
    Afresh(ScanId, PathBuf, &'static str),
    /// Roots inside a new root became part of it.
    Absorbed(PathBuf, PathBuf),
    /// Digests made with another algorithm are redone.
    AlgorithmChanged(Algorithm, Algorithm, u64),
    /// A folder is left out because of its filesystem.
    Skipped(PathBuf, String),
    /// Another root of the catalog cannot be read now.
    PartnerOffline(PathBuf, String),
    /// So much will be read whole: files and bytes.
    ToRead(u64, u64),
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resumed(scan, path) => {
                write!(f, "going on with scan {scan} of {}", path.display())
            }
            Self::Afresh(scan, path, why) => write!(
                f,
                "listing {} afresh instead of going on with scan {scan} ({why}); digests are kept",
                path.display()
            ),
            Self::Absorbed(outer, inner) => write!(
                f,
                "{} is now part of the root {}",
                inner.display(),
                outer.display()
            ),
            Self::AlgorithmChanged(from, to, stale) => {
                write!(
                    f,
                    "changing from {from} to {to}: {stale} digests are redone"
                )
            }
            Self::Skipped(path, fstype) => {
                write!(f, "skipping {} ({fstype} filesystem)", path.display())
            }
            Self::PartnerOffline(path, reason) => write!(
                f,
                "the root {} is offline ({reason}): files that could match its files stay undetermined",
                path.display()
            ),
            Self::ToRead(files, bytes) => write!(f, "{files} files, {bytes} bytes to read"),
        }
    }
}

/// One scan of one root, or of a part of it.
#[derive(Debug)]
pub(super) struct RootPlan {
    pub(super) scan: ScanId,
    pub(super) root: RootId,
    pub(super) volume: VolumeId,
    pub(super) start_depth: usize,
    /// `None`: nothing is listed.
    pub(super) seeds: Option<Seeds>,
}

/// What one run will do.
#[derive(Debug)]
pub struct Plan {
    pub(super) roots: Vec<RootPlan>,
    pub(super) options: ScanOptions,
    pub(super) allow_empty: bool,
    /// Only files of these sizes, for a retry of particular files.
    pub(super) sizes: Option<Vec<u64>>,
}

impl Plan {
    /// The plan for `scan PATH…`.
    pub fn for_scan(
        catalog: &mut Exclusive,
        request: &Request,
        notify: &mut dyn FnMut(Notice),
    ) -> Result<Self, ScanError> {
        check_globs(&request.options)?;
        catalog.mark_orphans()?;
        let volumes = VolumeTable::new();
        let known = catalog.roots()?;
        let mut found = Vec::new();
        for path in outermost(resolve_all(&request.paths, &known)?) {
            let (_, volume) = examine(&path, &known, request, &volumes)?;
            if !request.allow_empty {
                check_inner(&path, &known, &volumes)?;
            }
            found.push((path, volume));
        }
        let algorithm = choose_algorithm(catalog, request.options.algorithm, notify)?;
        let mut roots = Vec::new();
        for (path, volume) in found {
            let volume = catalog.register_volume(&volume_row(&volume))?;
            roots.push(plan_root(
                catalog, request, algorithm, &path, volume, notify,
            )?);
        }
        Ok(Self {
            roots,
            options: request.options.clone(),
            allow_empty: request.allow_empty,
            sizes: None,
        })
    }

    /// The plan that goes on with unfinished scans of equal options.
    pub fn resume(
        catalog: &mut Exclusive,
        scans: &[ScanRow],
        notify: &mut dyn FnMut(Notice),
    ) -> Result<Self, ScanError> {
        catalog.mark_orphans()?;
        let options = scans.first().and_then(stored_options).unwrap_or_default();
        let request = Request::again(options);
        let volumes = VolumeTable::new();
        let known = catalog.roots()?;
        let mut roots = Vec::new();
        for scan in scans {
            let Some(root) = known.iter().find(|root| root.id == scan.root) else {
                continue;
            };
            resolve(&root.path, &known)?;
            let (_, volume) = examine(&root.path, &known, &request, &volumes)?;
            let volume = catalog.register_volume(&volume_row(&volume))?;
            let path = super::access::join(&root.path, &scan.subpath);
            let placement = catalog.place(&path, volume)?;
            let start = Start {
                placement: &placement,
                volume,
                path: &path,
                algorithm: catalog.reader()?.algorithm()?,
            };
            roots.push(start.plan(catalog, &request, Some(scan), notify)?);
        }
        Ok(Self {
            roots,
            options: request.options,
            allow_empty: false,
            sizes: None,
        })
    }

    /// The plan that tries some dead letters of one root again, as its last
    /// scan would.
    pub fn retry(
        catalog: &Exclusive,
        root: &RootRow,
        faults: &[FaultEntry],
    ) -> Result<Self, ScanError> {
        if let Err(reason) = online_state(root, &VolumeTable::new()) {
            return Err(ScanError::Offline {
                path: root.path.clone(),
                reason,
            });
        }
        let reader = catalog.reader()?;
        let options = ScanOptions {
            mode: Mode::All,
            rehash: false,
            ..reader
                .last_options(root.id)?
                .and_then(|json| serde_json::from_str(&json).ok())
                .unwrap_or_default()
        };
        let scan = catalog.begin_scan(&NewScan {
            root: root.id,
            subpath: Path::new(""),
            mode: RETRY,
            algorithm: reader.algorithm()?,
            options: &to_json(&options),
        })?;
        // Entries that could not be examined are found by listing their folder.
        let mut folders: Vec<FolderId> = faults
            .iter()
            .filter(|fault| fault.is_folder || fault.size.is_none())
            .map(|fault| fault.folder)
            .collect();
        folders.sort_unstable();
        folders.dedup();
        let is_listing = !folders.is_empty();
        let sizes = faults.iter().filter_map(|fault| fault.size).collect();
        Ok(Self {
            roots: vec![RootPlan {
                scan,
                root: root.id,
                volume: root.volume_id,
                start_depth: 0,
                seeds: is_listing.then_some(Seeds::Folders(folders)),
            }],
            options,
            allow_empty: false,
            sizes: (!is_listing).then_some(sizes),
        })
    }
}

impl Request {
    /// The same options again, with nothing believed that looks wrong.
    fn again(options: ScanOptions) -> Self {
        Self {
            paths: Vec::new(),
            options,
            restart: false,
            allow_empty: false,
            moved: false,
        }
    }
}

/// The unfinished scans, those with equal options together.
pub fn unfinished(catalog: &Exclusive) -> Result<Vec<Vec<ScanRow>>, ScanError> {
    catalog.mark_orphans()?;
    let mut sets: Vec<Vec<ScanRow>> = Vec::new();
    for scan in catalog.reader()?.unfinished_scans()? {
        match sets.iter_mut().find(|set| set[0].options == scan.options) {
            Some(set) => set.push(scan),
            None => sets.push(vec![scan]),
        }
    }
    Ok(sets)
}

/// The dead letters to try again, by root: those given, or all.
pub fn retries(
    catalog: &Exclusive,
    ids: &[FaultId],
) -> Result<Vec<(RootRow, Vec<FaultEntry>)>, ScanError> {
    let mut faults = catalog.reader()?.faults(FaultId(0), u32::MAX)?;
    if let Some(unknown) = ids.iter().find(|id| faults.iter().all(|f| f.id != **id)) {
        return Err(ScanError::NoSuchFault(*unknown));
    }
    faults.retain(|fault| ids.is_empty() || ids.contains(&fault.id));
    let of_root = |root: RootRow| {
        let of_root = faults.iter().filter(|fault| fault.root == root.id);
        (root.clone(), of_root.cloned().collect::<Vec<_>>())
    };
    Ok(catalog
        .roots()?
        .into_iter()
        .map(of_root)
        .filter(|(_, faults)| !faults.is_empty())
        .collect())
}

/// Makes sure that folders to be scanned are there, before a catalog is
/// created for them.
pub fn check_paths(paths: &[PathBuf]) -> Result<(), ScanError> {
    resolve_all(paths, &[]).map(drop)
}

fn check_globs(options: &ScanOptions) -> Result<(), ScanError> {
    Scope::new(&options.listing)
        .map(drop)
        .map_err(|(glob, reason)| ScanError::BadGlob { glob, reason })
}

/// Absolute paths without links. A path that is gone is an offline root if
/// the catalog knows it, and a mistake otherwise.
fn resolve_all(paths: &[PathBuf], known: &[RootRow]) -> Result<Vec<PathBuf>, ScanError> {
    paths.iter().map(|path| resolve(path, known)).collect()
}

fn resolve(path: &Path, known: &[RootRow]) -> Result<PathBuf, ScanError> {
    let found = path.canonicalize();
    match found.and_then(|found| Ok((found.metadata()?.is_dir(), found))) {
        Ok((true, resolved)) => Ok(resolved),
        Ok((false, _)) => Err(ScanError::NotAFolder(path.to_owned())),
        Err(error) => {
            let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            let is_known = known.iter().any(|root| root.path == absolute);
            match error.kind() {
                io::ErrorKind::NotFound if is_known => Err(ScanError::Offline {
                    path: absolute,
                    reason: "the folder does not exist".to_owned(),
                }),
                io::ErrorKind::NotFound => Err(ScanError::NotFound(path.to_owned())),
                io::ErrorKind::NotADirectory => Err(ScanError::NotAFolder(path.to_owned())),
                _ => Err(ScanError::Unreadable {
                    path: path.to_owned(),
                    source: error,
                }),
            }
        }
    }
}

/// Each path once, and none that lies inside another.
fn outermost(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    paths.sort();
    let mut kept: Vec<PathBuf> = Vec::new();
    for path in paths {
        if !kept.iter().any(|outer| path.starts_with(outer)) {
            kept.push(path);
        }
    }
    kept
}

/// Opens a folder to be scanned and makes sure that it is what it was.
fn examine(
    path: &Path,
    known: &[RootRow],
    request: &Request,
    volumes: &VolumeTable,
) -> Result<(Dir, Arc<Volume>), ScanError> {
    let unreadable = |source| ScanError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let dir = Dir::open_root(path).map_err(unreadable)?;
    let stat = dir.stat().map_err(unreadable)?;
    if stat.kind != EntryKind::Folder {
        return Err(ScanError::NotAFolder(path.to_owned()));
    }
    let volume = volumes.of(&dir, &stat).map_err(unreadable)?;
    if volume.pseudo {
        return Err(ScanError::Pseudo {
            path: path.to_owned(),
            fstype: volume.fstype.to_owned(),
        });
    }
    if let Some(root) = known.iter().find(|root| root.path == path) {
        let reason = (!request.moved)
            .then(|| moved_reason(root, &volume))
            .flatten()
            .map(|reason| format!("{reason} (--moved if that is right)"));
        let reason = reason.or_else(|| {
            (!request.allow_empty)
                .then(|| empty_reason(root, path))
                .flatten()
                .map(|reason| format!("{reason} (--allow-empty if that is right)"))
        });
        if let Some(reason) = reason {
            return Err(ScanError::Offline {
                path: path.to_owned(),
                reason,
            });
        }
    }
    Ok((dir, volume))
}

/// Makes sure that the roots inside `path`, which become part of it, are
/// there: an absorbed root is believed like any other folder.
fn check_inner(path: &Path, known: &[RootRow], volumes: &VolumeTable) -> Result<(), ScanError> {
    let is_inner = |root: &&RootRow| root.path != path && root.path.starts_with(path);
    for root in known.iter().filter(is_inner) {
        if let Err(reason) = online_state(root, volumes) {
            return Err(ScanError::Offline {
                path: root.path.clone(),
                reason: format!("{reason} (--allow-empty if that is right)"),
            });
        }
    }
    Ok(())
}

/// Why a root cannot be read now as it was last time, if so; otherwise its
/// open folder.
pub(super) fn online_state(
    root: &RootRow,
    volumes: &VolumeTable,
) -> Result<(Dir, Arc<Volume>), String> {
    let open = || -> io::Result<(Dir, Arc<Volume>)> {
        let dir = Dir::open_root(&root.path)?;
        let stat = dir.stat()?;
        let volume = volumes.of(&dir, &stat)?;
        Ok((dir, volume))
    };
    let (dir, volume) = open().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "the folder does not exist".to_owned(),
        _ => error.to_string(),
    })?;
    match moved_reason(root, &volume).or_else(|| empty_reason(root, &root.path)) {
        Some(reason) => Err(reason),
        None => Ok((dir, volume)),
    }
}

/// Identities without a uuid hold within one boot only, so they prove
/// nothing; another type of filesystem does.
fn moved_reason(root: &RootRow, now: &Volume) -> Option<String> {
    let before = &root.volume;
    let both_lasting = before.identity.starts_with("uuid:") && now.identity.starts_with("uuid:");
    let is_other = before.fstype != now.fstype
        || (both_lasting && before.fstype != "tmpfs" && before.identity != now.identity);
    is_other.then(|| {
        format!(
            "it lies on another filesystem than last time ({} {} instead of {} {})",
            now.fstype, now.identity, before.fstype, before.identity
        )
    })
}

fn empty_reason(root: &RootRow, path: &Path) -> Option<String> {
    let is_empty = std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
    (is_empty && root.files > 0)
        .then(|| format!("it is empty, and {} files were there last time", root.files))
}

/// The algorithm of this run; a new one makes all digests stale.
fn choose_algorithm(
    catalog: &mut Exclusive,
    wanted: Option<Algorithm>,
    notify: &mut dyn FnMut(Notice),
) -> Result<Algorithm, CatalogError> {
    let current = catalog.reader()?.algorithm()?;
    match wanted {
        Some(wanted) if wanted != current => {
            let stale = catalog.set_algorithm(wanted)?;
            if stale > 0 {
                notify(Notice::AlgorithmChanged(current, wanted, stale));
            }
            Ok(wanted)
        }
        _ => Ok(current),
    }
}

fn plan_root(
    catalog: &mut Exclusive,
    request: &Request,
    algorithm: Algorithm,
    path: &Path,
    volume: VolumeId,
    notify: &mut dyn FnMut(Notice),
) -> Result<RootPlan, ScanError> {
    let options = &request.options;
    if options.mode == Mode::Files && catalog.reader()?.folder_at(path)?.is_none() {
        return Err(ScanError::NeverListed(path.to_owned()));
    }
    let placement = catalog.place(path, volume)?;
    for inner in &placement.absorbed {
        notify(Notice::Absorbed(path.to_owned(), inner.clone()));
    }
    if placement.subpath.as_os_str().is_empty() {
        catalog.rehome(placement.root, volume)?;
        catalog.set_follow(placement.root, options.listing.follow_links)?;
    }
    let unfinished = catalog
        .reader()?
        .unfinished_scans()?
        .into_iter()
        .rfind(|scan| {
            scan.root == placement.root && scan.subpath == placement.subpath && scan.mode != RETRY
        });
    let start = Start {
        placement: &placement,
        volume,
        path,
        algorithm,
    };
    start.plan(catalog, request, unfinished.as_ref(), notify)
}

/// A folder from which a scan starts or goes on.
struct Start<'a> {
    placement: &'a Placement,
    volume: VolumeId,
    path: &'a Path,
    algorithm: Algorithm,
}

impl Start<'_> {
    /// Goes on with the unfinished scan if that makes sense, and starts one
    /// afresh otherwise.
    fn plan(
        &self,
        catalog: &mut Exclusive,
        request: &Request,
        unfinished: Option<&ScanRow>,
        notify: &mut dyn FnMut(Notice),
    ) -> Result<RootPlan, ScanError> {
        let mut seeds = Seeds::Folders(vec![self.placement.start]);
        let scan = match unfinished.map(|scan| (scan, afresh_reason(request, scan))) {
            Some((scan, None)) => {
                notify(Notice::Resumed(scan.id, self.path.to_owned()));
                catalog.continue_scan(scan.id, Stage::List)?;
                let start = (scan.mode != RETRY).then_some(self.placement.start);
                seeds = Seeds::Unfinished(start);
                scan.id
            }
            Some((scan, Some(why))) => {
                notify(Notice::Afresh(scan.id, self.path.to_owned(), why));
                catalog.supersede_scan(scan.id)?;
                self.begin(catalog, request)?
            }
            None => self.begin(catalog, request)?,
        };
        Ok(RootPlan {
            scan,
            root: self.placement.root,
            volume: self.volume,
            start_depth: self.placement.subpath.components().count(),
            seeds: (request.options.mode != Mode::Files).then_some(seeds),
        })
    }

    fn begin(&self, catalog: &mut Exclusive, request: &Request) -> Result<ScanId, ScanError> {
        if request.options.rehash {
            catalog.distrust(self.placement.start)?;
        }
        Ok(catalog.begin_scan(&NewScan {
            root: self.placement.root,
            subpath: &self.placement.subpath,
            mode: request.options.mode.name(),
            algorithm: self.algorithm,
            options: &to_json(&request.options),
        })?)
    }
}

/// Why an unfinished scan is not gone on with, if so.
fn afresh_reason(request: &Request, scan: &ScanRow) -> Option<&'static str> {
    let Some(before) = stored_options(scan) else {
        return Some("its options cannot be read");
    };
    if request.restart {
        Some("--restart")
    } else if scan.mode != RETRY && Timestamp::now().0 - scan.updated.0 > STALE_SECONDS {
        Some("it is older than a day")
    } else if before.listing != request.options.listing
        || before.mode != request.options.mode
        || before.rehash != request.options.rehash
    {
        Some("the options changed")
    } else {
        None
    }
}

fn stored_options(scan: &ScanRow) -> Option<ScanOptions> {
    serde_json::from_str(&scan.options).ok()
}

fn to_json(options: &ScanOptions) -> String {
    serde_json::to_string(options).expect("plain options always serialise")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_and_nested_paths_are_scanned_once() {
        let paths = ["/a/b", "/a", "/a", "/ab", "/c/d"].map(PathBuf::from);
        let kept = outermost(paths.to_vec());
        assert_eq!(kept, ["/a", "/ab", "/c/d"].map(PathBuf::from));
    }
}
