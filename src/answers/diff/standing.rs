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
    /// The other place is this one.
    IsOther,
    /// The other place is inside this one.
    ContainsOther,
    ContainsCatalog,
    /// Only folders below it were scanned.
    NotScanned,
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

/// Our place and its number of empty files.
pub(crate) fn ours(
    places: &PlaceDiff,
    ours: &Place,
    theirs: &Place,
) -> Result<(DiffSide, u64), CatalogError> {
    let catalog = places.catalog();
    let mut objections = Vec::new();
    if theirs.path == ours.path {
        objections.push(Objection::IsOther);
    } else if theirs.path.starts_with(&ours.path) {
        objections.push(Objection::ContainsOther);
    }
    if lies_in(catalog.path(), &ours.path) {
        objections.push(Objection::ContainsCatalog);
    }
    let roots = catalog.roots()?;
    if !roots.iter().any(|root| ours.path.starts_with(&root.path)) {
        objections.push(Objection::NotScanned);
    }
    let listing = places.our_listing()?;
    Ok((side(catalog, ours, &listing, objections)?, listing.empty))
}

/// Their place.
pub(crate) fn theirs(places: &PlaceDiff, theirs: &Place) -> Result<DiffSide, CatalogError> {
    let listing = places.their_listing()?;
    side(places.catalog(), theirs, &listing, Vec::new())
}

fn side(
    catalog: &ReadOnly,
    place: &Place,
    listing: &Completeness,
    mut objections: Vec<Objection>,
) -> Result<DiffSide, CatalogError> {
    objections.extend(incomplete(catalog, place, listing)?);
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

/// Why a place was not scanned completely and without filters.
fn incomplete(
    catalog: &ReadOnly,
    place: &Place,
    listing: &Completeness,
) -> Result<Vec<Objection>, CatalogError> {
    let mut objections = Vec::new();
    let around =
        |root: &RootRow| root.path.starts_with(&place.path) || place.path.starts_with(&root.path);
    for root in catalog.roots()?.into_iter().filter(around) {
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
            Some(options) if !options.listing.may_hide_files() => {}
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
