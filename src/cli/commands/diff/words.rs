//! A comparison of two places in words.

use std::collections::BTreeMap;

use crate::answers::{
    DiffSide, DiffVerdict, FileCount, MountPoints, Now, Objection, OutOfSight, SharedView,
    WhyUnchecked,
};
use crate::catalog::Unresolved;
use crate::model::{AsOf, TOO_YOUNG, escape};
use crate::report::files_and_bytes;
use crate::report::text::{counted, grouped, timestamp};

/// What our place and the other one are called.
#[derive(Clone, Copy)]
pub(crate) struct Letters(pub(crate) &'static str, pub(crate) &'static str);

/// What is said of a file whose content no longer matches its digest.
const CORRUPTED: &str = "corrupted (bit rot, see `dupescan audit`)";

impl Letters {
    /// Why a file is unchecked, or only in our place although it seems to have a
    /// copy.
    pub(crate) fn reason(self, verdict: &DiffVerdict) -> Option<String> {
        let Self(ours, theirs) = self;
        Some(match verdict {
            DiffVerdict::Duplicate
            | DiffVerdict::NotCompared
            | DiffVerdict::Only { is_alias: false } => return None,
            DiffVerdict::Only { is_alias: true } => {
                format!("in {theirs} only as another path into {ours}")
            }
            DiffVerdict::Unchecked(WhyUnchecked::File(now)) => match now {
                Now::Offline => format!("{ours} is offline"),
                Now::Gone => "missing".to_owned(),
                Now::Unreadable(why) => format!("cannot check it: {why}"),
                Now::Corrupted => CORRUPTED.to_owned(),
                Now::TooYoung => scanned_too_young(),
                Now::AsScanned | Now::Changed => "changed since the scan".to_owned(),
            },
            DiffVerdict::Unchecked(WhyUnchecked::ItsCopy(now)) => {
                let state = match now {
                    Now::Offline => "is offline".to_owned(),
                    Now::Gone => "is missing".to_owned(),
                    Now::Unreadable(why) => format!("cannot be checked: {why}"),
                    Now::Corrupted => format!("is {CORRUPTED}"),
                    Now::TooYoung => format!("was {}", scanned_too_young()),
                    Now::AsScanned | Now::Changed => "changed since the scan".to_owned(),
                };
                format!("its copy in {theirs} {state}")
            }
            DiffVerdict::Unchecked(WhyUnchecked::MaybeItself(view)) => {
                format!("its copy may be the same file: {}", self.view(*view))
            }
            DiffVerdict::Unchecked(WhyUnchecked::NotRead(Unresolved::NotRead)) => {
                format!("not read, and {theirs} has a file of the same size")
            }
            DiffVerdict::Unchecked(WhyUnchecked::NotRead(Unresolved::PartnerNotRead)) => {
                format!("a file of the same size in {theirs} was not read")
            }
        })
    }
}

impl Letters {
    /// Why the places may be the same storage.
    pub(crate) fn view(self, view: SharedView) -> String {
        let (place, fstype) = match view {
            SharedView::Ours(fstype) => (self.0, fstype),
            SharedView::Theirs(fstype) => (self.1, fstype),
        };
        format!("{place} is on {fstype} (--assume-separate if not)")
    }
}

/// Why a file may have changed although its times have not.
fn scanned_too_young() -> String {
    let span = TOO_YOUNG.as_secs();
    format!(
        "scanned less than {span} s after its last change, or while open for writing: scan again"
    )
}

/// Which scan a place reflects.
pub(crate) fn as_of(side: &DiffSide, letter: &str) -> String {
    let as_of = match side.as_of {
        Some(AsOf {
            scan,
            finished: Some(moment),
        }) => format!("as of scan {scan}, {}", timestamp(moment)),
        Some(AsOf { scan, .. }) => format!("as of scan {scan}, unfinished"),
        None => "never scanned".to_owned(),
    };
    format!("{letter} is {} ({as_of})", escape(&side.path))
}

/// An objection to the place called `this`.
pub(crate) fn sentence(objection: &Objection, this: &str) -> String {
    match objection {
        Objection::ContainsCatalog => format!("the catalog is inside {this}"),
        Objection::NotScanned => {
            format!("{this} itself was never scanned, only folders below it")
        }
        Objection::Excluded(root) => {
            format!("{this} is excluded from the root {}", escape(root))
        }
        Objection::Offline(root) => format!("{this} is offline ({})", escape(root)),
        Objection::IgnoredCtime => format!(
            "{this} was scanned with --ignore-ctime, which can miss changes (read everything \
             again with `dupescan scan --rehash`)"
        ),
        Objection::Unfinished(scan) => format!("scan {scan} of {this} is unfinished"),
        Objection::Unlisted(folders) => {
            let folders = counted(*folders, "folder", "folders");
            format!("{folders} in {this} never listed")
        }
        Objection::Failed(paths) => {
            let paths = counted(*paths, "path", "paths");
            format!("{paths} in {this} failed (see `dupescan errors`)")
        }
        Objection::Filtered(scan) => format!("{this} was scanned with filters (scan {scan})"),
        Objection::UnknownOptions(scan) => {
            format!("unknown how {this} was scanned (scan {scan})")
        }
    }
}

/// What was found in the place called `this` that no scan has met, if anything.
pub(crate) fn unscanned(unscanned: &OutOfSight, this: &str) -> Option<String> {
    let first = escape(unscanned.first.as_ref()?);
    let (what, is_one) = files_and_folders(unscanned);
    Some(match is_one {
        true => format!("{what} in {this} has not been scanned: {first}"),
        false => format!("{what} in {this} have not been scanned, such as {first}"),
    })
}

/// What the place called `this` holds that is excluded from its root, if anything.
pub(crate) fn excluded(excluded: &OutOfSight, this: &str) -> Option<String> {
    let first = escape(excluded.first.as_ref()?);
    let (what, is_one) = files_and_folders(excluded);
    Some(match is_one {
        true => format!("{what} in {this} is excluded: {first}"),
        false => format!("{what} in {this} are excluded, such as {first}"),
    })
}

/// `2 files and 1 folder`, and whether it is one thing.
fn files_and_folders(found: &OutOfSight) -> (String, bool) {
    let files = counted(found.files, "file", "files");
    let folders = counted(found.folders, "folder", "folders");
    match (found.files, found.folders) {
        (number, 0) => (files, number == 1),
        (0, number) => (folders, number == 1),
        _ => (format!("{files} and {folders}"), false),
    }
}

/// What may be covered in the place called `this`, if anything.
pub(crate) fn mount_points(points: &MountPoints, this: &str) -> Option<String> {
    let first = escape(points.first.as_ref()?);
    Some(match points.number {
        1 => format!("1 mount point in {this} may hide files: {first}"),
        number => {
            let points = grouped(number);
            format!("{points} mount points in {this} may hide files, such as {first}")
        }
    })
}

pub(crate) fn reasons(reasons: &BTreeMap<String, u64>) -> impl Iterator<Item = String> {
    reasons.iter().map(|(reason, files)| {
        let files = counted(*files, "file", "files");
        format!("        {files}: {reason}")
    })
}

pub(crate) fn words(count: FileCount, is_exact: bool) -> String {
    files_and_bytes(count.files, count.bytes, is_exact)
}
