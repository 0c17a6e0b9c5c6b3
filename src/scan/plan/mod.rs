//! From what the user asked to what will be done: which roots, which scans are
//! resumed and which start over. Refuses what would take an unplugged disk for
//! deleted files.

mod moved;
mod presence;
mod request;
mod roots;
mod scope;

pub use request::{Request, TypedExcludes};
pub(crate) use roots::open_roots;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::access::{join, meet_volumes, online_state, volume_row};
use crate::catalog::{CatalogError, Exclusive, FaultEntry, NewScan, Placement, RootRow, ScanRow};
use crate::model::{
    Algorithm, FaultId, FolderId, ListingOptions, Mode, RootId, RootScope, ScanId, ScanOptions,
    Stage, Timestamp, VolumeId,
};
use crate::scan::engine::Seeds;
use crate::scan::error::ScanError;
use crate::scan::observe::Notice;
use crate::scan::scope::Scope;
use presence::{Refused, examine, locate, outermost, resolve};
use scope::{check_globs, compile, refuse_excluded, rescope};

/// An unfinished scan older than this is listed again.
const STALE_SECONDS: i64 = 24 * 60 * 60;

/// One scan of one root, or of a part of it.
#[derive(Debug)]
pub(crate) struct RootPlan {
    pub(crate) scan: ScanId,
    pub(crate) root: RootId,
    pub(crate) volume: VolumeId,
    pub(crate) start_depth: usize,
    /// The names that are skipped.
    exclude: Vec<String>,
    /// `None`: nothing is listed.
    pub(crate) seeds: Option<Seeds>,
}

/// What one run will do.
#[derive(Debug)]
pub struct Plan {
    pub(crate) roots: Vec<RootPlan>,
    pub(crate) options: ScanOptions,
    pub(crate) allow_empty: bool,
    /// Only files of these sizes, for a retry of particular files.
    pub(crate) sizes: Option<Vec<u64>>,
    /// What was asked for and cannot be scanned now.
    pub(crate) refused: Refused,
}

impl Plan {
    /// The plan for `scan PATH…`.
    pub fn for_scan(
        catalog: &mut Exclusive,
        request: &Request,
        notify: &mut dyn FnMut(Notice),
    ) -> Result<Self, ScanError> {
        check_globs(request)?;
        catalog.mark_orphans()?;
        let mut known = catalog.roots()?;
        let volumes = meet_volumes(&known);
        let mut refused = Refused::default();
        let mut paths = Vec::new();
        for path in &request.paths {
            paths.extend(refused.keep(resolve(path, &known))?);
        }
        let paths = outermost(paths);
        if moved::follow(catalog, &paths, &volumes, notify)? {
            known = catalog.roots()?;
        }
        let mut found = Vec::new();
        for path in paths {
            let volume = refused.keep(locate(&path, &known, request, &volumes))?;
            found.extend(volume.map(|volume| (path, volume)));
        }
        if found.is_empty() {
            return Ok(Self::without_roots(refused));
        }
        choose_algorithm(catalog, request.options.algorithm, notify)?;
        let mut roots = Vec::new();
        for (path, volume) in found {
            let volume = catalog.register_volume(&volume_row(&volume))?;
            roots.push(plan_root(catalog, request, &path, volume, notify)?);
        }
        Ok(Self {
            roots,
            options: request.options.clone(),
            allow_empty: request.allow_empty,
            sizes: None,
            refused,
        })
    }

