//! `dupescan audit [PATH]`: are files still what their digests say?

use serde::Serialize;

use super::export::coverage;
use crate::catalog::Coverage;
use crate::cli::args::AuditArgs;
use crate::cli::session::{Context, Form, Question, Session, Writing, explain};
use crate::cli::terminal::Exit;
use crate::report::{Cell, Column, counted, files_and_bytes, text};
use crate::scan;
use crate::scan::{AuditOutcome, AuditRequest, AuditVerdict, Audited, Listener};

const COLUMNS: &[Column] = &[
    Column::new("answer", "ANSWER", 8),
    Column::new("size", "SIZE", 10),
    Column::hidden("mtime"),
    Column::new("path", "PATH", 0),
    Column::hidden("expected"),
    Column::hidden("found"),
];

#[derive(Debug, Default, Serialize)]
struct Totals {
    sound_files: u64,
    sound_bytes: u64,
    rotten_files: u64,
    rotten_bytes: u64,
    changed_files: u64,
    gone_files: u64,
    new_digests: u64,
    unreadable_files: u64,
    audited_before: u64,
    offline_files: u64,
    left: u64,
    interrupted: bool,
    files: u64,
    digested_files: u64,
}

pub(crate) fn run(context: &Context, args: &AuditArgs) -> anyhow::Result<Exit> {
    let filter = args.filter.filter()?;
    let question = Question::about(context, args.path.as_deref())?;
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
    let form = Form::from(&args.answer);
    let shape = ("files", COLUMNS);
    form.give(context, &question.header, shape, |answer| {
        let mut telling = Telling {
            context,
            answer,
            totals: Totals::default(),
            failed: Ok(()),
        };
        let outcome = session.watch(|shutdown, metrics| {
            let limits = &context.config.limits;
            let mut notify = |notice| session.notify(&notice);
            let mut tell = |audited: &Audited| telling.tell(audited);
            let listener = Listener {
                notify: &mut notify,
                tell: &mut tell,
            };
            scan::audit(catalog, request, limits, shutdown, metrics, listener)
        });
        let outcome = outcome.map_err(explain)?;
        let Telling {
            mut totals, failed, ..
        } = telling;
        failed?;
        let covered = context.catalog()?.coverage(&question.tops);
        let covered = covered.map_err(|error| context.at_catalog(error))?;
        totals.complete(&outcome, covered);
        let sentences = totals.sentences(context, &outcome, form.exact_bytes);
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
            AuditVerdict::Rotten(digest) => Cell::text(digest.to_hex()),
            _ => Cell::Nothing,
        };
        let expected = audited.expected;
        let row = [
            Cell::text(word),
            Cell::Size(audited.state.size),
            Cell::FileTime(audited.state.mtime_ns),
            Cell::Path(audited.path.clone()),
            expected.map_or(Cell::Nothing, |digest| Cell::text(digest.to_hex())),
            found,
        ];
        // A reader who left is told when all is done.
        let written = self.context.progress.suspend(|| self.answer.row(&row));
        if let (Err(error), true) = (written, self.failed.is_ok()) {
            self.failed = Err(error.into());
        }
    }
}

impl Totals {
    /// Counts a file; the word for it where it is worth a row.
    fn add(&mut self, audited: &Audited) -> Option<&'static str> {
        match audited.verdict {
            AuditVerdict::Sound => {
                self.sound_files += 1;
                self.sound_bytes += audited.state.size;
                None
            }
            AuditVerdict::New(..) => {
                self.new_digests += 1;
                None
            }
            AuditVerdict::Rotten(_) => {
                self.rotten_files += 1;
                self.rotten_bytes += audited.state.size;
                Some("rot")
            }
            AuditVerdict::Changed => {
                self.changed_files += 1;
                Some("changed")
            }
            AuditVerdict::Gone => {
                self.gone_files += 1;
                Some("gone")
            }
        }
    }

    fn complete(&mut self, outcome: &AuditOutcome, covered: Coverage) {
        self.unreadable_files = outcome.findings.faults;
        self.audited_before = outcome.skipped;
        self.offline_files = outcome.offline;
        self.interrupted = outcome.interrupted;
        let done = outcome.done + outcome.findings.faults;
        self.left = match outcome.interrupted {
            true => outcome.planned.0.saturating_sub(done),
            false => 0,
        };
        self.files = covered.files;
        self.digested_files = covered.digested;
    }

    fn exit(&self, outcome: &AuditOutcome) -> Exit {
        if self.interrupted {
            Exit::Interrupted
        } else if self.rotten_files > 0 {
            Exit::Findings
        } else if self.offline_files > 0 || !outcome.findings.given_up.is_empty() {
            Exit::CouldNot
        } else if self.unreadable_files > 0 {
            Exit::Findings
        } else {
            Exit::Done
        }
    }

    fn sentences(&self, context: &Context, outcome: &AuditOutcome, is_exact: bool) -> Vec<String> {
        let files = |count: u64| counted(count, "file", "files");
        let mut lines = vec![format!(
            "{}, still what their digests say",
            files_and_bytes(self.sound_files, self.sound_bytes, is_exact)
        )];
        if self.rotten_files > 0 {
            lines.push(format!(
                "{} rotten: the content differs, size, times and inode do not",
                files(self.rotten_files)
            ));
        }
        for (count, what) in [
            (self.changed_files, "changed since the scan"),
            (self.gone_files, "gone since the scan"),
            (self.new_digests, "digested for the first time"),
            (self.audited_before, "left out: audited before"),
            (self.offline_files, "not audited: offline"),
        ] {
            if count > 0 {
                lines.push(format!("{} {what}", files(count)));
            }
        }
        if self.unreadable_files > 0 {
            lines.push(format!(
                "{} could not be read: `{}`",
                files(self.unreadable_files),
                context.command("errors")
            ));
        }
        for (_, path, fault) in &outcome.findings.given_up {
            lines.push(format!(
                "a device keeps failing and was given up: {}: {}",
                text::escape(path),
                fault.message
            ));
        }
        lines.push(coverage(context, self.digested_files, self.files));
        if self.interrupted {
            lines.push(format!(
                "interrupted, {} left; the same command goes on",
                files(self.left)
            ));
        }
        lines
    }
}
