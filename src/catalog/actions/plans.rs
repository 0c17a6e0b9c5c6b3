//! Plans: written group after group, and read the same way. Until a plan is
//! applied, groups of it can be replaced.

use std::sync::LazyLock;

use rusqlite::{Connection, Row, Transaction, params};

use crate::catalog::store::{
    CatalogError, Exclusive, ReadOnly, path_blob, rows, signed, sql, terms, unsigned,
};
use crate::model::{
    Action, CopyEntry, Digest, PlanHeader, PlanId, PlanOptions, PlanTotals, PlannedCopy,
    PlannedGroup, Reclaimable, Role, ScanId, Timestamp,
};

/// A plan that is being written, all in one transaction: a plan is whole, or it
/// does not exist.
pub struct PlanWriter<'c> {
    transaction: Transaction<'c>,
    id: PlanId,
    groups: u64,
    totals: PlanTotals,
}

impl Exclusive {
    /// Begins a plan.
    pub fn begin_plan(
        &mut self,
        action: Action,
        options: &PlanOptions,
    ) -> Result<PlanWriter<'_>, CatalogError> {
        let transaction = self.connection.transaction()?;
        let id = transaction.query_row(
            "INSERT INTO plans (action, options, scan, created_at)
             VALUES (?1, ?2, (SELECT coalesce(max(id), 0) FROM scans), ?3) RETURNING id",
            params![action.name(), options.to_json(), Timestamp::now()],
            |row| row.get(0),
        )?;
        Ok(PlanWriter {
            transaction,
            id,
            groups: 0,
            totals: PlanTotals::default(),
        })
    }

    /// Deletes a plan; `false` if there is none of that number.
    pub fn delete_plan(&mut self, plan: PlanId) -> Result<bool, CatalogError> {
        let delete = "DELETE FROM plans WHERE id = ?1";
        Ok(sql::run(&self.connection, delete, [plan])? > 0)
    }

    /// Replaces groups of a plan by those with the same numbers, all of them or
    /// none; one of which nothing goes leaves the plan. `false`, and nothing is
    /// changed, if the plan has been applied.
    pub fn change_plan(
        &mut self,
        plan: PlanId,
        groups: &[PlannedGroup],
    ) -> Result<bool, CatalogError> {
        let transaction = self.connection.transaction()?;
        let applied = "SELECT EXISTS (SELECT 1 FROM runs WHERE plan = ?1)";
        if sql::value(&transaction, applied, [plan])? {
            return Ok(false);
        }
        for group in groups {
            let delete = "DELETE FROM plan_groups WHERE plan = ?1 AND number = ?2";
            sql::run(&transaction, delete, params![plan, signed(group.number)])?;
            if group.with_role(Role::Act).next().is_some() {
                insert_group(&transaction, plan, group.number, group)?;
            }
        }
        let forget = "UPDATE plans SET at_least = NULL, at_most = NULL WHERE id = ?1";
        sql::run(&transaction, forget, [plan])?;
        transaction.commit()?;
        Ok(true)
    }

    /// Stores what deleting the files of a plan gives back.
    pub fn set_reclaimable(
        &mut self,
        plan: PlanId,
        bytes: Reclaimable,
    ) -> Result<(), CatalogError> {
        let set = "UPDATE plans SET at_least = ?2, at_most = ?3 WHERE id = ?1";
        let values = params![plan, signed(bytes.at_least), signed(bytes.at_most)];
        sql::run(&self.connection, set, values)?;
        Ok(())
    }
}

impl PlanWriter<'_> {
    /// Adds a group; its number is given to it here.
    pub fn add(&mut self, group: &PlannedGroup) -> Result<(), CatalogError> {
        self.groups += 1;
        insert_group(&self.transaction, self.id, self.groups, group)?;
        self.totals.add(group.totals());
        Ok(())
    }

    /// The sums so far.
    pub fn totals(&self) -> PlanTotals {
        self.totals
    }

    /// Stores the plan.
    pub fn finish(self) -> Result<PlanId, CatalogError> {
        self.transaction.commit()?;
        Ok(self.id)
    }
}

/// Stores a group under a number.
fn insert_group(
    transaction: &Transaction<'_>,
    plan: PlanId,
    number: u64,
    group: &PlannedGroup,
) -> rusqlite::Result<()> {
    let number = signed(number);
    let insert = "INSERT INTO plan_groups (plan, number, size, digest) VALUES (?1, ?2, ?3, ?4)";
    let values = params![plan, number, signed(group.size), group.digest.as_bytes()];
    sql::run(transaction, insert, values)?;
    for (copy_no, planned) in (1_i64..).zip(&group.copies) {
        let CopyEntry {
            root,
            mtime_ns,
            ctime_ns,
            volume,
            inode,
            occupied,
            ..
        } = &planned.copy;
        for (name_no, path) in (1_i64..).zip(planned.copy.names()) {
            let insert = "INSERT INTO plan_files (plan, group_no, copy_no, name_no, role, path,
                         root, volume, ino, mtime_ns, ctime_ns, allocated)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
            let values = params![
                plan,
                number,
                copy_no,
                name_no,
                planned.role.name(),
                path_blob(path),
                path_blob(root),
                volume,
                inode.map(u64::cast_signed),
                mtime_ns,
                ctime_ns,
                signed(*occupied),
            ];
            sql::run(transaction, insert, values)?;
        }
    }
    Ok(())
}

