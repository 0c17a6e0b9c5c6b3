//! The state of the two places of a comparison: which scans they reflect, and
//! what rules out "safe to wipe" whatever their files say.

use std::path::{Path, PathBuf};

use crate::answers::place::Place;
use crate::catalog::{CatalogError, Completeness, PlaceDiff, ReadOnly, RootRow};
use crate::model::{AsOf, ScanId};
use crate::platform::Dir;

/// One place as the catalog knows it.
pub(crate) struct DiffSide {
    pub(crate) path: PathBuf,
    /// The newest scan that listed a folder of it.
    pub(crate) as_of: Option<AsOf>,
    pub(crate) objections: Vec<Objection>,
}

/// A reason against "safe to wipe", about one place.
pub(crate) enum Objection {
    ContainsCatalog,
    /// Only folders below it were scanned.
    NotScanned,
    /// An exclude of this root matches it, or a folder above it.
    Excluded(PathBuf),
    /// One of its roots is.
    Offline(PathBuf),
    IgnoredCtime,
    Unfinished(ScanId),
    /// Folders that were never listed.
    Unlisted(u64),
    /// Paths that failed.
    Failed(u64),
    Filtered(ScanId),
    UnknownOptions(ScanId),
}

/// Our place and its number of empty files. All that is in it must be known.
pub(crate) fn ours(places: &PlaceDiff, ours: &Place) -> Result<(DiffSide, u64), CatalogError> {
    let catalog = places.catalog();
    let mut objections = Vec::new();
    if lies_in(catalog.path(), &ours.path) {
        objections.push(Objection::ContainsCatalog);
    }
    let roots = catalog.roots()?;
    if !roots.iter().any(|root| ours.path.starts_with(&root.path)) {
        objections.push(Objection::NotScanned);
    }
    for root in &roots {
        let below = ours.path.strip_prefix(&root.path);
        if below.is_ok_and(|below| root.scope.excludes.compile().matches_file(below)) {
            objections.push(Objection::Excluded(root.path.clone()));
        }
    }
    let listing = places.our_listing()?;
    objections.extend(incomplete(catalog, ours, &listing)?);
    Ok((side(catalog, ours, &listing, objections)?, listing.empty))
}

/// Their place. What is not known of it can only hide more copies; what is known
/// must be true.
pub(crate) fn theirs(places: &PlaceDiff, theirs: &Place) -> Result<DiffSide, CatalogError> {
    let catalog = places.catalog();
    let mut objections = Vec::new();
    for root in roots_around(catalog, theirs)? {
        if catalog.has_ignored_ctime(root.id)? {
            objections.push(Objection::IgnoredCtime);
        }
    }
    side(catalog, theirs, &places.their_listing()?, objections)
}

fn side(
    catalog: &ReadOnly,
    place: &Place,
    listing: &Completeness,
    objections: Vec<Objection>,
) -> Result<DiffSide, CatalogError> {
    let newest = match listing.scans.last() {
        Some(scan) => catalog.scan(*scan)?,
        None => None,
    };
    Ok(DiffSide {
        path: place.path.clone(),
        as_of: newest.map(|scan| AsOf {
            scan: scan.id,
            finished: scan.finished,
        }),
        objections,
    })
}

/// The roots at, above and below a place.
fn roots_around(catalog: &ReadOnly, place: &Place) -> Result<Vec<RootRow>, CatalogError> {
    let mut roots = catalog.roots()?;
    roots.retain(|root| root.path.starts_with(&place.path) || place.path.starts_with(&root.path));
    Ok(roots)
}

/// Why a place was not scanned completely and without filters.
fn incomplete(
    catalog: &ReadOnly,
    place: &Place,
    listing: &Completeness,
) -> Result<Vec<Objection>, CatalogError> {
    let mut objections = Vec::new();
    for root in roots_around(catalog, place)? {
        let is_offline = Dir::open_root(&root.path).is_err();
        if is_offline {
            objections.push(Objection::Offline(root.path));
        }
        if catalog.has_ignored_ctime(root.id)? {
            objections.push(Objection::IgnoredCtime);
        }
    }
    let unfinished = catalog.unfinished_around(&place.path)?;
    objections.extend(unfinished.into_iter().map(Objection::Unfinished));
    if listing.unlisted > 0 {
        objections.push(Objection::Unlisted(listing.unlisted));
    }
    if listing.failed > 0 {
        objections.push(Objection::Failed(listing.failed));
    }
    for &scan in &listing.scans {
        match catalog.scan(scan)?.and_then(|scan| scan.options) {
            // What is excluded and exists is found by looking.
            Some(options) if !options.listing.may_hide_beside(&options.listing.exclude) => {}
            Some(_) => objections.push(Objection::Filtered(scan)),
            None => objections.push(Objection::UnknownOptions(scan)),
        }
    }
    Ok(objections)
}

fn lies_in(file: &Path, folder: &Path) -> bool {
    let whole = std::fs::canonicalize(file);
    whole.as_deref().unwrap_or(file).starts_with(folder)
}
