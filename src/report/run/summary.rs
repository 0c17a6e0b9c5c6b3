//! What a scan prints when it ends: what was scanned, which files are
//! duplicates, what failed, and what to do next.

use std::io::{self, Write};

use crate::model::{GROUPS_FOR_FOLDERS, Outcome, ScanCounters, Summary, TopGroup, Totals, escape};
use crate::report::rows::{Align, table};
use crate::report::text;
use crate::report::text::{counted, grouped, human_size};

/// Where a summary is shown.
pub(crate) struct SummaryStyle<'a> {
    /// Columns of the terminal, if it is one.
    pub(crate) width: Option<u16>,
    /// The command line that runs a command on this catalog.
    pub(crate) command: &'a dyn Fn(&str) -> String,
}

/// What the catalog says about the duplicates as a whole.
pub(crate) struct Setting {
    /// Bytes of all files.
    pub(crate) bytes: u64,
    /// Whether `folders` is likely to find something: some folder holds only
    /// copies, or there are more groups than the folder sums looked at. A
    /// definite answer would cost more than the rest of the summary.
    pub(crate) has_whole_folders: bool,
}

/// Writes what was scanned, and which files are duplicates where that is known.
pub(crate) fn write(
    outcome: &Outcome,
    setting: Option<&Setting>,
    style: &SummaryStyle<'_>,
    out: &mut impl Write,
) -> io::Result<()> {
    scanned(outcome, &outcome.counters, out)?;
    if let (Some(summary), Some(setting)) = (&outcome.summary, setting) {
        duplicates(style, summary, setting, outcome, out)?;
    }
    Ok(())
}

impl Setting {
    /// The share of duplicates in everything.
    fn share(&self, duplicate: u64, scanned: u64) -> String {
        let percent = u128::from(duplicate) * 100 / u128::from(self.bytes.max(1));
        let share = match percent {
            0 => "less than 1 %".to_owned(),
            percent => format!("{percent} %"),
        };
        match self.bytes == scanned {
            true => format!("{share} of everything scanned"),
            false => format!("{share} of the {} in the catalog", human_size(self.bytes)),
        }
    }
}

fn scanned(outcome: &Outcome, counters: &ScanCounters, out: &mut impl Write) -> io::Result<()> {
    if counters.folders == 0 {
        return writeln!(
            out,
            "Read {} in {}",
            human_size(counters.bytes_read),
            text::duration(outcome.elapsed)
        );
    }
    writeln!(
        out,
        "Scanned {} in {} ({}) in {}",
        counted(counters.files, "file", "files"),
        counted(counters.folders, "folder", "folders"),
        human_size(counters.bytes),
        text::duration(outcome.elapsed)
    )?;
    let unchanged = counters
        .files
        .saturating_sub(counters.added + counters.changed + counters.restored + counters.young);
    let mut parts = Vec::new();
    for (count, word) in [
        (counters.added, "new"),
        (counters.changed, "changed"),
        (counters.restored, "restored"),
        (counters.removed, "deleted"),
    ] {
        if count > 0 {
            parts.push(format!("{} {word}", grouped(count)));
        }
    }
    let all = counted(counters.files, "file", "files");
    if unchanged > 0 {
        parts.push(format!("{} of {all} unchanged", grouped(unchanged)));
    }
    if counters.young > 0 {
        let young = grouped(counters.young);
        parts.push(format!(
            "{young} of {all} not trusted (last scanned less than 3 s after a change)"
        ));
    }
    parts.push(format!("{} read", human_size(counters.bytes_read)));
    writeln!(out, "  {}", parts.join(", "))?;
    if counters.ctime_only > 0 {
        writeln!(
            out,
            "  {} changed only in ctime (--ignore-ctime treats those as unchanged)",
            grouped(counters.ctime_only)
        )?;
    }
    if outcome.adopted > 0 {
        writeln!(
            out,
            "  {} moved or renamed, not read again",
            counted(outcome.adopted, "file", "files")
        )?;
    }
    Ok(())
}