    /// The plan that resumes unfinished scans of equal options.
    pub fn resume(
        catalog: &mut Exclusive,
        scans: &[ScanRow],
        notify: &mut dyn FnMut(Notice),
    ) -> Result<Self, ScanError> {
        catalog.mark_orphans()?;
        let options = scans
            .first()
            .and_then(|scan| scan.options.clone())
            .unwrap_or_default();
        let request = Request::again(options);
        let known = catalog.roots()?;
        let volumes = meet_volumes(&known);
        let mut roots = Vec::new();
        let mut refused = Refused::default();
        for scan in scans {
            let Some(root) = known.iter().find(|root| root.id == scan.root) else {
                continue;
            };
            let scope = RootScope {
                excludes: root.scope.excludes.clone(),
                sizes: request.options.sizes(),
            };
            let request = Request::again(request.options.within(&scope));
            let examined = resolve(&root.path, &known)
                .and_then(|path| examine(&path, &known, &request, &volumes));
            let Some((_, volume)) = refused.keep(examined)? else {
                continue;
            };
            let volume = catalog.register_volume(&volume_row(&volume))?;
            catalog.set_scope(root, &scope, false)?;
            let path = join(&root.path, &scan.subpath);
            let placement = catalog.place(&path, volume)?;
            let start = Start {
                placement: &placement,
                volume,
                path: &path,
            };
            roots.push(start.plan(catalog, &request, Some(scan), notify)?);
        }
        Ok(Self {
            roots,
            options: request.options,
            allow_empty: false,
            sizes: None,
            refused,
        })
    }

    /// The plan that tries some dead letters of one root again, as its last
    /// scan would.
    pub fn retry(
        catalog: &Exclusive,
        root: &RootRow,
        faults: &[FaultEntry],
    ) -> Result<Self, ScanError> {
        if let Err(reason) = online_state(root, &meet_volumes(&catalog.roots()?)) {
            let path = root.path.clone();
            let offline = ScanError::Offline { path, reason };
            return Ok(Self::without_roots(Refused(vec![offline])));
        }
        let reader = catalog.reader()?;
        let last = reader.last_options(root.id)?.unwrap_or_default();
        let options = ScanOptions {
            mode: Mode::All,
            rehash: false,
            ..last.within(&root.scope)
        };
        let scan = catalog.begin_scan(&NewScan {
            root: root.id,
            subpath: Path::new(""),
            mode: Mode::RETRY,
            algorithm: reader.algorithm()?,
            options: &options,
        })?;
        // Entries that failed to be examined are found by listing their folder.
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
                exclude: options.listing.exclude.clone(),
                seeds: is_listing.then_some(Seeds::Folders(folders)),
            }],
            options,
            allow_empty: false,
            sizes: (!is_listing).then_some(sizes),
            refused: Refused::default(),
        })
    }

    /// Nothing to do, since nothing that was asked for can be scanned.
    fn without_roots(refused: Refused) -> Self {
        Self {
            roots: Vec::new(),
            options: ScanOptions::default(),
            allow_empty: false,
            sizes: None,
            refused,
        }
    }

    /// The name filters of every root.
    pub(crate) fn scopes(&self) -> Result<HashMap<RootId, Scope>, ScanError> {
        let scope = |root: &RootPlan| {
            let listing = ListingOptions {
                exclude: root.exclude.clone(),
                ..self.options.listing.clone()
            };
            Ok((root.root, compile(&listing)?))
        };
        self.roots.iter().map(scope).collect()
    }

    /// Why some of the roots asked for are skipped: they are offline.
    pub fn refused(&self) -> &[ScanError] {
        &self.refused.0
    }

    /// Whether none of the roots asked for can be scanned.
    pub fn is_refused(&self) -> bool {
        self.roots.is_empty() && !self.refused.0.is_empty()
    }
}

