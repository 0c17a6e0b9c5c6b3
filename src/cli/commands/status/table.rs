//! The status for people, readable at 80 columns. Paths are not shortened, so
//! a root is a block of lines, not a table row.

use std::fmt::{self, Write};
use std::path::Path;
use std::time::Duration;

use crate::answers::{RootState, RootStatus, Status, Unfinished, User};
use crate::catalog::{ProgressUnit, ScanRow, StageProgress};
use crate::cli::session::Context;
use crate::model::{ScanId, ScanState, Stage, escape};
use crate::report::text::{
    counted, duration, files_not_compared, group_totals, grouped, size, timestamp, unchecked,
};
use crate::report::{Align, table};

const VOLUMES: [(&str, Align); 4] = [
    ("VOLUME", Align::Left),
    ("TYPE", Align::Left),
    ("INODES", Align::Left),
    ("LAST SEEN", Align::Left),
];

/// The whole status.
pub(crate) fn render(
    status: &Status,
    context: &Context,
    exact: bool,
) -> Result<String, fmt::Error> {
    let mut text = String::new();
    writeln!(text, "Catalog {}", escape(&status.catalog))?;
    let (bytes, algorithm) = (size(status.bytes, exact), status.algorithm);
    writeln!(text, "    {bytes}, {algorithm} hashes\n")?;
    if status.roots.is_empty() {
        let scan = context.command("scan PATH");
        writeln!(text, "Nothing has been scanned yet: start with `{scan}`")?;
        return Ok(text);
    }
    for root in &status.roots {
        push_root(&mut text, root, exact)?;
    }
    text += &table(&VOLUMES, volume_rows(status), context.width());
    text.push('\n');
    push_unfinished(&mut text, status, exact, &context.command("resume"))?;
    push_totals(&mut text, status, exact)?;
    push_failed(&mut text, status, &context.command("errors"))?;
    if status.corrupted > 0 {
        let files = counted(status.corrupted, "file", "files");
        let audit = context.command("audit");
        writeln!(text, "{files} corrupted (bit rot): see `{audit}`")?;
    }
    Ok(text)
}

fn push_root(text: &mut String, status: &RootStatus, exact: bool) -> fmt::Result {
    let root = &status.root;
    let mark = match &status.state {
        RootState::Offline(_) => "  OFFLINE",
        _ => "",
    };
    writeln!(text, "Root {}{mark}", escape(&root.path))?;
    let files = counted(root.files, "file", "files");
    let folders = counted(root.folders, "folder", "folders");
    let bytes = size(root.bytes, exact);
    writeln!(text, "    {files}, {bytes}, in {folders}")?;
    let excludes = root.scope.excludes.globs();
    if !excludes.is_empty() {
        let globs: Vec<String> = excludes
            .iter()
            .map(|glob| escape(Path::new(glob)))
            .collect();
        writeln!(text, "    excludes: {}", globs.join(", "))?;
    }
    let last = match &status.last_complete {
        Some(scan) => format!(
            "last complete scan: {} (scan {})",
            scan.finished.map_or_else(String::new, timestamp),
            scan.id
        ),
        None => "never fully scanned".to_owned(),
    };
    writeln!(text, "    {last}")?;
    if let RootState::Offline(reason) = &status.state {
        writeln!(text, "    offline: {}", escape(reason))?;
    }
    writeln!(text)
}

fn volume_rows(status: &Status) -> Vec<Vec<String>> {
    let volumes = status.volumes.iter();
    volumes
        .map(|(volume, seen)| {
            let inodes = if volume.stable_inodes {
                "stable"
            } else {
                "not stable"
            };
            vec![
                escape(&volume.identity),
                escape(&volume.fstype),
                inodes.to_owned(),
                timestamp(*seen),
            ]
        })
        .collect()
}

fn push_unfinished(text: &mut String, status: &Status, exact: bool, resume: &str) -> fmt::Result {
    if status.unfinished.is_empty() {
        return Ok(());
    }
    for unfinished in &status.unfinished {
        let (scan, path) = (&unfinished.scan, escape(&unfinished.path));
        writeln!(text, "Unfinished scan {} of {path}", scan.id)?;
        let (state, stage) = (state(scan, &status.user), activity(scan.stage));
        let share = unfinished.share.as_ref();
        let share = share.filter(|share| alike(status, share).len() == 1);
        let share = share.map_or_else(String::new, |found| {
            format!(", {}", self::share(found, exact))
        });
        writeln!(text, "    {state} while {stage}{share}")?;
        let age = age(unfinished.age(status.now));
        writeln!(text, "    last progress {age} ago")?;
    }
    push_common(text, status, exact)?;
    match &status.user {
        User::Process(process) => writeln!(text, "    in use by {process}\n"),
        User::Nobody | User::Unknown => writeln!(text, "    resume with `{resume}`\n"),
    }
}