fn duplicates(
    style: &SummaryStyle<'_>,
    summary: &Summary,
    setting: &Setting,
    outcome: &Outcome,
    out: &mut impl Write,
) -> io::Result<()> {
    let totals = &summary.totals;
    match totals.groups {
        0 => writeln!(out, "No duplicates")?,
        _ => writeln!(out, "{}", text::group_totals(totals, false))?,
    }
    let share = |totals: &Totals| setting.share(totals.reclaimable, outcome.counters.bytes);
    match &outcome.whole {
        None if totals.groups > 0 => writeln!(out, "  {}", share(totals))?,
        Some(whole) if whole.groups > 0 => {
            let sums = text::group_totals(whole, false);
            writeln!(out, "Whole catalog: {sums}, {}", share(whole))?;
        }
        None | Some(_) => {}
    }
    if totals.unchecked > 0 {
        writeln!(out, "{}", text::unchecked(totals.unchecked))?;
    }
    if let Some(found) = &outcome.not_compared {
        writeln!(out, "{}", text::files_not_compared(found))?;
    }
    if !summary.groups.is_empty() {
        let columns = [
            ("RECLAIMABLE", Align::Right),
            ("COPIES", Align::Right),
            ("SIZE", Align::Right),
            ("FIRST PATH", Align::Path),
        ];
        writeln!(out)?;
        let rows = summary.groups.iter().map(row);
        write!(out, "{}", table(&columns, rows, style.width))?;
        writeln!(out)?;
        folders(style, summary, out)?;
        writeln!(out, "All groups: {}", (style.command)("report"))?;
    }
    if setting.has_whole_folders {
        let command = (style.command)("folders");
        writeln!(out, "Duplicate folders: {command}")?;
    }
    Ok(())
}

/// The folders with the most reclaimable space.
fn folders(style: &SummaryStyle<'_>, summary: &Summary, out: &mut impl Write) -> io::Result<()> {
    let heading = if summary.totals.groups > GROUPS_FOR_FOLDERS {
        "FOLDER (top 1,000 groups only)"
    } else {
        "FOLDER"
    };
    let columns = [
        ("RECLAIMABLE", Align::Right),
        ("COPIES", Align::Right),
        (heading, Align::Path),
    ];
    let rows = summary.folders.iter().map(|folder| {
        vec![
            human_size(folder.reclaimable),
            grouped(folder.copies),
            escape(&folder.path),
        ]
    });
    write!(out, "{}", table(&columns, rows, style.width))?;
    writeln!(out)
}

fn row(group: &TopGroup) -> Vec<String> {
    vec![
        human_size(group.reclaimable),
        grouped(group.copies),
        human_size(group.size),
        escape(&group.path),
    ]
}

/// Writes what went wrong or is left to do.
pub(crate) fn write_faults(
    style: &SummaryStyle<'_>,
    outcome: &Outcome,
    out: &mut impl Write,
) -> io::Result<()> {
    let findings = &outcome.findings;
    for path in &findings.offline {
        writeln!(
            out,
            "{} is offline: the filesystem mounted there is gone; nothing was marked as deleted",
            escape(path)
        )?;
    }
    for (_, path, fault) in &findings.given_up {
        writeln!(
            out,
            "The device of {} keeps failing ({fault}); its scan was stopped, and nothing was \
             marked as deleted. Resume with: {}",
            escape(path),
            (style.command)("resume")
        )?;
    }
    if findings.faults > 0 {
        writeln!(
            out,
            "{} failed; see: {}",
            counted(findings.faults, "path", "paths"),
            (style.command)("errors")
        )?;
    }
    if findings.abandoned > 0 {
        writeln!(
            out,
            "{} abandoned, stuck in the operating system",
            counted(findings.abandoned as u64, "thread", "threads")
        )?;
    }
    for error in &findings.worker_errors {
        writeln!(out, "  {}", escape(error))?;
    }
    if outcome.interrupted {
        writeln!(
            out,
            "Interrupted; progress is saved. Resume with: {}",
            (style.command)("resume")
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_of_what_was_scanned_or_of_the_whole_catalog() {
        let setting = Setting {
            bytes: 200 << 30,
            has_whole_folders: false,
        };
        let share = |duplicate: u64, scanned: u64| setting.share(duplicate << 20, scanned << 30);
        assert_eq!(share(50 << 10, 200), "25 % of everything scanned");
        assert_eq!(share(1, 200), "less than 1 % of everything scanned");
        assert_eq!(share(199 << 10, 1), "99 % of the 200.0 GiB in the catalog");
    }
}
