//! Runs a plan while a user watches: signals, progress, notices, summary, exit
//! code. Shared by `scan`, `resume`, `retry` and `audit`.

use std::io::Write;
use std::sync::Arc;

use super::context::Context;
use super::excluding::{note_glob, roots};
use super::metrics_file;
use super::signals;
use crate::catalog::{CatalogError, Exclusive, ReadOnly};
use crate::cli::progress;
use crate::cli::terminal::{Exit, Repeating, exit, output};
use crate::model::{GROUPS_FOR_FOLDERS, Outcome, Summary, total};
use crate::pool::Shutdown;
use crate::report::run::stats;
use crate::report::run::summary::{self, Setting, SummaryStyle};
use crate::report::{Format, text};
use crate::scan;
use crate::scan::{Controls, Metrics, Notice, Plan, ScanError};

/// One command that runs the worker pool while a user watches.
pub(crate) struct Session<'a> {
    context: &'a Context,
    /// Of all runs of the command.
    controls: Controls,
    _metrics_file: Option<Repeating>,
    stats: Option<Format>,
    /// The globs that were typed, each with its option.
    globs: Vec<(&'static str, String)>,
}

impl<'a> Session<'a> {
    /// Starts listening for signals and writing metrics.
    pub(crate) fn start(context: &'a Context) -> anyhow::Result<Self> {
        let controls = Controls {
            limits: context.config.limits.clone(),
            shutdown: Shutdown::token(),
            metrics: Arc::new(Metrics::new()),
        };
        let metrics_file = metrics_file::start(
            &context.config.metrics,
            &context.config.db,
            &controls.metrics,
        )?;
        signals::watch(&controls.shutdown, &context.progress.bars)?;
        Ok(Self {
            context,
            controls,
            _metrics_file: metrics_file,
            stats: None,
            globs: Vec::new(),
        })
    }

    /// Also shows timing statistics.
    pub(crate) fn with_stats(mut self, format: Option<Format>) -> Self {
        self.stats = format;
        self
    }

    /// Also says which of these globs match nothing.
    pub(crate) fn with_globs(mut self, globs: Vec<(&'static str, String)>) -> Self {
        self.globs = globs;
        self
    }

    /// Runs a plan and prints its summary. Offline roots are reported at once,
    /// while they can still be plugged in; they decide the exit code.
    pub(crate) fn run(&self, catalog: Exclusive, plan: &Plan) -> anyhow::Result<Exit> {
        for error in plan.refused() {
            exit::print_line(&error.to_string());
        }
        match plan.refused().len() {
            0 => self.scan(catalog, plan),
            _ if plan.is_refused() => Ok(Exit::Failed),
            skipped => {
                let exit = self.scan(catalog, plan)?;
                let skipped = text::counted(skipped as u64, "root", "roots");
                output::print(format!("{skipped} offline and not scanned (see above)\n"))?;
                Ok(exit.or(Exit::Failed))
            }
        }
    }

    fn scan(&self, catalog: Exclusive, plan: &Plan) -> anyhow::Result<Exit> {
        let progress = self.progress();
        let outcome = scan::run(catalog, plan, &self.controls, &mut |notice| {
            self.notify(&notice);
        });
        drop(progress);
        let outcome = outcome.map_err(explain)?;
        self.summarise(&outcome)?;
        self.note_unmatched(&outcome)?;
        if let Some(format) = self.stats {
            let snapshot = self.controls.metrics.snapshot();
            stats::write(format, &outcome, &snapshot, &mut std::io::stderr())?;
        }
        Ok(exit_of(&outcome))
    }

    fn summarise(&self, outcome: &Outcome) -> anyhow::Result<()> {
        let style = SummaryStyle {
            width: self.context.width(),
            command: &|command| self.context.command(command),
        };
        let mut out = output::stdout();
        if !self.context.quiet {
            let setting = match &outcome.summary {
                Some(summary) => Some(setting(&self.context.catalog()?, summary)?),
                None => None,
            };
            summary::write(outcome, setting.as_ref(), &style, &mut out)?;
        }
        summary::write_faults(&style, outcome, &mut out)?;
        Ok(out.flush()?)
    }

    fn note_unmatched(&self, outcome: &Outcome) -> anyhow::Result<()> {
        let unmatched = |(_, glob): &&(_, String)| outcome.unmatched.contains(glob);
        let globs: Vec<_> = self.globs.iter().filter(unmatched).collect();
        if !globs.is_empty() {
            let roots = roots(&self.context.catalog()?)?;
            for (option, glob) in globs {
                let what = format!("{option} '{glob}' matches nothing");
                note_glob(self.context, &roots, (glob, &what));
            }
        }
        Ok(())
    }

    /// Does `work` with the progress display on.
    pub(crate) fn watch<T>(&self, work: impl FnOnce(&Controls) -> T) -> T {
        let _progress = self.progress();
        work(&self.controls)
    }

    fn progress(&self) -> Option<Repeating> {
        let Controls {
            metrics, shutdown, ..
        } = &self.controls;
        progress::start(&self.context.progress, metrics, shutdown)
    }

    /// Runs one plan after the other until one is interrupted; the worst result
    /// counts. Each run consumes the catalog, so the next opens it again.
    pub(crate) fn run_each<T>(
        &self,
        catalog: Exclusive,
        command: &str,
        items: &[T],
        plan: impl Fn(&mut Exclusive, &T) -> Result<Plan, ScanError>,
    ) -> anyhow::Result<Exit> {
        let mut open = Some(catalog);
        let mut worst = Exit::Done;
        for item in items {
            let mut catalog = match open.take() {
                Some(catalog) => catalog,
                None => self.context.exclusive(command)?,
            };
            let plan = plan(&mut catalog, item).map_err(explain)?;
            worst = worst.or(self.run(catalog, &plan)?);
            if worst == Exit::Interrupted {
                break;
            }
        }
        Ok(worst)
    }

    /// Shows a notice on standard error, around the progress line.
    pub(crate) fn notify(&self, notice: &Notice) {
        progress::notify(&self.context.progress, notice);
    }
}

fn exit_of(outcome: &Outcome) -> Exit {
    let findings = &outcome.findings;
    if outcome.interrupted {
        Exit::Interrupted
    } else if !findings.offline.is_empty() || !findings.given_up.is_empty() {
        Exit::Failed
    } else if findings.faults > 0 {
        Exit::Problems
    } else {
        Exit::Done
    }
}

/// Asks the catalog what the summary sets the duplicates against.
fn setting(catalog: &ReadOnly, summary: &Summary) -> Result<Setting, CatalogError> {
    let bytes = total(catalog.roots()?.iter().map(|root| root.bytes));
    let mut has_whole_folders = summary.totals.groups > GROUPS_FOR_FOLDERS;
    for folder in &summary.folders {
        if has_whole_folders {
            break;
        }
        if let Some(id) = catalog.folder_at(&folder.path)? {
            has_whole_folders = catalog.content_files_of(id)? == folder.copies;
        }
    }
    Ok(Setting {
        bytes,
        has_whole_folders,
    })
}

/// Gives a scan's error its exit code.
pub(crate) fn explain(error: ScanError) -> anyhow::Error {
    if error.is_usage() {
        exit::usage(error)
    } else {
        error.into()
    }
}