/// The progress that several scans have together, each once.
fn push_common(text: &mut String, status: &Status, exact: bool) -> fmt::Result {
    for unfinished in &status.unfinished {
        let Some(share) = &unfinished.share else {
            continue;
        };
        let scans = alike(status, share);
        if scans.len() > 1 && scans[0] == unfinished.scan.id {
            let scans: Vec<_> = scans.iter().map(ToString::to_string).collect();
            let scans = scans.join(", ");
            writeln!(
                text,
                "Scans {scans} together: {}",
                self::share(share, exact)
            )?;
        }
    }
    Ok(())
}

/// The scans that have this progress together: files of the whole catalog are
/// read for all of them. Folders are listed for one.
fn alike(status: &Status, share: &StageProgress) -> Vec<ScanId> {
    let is_alike = |other: &&Unfinished| other.share.as_ref() == Some(share);
    let scans = status.unfinished.iter().filter(is_alike);
    let most = match share.unit {
        ProgressUnit::Folders => 1,
        ProgressUnit::Files | ProgressUnit::Bytes => usize::MAX,
    };
    scans.map(|other| other.scan.id).take(most).collect()
}

/// What a scan was doing, in words.
fn activity(stage: Stage) -> &'static str {
    match stage {
        Stage::List => "listing",
        Stage::Probe | Stage::Hash => "reading",
        Stage::Settle => "adding up",
    }
}

/// A killed process leaves its scan marked running until the next command
/// that changes the catalog.
fn state(scan: &ScanRow, user: &User) -> &'static str {
    match (scan.state, user) {
        (ScanState::Running, User::Nobody) => "killed",
        (ScanState::Running, User::Unknown) => "running or killed",
        (other, _) => other.name(),
    }
}

/// `61 % done: 61.2 GiB of 100.0 GiB`; rounded down, so that 100 is all.
fn share(share: &StageProgress, exact: bool) -> String {
    let (done, total) = (share.done, share.total);
    let percent = u128::from(done) * 100 / u128::from(total.max(1));
    let what = match share.unit {
        ProgressUnit::Bytes => format!("{} of {}", size(done, exact), size(total, exact)),
        ProgressUnit::Files => format!("{} of {}", grouped(done), counted(total, "file", "files")),
        ProgressUnit::Folders => format!(
            "{} of {} known so far",
            grouped(done),
            counted(total, "folder", "folders")
        ),
    };
    format!("{percent} % done: {what}")
}

fn age(seconds: u64) -> String {
    if seconds < 1 {
        return "a moment".to_owned();
    }
    duration(Duration::from_secs(seconds))
}

fn push_totals(text: &mut String, status: &Status, exact: bool) -> fmt::Result {
    if let Some((scan, totals)) = status.totals {
        writeln!(
            text,
            "As of scan {}: {}",
            scan,
            group_totals(&totals, exact)
        )?;
        if totals.unchecked > 0 {
            writeln!(text, "{}", unchecked(totals.unchecked))?;
        }
        if let Some(found) = &status.not_compared {
            writeln!(text, "{}", files_not_compared(found))?;
        }
    }
    Ok(())
}

fn push_failed(text: &mut String, status: &Status, errors: &str) -> fmt::Result {
    match status.dead_letters {
        0 => writeln!(text, "No errors"),
        many => {
            let paths = counted(many, "path", "paths");
            writeln!(text, "{paths} failed; see `{errors}`")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_rounded_down_and_say_of_what() {
        let text = |unit, done, total| share(&StageProgress { unit, done, total }, false);
        assert_eq!(
            text(ProgressUnit::Bytes, (1 << 30) - 1, 1 << 30),
            "99 % done: 1.0 GiB of 1.0 GiB"
        );
        assert_eq!(
            text(ProgressUnit::Files, 1_500, 3_000),
            "50 % done: 1,500 of 3,000 files"
        );
        assert_eq!(
            text(ProgressUnit::Folders, 0, 1),
            "0 % done: 0 of 1 folder known so far"
        );
    }
}
