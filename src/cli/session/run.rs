//! Runs a plan while a user watches: signals, progress, notices, summary, exit
//! code. Shared by `scan`, `resume`, `retry` and `audit`.

use std::io::Write;
use std::sync::Arc;

use super::context::Context;
use super::metrics_file::MetricsFile;
use super::signals;
use crate::catalog::Exclusive;
use crate::cli::progress;
use crate::cli::progress::Progress;
use crate::cli::terminal::{Exit, exit, output};
use crate::pool::Shutdown;
use crate::report::run::{stats, summary};
use crate::report::{Format, text};
use crate::scan;
use crate::scan::{Metrics, Notice, Plan, ScanError};

/// One command that runs the worker pool while a user watches.
pub(crate) struct Session<'a> {
    context: &'a Context,
    shutdown: Shutdown,
    /// Of all runs of the command.
    metrics: Arc<Metrics>,
    _metrics_file: MetricsFile,
    stats: Option<Format>,
}

impl<'a> Session<'a> {
    /// Starts listening for signals and writing metrics.
    pub(crate) fn start(context: &'a Context) -> anyhow::Result<Self> {
        let shutdown = Shutdown::token();
        let metrics = Arc::new(Metrics::new());
        let metrics_file =
            MetricsFile::start(&context.config.metrics, &context.config.db, &metrics)?;
        signals::watch(&shutdown, &context.progress)?;
        Ok(Self {
            context,
            shutdown,
            metrics,
            _metrics_file: metrics_file,
            stats: None,
        })
    }

    /// Also shows timing statistics.
    pub(crate) fn with_stats(mut self, format: Option<Format>) -> Self {
        self.stats = format;
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
            _ if plan.is_refused() => Ok(Exit::CouldNot),
            skipped => {
                let exit = self.scan(catalog, plan)?;
                let skipped = text::counted(skipped as u64, "root", "roots");
                output::print(&format!("{skipped} offline and not scanned (see above)\n"))?;
                Ok(exit.or(Exit::CouldNot))
            }
        }
    }

    fn scan(&self, catalog: Exclusive, plan: &Plan) -> anyhow::Result<Exit> {
        let progress = Progress::start(self.context, &self.metrics, &self.shutdown);
        let outcome = scan::run(
            catalog,
            plan,
            &self.context.config.limits,
            &self.shutdown,
            &self.metrics,
            &mut |notice| self.notify(&notice),
        );
        drop(progress);
        let outcome = outcome.map_err(explain)?;
        let mut out = output::stdout();
        let exit = summary::print(self.context, &outcome, &mut out)?;
        out.flush()?;
        if let Some(format) = self.stats {
            let counters = summary::counters(&outcome);
            let snapshot = self.metrics.snapshot();
            stats::print(
                format,
                &outcome,
                &counters,
                &snapshot,
                &mut std::io::stderr(),
            )?;
        }
        Ok(exit)
    }

    /// Does `work` with the progress display on.
    pub(crate) fn watch<T>(&self, work: impl FnOnce(&Shutdown, &Arc<Metrics>) -> T) -> T {
        let _progress = Progress::start(self.context, &self.metrics, &self.shutdown);
        work(&self.shutdown, &self.metrics)
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
        progress::notify(self.context, notice);
    }
}

/// Gives a scan's error its exit code.
pub(crate) fn explain(error: ScanError) -> anyhow::Error {
    if error.is_usage() {
        exit::usage(error)
    } else {
        error.into()
    }
}
