//! `dupescan history [PATH]`: lists the scans, or what changed between two of
//! them.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::answers::place_ever;
use crate::catalog::{FileList, ReadOnly, RootRow, ScanRow, Verdict};
use crate::cli::args::HistoryArgs;
use crate::cli::session::header;
use crate::cli::session::{Context, Form, Writing};
use crate::cli::terminal::{Exit, exit};
use crate::model::{ScanId, ScanState, Totals};
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
    let catalog = context.catalog()?;
    let header = header(&catalog)?;
    let roots = catalog.roots()?;
    let place = match &args.path {
        Some(typed) => Some(place_ever(&catalog, typed)?),
        None => None,
    };
    match &args.between {
        Some(scans) => {
            let scans = check_scans(&catalog, scans)?;
            changes(context, args, catalog, &header, place.as_deref(), scans)
        }
        None => list_scans(context, args, &catalog, &header, &roots, place.as_deref()),
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

fn list_scans(
    context: &Context,
    args: &HistoryArgs,
    catalog: &ReadOnly,
    header: &Header,
    roots: &[RootRow],
    place: Option<&Path>,
) -> anyhow::Result<Exit> {
    let scans = catalog.recent_scans(u32::MAX);
    let mut scans = scans?;
    let path_of = |scan: &ScanRow| -> PathBuf {
        let root = roots.iter().find(|root| root.id == scan.root);
        let root = root.map_or(Path::new("/"), |root| &root.path);
        root.join(&scan.subpath).components().collect()
    };
    scans.retain(|scan| {
        let path = path_of(scan);
        place.is_none_or(|place| path.starts_with(place) || place.starts_with(&path))
    });
    let form = Form::from(&args.answer);
    form.give(context, header, ("scans", SCANS), |answer| {
        let mut totals = ScanTotals::default();
        for (at, scan) in scans.iter().enumerate() {
            totals.add(scan);
            let older = scans[at + 1..].iter().find_map(|older| older.totals);
            scan_row(answer, scan, older, path_of(scan))?;
        }
        let left = answer.end(&totals, &totals.sentences(form.exact_bytes))?;
        Ok((left, Exit::Done))
    })
}

fn scan_row(
    answer: &mut Writing<'_, '_>,
    scan: &ScanRow,
    older: Option<Totals>,
    path: PathBuf,
) -> anyhow::Result<()> {
    let counters = &scan.counters;
    let count = |number: Option<u64>| number.map_or(Cell::Nothing, Cell::Count);
    let totals = scan.totals;
    let growth = totals.zip(older).map(|(now, before)| {
        i64::try_from(now.reclaimable).unwrap_or(i64::MAX)
            - i64::try_from(before.reclaimable).unwrap_or(i64::MAX)
    });
    let ended = match scan.finished {
        Some(moment) if scan.state == ScanState::Complete => Cell::Moment(moment),
        _ => Cell::text(scan.state.name()),
    };
    answer.row(&[
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
        growth.map_or(Cell::Nothing, Cell::Growth),
        count(totals.map(|totals| totals.undetermined)),
        Cell::Path(path),
    ])?;
    Ok(())
}

fn check_scans(catalog: &ReadOnly, scans: &[i64]) -> anyhow::Result<(ScanId, ScanId)> {
    let newest = catalog.as_of()?.map_or(0, |as_of| as_of.scan.0);
    let (from, until) = match scans {
        [from, until] => (*from, *until),
        _ => (0, newest),
    };
    if from >= until {
        return Err(exit::usage(format_args!(
            "no scans between {from} and {until}: expected the older scan first"
        )));
    }
    if until > newest {
        return Err(exit::usage(format_args!(
            "no scan {until}: the newest is {newest} (`dupescan history` lists them)"
        )));
    }
    Ok((ScanId(from), ScanId(until)))
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

fn changes(
    context: &Context,
    args: &HistoryArgs,
    catalog: ReadOnly,
    header: &Header,
    place: Option<&Path>,
    scans: (ScanId, ScanId),
) -> anyhow::Result<Exit> {
    let tops = match place {
        Some(place) => catalog.tops_ever(place),
        None => catalog.all_tops(),
    };
    let tops = tops?;
    let filter = args.filter.filter()?;
    let mut list = FileList::changes(catalog, &tops, filter, scans)?;
    let form = Form::from(&args.answer);
    form.give(context, header, ("files", FILES), |answer| {
        let mut totals = ChangeTotals {
            from: scans.0.0,
            to: scans.1.0,
            ..ChangeTotals::default()
        };
        while let Some(file) = list.next_file()? {
            let (files, bytes) = match file.verdict {
                Verdict::Appeared => (&mut totals.added_files, &mut totals.added_bytes),
                _ => (&mut totals.deleted_files, &mut totals.deleted_bytes),
            };
            *files += 1;
            *bytes += file.size;
            answer.row(&[
                Cell::text(file.verdict.name()),
                Cell::Size(file.size),
                Cell::FileTime(file.mtime_ns),
                Cell::Path(file.path),
                Cell::digest(file.digest),
            ])?;
        }
        let words = |files, bytes| files_and_bytes(files, bytes, form.exact_bytes);
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
