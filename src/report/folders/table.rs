//! The listing for people. On a terminal, paths that are too wide for it lose
//! their middle; elsewhere they stay whole.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use jiff::tz::TimeZone;

use super::answer::{FolderReport, per_mille};
use crate::folders::{
    ChangedFile, Differences, FolderAnswer, FolderGroup, FolderPair, FolderTotals, Identical,
    NamedFile, PairSide, Similar, UncheckedFolders, Unknown,
};
use crate::model::{Timestamp, escape};
use crate::report::filters::filters_line;
use crate::report::style::{FAINT, GAIN, STRONG, Style};
use crate::report::text::{
    as_of_in, counted, grouped, reclaimable, shorten_middle, size, timestamp_in, unchecked_meaning,
};

/// Folders full of hard links, or a folder that is mounted twice.
const ALIASES: &str = "same files as the first (hard links or mounts), not copies";

pub(crate) fn write<W: Write>(report: &FolderReport, style: Style, out: W) -> io::Result<()> {
    write_in(TimeZone::system(), report, style, out)
}

pub(crate) fn write_in<W: Write>(
    zone: TimeZone,
    report: &FolderReport,
    style: Style,
    out: W,
) -> io::Result<()> {
    let mut table = Table {
        out: BufWriter::new(out),
        style,
        zone,
    };
    if report.header.as_of.is_some() {
        match &report.answer {
            FolderAnswer::Identical(identical) => table.identical(identical)?,
            FolderAnswer::Similar(similar) => table.similar(similar)?,
        }
    }
    if let Some(filters) = filters_line(&report.header.filters, style.exact_bytes) {
        writeln!(table.out, "{filters}")?;
    }
    let as_of = as_of_in(&report.header, &table.zone);
    writeln!(table.out, "{as_of}")?;
    table.out.flush()
}

struct Table<W> {
    out: W,
    style: Style,
    zone: TimeZone,
}

impl<W: Write> Table<W> {
    fn identical(&mut self, identical: &Identical) -> io::Result<()> {
        for group in &identical.groups {
            self.group(group)?;
        }
        self.sums(&identical.totals, identical.groups.len() as u64)
    }

    fn group(&mut self, group: &FolderGroup) -> io::Result<()> {
        let gain = reclaimable(group.reclaimable, self.style.exact_bytes);
        let folders = counted(group.paths.len() as u64, "folder", "folders");
        let files = counted(group.files, "file", "files");
        let gain = self.style.painted(GAIN, &format!("{gain:<22}"));
        let folders = self.style.painted(STRONG, &format!("{folders:<11}"));
        let bytes = self.size(group.bytes);
        writeln!(self.out, "{gain}  {folders}  {files}, {bytes} each")?;
        for path in &group.paths {
            self.path(4, path)?;
        }
        if !group.aliases.is_empty() {
            writeln!(self.out, "    {ALIASES}:")?;
        }
        for path in &group.aliases {
            self.path(8, path)?;
        }
        writeln!(self.out)
    }

    fn sums(&mut self, totals: &FolderTotals, shown: u64) -> io::Result<()> {
        if totals.groups == 0 {
            writeln!(self.out, "no duplicate folders found")?;
        } else {
            let line = format!(
                "{}, {}, {}",
                counted(totals.groups, "duplicate group", "duplicate groups"),
                counted(totals.folders, "folder", "folders"),
                reclaimable(totals.reclaimable, self.style.exact_bytes),
            );
            let line = self.style.painted(STRONG, &line);
            writeln!(self.out, "{line}")?;
        }
        self.shown(shown, totals.groups, "groups")?;
        let others = [
            (totals.linked_groups, "hard links"),
            (totals.empty_groups, "empty files"),
        ];
        for (groups, what) in others.into_iter().filter(|(groups, _)| *groups > 0) {
            let groups = counted(groups, "more group", "more groups");
            writeln!(self.out, "{groups} of {what}: nothing to reclaim")?;
        }
        let meaning = unchecked_meaning(totals.unchecked.folders);
        self.unchecked(&totals.unchecked, meaning)
    }

    fn unchecked(&mut self, unchecked: &UncheckedFolders, meaning: &str) -> io::Result<()> {
        if unchecked.folders == 0 {
            return Ok(());
        }
        let folders = counted(unchecked.folders, "folder", "folders");
        writeln!(self.out, "{folders} unchecked ({meaning})")?;
        let reasons = [
            // Not read, or corrupted.
            (
                unchecked.with_unchecked_files,
                "with unchecked files",
                "scan, audit",
            ),
            (
                unchecked.with_unreadable_paths,
                "with unreadable paths",
                "errors",
            ),
            // Unreadable, or not reached yet.
            (unchecked.not_listed, "not fully listed", "errors, resume"),
        ];
        for (count, reason, commands) in reasons {
            if count > 0 {
                let count = grouped(count);
                writeln!(self.out, "    {count} {reason} (see dupescan {commands})")?;
            }
        }
        if unchecked.filtered > 0 {
            let count = grouped(unchecked.filtered);
            writeln!(
                self.out,
                "    {count} scanned with filters that may hide files (--as-scanned compares them)"
            )?;
        }
        Ok(())
    }