impl Request {
    /// The same options, but nothing is accepted that looks wrong.
    fn again(options: ScanOptions) -> Self {
        Self {
            paths: Vec::new(),
            options,
            excludes: TypedExcludes::default(),
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
    paths
        .iter()
        .try_for_each(|path| resolve(path, &[]).map(drop))
}

/// Changes the catalog's algorithm if another is wanted, which makes all digests
/// stale.
fn choose_algorithm(
    catalog: &mut Exclusive,
    wanted: Option<Algorithm>,
    notify: &mut dyn FnMut(Notice),
) -> Result<(), CatalogError> {
    let current = catalog.reader()?.algorithm()?;
    if let Some(wanted) = wanted.filter(|wanted| *wanted != current) {
        let stale = catalog.set_algorithm(wanted)?;
        if stale > 0 {
            notify(Notice::AlgorithmChanged(current, wanted, stale));
        }
    }
    Ok(())
}

fn plan_root(
    catalog: &mut Exclusive,
    request: &Request,
    path: &Path,
    volume: VolumeId,
    notify: &mut dyn FnMut(Notice),
) -> Result<RootPlan, ScanError> {
    refuse_excluded(catalog, request, path)?;
    if request.options.mode == Mode::Files && catalog.reader()?.folder_at(path)?.is_none() {
        return Err(ScanError::NeverListed(path.to_owned()));
    }
    let placement = catalog.place(path, volume)?;
    let request = &rescope(catalog, request, &placement)?;
    let options = &request.options;
    for inner in &placement.absorbed {
        notify(Notice::Absorbed(path.to_owned(), inner.clone()));
    }
    let depth = placement.subpath.components().count();
    if let Some(root) = path.ancestors().nth(depth) {
        let globs = options.listing.include.iter();
        let globs = globs.chain(&options.listing.exclude);
        Notice::of_whole_paths(globs, root).for_each(&mut *notify);
    }
    if placement.subpath.as_os_str().is_empty() {
        catalog.set_follow(placement.root, options.listing.follow_links)?;
    }
    let unfinished = catalog
        .reader()?
        .unfinished_scans()?
        .into_iter()
        .rfind(|scan| {
            scan.root == placement.root
                && scan.subpath == placement.subpath
                && scan.mode != Mode::RETRY
        });
    let start = Start {
        placement: &placement,
        volume,
        path,
    };
    start.plan(catalog, request, unfinished.as_ref(), notify)
}

/// A folder from which a scan starts or is resumed.
struct Start<'a> {
    placement: &'a Placement,
    volume: VolumeId,
    path: &'a Path,
}

impl Start<'_> {
    /// Resumes the unfinished scan if that makes sense, and starts another
    /// otherwise.
    fn plan(
        &self,
        catalog: &mut Exclusive,
        request: &Request,
        unfinished: Option<&ScanRow>,
        notify: &mut dyn FnMut(Notice),
    ) -> Result<RootPlan, ScanError> {
        let mut seeds = Seeds::Folders(vec![self.placement.start]);
        let scan = match unfinished.map(|scan| (scan, restart_reason(request, scan))) {
            Some((scan, None)) => {
                notify(Notice::Resumed(scan.id, self.path.to_owned()));
                catalog.continue_scan(scan.id, Stage::List)?;
                let start = (scan.mode != Mode::RETRY).then_some(self.placement.start);
                seeds = Seeds::Unfinished(start);
                scan.id
            }
            Some((scan, Some(why))) => {
                notify(Notice::StartedOver(scan.id, self.path.to_owned(), why));
                catalog.supersede_scan(scan.id)?;
                self.begin(catalog, request, notify)?
            }
            None => self.begin(catalog, request, notify)?,
        };
        Ok(RootPlan {
            scan,
            root: self.placement.root,
            volume: self.volume,
            start_depth: self.placement.subpath.components().count(),
            exclude: request.options.listing.exclude.clone(),
            seeds: (request.options.mode != Mode::Files).then_some(seeds),
        })
    }

    fn begin(
        &self,
        catalog: &mut Exclusive,
        request: &Request,
        notify: &mut dyn FnMut(Notice),
    ) -> Result<ScanId, ScanError> {
        if request.options.rehash {
            let corrupted = catalog.distrust(self.placement.start)?;
            if corrupted > 0 {
                notify(Notice::CorruptionAccepted(self.path.to_owned(), corrupted));
            }
        }
        Ok(catalog.begin_scan(&NewScan {
            root: self.placement.root,
            subpath: &self.placement.subpath,
            mode: request.options.mode.name(),
            algorithm: catalog.reader()?.algorithm()?,
            options: &request.options,
        })?)
    }
}

/// Why an unfinished scan is not resumed, if so.
fn restart_reason(request: &Request, scan: &ScanRow) -> Option<&'static str> {
    let Some(before) = &scan.options else {
        return Some("its options are unreadable");
    };
    if request.restart {
        Some("--restart")
    } else if scan.mode != Mode::RETRY && Timestamp::now().0 - scan.updated.0 > STALE_SECONDS {
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
