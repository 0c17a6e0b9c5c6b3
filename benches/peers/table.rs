//! The tables, as Markdown; the terminal shows the same text.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use super::contenders::CONTENDERS;
use super::groups::Agreement;
use super::machine;
use super::results::{Results, Row, Workload};
use super::targets::TARGETS;
use crate::trees::Size;

/// Everything between these lines of the document is the bench's.
const BEGIN: &str = "<!-- begin: written by cargo bench --bench peers -->";
const END: &str = "<!-- end -->";

/// All tables.
pub(crate) fn render(all: &[Results], size: Size, dir: &Path) -> String {
    let mut text = String::new();
    push(&mut text, &format!("Machine: {}.", machine::describe(dir)));
    push(&mut text, &versions(all));
    push(&mut text, &reached(all, size));
    for results in all {
        for workload in &results.workloads {
            push(&mut text, &one_workload(results, workload));
        }
    }
    push(&mut text, &commands());
    text
}

fn push(text: &mut String, part: &str) {
    text.push_str(part.trim_end());
    text.push_str("\n\n");
}

/// What is to be reached and what was. Quick trees decide nothing: on them the
/// fixed costs of a run weigh more than its work.
fn reached(all: &[Results], size: Size) -> String {
    let note = match size {
        Size::Full => "",
        Size::Quick => {
            "What is to be reached is for full trees. These are quick ones, so nothing is decided.\n\n"
        }
    };
    let mut text = note.to_owned();
    text.push_str("| Work | At most | Reached | | Fastest peer, median |\n|---|---|---|---|---|\n");
    for target in TARGETS {
        let (value, verdict, against) = match target.reached(all) {
            None => ("not measured".to_owned(), "", String::new()),
            Some(reached) => {
                let verdict = if size == Size::Quick {
                    "–"
                } else if reached.value <= target.at_most {
                    "yes"
                } else {
                    "**no**"
                };
                (format!("{:.2}", reached.value), verdict, reached.against)
            }
        };
        // Writing into a string cannot fail.
        let _ = writeln!(
            text,
            "| {} | {:.2} | {value} | {verdict} | {against} |",
            target.work, target.at_most
        );
    }
    text
}

fn one_workload(results: &Results, workload: &Workload) -> String {
    let title = format!(
        "### {} ({}), {}\n\n",
        results.tree, results.size, workload.name
    );
    if let Some(reason) = &workload.skipped {
        return format!("{title}Skipped: {reason}.\n");
    }
    let mut text = title;
    let _ = writeln!(
        text,
        "{}; load of the machine before: {:.1}.\n",
        workload.date, workload.load
    );
    text.push_str(
        "| Program | Median s | Best s | CPU s | Peak MB | Read MB | From disk MB | Rounds | Groups |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    let mut rows: Vec<&Row> = workload.rows.iter().collect();
    let order = |row: &Row| row.median(|sample| sample.wall).unwrap_or(f64::INFINITY);
    rows.sort_by(|a, b| order(a).total_cmp(&order(b)));
    for row in rows {
        text.push_str(&one_row(row));
    }
    text
}

fn one_row(row: &Row) -> String {
    let figure = |value: Option<f64>, digits: usize| {
        value.map_or("–".to_owned(), |value| format!("{value:.digits$}"))
    };
    let megabytes = |value: u64| value as f64 / 1e6;
    let cached = if row.cached { ", cached" } else { "" };
    let remark = match (&row.trouble, &row.agreement) {
        (Some(trouble), _) => trouble.replace('|', "/"),
        (None, Some(Agreement::Same { groups })) => format!("{groups}, the same"),
        (None, Some(Agreement::Differs { lacks, adds })) => {
            format!("**differ**: {lacks} missing, {adds} more")
        }
        (None, Some(Agreement::Unknown { why })) => why.clone(),
        (None, None) => String::new(),
    };
    format!(
        "| {}{cached} | {} | {} | {} | {} | {} | {} | {} | {remark} |\n",
        row.label,
        figure(row.median(|sample| sample.wall), 3),
        figure(row.best(), 3),
        figure(row.median(|sample| sample.cpu), 3),
        figure(row.peak().map(megabytes), 1),
        figure(row.median(|sample| megabytes(sample.read)), 1),
        figure(row.median(|sample| megabytes(sample.from_disk)), 1),
        row.samples.len(),
    )
}

fn versions(all: &[Results]) -> String {
    let mut versions = BTreeMap::new();
    for contender in CONTENDERS {
        let found = all
            .iter()
            .rev()
            .find_map(|results| results.versions.get(contender.label));
        let name = contender.program.unwrap_or("dupescan");
        if let Some(version) = found {
            versions.insert(name, version.as_str());
        }
    }
    let versions: Vec<_> = versions
        .iter()
        .map(|(name, version)| format!("{name} {version}"))
        .collect();
    format!("Versions: {}.", versions.join(", "))
}

/// How each program is called.
fn commands() -> String {
    let mut text = String::from(
        "### Commands\n\n\
         | Program | First scan | Rescan, where it has a cache |\n|---|---|---|\n",
    );
    for contender in CONTENDERS {
        let name = contender.program.unwrap_or("dupescan");
        let line = |arguments: &[&str]| format!("`{name} {}`", arguments.join(" "));
        let cached = match contender.cached {
            None => "has none".to_owned(),
            Some(arguments) if arguments == contender.arguments => "the same".to_owned(),
            Some(arguments) => line(arguments),
        };
        let _ = writeln!(
            text,
            "| {} | {} | {cached} |",
            contender.label,
            line(contender.arguments)
        );
    }
    text
}

/// Puts the tables into a document, in the place of those that are there.
pub(crate) fn write_into(document: &Path, tables: &str) -> io::Result<()> {
    let old = fs::read_to_string(document)?;
    let replaced = replace_marked(&old, tables)
        .ok_or_else(|| io::Error::other(format!("{}: no marked part", document.display())))?;
    fs::write(document, replaced)
}

fn replace_marked(document: &str, tables: &str) -> Option<String> {
    let (before, rest) = document.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{tables}{END}{after}"))
}
