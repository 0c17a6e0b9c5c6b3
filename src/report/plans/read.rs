//! Reading a plan file, line by line. What it says is not believed: whoever
//! reads it checks each group against the catalog.

use std::io::{self, BufRead, Read};

use serde::Deserialize;

use super::lines::{DOCUMENT, FooterLine, GroupLine, HeaderLine};
use crate::model::{Action, PlanId, PlanOptions, PlannedGroup};
use crate::report::encode::SCHEMA;

/// The longest line that is read: a group of a million copies is shorter.
const LONGEST_LINE: u64 = 1 << 30;

/// Why a file is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanFileError {
    /// It cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It does not begin as one.
    #[error("it is not a plan file: `dupescan plans N --format jsonl` writes one")]
    NotAPlan,
    /// A newer program wrote it.
    #[error("a newer version of dupescan wrote it")]
    Newer,
    /// A line is not as it should be.
    #[error("line {0}: {1}")]
    Line(u64, String),
    /// It ends too early.
    #[error("it ends before its last line, the one with 'blake3'")]
    Truncated,
}

/// Where a plan file says that it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanSource {
    /// The identity of the catalog.
    pub catalog: String,
    /// The number that the plan has there.
    pub plan: PlanId,
    /// What it does.
    pub action: Action,
    /// How it was made.
    pub options: PlanOptions,
}

/// A plan file being read.
pub struct PlanReader<R> {
    input: R,
    source: PlanSource,
    line: Vec<u8>,
    number: u64,
    seal: blake3::Hasher,
    is_sealed: bool,
}

impl<R: BufRead> PlanReader<R> {
    /// Reads the first line.
    pub fn begin(mut input: R) -> Result<Self, PlanFileError> {
        let mut line = Vec::new();
        read_line(&mut input, &mut line)?;
        let header: HeaderLine =
            serde_json::from_slice(&line).map_err(|_| refusal_of_header(&line))?;
        if header.document != DOCUMENT {
            return Err(PlanFileError::NotAPlan);
        }
        if header.schema > SCHEMA {
            return Err(PlanFileError::Newer);
        }
        let action = Action::parse(&header.action);
        let mut seal = blake3::Hasher::new();
        seal.update(&line);
        Ok(Self {
            source: PlanSource {
                catalog: header.catalog,
                plan: PlanId(header.plan),
                action: action.ok_or(PlanFileError::NotAPlan)?,
                options: header.options,
            },
            input,
            line,
            number: 1,
            seal,
            is_sealed: false,
        })
    }

    /// Where it says that it comes from.
    pub fn source(&self) -> &PlanSource {
        &self.source
    }

    /// The next group; `None` after the last line.
    pub fn next_group(&mut self) -> Result<Option<PlannedGroup>, PlanFileError> {
        read_line(&mut self.input, &mut self.line)?;
        self.number += 1;
        if let Ok(footer) = serde_json::from_slice::<FooterLine>(&self.line) {
            let is_whole = self.line.ends_with(b"\n");
            self.is_sealed = is_whole && footer.blake3 == self.seal.finalize().to_string();
            return self.refuse_more().map(|()| None);
        }
        self.seal.update(&self.line);
        let wrong = |why: &dyn ToString| PlanFileError::Line(self.number, why.to_string());
        match serde_json::from_slice::<GroupLine<'_>>(&self.line) {
            Ok(line) => Ok(Some(line.group().map_err(|why| wrong(&why))?)),
            Err(_) if !self.line.ends_with(b"\n") => Err(PlanFileError::Truncated),
            Err(error) => Err(wrong(&error)),
        }
    }

    /// Whether no byte was changed since it was written; known after the last
    /// group.
    pub fn is_sealed(&self) -> bool {
        self.is_sealed
    }

    fn refuse_more(&mut self) -> Result<(), PlanFileError> {
        match self.input.fill_buf()?.is_empty() {
            true => Ok(()),
            false => Err(PlanFileError::Line(
                self.number + 1,
                "expected nothing after the line with 'blake3'".to_owned(),
            )),
        }
    }
}

/// Reads a line with its end; a file that has none left was cut off.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> Result<(), PlanFileError> {
    line.clear();
    match input.take(LONGEST_LINE).read_until(b'\n', line)? {
        0 => Err(PlanFileError::Truncated),
        _ => Ok(()),
    }
}

/// Why a first line is none: that of a newer program may have other fields.
fn refusal_of_header(line: &[u8]) -> PlanFileError {
    #[derive(Deserialize)]
    struct Any {
        schema: u32,
        document: String,
    }
    match serde_json::from_slice::<Any>(line) {
        Ok(any) if any.document == DOCUMENT && any.schema > SCHEMA => PlanFileError::Newer,
        Ok(any) if any.document == DOCUMENT => {
            let why = serde_json::from_slice::<HeaderLine>(line).err();
            PlanFileError::Line(1, why.map_or_else(String::new, |why| why.to_string()))
        }
        _ => PlanFileError::NotAPlan,
    }
}
