//! Shared by the commands that query the catalog: which place a question is
//! about, where the answer goes, and what goes to standard error because the
//! output format has no place for it.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::context::Context;
use crate::answers::Place;
use crate::catalog::{CatalogError, ReadOnly};
use crate::cli::args::{AnswerArgs, OutputArgs};
use crate::cli::terminal::{atomic_file, output};
use crate::model::{FolderId, Timestamp};
use crate::report::{Answer, Column, Format, Header, Style};

/// An answer being written.
pub(crate) type Writing<'a, 'w> = Answer<'a, &'w mut dyn Write>;

/// The output format of an answer, from a command's options.
#[derive(Clone, Copy)]
pub(crate) struct Form<'a> {
    pub(crate) format: Format,
    pub(crate) output: &'a OutputArgs,
    pub(crate) exact_bytes: bool,
}

impl<'a> From<&'a AnswerArgs> for Form<'a> {
    fn from(args: &'a AnswerArgs) -> Self {
        Self {
            format: args.format.format(),
            output: &args.output,
            exact_bytes: args.bytes,
        }
    }
}

impl Form<'_> {
    /// Lets `fill` write an answer whose rows have this name and these
    /// columns. `fill` returns the notes for standard error, and its result.
    pub(crate) fn give<T>(
        self,
        context: &Context,
        header: &Header,
        shape: (&'static str, &'static [Column]),
        fill: impl FnOnce(&mut Writing<'_, '_>) -> anyhow::Result<(Vec<String>, T)>,
    ) -> anyhow::Result<T> {
        let (left, result) = self.write(context, |style, out| {
            let mut answer = Answer::new(self.format, style, header, shape, self.output.limit, out);
            answer.begin()?;
            fill(&mut answer)
        })?;
        for sentence in &left {
            context.note(sentence);
        }
        Ok(result)
    }

    /// Lets `fill` write to standard output or to the file that was named.
    pub(crate) fn write<T>(
        self,
        context: &Context,
        fill: impl FnOnce(Style, &mut dyn Write) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let style = Style {
            exact_bytes: self.exact_bytes,
            ..Style::default()
        };
        match &self.output.output {
            Some(file) => {
                let mut result = None;
                atomic_file::fill(file, &context.config.db, |file| {
                    let mut out = BufWriter::new(file);
                    result = Some(fill(style, &mut out)?);
                    Ok(out.flush()?)
                })?;
                result.ok_or_else(|| anyhow::anyhow!("nothing was written"))
            }
            None => {
                let style = context.on_stdout(style);
                let mut stdout = output::stdout();
                let result = fill(style, &mut stdout)?;
                stdout.flush()?;
                Ok(result)
            }
        }
    }
}

/// A question about a place in the catalog.
pub(crate) struct Question {
    pub(crate) catalog: ReadOnly,
    pub(crate) header: Header,
    /// The path that was typed, made whole.
    pub(crate) place: Option<PathBuf>,
    /// Its folders in the catalog; those of all roots if no path was typed.
    pub(crate) tops: Vec<FolderId>,
}

impl Question {
    /// A question about the live files at and below `path`, or about all.
    pub(crate) fn about(context: &Context, path: Option<&Path>) -> anyhow::Result<Self> {
        let catalog = context.catalog()?;
        let header = header(&catalog)?;
        let (place, tops) = match path {
            Some(path) => {
                let place = Place::named(&catalog, path)?;
                (Some(place.path), place.tops)
            }
            None => (None, catalog.all_tops()?),
        };
        Ok(Self {
            catalog,
            header,
            place,
            tops,
        })
    }
}

/// When a report is made, and which scan it reflects.
pub(crate) fn header(catalog: &ReadOnly) -> Result<Header, CatalogError> {
    Ok(Header {
        generated_at: Timestamp::now(),
        as_of: catalog.as_of()?,
        unfinished: catalog.unfinished_scans()?.len(),
    })
}