impl ReadOnly {
    /// All plans, the newest first.
    pub fn plans(&self) -> Result<Vec<PlanHeader>, CatalogError> {
        let newest_first = format!("{} ORDER BY plans.id DESC", *HEADERS);
        Ok(sql::all(&self.connection, &newest_first, [], header)?)
    }

    /// One plan, if there is one of that number.
    pub fn plan(&self, plan: PlanId) -> Result<Option<PlanHeader>, CatalogError> {
        let one = format!("{} WHERE plans.id = ?1", *HEADERS);
        Ok(sql::first(&self.connection, &one, [plan], header)?)
    }

    /// The groups of a plan after number `after`, in order, at most `limit`.
    pub fn plan_groups(
        &self,
        plan: PlanId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<PlannedGroup>, CatalogError> {
        let groups = "SELECT number, size, digest FROM plan_groups
              WHERE plan = ?1 AND number > ?2 ORDER BY number LIMIT ?3";
        let values = params![plan, signed(after), limit];
        let mut groups: Vec<PlannedGroup> = sql::all(&self.connection, groups, values, |row| {
            Ok(PlannedGroup {
                number: unsigned(row.get(0)?),
                size: unsigned(row.get(1)?),
                digest: digest(row, 2)?,
                copies: Vec::new(),
            })
        })?;
        for group in &mut groups {
            group.copies = copies(&self.connection, plan, group)?;
        }
        Ok(groups)
    }
}

/// The totals of a group are those of its copies that go: a copy's bytes count
/// once, with its first name.
static HEADERS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT plans.id, plans.action, plans.options, plans.scan, plans.created_at,
                (SELECT count(DISTINCT group_no) FROM plan_files
                  WHERE plan = plans.id AND role = 'act'),
                (SELECT count(*) FROM plan_files WHERE plan = plans.id AND role = 'act'),
                (SELECT {} FROM plan_files
                  WHERE plan = plans.id AND role = 'act' AND name_no = 1),
                plans.at_least, plans.at_most
           FROM plans",
        terms::sum_of_sizes("allocated")
    )
});

fn header(row: &Row<'_>) -> rusqlite::Result<PlanHeader> {
    let range = Option::zip(row.get(8)?, row.get(9)?);
    Ok(PlanHeader {
        id: row.get(0)?,
        action: rows::word(row, 1, Action::parse)?,
        options: rows::word(row, 2, PlanOptions::from_json)?,
        scan: ScanId(row.get(3)?),
        created: row.get(4)?,
        totals: PlanTotals {
            groups: unsigned(row.get(5)?),
            files: unsigned(row.get(6)?),
            bytes: unsigned(row.get(7)?),
        },
        reclaimable: range
            .map(|(least, most)| Reclaimable::between(unsigned(least), unsigned(most))),
    })
}

/// Column `index` as a digest, which it must hold.
pub(crate) fn digest(row: &Row<'_>, index: usize) -> rusqlite::Result<Digest> {
    rows::digest(row, index)?.ok_or(rusqlite::Error::QueryReturnedNoRows)
}

fn copies(
    connection: &Connection,
    plan: PlanId,
    group: &PlannedGroup,
) -> rusqlite::Result<Vec<PlannedCopy>> {
    let mut statement = connection.prepare_cached(
        "SELECT name_no, role, path, root, volume, ino, mtime_ns, ctime_ns, allocated
           FROM plan_files WHERE plan = ?1 AND group_no = ?2 ORDER BY copy_no, name_no",
    )?;
    let mut found = statement.query(params![plan, signed(group.number)])?;
    let mut copies: Vec<PlannedCopy> = Vec::new();
    while let Some(row) = found.next()? {
        let path = rows::path(row, 2)?;
        let is_further_name = row.get::<_, i64>(0)? > 1;
        match copies.last_mut() {
            Some(planned) if is_further_name => planned.copy.links.push(path),
            _ => copies.push(PlannedCopy {
                role: rows::word(row, 1, Role::parse)?,
                copy: CopyEntry {
                    path,
                    root: rows::path(row, 3)?,
                    volume: row.get(4)?,
                    inode: row.get::<_, Option<i64>>(5)?.map(i64::cast_unsigned),
                    mtime_ns: row.get(6)?,
                    ctime_ns: row.get(7)?,
                    occupied: unsigned(row.get(8)?),
                    ..CopyEntry::default()
                },
            }),
        }
    }
    Ok(copies)
}
