//! A comparison of two places in words.

use std::collections::BTreeMap;

use super::Direction;
use crate::answers::{DiffSide, DiffVerdict, FileCount, Now, Objection, WhyUnchecked};
use crate::catalog::Unresolved;
use crate::model::{AsOf, TOO_YOUNG, escape};
use crate::report::files_and_bytes;
use crate::report::text::{counted, timestamp};

/// What the two places are called.
#[derive(Clone, Copy)]
pub(crate) struct Letters {
    pub(crate) ours: &'static str,
    theirs: &'static str,
}

pub(crate) const FORWARD: Letters = Letters {
    ours: "A",
    theirs: "B",
};
pub(crate) const BACKWARD: Letters = Letters {
    ours: "B",
    theirs: "A",
};

/// What is said of a file whose content no longer matches its digest.
const CORRUPTED: &str = "corrupted (bit rot, see `dupescan audit`)";

impl Letters {
    /// Why a file is unchecked, or only in our place although it seems to have a
    /// copy.
    pub(crate) fn reason(self, verdict: &DiffVerdict) -> Option<String> {
        let Self { ours, theirs } = self;
        Some(match verdict {
            DiffVerdict::Duplicate | DiffVerdict::Only { is_alias: false } => return None,
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
            DiffVerdict::Unchecked(WhyUnchecked::NotRead(Unresolved::NotRead)) => {
                format!("not read, and {theirs} has a file of the same size")
            }
            DiffVerdict::Unchecked(WhyUnchecked::NotRead(Unresolved::PartnerNotRead)) => {
                format!("a file of the same size in {theirs} was not read")
            }
        })
    }
}

/// Why a file may have changed although its times have not.
fn scanned_too_young() -> String {
    let span = TOO_YOUNG.as_secs();
    format!("scanned less than {span} s after its last change: scan again")
}

impl Direction {
    /// Every reason against wiping our place.
    pub(crate) fn objections(&self) -> Vec<String> {
        let Letters { ours, theirs } = self.letters;
        let diff = &self.diff;
        let words = |count| words(count, self.is_exact);
        let about_ours = diff.ours.objections.iter();
        let about_ours = about_ours.map(|objection| sentence(objection, ours, theirs));
        let about_theirs = diff.theirs.objections.iter();
        let about_theirs = about_theirs.map(|objection| sentence(objection, theirs, ours));
        let mut all: Vec<_> = about_ours.chain(about_theirs).collect();
        if diff.is_partial {
            let partial = "only some of the files were compared (size, extension or --exclude)";
            all.push(partial.to_owned());
        }
        if diff.changed_folders > 0 {
            let folders = counted(diff.changed_folders, "folder", "folders");
            all.push(format!("{folders} in {ours} changed since the scan"));
        }
        if diff.only.files > 0 {
            all.push(format!("{} not in {theirs}", words(diff.only)));
        }
        if diff.unchecked.files > 0 {
            all.push(format!("{} unchecked", words(diff.unchecked)));
        }
        all
    }

    pub(crate) fn sentences(&self) -> Vec<String> {
        let Letters { ours, theirs } = self.letters;
        let diff = &self.diff;
        let words = |count| words(count, self.is_exact);
        let mut lines = vec![
            as_of(&diff.ours, ours),
            as_of(&diff.theirs, theirs),
            format!("{} in {ours}:", words(diff.all())),
            format!("    {} also in {theirs}", words(diff.duplicate)),
            format!("    {} not in {theirs}", words(diff.only)),
        ];
        lines.extend(reasons(&self.why_only));
        lines.push(format!("    {} unchecked", words(diff.unchecked)));
        lines.extend(reasons(&self.why_unchecked));
        if diff.empty > 0 {
            let files = counted(diff.empty, "empty file", "empty files");
            lines.push(format!("{files} skipped"));
        }
        if diff.is_safe() {
            lines.push(format!(
                "safe to wipe {ours}: every file has a copy in {theirs}, and nothing changed since \
                 the scan"
            ));
        } else {
            lines.push(format!("do not wipe {ours}:"));
            let objections = self.objections();
            lines.extend(objections.iter().map(|why| format!("    {why}")));
        }
        lines
    }
}

/// Which scan a place reflects.
fn as_of(side: &DiffSide, letter: &str) -> String {
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
fn sentence(objection: &Objection, this: &str, other: &str) -> String {
    match objection {
        Objection::IsOther => format!("{other} is {this} itself"),
        Objection::ContainsOther => {
            format!("{other} is inside {this} and would be wiped with it")
        }
        Objection::ContainsCatalog => format!("the catalog is inside {this}"),
        Objection::NotScanned => {
            format!("{this} itself was never scanned, only folders below it")
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

fn reasons(reasons: &BTreeMap<String, u64>) -> impl Iterator<Item = String> {
    reasons.iter().map(|(reason, files)| {
        let files = counted(*files, "file", "files");
        format!("        {files}: {reason}")
    })
}

fn words(count: FileCount, is_exact: bool) -> String {
    files_and_bytes(count.files, count.bytes, is_exact)
}
