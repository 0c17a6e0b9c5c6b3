//! `dupescan audit [PATH]`: reads files again and compares them with their
//! stored hashes.

use serde::Serialize;

use super::export::coverage;
use crate::catalog::Coverage;
use crate::cli::args::AuditArgs;
use crate::cli::session::{Context, Output, Question, Session, Writing, explain};
use crate::cli::terminal::Exit;
use crate::report::text::counted;
use crate::report::{Cell, Column, files_and_bytes};
use crate::scan;
use crate::scan::{AuditOutcome, AuditRequest, AuditVerdict, Audited, Listener};

const COLUMNS: &[Column] = &[
    Column::new("status", "STATUS", 9),
    Column::new("size", "SIZE", 10),
    Column::hidden("mtime"),
    Column::new("path", "PATH", 0),
    Column::hidden("expected"),
    Column::hidden("found"),
];

#[derive(Debug, Default, Serialize)]
struct Totals {
    ok_files: u64,
    ok_bytes: u64,
    corrupted_files: u64,
    corrupted_bytes: u64,
    changed_files: u64,
    missing_files: u64,
    newly_hashed_files: u64,
    unreadable_files: u64,
    skipped_files: u64,
    offline_files: u64,
    remaining_files: u64,
    interrupted: bool,
    files: u64,
    hashed_files: u64,
}

pub(crate) fn run(context: &Context, args: &AuditArgs) -> anyhow::Result<Exit> {
    let question = Question::about(context, args.path.as_deref(), &args.filter)?;
    let filter = question.excluding.filter(&args.filter);
    let session = Session::start(context)?;
    let catalog = context.exclusive("audit")?;
    let request = AuditRequest {
        place: question.place.clone().unwrap_or_default(),
        tops: question.tops.clone(),
        filter,
        before: args.older_than,
        baseline: args.baseline,
        options: context.config.scan.clone(),
    };
    let output = Output::new(context, &args.answer);
    let shape = ("files", COLUMNS);
    output.give(&question.header, shape, |answer| {
        let mut telling = Telling {
            context,
            answer,
            totals: Totals::default(),
            failed: Ok(()),
        };
        let outcome = session.watch(|controls| {
            let mut notify = |notice| session.notify(&notice);
            let mut tell = |audited: &Audited| telling.tell(audited);
            let listener = Listener {
                notify: &mut notify,
                tell: &mut tell,
            };
            scan::audit(catalog, request, controls, listener)
        });
        let outcome = outcome.map_err(explain)?;
        let Telling {
            mut totals, failed, ..
        } = telling;
        failed?;
        let covered = context.catalog()?.coverage(&question.tops);
        let covered = covered?;
        totals.complete(&outcome, covered);
        let sentences = totals.sentences(context, &outcome, output.is_exact());
        let left = answer.end(&totals, &sentences)?;
        Ok((left, totals.exit(&outcome)))
    })
}

/// Writes what is found as it comes.
struct Telling<'a, 'b, 'w> {
    context: &'a Context,
    answer: &'a mut Writing<'b, 'w>,
    totals: Totals,
    failed: anyhow::Result<()>,
}

impl Telling<'_, '_, '_> {
    fn tell(&mut self, audited: &Audited) {
        let Some(word) = self.totals.add(audited) else {
            return;
        };
        let found = match audited.verdict {
            AuditVerdict::Corrupted(digest) => Some(digest),
            _ => None,
        };
        let row = [
            Cell::text(word),
            Cell::Size(audited.state.size),
            Cell::FileTime(audited.state.mtime_ns),
            Cell::Path(audited.path.clone()),
            Cell::digest(audited.expected),
            Cell::digest(found),
        ];
        // A closed pipe is reported when all is done.
        let written = self.context.progress.bars.suspend(|| self.answer.row(&row));
        if let (Err(error), true) = (written, self.failed.is_ok()) {
            self.failed = Err(error.into());
        }
    }
}

impl Totals {
    /// Counts a file; returns its status if it is worth a row.
    fn add(&mut self, audited: &Audited) -> Option<&'static str> {
        match audited.verdict {
            AuditVerdict::Sound => {
                self.ok_files += 1;
                self.ok_bytes = self.ok_bytes.saturating_add(audited.state.size);
                None
            }
            AuditVerdict::New(..) => {
                self.newly_hashed_files += 1;
                None
            }
            AuditVerdict::Corrupted(_) => {
                self.corrupted_files += 1;
                self.corrupted_bytes = self.corrupted_bytes.saturating_add(audited.state.size);
                Some("corrupted")
            }
            AuditVerdict::Changed => {
                self.changed_files += 1;
                Some("changed")
            }
            AuditVerdict::Gone => {
                self.missing_files += 1;
                Some("missing")
            }
        }
    }

    fn complete(&mut self, outcome: &AuditOutcome, covered: Coverage) {
        self.unreadable_files = outcome.findings.faults;
        self.skipped_files = outcome.skipped;
        self.offline_files = outcome.offline;
        self.interrupted = outcome.interrupted;
        let done = outcome.done + outcome.findings.faults;
        self.remaining_files = match outcome.interrupted {
            true => outcome.planned.0.saturating_sub(done),
            false => 0,
        };
        self.files = covered.files;
        self.hashed_files = covered.digested;
    }

    fn exit(&self, outcome: &AuditOutcome) -> Exit {
        if self.interrupted {
            Exit::Interrupted
        } else if self.corrupted_files > 0 {
            Exit::Problems
        } else if self.offline_files > 0 || !outcome.findings.given_up.is_empty() {
            Exit::Failed
        } else if self.unreadable_files > 0 {
            Exit::Problems
        } else {
            Exit::Done
        }
    }

    fn sentences(&self, context: &Context, outcome: &AuditOutcome, is_exact: bool) -> Vec<String> {
        let files = |count: u64| counted(count, "file", "files");
        let mut lines = vec![format!(
            "{} OK",
            files_and_bytes(self.ok_files, self.ok_bytes, is_exact)
        )];
        if self.corrupted_files > 0 {
            lines.push(format!(
                "{} corrupted (bit rot): content differs from what was read; \
                 no program is known to have changed it",
                files(self.corrupted_files)
            ));
        }
        for (count, what) in [
            (self.changed_files, "changed since the scan"),
            (self.missing_files, "missing"),
            (self.newly_hashed_files, "hashed for the first time"),
            (self.skipped_files, "skipped: audited recently"),
            (self.offline_files, "not audited: offline"),
        ] {
            if count > 0 {
                lines.push(format!("{} {what}", files(count)));
            }
        }
        if self.unreadable_files > 0 {
            lines.push(format!(
                "{} failed; see `{}`",
                files(self.unreadable_files),
                context.command("errors")
            ));
        }
        for (_, path, fault) in &outcome.findings.given_up {
            lines.push(format!(
                "gave up on a failing device: {}: {}",
                crate::model::escape(path),
                fault.message
            ));
        }
        lines.push(coverage(context, self.hashed_files, self.files));
        if self.interrupted {
            lines.push(format!(
                "interrupted with {} left; run the same command to resume",
                files(self.remaining_files)
            ));
        }
        lines
    }
}