    fn similar(&mut self, similar: &Similar) -> io::Result<()> {
        for pair in &similar.pairs {
            self.pair(pair, similar)?;
        }
        if similar.all == 0 {
            let percent = similar.percent;
            writeln!(self.out, "no folders are at least {percent} % similar")?;
        } else {
            let pairs = counted(similar.all, "pair", "pairs");
            let by = match similar.measure {
                crate::folders::Measure::Count => "by number of distinct files",
                crate::folders::Measure::Bytes => "by bytes",
            };
            let line = format!("{pairs} at least {} % similar, {by}", similar.percent);
            let line = self.style.painted(STRONG, &line);
            writeln!(self.out, "{line}")?;
        }
        self.shown(similar.pairs.len() as u64, similar.all, "pairs")?;
        if similar.crowded > 0 {
            let folders = counted(similar.crowded, "folder is", "folders are");
            writeln!(
                self.out,
                "{folders} identical to many others and paired only with the first"
            )?;
        }
        if !similar.is_complete {
            writeln!(
                self.out,
                "too many pairs: the search stopped early, and some are missing"
            )?;
            writeln!(
                self.out,
                "    narrow it down with a higher threshold, --min-size or --exclude"
            )?;
        }
        let meaning = "may have more in common than shown";
        self.unchecked(&similar.unchecked, meaning)
    }

    fn pair(&mut self, pair: &FolderPair, similar: &Similar) -> io::Result<()> {
        let measure = similar.measure;
        let share = percent(pair.both.weight(measure), pair.either.weight(measure));
        let share = self
            .style
            .painted(GAIN, &format!("{:<17}", format!("{share} similar")));
        let bytes = format!("{} in both", self.size(pair.both.bytes));
        let bytes = self.style.painted(STRONG, &format!("{bytes:<18}"));
        let both = grouped(pair.both.contents);
        let either = counted(pair.either.contents, "distinct file", "distinct files");
        writeln!(self.out, "{share}  {bytes}  {both} of {either}")?;
        for (path, side) in &pair.sides {
            self.path(4, path)?;
            // Nothing to say of a folder that is all in the other.
            if pair.both != pair.either || !side.unknown.is_none() {
                self.side(side, similar)?;
            }
        }
        if let Some(differences) = &pair.differences {
            self.differences(differences)?;
        }
        writeln!(self.out)
    }

    fn side(&mut self, side: &PairSide, similar: &Similar) -> io::Result<()> {
        let all = side.all.weight(similar.measure);
        let contained = percent(all - side.only.weight(similar.measure), all);
        let only = match side.only_files {
            0 => "nothing only here".to_owned(),
            count => format!(
                "{} only here, {}",
                counted(count, "file", "files"),
                self.size(side.only_bytes)
            ),
        };
        let line = format!("{contained} of it is also in the other; {only}");
        let line = self.style.painted(FAINT, &line);
        writeln!(self.out, "        {line}")?;
        if side.unchecked > 0 {
            let files = counted(side.unchecked, "file", "files");
            let line = format!("{files} unchecked, counted as different");
            writeln!(self.out, "        {line}")?;
        }
        let unknown = [
            (Unknown::UNREADABLE, "some paths in it are unreadable"),
            (Unknown::UNLISTED, "some folders in it are not fully listed"),
            (Unknown::FILTERED, "it was scanned with filters"),
        ];
        for (_, what) in unknown.iter().filter(|(gap, _)| side.unknown.has(*gap)) {
            writeln!(self.out, "        {what}")?;
        }
        Ok(())
    }

    fn differences(&mut self, differences: &Differences) -> io::Result<()> {
        let headings = ["only in the first:", "only in the second:"];
        for (heading, files) in headings.iter().zip(&differences.only) {
            if !files.is_empty() {
                writeln!(self.out, "    {heading}")?;
            }
            for file in files {
                self.only(file)?;
            }
        }
        if !differences.changed.is_empty() {
            writeln!(self.out, "    same name, different content:")?;
        }
        let changed = differences.changed.iter();
        changed.into_iter().try_for_each(|file| self.changed(file))
    }

    fn only(&mut self, file: &NamedFile) -> io::Result<()> {
        let size = self.size(file.size);
        let mark = if file.is_unresolved {
            "unchecked: "
        } else {
            ""
        };
        let name = self.shortened(22 + mark.len(), &file.path);
        writeln!(self.out, "        {size:>12}  {mark}{name}")
    }

    fn changed(&mut self, file: &ChangedFile) -> io::Result<()> {
        let name = self.shortened(8, &file.path);
        writeln!(self.out, "        {name}")?;
        let [left, right] = [0, 1].map(|side| {
            let moment = Timestamp(file.mtimes_ns[side].div_euclid(1_000_000_000));
            let date = timestamp_in(moment, &self.zone);
            format!("{date}, {}", self.size(file.sizes[side]))
        });
        writeln!(self.out, "            {left}  |  {right}")
    }

    fn shown(&mut self, shown: u64, all: u64, what: &str) -> io::Result<()> {
        if shown < all {
            let (shown, all) = (grouped(shown), grouped(all));
            writeln!(self.out, "showing {shown} of {all} {what}")?;
        }
        Ok(())
    }

    fn path(&mut self, indent: usize, path: &Path) -> io::Result<()> {
        let text = self.shortened(indent, path);
        writeln!(self.out, "{:indent$}{text}", "")
    }

    /// A path that fits on the line behind `used` columns.
    fn shortened(&self, used: usize, path: &Path) -> String {
        let text = escape(path);
        match self.style.width {
            Some(width) => shorten_middle(&text, usize::from(width).saturating_sub(used).max(16)),
            None => text,
        }
    }

    fn size(&self, bytes: u64) -> String {
        size(bytes, self.style.exact_bytes)
    }
}

fn percent(part: u64, whole: u64) -> String {
    match per_mille(part, whole) {
        1000 => "100 %".to_owned(),
        tenths => format!("{}.{} %", tenths / 10, tenths % 10),
    }
}
