//! The lines of a plan file: a header, one line a group, a footer. What is
//! written here is what is read.

use serde::{Deserialize, Serialize};

use crate::model::{
    CopyEntry, Digest, PlanHeader, PlanOptions, PlanTotals, PlannedCopy, PlannedGroup, Reclaimable,
    Role,
};
use crate::report::encode::{PathJson, SCHEMA, from_rfc3339, rfc3339, rfc3339_nanos};

/// What a plan file says that it is.
pub(crate) const DOCUMENT: &str = "dupescan plan";

/// The first line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HeaderLine {
    pub(crate) schema: u32,
    pub(crate) document: String,
    pub(crate) catalog: String,
    pub(crate) plan: i64,
    pub(crate) scan: i64,
    pub(crate) created: String,
    pub(crate) action: String,
    pub(crate) options: PlanOptions,
    pub(crate) totals: PlanTotals,
    pub(crate) reclaimable: Option<Reclaimable>,
}

impl HeaderLine {
    pub(crate) fn new(plan: &PlanHeader, catalog: &str) -> Self {
        Self {
            schema: SCHEMA,
            document: DOCUMENT.to_owned(),
            catalog: catalog.to_owned(),
            plan: plan.id.0,
            scan: plan.scan.0,
            created: rfc3339(plan.created),
            action: plan.action.name().to_owned(),
            options: plan.options.clone(),
            totals: plan.totals,
            reclaimable: plan.reclaimable,
        }
    }
}

/// A group.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GroupLine<'a> {
    group: u64,
    size: u64,
    digest: String,
    keep: Vec<CopyLine<'a>>,
    act: Vec<CopyLine<'a>>,
}

/// A copy: the first of its names, and the state that it was scanned in.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CopyLine<'a> {
    names: Vec<PathJson<'a>>,
    volume: String,
    inode: Option<u64>,
    mtime: String,
    ctime: String,
}

impl<'a> GroupLine<'a> {
    pub(crate) fn new(group: &'a PlannedGroup) -> Self {
        let with = |role| group.with_role(role).map(CopyLine::new).collect();
        Self {
            group: group.number,
            size: group.size,
            digest: group.digest.to_hex(),
            keep: with(Role::Keep),
            act: with(Role::Act),
        }
    }

    /// The group, or what is wrong with the line.
    pub(crate) fn group(&self) -> Result<PlannedGroup, &'static str> {
        let with = |role, lines: &[CopyLine<'_>]| -> Result<Vec<_>, &'static str> {
            lines.iter().map(|line| line.copy(role)).collect()
        };
        let mut copies = with(Role::Keep, &self.keep)?;
        copies.extend(with(Role::Act, &self.act)?);
        Ok(PlannedGroup {
            number: self.group,
            size: self.size,
            digest: Digest::from_hex(&self.digest).ok_or("'digest' is none")?,
            copies,
        })
    }
}

impl<'a> CopyLine<'a> {
    fn new(planned: &'a PlannedCopy) -> Self {
        let copy = &planned.copy;
        Self {
            names: copy.names().map(|name| PathJson::new(name)).collect(),
            volume: copy.volume.clone(),
            inode: copy.inode,
            mtime: rfc3339_nanos(copy.mtime_ns),
            ctime: rfc3339_nanos(copy.ctime_ns),
        }
    }

    fn copy(&self, role: Role) -> Result<PlannedCopy, &'static str> {
        let names = self.names.iter().map(PathJson::exact);
        let names: Option<Vec<_>> = names.collect();
        let mut names = names.ok_or("'path' and 'path_b64' are not the same")?;
        if names.is_empty() {
            return Err("a copy has no names");
        }
        Ok(PlannedCopy {
            role,
            copy: CopyEntry {
                path: names.remove(0),
                links: names,
                volume: self.volume.clone(),
                inode: self.inode,
                mtime_ns: from_rfc3339(&self.mtime).ok_or("'mtime' is no time")?,
                ctime_ns: from_rfc3339(&self.ctime).ok_or("'ctime' is no time")?,
                ..CopyEntry::default()
            },
        })
    }
}

/// The last line: it seals all that comes before it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FooterLine {
    pub(crate) groups: u64,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    /// BLAKE3 of all bytes before this line.
    pub(crate) blake3: String,
}
