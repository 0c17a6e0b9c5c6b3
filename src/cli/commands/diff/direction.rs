//! One place compared with the other: its rows and its sentences.

use std::collections::BTreeMap;

use super::words::{Letters, as_of, excluded, mount_points, reasons, sentence, unscanned, words};
use crate::answers::{Diff, DiffVerdict};
use crate::catalog::DiffFile;
use crate::cli::session::Writing;
use crate::report::Cell;
use crate::report::text::{counted, not_compared};

/// The result of comparing one place with the other.
pub(crate) struct Direction {
    letters: Letters,
    pub(crate) diff: Diff,
    /// Whether to print exact bytes.
    is_exact: bool,
    /// Why files are only in the one place although they seem to have a copy.
    why_only: BTreeMap<String, u64>,
    why_unchecked: BTreeMap<String, u64>,
}

impl Direction {
    pub(crate) fn new(diff: Diff, letters: Letters, is_exact: bool) -> Self {
        Self {
            letters,
            diff,
            is_exact,
            why_only: BTreeMap::new(),
            why_unchecked: BTreeMap::new(),
        }
    }

    /// Compares, and writes a row for every file that is not in the other
    /// place for certain.
    pub(crate) fn write_rows(&mut self, answer: &mut Writing<'_, '_>) -> anyhow::Result<()> {
        loop {
            let files = self.diff.next_files()?;
            if files.is_empty() {
                return Ok(());
            }
            for (file, verdict) in files {
                if let Some(row) = self.row(file, &verdict) {
                    answer.row(&row)?;
                }
            }
        }
    }

    fn row(&mut self, file: DiffFile, verdict: &DiffVerdict) -> Option<[Cell; 6]> {
        let (status, reasons) = match verdict {
            DiffVerdict::Duplicate | DiffVerdict::NotCompared => return None,
            DiffVerdict::Only { .. } => {
                let status = format!("only in {}", self.letters.0);
                (status, &mut self.why_only)
            }
            DiffVerdict::Unchecked(_) => ("unchecked".to_owned(), &mut self.why_unchecked),
        };
        let reason = self.letters.reason(verdict);
        if let Some(reason) = &reason {
            *reasons.entry(reason.clone()).or_default() += 1;
        }
        Some([
            Cell::text(self.letters.0.to_lowercase()),
            Cell::text(status),
            Cell::Size(file.state.size),
            Cell::FileTime(file.state.mtime_ns),
            Cell::Path(file.path),
            reason.map_or(Cell::Nothing, Cell::text),
        ])
    }

    /// Every reason against wiping our place.
    pub(crate) fn objections(&self) -> Vec<String> {
        let Letters(ours, theirs) = self.letters;
        let diff = &self.diff;
        let words = |count| words(count, self.is_exact);
        let about_ours = diff.ours.objections.iter();
        let about_ours = about_ours.map(|objection| sentence(objection, ours));
        let about_theirs = diff.theirs.objections.iter();
        let about_theirs = about_theirs.map(|objection| sentence(objection, theirs));
        let mut all: Vec<_> = about_ours.chain(about_theirs).collect();
        if let Some(view) = diff.shared_view {
            let view = self.letters.view(view);
            all.push(format!(
                "{ours} and {theirs} may be the same storage: {view}"
            ));
        }
        if diff.is_partial {
            let partial = "only some of the files were compared (size, extension or --exclude)";
            all.push(partial.to_owned());
        }
        let folders = &diff.folders;
        all.extend(unscanned(&folders.unscanned, ours));
        all.extend(excluded(&folders.excluded, ours));
        all.extend(mount_points(&folders.mount_points, ours));
        if folders.changed > 0 {
            let folders = counted(folders.changed, "folder", "folders");
            all.push(format!("{folders} in {ours} changed since the scan"));
        }
        if diff.only.files > 0 {
            all.push(format!("{} not in {theirs}", words(diff.only)));
        }
        if diff.unchecked.files > 0 {
            all.push(format!("{} unchecked", words(diff.unchecked)));
        }
        if diff.not_compared.files > 0 {
            all.push(self.not_compared());
        }
        all
    }

    fn not_compared(&self) -> String {
        let files = words(self.diff.not_compared, self.is_exact);
        format!("{files} {}", not_compared(self.diff.limits))
    }

    pub(crate) fn sentences(&self) -> Vec<String> {
        let Letters(ours, theirs) = self.letters;
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
        if diff.not_compared.files > 0 {
            lines.push(format!("    {}", self.not_compared()));
        }
        if diff.empty > 0 {
            let files = counted(diff.empty, "empty file", "empty files");
            lines.push(format!("{files} skipped"));
        }
        if diff.assumed_separate {
            lines.push(format!(
                "assuming that {ours} and {theirs} are separate storage (--assume-separate)"
            ));
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
