//! A plan as a page: the page of a report, on which each copy says whether it
//! stays or goes.

use std::io::{self, Write};

use super::Html;
use super::data::{Facts, PlanData};
use crate::model::{PlanHeader, PlannedGroup, Role, Totals};
use crate::report::style::Header;

/// Writes one plan: `begin`, each group, `end`. The caller buffers.
pub struct PlanPage<W>(Html<W>);

impl<W: Write> PlanPage<W> {
    /// Begins a plan.
    pub fn begin(header: &Header, plan: &PlanHeader, out: W) -> io::Result<Self> {
        let mut page = Html::new(out);
        let data = PlanData {
            number: plan.id.0,
            action: plan.action.name(),
            files: plan.totals.files,
        };
        page.begin_with(header, Some(data))?;
        Ok(Self(page))
    }

    /// Writes the next group.
    pub fn group(&mut self, group: &PlannedGroup) -> io::Result<()> {
        let is_kept = |at: &usize| group.copies[*at].role == Role::Keep;
        let facts = Facts {
            size: group.size,
            reclaimable: group.totals().bytes,
            // What the other commands call it.
            about: format!("group {}", group.number),
            digest: group.digest.short(),
            kept: (0..group.copies.len()).filter(is_kept).collect(),
        };
        let copies = group.copies.iter().map(|planned| &planned.copy);
        self.0.packed(&facts, copies)
    }

    /// Ends a plan.
    pub fn end(mut self, plan: &PlanHeader) -> io::Result<()> {
        self.0.end_with(&Totals {
            groups: plan.totals.groups,
            copies: plan.totals.files,
            reclaimable: plan.totals.bytes,
            unchecked: 0,
        })
    }
}
