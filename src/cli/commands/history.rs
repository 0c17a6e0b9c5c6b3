//! `dupescan history [PATH]`: lists the scans, or what changed between two of
//! them.

use serde::Serialize;

use crate::answers::{Changes, HistoryError, PastScan, place_ever};
use crate::catalog::{ScanRow, Verdict};
use crate::cli::args::HistoryArgs;
use crate::cli::session::{Context, Excluding, Output, header};
use crate::cli::terminal::{Exit, exit};
use crate::model::{Filters, ScanId, ScanState};
use crate::report::text::{counted, size};
use crate::report::{Cell, Column, Header, files_and_bytes};

const SCANS: &[Column] = &[
    Column::new("scan", "SCAN", 5),
    Column::new("ended", "ENDED", 16),
    Column::hidden("state"),
    Column::hidden("started_at"),
    Column::hidden("finished_at"),
    Column::hidden("files"),
    Column::hidden("bytes"),
    Column::new("added", "NEW", 7),
    Column::hidden("changed"),
    Column::new("deleted", "DELETED", 7),
    Column::hidden("groups"),
    Column::hidden("copies"),
    Column::new("reclaimable", "RECLAIMABLE", 11),
    Column::hidden("reclaimable_change"),
    Column::hidden("unchecked"),
    Column::new("path", "PATH", 0),
];

const FILES: &[Column] = &[
    Column::new("change", "CHANGE", 8),
    Column::new("size", "SIZE", 10),
    Column::hidden("mtime"),
    Column::new("path", "PATH", 0),
    Column::hidden("digest"),
];

pub(crate) fn run(context: &Context, args: &HistoryArgs) -> anyhow::Result<Exit> {
    if args.between.is_none() && args.filter.named([]) != Filters::default() {
        return Err(exit::usage(
            "filters choose files, and history lists scans: expected --between FROM TO",
        ));
    }
    let catalog = context.catalog()?;
    let place = args.path.as_ref();
    let place = place.map(|typed| place_ever(&catalog, typed)).transpose()?;
    let header = header(&catalog, args.filter.named(place.clone()))?;
    let output = Output::new(context, &args.answer);
    if let Some([from, until]) = args.between.as_deref() {
        let scans = (ScanId(*from), ScanId(*until));
        let excluding = Excluding::by(context, &catalog, &args.filter)?;
        let filter = excluding.filter(&args.filter);
        let changes = Changes::between(scans, catalog, place.as_deref(), filter);
        let changes = changes.map_err(|error| match error {
            HistoryError::Catalog(error) => error.into(),
            other => exit::usage(other),
        })?;
        list_changes(&output, &header, scans, changes)
    } else {
        list_scans(
            &output,
            &header,
            &PastScan::all(&catalog, place.as_deref())?,
        )
    }
}

/// The reclaimable space of the whole catalog, first and last.
#[derive(Debug, Default, Serialize)]
struct ScanTotals {
    scans: u64,
    first_scan: Option<i64>,
    first_reclaimable: Option<u64>,
    last_scan: Option<i64>,
    last_reclaimable: Option<u64>,
}

impl ScanTotals {
    /// Adds the next older scan.
    fn add(&mut self, scan: &ScanRow) {
        self.scans += 1;
        if let Some(totals) = scan.totals {
            if self.last_scan.is_none() {
                self.last_scan = Some(scan.id.0);
                self.last_reclaimable = Some(totals.reclaimable);
            }
            self.first_scan = Some(scan.id.0);
            self.first_reclaimable = Some(totals.reclaimable);
        }
    }

    fn sentences(&self, is_exact: bool) -> Vec<String> {
        let mut lines = vec![counted(self.scans, "scan", "scans")];
        if let (Some(first), Some(before), Some(last), Some(after)) = (
            self.first_scan,
            self.first_reclaimable,
            self.last_scan,
            self.last_reclaimable,
        ) && first != last
        {
            let (sign, growth) = match before <= after {
                true => ("+", after - before),
                false => ("-", before - after),
            };
            lines.push(format!(
                "reclaimable in the whole catalog: {} in scan {first}, {} in scan {last} ({sign}{})",
                size(before, is_exact),
                size(after, is_exact),
                size(growth, is_exact)
            ));
        }
        lines
    }
}

fn list_scans(output: &Output<'_>, header: &Header, scans: &[PastScan]) -> anyhow::Result<Exit> {
    output.give(header, ("scans", SCANS), |answer| {
        let mut totals = ScanTotals::default();
        for past in scans {
            totals.add(&past.scan);
            answer.row(&scan_row(past))?;
        }
        let left = answer.end(&totals, &totals.sentences(output.is_exact()))?;
        Ok((left, Exit::Done))
    })
}

fn scan_row(past: &PastScan) -> [Cell; 16] {
    let scan = &past.scan;
    let counters = &scan.counters;
    let count = |number: Option<u64>| number.map_or(Cell::Nothing, Cell::Count);
    let totals = scan.totals;
    let ended = match scan.finished {
        Some(moment) if scan.state == ScanState::Complete => Cell::Moment(moment),
        _ => Cell::text(scan.state.name()),
    };
    [
        Cell::Count(scan.id.0.unsigned_abs()),
        ended,
        Cell::text(scan.state.name()),
        Cell::Moment(scan.started),
        scan.finished.map_or(Cell::Nothing, Cell::Moment),
        Cell::Count(counters.files),
        Cell::Size(counters.bytes),
        Cell::Count(counters.added + counters.restored),
        Cell::Count(counters.changed),
        Cell::Count(counters.removed),
        count(totals.map(|totals| totals.groups)),
        count(totals.map(|totals| totals.copies)),
        totals.map_or(Cell::Nothing, |totals| Cell::Size(totals.reclaimable)),
        past.growth.map_or(Cell::Nothing, Cell::Growth),
        count(totals.map(|totals| totals.unchecked)),
        Cell::Path(past.path.clone()),
    ]
}

#[derive(Debug, Default, Serialize)]
struct ChangeTotals {
    from: i64,
    to: i64,
    added_files: u64,
    added_bytes: u64,
    deleted_files: u64,
    deleted_bytes: u64,
}

fn list_changes(
    output: &Output<'_>,
    header: &Header,
    (from, until): (ScanId, ScanId),
    mut changes: Changes,
) -> anyhow::Result<Exit> {
    output.give(header, ("files", FILES), |answer| {
        let mut totals = ChangeTotals {
            from: from.0,
            to: until.0,
            ..ChangeTotals::default()
        };
        while let Some(file) = changes.next_file()? {
            let (files, bytes) = match file.verdict {
                Verdict::Appeared => (&mut totals.added_files, &mut totals.added_bytes),
                _ => (&mut totals.deleted_files, &mut totals.deleted_bytes),
            };
            *files += 1;
            *bytes = bytes.saturating_add(file.size);
            answer.row(&[
                Cell::text(file.verdict.name()),
                Cell::Size(file.size),
                Cell::FileTime(file.mtime_ns),
                Cell::Path(file.path),
                Cell::digest(file.digest),
            ])?;
        }
        let words = |files, bytes| files_and_bytes(files, bytes, output.is_exact());
        let sentence = format!(
            "between scan {} and scan {}: {} added, {} deleted",
            totals.from,
            totals.to,
            words(totals.added_files, totals.added_bytes),
            words(totals.deleted_files, totals.deleted_bytes)
        );
        let left = answer.end(&totals, &[sentence])?;
        Ok((left, Exit::Done))
    })
}
