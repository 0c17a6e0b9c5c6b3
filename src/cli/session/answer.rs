//! Shared by the commands that query the catalog: which place a question is
//! about, where the answer goes, and what goes to standard error because the
//! output format has no place for it.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::context::Context;
use super::excluding::Excluding;
use crate::answers::Place;
use crate::catalog::{CatalogError, ReadOnly};
use crate::cli::args::{AnswerArgs, FilterArgs};
use crate::cli::terminal::{atomic_file, output};
use crate::model::{Filters, FolderId, Timestamp};
use crate::report::{Answer, Column, Header, Layout, Style};

/// An answer being written.
pub(crate) type Writing<'a, 'w> = Answer<'a, &'w mut dyn Write>;

/// How an answer is written, and where to.
pub(crate) struct Output<'a> {
    pub(crate) context: &'a Context,
    pub(crate) layout: Layout,
    /// The file; standard output without one.
    pub(crate) file: Option<&'a Path>,
}

impl<'a> Output<'a> {
    /// The output that the options of a command ask for.
    pub(crate) fn new(context: &'a Context, args: &'a AnswerArgs) -> Self {
        Self {
            context,
            layout: Layout {
                format: args.format.format(),
                style: Style {
                    exact_bytes: args.bytes,
                    ..Style::default()
                },
                limit: args.output.limit,
            },
            file: args.output.output.as_deref(),
        }
    }

    /// Whether sizes are shown to the byte.
    pub(crate) fn is_exact(&self) -> bool {
        self.layout.style.exact_bytes
    }

    /// Lets `fill` write an answer whose rows have this name and these
    /// columns. `fill` returns the notes for standard error, and its result.
    pub(crate) fn give<T>(
        &self,
        header: &Header,
        shape: (&'static str, &'static [Column]),
        fill: impl FnOnce(&mut Writing<'_, '_>) -> anyhow::Result<(Vec<String>, T)>,
    ) -> anyhow::Result<T> {
        let (left, result) = self.write(|style, out| {
            let layout = Layout {
                style,
                ..self.layout
            };
            let mut answer = Answer::new(layout, header, shape, out);
            answer.begin()?;
            fill(&mut answer)
        })?;
        for sentence in &left {
            self.context.note(sentence);
        }
        Ok(result)
    }

    /// Lets `fill` write to standard output or to the file.
    pub(crate) fn write<T>(
        &self,
        fill: impl FnOnce(Style, &mut dyn Write) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let style = self.layout.style;
        match self.file {
            Some(file) => atomic_file::fill(file, &self.context.config.db, |file| {
                let mut out = BufWriter::new(file);
                let result = fill(style, &mut out)?;
                out.flush()?;
                Ok(result)
            }),
            None => {
                let mut stdout = output::stdout();
                let result = fill(self.context.on_stdout(style), &mut stdout)?;
                stdout.flush()?;
                Ok(result)
            }
        }
    }
}

/// A question about a place in the catalog.
pub(crate) struct Question<'a> {
    pub(crate) catalog: ReadOnly,
    pub(crate) header: Header,
    /// The path that was typed, made whole.
    pub(crate) place: Option<PathBuf>,
    /// Its folders in the catalog; those of all roots if no path was typed.
    pub(crate) tops: Vec<FolderId>,
    /// The globs of its filters.
    pub(crate) excluding: Excluding<'a>,
}

impl<'a> Question<'a> {
    /// A question about the live files at and below `path`, or about all.
    pub(crate) fn about(
        context: &'a Context,
        path: Option<&Path>,
        filter: &FilterArgs,
    ) -> anyhow::Result<Self> {
        let catalog = context.catalog()?;
        let (place, tops) = match path {
            Some(path) => {
                let place = Place::named(&catalog, path)?;
                (Some(place.path), place.tops)
            }
            None => (None, catalog.all_tops()?),
        };
        let header = header(&catalog, filter.named(place.clone()))?;
        let excluding = Excluding::by(context, &catalog, filter)?;
        Ok(Self {
            catalog,
            header,
            place,
            tops,
            excluding,
        })
    }
}

/// When a report is made, what about, and which scan it reflects.
pub(crate) fn header(catalog: &ReadOnly, filters: Filters) -> Result<Header, CatalogError> {
    Ok(Header {
        generated_at: Timestamp::now(),
        as_of: catalog.as_of()?,
        unfinished: catalog.unfinished_scans()?.len(),
        filters,
        keep: Vec::new(),
        not_compared: catalog.not_compared()?,
    })
}
