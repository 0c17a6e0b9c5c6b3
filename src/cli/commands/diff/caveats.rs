//! The state of the two sides of a comparison: which scans they reflect, and
//! what rules out "safe to wipe" whatever their files say.

use std::path::{Path, PathBuf};

use super::place::Place;
use crate::catalog::{CatalogError, Completeness, PlaceDiff, ReadOnly, RootRow};
use crate::cli::session::Context;
use crate::model::{AsOf, escape};
use crate::platform::Dir;
use crate::report::text::{counted, timestamp};

/// One side as the catalog knows it.
pub(crate) struct Side {
    pub(crate) path: PathBuf,
    /// The newest scan that listed a folder of it.
    pub(crate) as_of: Option<AsOf>,
}

impl Side {
    pub(crate) fn sentence(&self, letter: &str) -> String {
        let as_of = match self.as_of {
            Some(AsOf {
                scan,
                finished: Some(moment),
            }) => format!("as of scan {scan}, {}", timestamp(moment)),
            Some(AsOf { scan, .. }) => format!("as of scan {scan}, unfinished"),
            None => "never scanned".to_owned(),
        };
        format!("{letter} is {} ({as_of})", escape(&self.path))
    }
}

/// Both sides, and the reasons against "safe to wipe".
pub(crate) struct Standing {
    pub(crate) ours: Side,
    pub(crate) theirs: Side,
    /// Empty files of the one side.
    pub(crate) empty: u64,
    pub(crate) objections: Vec<String>,
}

impl Standing {
    pub(crate) fn of(
        context: &Context,
        sides: &PlaceDiff,
        from: &Place,
        to: &Place,
    ) -> Result<Self, CatalogError> {
        let catalog = sides.catalog();
        let (ours, theirs) = (sides.our_listing()?, sides.their_listing()?);
        let mut standing = Self {
            ours: side(catalog, from, &ours)?,
            theirs: side(catalog, to, &theirs)?,
            empty: ours.empty,
            objections: Vec::new(),
        };
        if to.path.starts_with(&from.path) {
            let (a, b) = (from.letter, to.letter);
            standing.object(&match to.path == from.path {
                true => format!("{b} is {a} itself"),
                false => format!("{b} is inside {a} and would be wiped with it"),
            });
        }
        if lies_in(&context.config.db, &from.path) {
            standing.object(&format!("the catalog is inside {}", from.letter));
        }
        let roots = catalog.roots()?;
        if !roots.iter().any(|root| from.path.starts_with(&root.path)) {
            let letter = from.letter;
            standing.object(&format!(
                "{letter} itself was never scanned, only folders below it"
            ));
        }
        standing.object_to(catalog, from, &ours)?;
        standing.object_to(catalog, to, &theirs)?;
        Ok(standing)
    }

    /// Adds a reason against "safe to wipe".
    pub(crate) fn object(&mut self, why: &str) {
        self.objections.push(why.to_owned());
    }

    /// Objects to a side that was not scanned completely and without filters.
    fn object_to(
        &mut self,
        catalog: &ReadOnly,
        place: &Place,
        listing: &Completeness,
    ) -> Result<(), CatalogError> {
        let letter = place.letter;
        let around = |root: &RootRow| {
            root.path.starts_with(&place.path) || place.path.starts_with(&root.path)
        };
        for root in catalog.roots()?.iter().filter(|root| around(root)) {
            if Dir::open_root(&root.path).is_err() {
                self.object(&format!("{letter} is offline ({})", escape(&root.path)));
            }
            if catalog.has_ignored_ctime(root.id)? {
                self.object(&format!(
                    "{letter} was scanned with --ignore-ctime, which can miss changes (read \
                     everything again with `dupescan scan --rehash`)"
                ));
            }
        }
        for scan in catalog.unfinished_around(&place.path)? {
            self.object(&format!("scan {scan} of {letter} is unfinished"));
        }
        if listing.unlisted > 0 {
            let folders = counted(listing.unlisted, "folder", "folders");
            self.object(&format!("{folders} in {letter} never listed"));
        }
        if listing.failed > 0 {
            let paths = counted(listing.failed, "path", "paths");
            self.object(&format!(
                "{paths} in {letter} failed (see `dupescan errors`)"
            ));
        }
        for scan in &listing.scans {
            let options = catalog.scan(*scan)?.and_then(|scan| scan.options);
            match options {
                Some(options) if !options.listing.may_hide_files() => {}
                Some(_) => self.object(&format!("{letter} was scanned with filters (scan {scan})")),
                None => self.object(&format!("unknown how {letter} was scanned (scan {scan})")),
            }
        }
        Ok(())
    }
}

fn side(catalog: &ReadOnly, place: &Place, listing: &Completeness) -> Result<Side, CatalogError> {
    let newest = match listing.scans.last() {
        Some(scan) => catalog.scan(*scan)?,
        None => None,
    };
    Ok(Side {
        path: place.path.clone(),
        as_of: newest.map(|scan| AsOf {
            scan: scan.id,
            finished: scan.finished,
        }),
    })
}

fn lies_in(file: &Path, folder: &Path) -> bool {
    let whole = std::fs::canonicalize(file);
    whole.as_deref().unwrap_or(file).starts_with(folder)
}
