//! The status for people, readable at 80 columns: paths stay whole, so roots
//! are blocks of lines and not rows.

use std::fmt::Write;
use std::time::Duration;

use super::super::context::Context;
use super::{RootState, RootStatus, Status};
use crate::catalog::{ScanRow, ScanState};
use crate::model::Timestamp;
use crate::report::text::{Align, counted, duration, escape, human_size, table, timestamp};

const VOLUMES: [(&str, Align); 4] = [
    ("Volume", Align::Left),
    ("Type", Align::Left),
    ("Inodes", Align::Left),
    ("Last seen", Align::Left),
];

/// The whole status.
pub(super) fn render(status: &Status, context: &Context) -> String {
    let mut text = String::new();
    push(
        &mut text,
        format_args!("Catalog {}", escape(&status.catalog)),
    );
    let (size, algorithm) = (human_size(status.bytes), status.algorithm);
    push(
        &mut text,
        format_args!("    {size}, digests by {algorithm}\n"),
    );
    if status.roots.is_empty() {
        let scan = context.command("scan PATH");
        push(&mut text, format_args!("No roots: start with `{scan}`."));
        return text;
    }
    for root in &status.roots {
        push_root(&mut text, root);
    }
    text += &table(&VOLUMES, volume_rows(status), context.width());
    text.push('\n');
    push_unfinished(&mut text, status, &context.command("resume"));
    push_totals(&mut text, status);
    push_failed(&mut text, status, &context.command("errors"));
    text
}

fn push(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("writing to a String cannot fail");
}

fn push_root(text: &mut String, status: &RootStatus) {
    let root = &status.root;
    let mark = match &status.state {
        RootState::Offline(_) => "  OFFLINE",
        _ => "",
    };
    push(text, format_args!("Root {}{mark}", escape(&root.path)));
    let files = counted(root.files, "file", "files");
    let folders = counted(root.folders, "folder", "folders");
    let size = human_size(root.bytes);
    push(text, format_args!("    {files}, {size}, in {folders}"));
    let last = match &status.last_complete {
        Some(scan) => format!(
            "last complete scan: {} (scan {})",
            scan.finished.map_or_else(String::new, timestamp),
            scan.id
        ),
        None => "never completely scanned".to_owned(),
    };
    push(text, format_args!("    {last}"));
    if let RootState::Offline(reason) = &status.state {
        push(text, format_args!("    offline: {}", escape(reason)));
    }
    text.push('\n');
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

fn push_unfinished(text: &mut String, status: &Status, resume: &str) {
    if status.unfinished.is_empty() {
        return;
    }
    for (scan, path) in &status.unfinished {
        push(
            text,
            format_args!("Unfinished scan {} of {}", scan.id, escape(path)),
        );
        let (state, stage) = (state(scan), scan.stage.name());
        let age = age(status.now, scan.updated);
        push(
            text,
            format_args!("    {state} in stage {stage}, last progress {age} ago"),
        );
    }
    push(text, format_args!("    go on with `{resume}`\n"));
}

/// A killed process leaves its scan marked running until the next command
/// that changes the catalog.
fn state(scan: &ScanRow) -> &'static str {
    match scan.state {
        ScanState::Running => "running or killed",
        other => other.name(),
    }
}

fn age(now: Timestamp, then: Timestamp) -> String {
    let seconds = now.0.saturating_sub(then.0);
    duration(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

fn push_totals(text: &mut String, status: &Status) {
    if let Some((scan, totals)) = status.settled.as_ref().and_then(|s| Some((s, s.totals?))) {
        push(
            text,
            format_args!(
                "As of scan {}: {}, {};\n    keeping one of each frees {}",
                scan.id,
                counted(totals.groups, "group of duplicates", "groups of duplicates"),
                counted(totals.copies, "copy", "copies"),
                human_size(totals.reclaimable)
            ),
        );
        if totals.undetermined > 0 {
            let files = counted(totals.undetermined, "file is", "files are");
            push(
                text,
                format_args!("    {files} undetermined: neither known duplicate nor known unique"),
            );
        }
    }
}

fn push_failed(text: &mut String, status: &Status, errors: &str) {
    match status.dead_letters {
        0 => push(text, format_args!("No path failed")),
        many => {
            let paths = counted(many, "path", "paths");
            push(text, format_args!("{paths} failed: see `{errors}`"));
        }
    }
}
