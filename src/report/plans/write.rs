//! Writing a plan file: line by line, so that no plan is too large for it.

use std::io::{self, Write};

use super::lines::{FooterLine, GroupLine, HeaderLine};
use crate::model::{PlanHeader, PlanTotals, PlannedGroup};
use crate::report::encode::write_value;

/// Writes one plan: `begin`, each group, `end`. The caller buffers. The same plan
/// always gives the same bytes.
pub struct PlanWriter<W> {
    out: W,
    seal: blake3::Hasher,
    totals: PlanTotals,
    line: Vec<u8>,
}

impl<W: Write> PlanWriter<W> {
    /// Begins a plan of the catalog with this identity.
    pub fn begin(plan: &PlanHeader, catalog: &str, out: W) -> io::Result<Self> {
        let mut writer = Self {
            out,
            seal: blake3::Hasher::new(),
            totals: PlanTotals::default(),
            line: Vec::new(),
        };
        writer.line(&HeaderLine::new(plan, catalog))?;
        Ok(writer)
    }

    /// Writes the next group.
    pub fn group(&mut self, group: &PlannedGroup) -> io::Result<()> {
        self.totals.add(group.totals());
        self.line(&GroupLine::new(group))
    }

    /// Writes the line that seals the others.
    pub fn end(mut self) -> io::Result<()> {
        let PlanTotals {
            groups,
            files,
            bytes,
        } = self.totals;
        self.line(&FooterLine {
            groups,
            files,
            bytes,
            blake3: self.seal.finalize().to_string(),
        })?;
        self.out.flush()
    }

    fn line(&mut self, value: &impl serde::Serialize) -> io::Result<()> {
        self.line.clear();
        write_value(&mut self.line, value)?;
        self.line.push(b'\n');
        self.seal.update(&self.line);
        self.out.write_all(&self.line)
    }
}
