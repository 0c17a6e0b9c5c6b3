//! `dupescan folders`: finds duplicate and similar folders.

mod detail;
mod load;

use std::io::Write;

use anyhow::Context as _;

use crate::answers::{PlaceError, path_named};
use crate::catalog::ReadOnly;
use crate::cli::args::FoldersArgs;
use crate::cli::session::Context;
use crate::cli::session::header;
use crate::cli::terminal::{Exit, atomic_file, output};
use crate::folders::{
    Comparer, Forest, IdenticalGroups, Node, Pair, SimilarPairs, Similarity, Tuning, similar,
};
use crate::report::{
    FolderAnswer, FolderGroup, FolderPair, FolderReport, FolderScope, FolderTotals, Format,
    Identical, Similar, Style, text, write_folders,
};
use load::{Filter, Places};

pub(crate) fn run(context: &Context, mut args: FoldersArgs) -> anyhow::Result<Exit> {
    let percent = args.check()?;
    let catalog = context.catalog()?;
    let inquiry = Inquiry {
        filter: Filter::new(&args)?,
        catalog: &catalog,
        args: &args,
    };
    let report = catalog.in_snapshot(|| inquiry.report(percent))?;
    let format = args.format.format();
    let style = Style {
        exact_bytes: args.bytes,
        ..Style::default()
    };
    match &args.output {
        Some(file) => atomic_file::fill(file, &context.config.db, |out| {
            Ok(write_folders(&report, format, style, out)?)
        })?,
        None => {
            let mut stdout = output::stdout();
            write_folders(&report, format, context.on_stdout(style), &mut stdout)?;
            stdout.flush().context("cannot write to standard output")?;
        }
    }
    if format == Format::Csv {
        context.note(&text::as_of(&report.header));
    }
    Ok(Exit::Done)
}

/// A question, and the catalog to ask.
struct Inquiry<'a> {
    catalog: &'a ReadOnly,
    args: &'a FoldersArgs,
    filter: Filter,
}

impl Inquiry<'_> {
    fn report(&self, percent: Option<u8>) -> anyhow::Result<FolderReport> {
        let args = self.args;
        let mut places = Places::new(self.catalog)?;
        let forest = load::forest(self.catalog, &self.filter, args)?;
        let wanted = self.wanted(&places, &forest)?;
        let wanted = |node: Node| wanted[node as usize];
        let answer = match percent {
            None => {
                let found = forest.identical(wanted);
                FolderAnswer::Identical(self.identical(&forest, &found, &mut places)?)
            }
            Some(percent) => {
                let similarity = Similarity {
                    percent,
                    measure: args.by.into(),
                    tuning: Tuning::default(),
                };
                let found = similar(&forest, wanted, &similarity);
                FolderAnswer::Similar(self.similar(&forest, &found, &similarity, &mut places)?)
            }
        };
        Ok(FolderReport {
            header: header(self.catalog)?,
            scope: FolderScope {
                min_size: args.min_size,
                max_size: args.max_size,
                extensions: args.ext.clone(),
                exclude: args.exclude.clone(),
                as_scanned: args.as_scanned,
            },
            answer,
        })
    }

    /// Which folders are at or below the paths that were typed.
    fn wanted(&self, places: &Places<'_>, forest: &Forest) -> anyhow::Result<Vec<bool>> {
        let mut wanted = vec![self.args.paths.is_empty(); forest.len()];
        for typed in &self.args.paths {
            let path = path_named(&places.roots, typed)?;
            let roots = places.roots.iter();
            let mut tops: Vec<_> = roots
                .filter(|root| root.path.starts_with(&path))
                .map(|root| root.top)
                .collect();
            if tops.is_empty() {
                let folder = self.catalog.folder_at(&path);
                tops.extend(folder?);
            }
            let tops: Vec<Node> = tops.iter().filter_map(|&id| forest.node(id)).collect();
            if tops.is_empty() && path.is_file() {
                return Err(PlaceError::IsAFile(path).into());
            }
            if tops.is_empty() {
                return Err(PlaceError::NotListed(path).into());
            }
            for top in tops {
                let below = forest.subtree(top);
                wanted[below.start as usize..below.end as usize].fill(true);
            }
        }
        Ok(wanted)
    }

    /// How many of `all` are shown.
    fn shown(&self, all: usize) -> usize {
        let limit = self.args.limit.unwrap_or(u64::MAX);
        usize::try_from(limit).unwrap_or(usize::MAX).min(all)
    }

    fn identical(
        &self,
        forest: &Forest,
        found: &IdenticalGroups,
        places: &mut Places<'_>,
    ) -> anyhow::Result<Identical> {
        let totals = FolderTotals {
            groups: found.groups.len() as u64,
            folders: found.groups.iter().map(|g| g.folders.len() as u64).sum(),
            reclaimable: found.groups.iter().map(|group| group.reclaimable).sum(),
            linked: found.linked,
            left_out: found.left_out,
        };
        let mut groups = Vec::new();
        for group in &found.groups[..self.shown(found.groups.len())] {
            let mut named = |nodes: &[Node]| -> anyhow::Result<_> {
                let ids = nodes.iter().map(|&node| forest.id(node));
                let paths: Result<_, _> = ids.map(|id| places.path(id)).collect();
                Ok(paths?)
            };
            groups.push(FolderGroup {
                files: group.files,
                bytes: group.bytes,
                reclaimable: group.reclaimable,
                paths: named(&group.folders)?,
                aliases: named(&group.aliases)?,
            });
        }
        Ok(Identical {
            same_names: self.args.same_names,
            groups,
            totals,
        })
    }

    fn similar(
        &self,
        forest: &Forest,
        found: &SimilarPairs,
        similarity: &Similarity,
        places: &mut Places<'_>,
    ) -> anyhow::Result<Similar> {
        let mut comparer = Comparer::new(forest);
        let mut pairs = Vec::new();
        for pair in &found.pairs[..self.shown(found.pairs.len())] {
            let [left, right] = comparer.sides(pair);
            let mut path = |node| places.path(forest.id(node));
            pairs.push(FolderPair {
                both: pair.both,
                either: pair.either,
                sides: [(path(pair.left)?, left), (path(pair.right)?, right)],
                differences: match self.args.detail {
                    true => Some(self.differences(forest, pair)?),
                    false => None,
                },
            });
        }
        Ok(Similar {
            percent: similarity.percent,
            measure: similarity.measure,
            detail: self.args.detail,
            pairs,
            all: found.pairs.len() as u64,
            is_complete: found.is_complete,
            crowded: found.crowded,
            undetermined: found.undetermined,
        })
    }

    fn differences(
        &self,
        forest: &Forest,
        pair: &Pair,
    ) -> anyhow::Result<crate::folders::Differences> {
        Ok(detail::differences_of(
            self.catalog,
            &self.filter,
            forest,
            pair,
        )?)
    }
}
