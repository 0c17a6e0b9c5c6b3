//! `dupescan plan`: decides which copies go, and saves that as a plan.

mod import;
mod words;

pub(crate) use import::{open as open_file, refused as refused_file};
use words::next_steps;
pub(crate) use words::{fate, measured_words, reclaimable, refused_row};

use std::borrow::Cow;
use std::io::Write;
use std::path::PathBuf;

use crate::act::{PlanMade, PlanRequest, make_plan};
use crate::answers::place_ever;
use crate::catalog::ReadOnly;
use crate::cli::args::{PlanArgs, excluded};
use crate::cli::progress::Doing;
use crate::cli::session::{Context, Watched, folder_to_protect, keep_rules};
use crate::cli::terminal::{Exit, exit, output};
use crate::model::{DEFAULT_RULES, PlanOptions, escape};
use crate::report::text::{counted, human_size, shorten_middle};

pub(crate) fn run(context: &Context, args: &PlanArgs) -> anyhow::Result<Exit> {
    if !args.priority.is_empty() {
        return Err(exit::usage(translation(&args.priority)));
    }
    if let Some(file) = &args.import {
        return import::run(context, args, file);
    }
    args.filter.check()?;
    let mut catalog = context.exclusive("plan")?;
    let reader = catalog.reader()?;
    let request = request(&reader, args)?;
    drop(reader);
    let doing = Doing {
        words: "Checking",
        stage: "plan",
        unit: "groups",
    };
    let watched = Watched::start(context, doing)?;
    let (shutdown, progress) = (&watched.shutdown, &watched.progress);
    let made = make_plan(&mut catalog, &request, shutdown, progress);
    drop(watched);
    let made = made?;
    if made.is_interrupted {
        output::print("Stopped: no plan was saved\n")?;
        return Ok(Exit::Interrupted);
    }
    summarise(context, args, &made)?;
    Ok(Exit::Done)
}

fn request(catalog: &ReadOnly, args: &PlanArgs) -> anyhow::Result<PlanRequest> {
    let options = options(catalog, args)?;
    refuse_overlap(&options.from, &options.matching)?;
    Ok(PlanRequest {
        action: args.action,
        rules: match args.rules() {
            rules if rules.is_empty() => keep_rules(catalog, &DEFAULT_RULES)?,
            rules => keep_rules(catalog, &rules)?,
        },
        exclude: excluded(&options.exclude)?,
        protected: catalog.protected()?,
        options,
    })
}

/// How the plan was asked for, with whole paths.
fn options(catalog: &ReadOnly, args: &PlanArgs) -> anyhow::Result<PlanOptions> {
    let places = |typed: &[PathBuf]| -> anyhow::Result<Vec<PathBuf>> {
        let places = typed.iter().map(|path| place_ever(catalog, path));
        Ok(places.collect::<Result<_, _>>()?)
    };
    let roots = catalog.roots()?;
    let protect = args
        .protect
        .iter()
        .map(|path| folder_to_protect(&roots, path));
    let keep = args.rules();
    let keep = keep.iter().map(|rule| rule.to_string_lossy());
    Ok(PlanOptions {
        paths: places(&args.paths)?,
        keep: keep.map(Cow::into_owned).collect(),
        from: places(&args.from)?,
        matching: places(&args.matching)?,
        copies: args.copies,
        per_volume: args.per_volume,
        isolate: args.isolate,
        skip_ties: args.on_tie,
        max_bytes: args.max_bytes,
        protect: protect.collect::<anyhow::Result<_>>()?,
        include_guarded: args.include_guarded,
        min_size: args.filter.min_size,
        max_size: args.filter.max_size,
        ext: args.filter.ext.clone(),
        exclude: args.filter.exclude.clone(),
        across: args.across,
    })
}

/// The copies that go must not be those that are kept.
fn refuse_overlap(from: &[PathBuf], matching: &[PathBuf]) -> anyhow::Result<()> {
    for from in from {
        let overlaps = |other: &&PathBuf| from.starts_with(other) || other.starts_with(from);
        if let Some(other) = matching.iter().find(overlaps) {
            return Err(exit::usage(format_args!(
                "--from {} and --match {} overlap: expected two separate folders",
                from.display(),
                other.display()
            )));
        }
    }
    Ok(())
}

fn summarise(context: &Context, args: &PlanArgs, made: &PlanMade) -> anyhow::Result<()> {
    let mut out = output::stdout();
    match made.id {
        None => writeln!(out, "Nothing to plan: no copy can be removed")?,
        Some(id) => {
            let fate = fate(args.action);
            let files = counted(made.totals.files, "file", "files");
            let groups = counted(made.totals.groups, "group", "groups");
            let bytes = human_size(made.totals.bytes);
            writeln!(out, "Plan {id}: {files} in {groups} {fate}, {bytes}")?;
            writeln!(
                out,
                "  {}",
                reclaimable(args.action, made.reclaimable, made.totals.bytes, false)
            )?;
            if args.rules().is_empty() && args.matching.is_empty() {
                writeln!(
                    out,
                    "  kept: the shallowest path, then the oldest file (--keep)"
                )?;
            }
        }
    }
    for (reason, (copies, bytes)) in &made.spared {
        let copies = counted(*copies, "copy", "copies");
        let words = reason.words();
        writeln!(
            out,
            "  not included: {copies}, {}: {words}",
            human_size(*bytes)
        )?;
    }
    if made.outdated > 0 {
        let copies = counted(made.outdated, "copy", "copies");
        writeln!(
            out,
            "  not included: {copies}: offline, or changed since the scan"
        )?;
    }
    if let Some(id) = made.id {
        if made.largest.len() > 1 {
            writeln!(out, "\nLargest:")?;
            let width = context
                .width()
                .map_or(usize::MAX, |width| usize::from(width) - 13);
            for (path, bytes) in &made.largest {
                let path = shorten_middle(&escape(path), width);
                writeln!(out, "{:>11}  {path}", human_size(*bytes))?;
            }
        }
        next_steps(&mut out, context, id)?;
    }
    Ok(out.flush()?)
}

/// What `--priority`, which names what is removed, is here.
fn translation(typed: &[String]) -> String {
    let rules: Option<Vec<&str>> = typed.iter().map(|word| opposite(word)).collect();
    let dupescan = match rules {
        Some(rules) => format!("use {}", rules.join(" ")),
        None => "see `dupescan plan --help` for its rules (--keep)".to_owned(),
    };
    format!(
        "--priority {} names what is removed; dupescan names what is kept: {dupescan}",
        escape(&typed.join(" --priority "))
    )
}

/// The rule that keeps what fclones would remove last.
fn opposite(priority: &str) -> Option<&'static str> {
    Some(match priority {
        "newest" | "most-recently-modified" => "--keep oldest",
        "oldest" | "least-recently-modified" => "--keep newest",
        "most-nested" => "--keep shallowest",
        _ => return None,
    })
}
