//! The journal: what is about to be done is committed and synced to the disk
//! before a file is touched, and what was done together with the change of the
//! file's row.

use std::collections::BTreeSet;
use std::path::Path;

use rusqlite::{Row, Transaction, params};

use super::effects;
use super::plans::digest;
use crate::catalog::store::{
    CatalogError, Exclusive, ReadOnly, path_blob, rows, signed, sql, unsigned,
};
use crate::model::{
    Action, ActionEntry, ActionId, ActionOutcome, ActionState, Durability, NewAction, PlanId,
    RunHeader, RunId, Timestamp,
};

impl Exclusive {
    /// Begins to apply a plan. From here on every commit of this connection is
    /// synced to the disk.
    pub fn begin_run(&mut self, plan: PlanId, action: Action) -> Result<RunId, CatalogError> {
        self.set_durability(Durability::Full)?;
        let insert = "INSERT INTO runs (plan, action, started_at) VALUES (?1, ?2, ?3) RETURNING id";
        let values = params![plan, action.name(), Timestamp::now()];
        Ok(sql::value(&self.connection, insert, values)?)
    }

    /// Ends a run.
    pub fn finish_run(&mut self, run: RunId) -> Result<(), CatalogError> {
        let finish = "UPDATE runs SET finished_at = ?2 WHERE id = ?1";
        sql::run(&self.connection, finish, params![run, Timestamp::now()])?;
        Ok(())
    }

    /// Writes down what is about to be moved to the trash; returns the numbers of
    /// the entries, in order.
    pub fn intend(
        &mut self,
        run: RunId,
        actions: &[NewAction],
    ) -> Result<Vec<ActionId>, CatalogError> {
        let transaction = self.synced_transaction()?;
        let ids = actions
            .iter()
            .map(|action| insert(&transaction, run, action, ActionState::Moving, ""))
            .collect::<rusqlite::Result<_>>()?;
        transaction.commit()?;
        Ok(ids)
    }

    /// Writes down what is not touched, and why.
    pub fn skip(
        &mut self,
        run: RunId,
        skipped: &[(NewAction, String)],
    ) -> Result<(), CatalogError> {
        let transaction = self.connection.transaction()?;
        for (action, reason) in skipped {
            insert(&transaction, run, action, ActionState::Skipped, reason)?;
        }
        Ok(transaction.commit()?)
    }

    /// Writes down that these entries are about to be changed again. The time stays
    /// that of the last change: an attempt that fails makes nothing younger.
    pub fn intend_again(
        &mut self,
        actions: &[ActionId],
        state: ActionState,
    ) -> Result<(), CatalogError> {
        let transaction = self.synced_transaction()?;
        for id in actions {
            let update = "UPDATE actions SET state = ?2 WHERE id = ?1";
            sql::run(&transaction, update, params![id, state.name()])?;
        }
        Ok(transaction.commit()?)
    }

    /// Writes down what became of entries, and changes the rows of their files in
    /// the same transaction.
    pub fn settle_actions(&mut self, outcomes: &[ActionOutcome]) -> Result<(), CatalogError> {
        let transaction = self.synced_transaction()?;
        for outcome in outcomes {
            settle(&transaction, outcome)?;
        }
        Ok(transaction.commit()?)
    }

    /// Forgets entries of names that were not moved, and that another entry takes over.
    /// Their numbers are never used again.
    pub fn forget_actions(&mut self, actions: &BTreeSet<ActionId>) -> Result<(), CatalogError> {
        let transaction = self.synced_transaction()?;
        for id in actions {
            sql::run(&transaction, "DELETE FROM actions WHERE id = ?1", [id])?;
        }
        Ok(transaction.commit()?)
    }

    /// Entries of which only a look at the disk can tell what happened.
    pub fn open_actions(&self) -> Result<Vec<ActionEntry>, CatalogError> {
        let open = format!(
            "{ENTRIES} WHERE state IN ({}) ORDER BY actions.id",
            crate::catalog::store::schema::words::open_actions()
        );
        Ok(sql::all(&self.connection, &open, [], entry)?)
    }

    fn synced_transaction(&mut self) -> Result<Transaction<'_>, CatalogError> {
        self.set_durability(Durability::Full)?;
        Ok(self.connection.transaction()?)
    }
}

impl ReadOnly {
    /// All runs, the newest first.
    pub fn runs(&self) -> Result<Vec<RunHeader>, CatalogError> {
        let runs = "SELECT id, plan, action, started_at, finished_at FROM runs ORDER BY id DESC";
        Ok(sql::all(&self.connection, runs, [], |row| {
            Ok(RunHeader {
                id: row.get(0)?,
                plan: row.get(1)?,
                action: rows::word(row, 2, Action::parse)?,
                started: row.get(3)?,
                finished: row.get(4)?,
            })
        })?)
    }

    /// The entries of a run after number `after`, in order, at most `limit`.
    pub fn actions(
        &self,
        run: RunId,
        after: ActionId,
        limit: u32,
    ) -> Result<Vec<ActionEntry>, CatalogError> {
        let entries =
            format!("{ENTRIES} WHERE run = ?1 AND actions.id > ?2 ORDER BY actions.id LIMIT ?3");
        let values = params![run, after, limit];
        Ok(sql::all(&self.connection, &entries, values, entry)?)
    }

    /// How many entries of a run are in each state, and the bytes that their
    /// files occupy.
    pub fn action_counts(&self, run: RunId) -> Result<Vec<(ActionState, u64, u64)>, CatalogError> {
        let counts = format!(
            "SELECT state, count(*), {} FROM actions WHERE run = ?1 GROUP BY state ORDER BY state",
            crate::catalog::store::terms::sum_of_sizes("allocated")
        );
        Ok(sql::all(&self.connection, &counts, [run], |row| {
            let state = rows::word(row, 0, ActionState::parse)?;
            Ok((state, unsigned(row.get(1)?), unsigned(row.get(2)?)))
        })?)
    }

    /// The last run of a plan that moved a name in one of its groups to the trash, or
    /// deleted it; `None` if the name is back, or was never touched.
    pub fn done_by(
        &self,
        plan: PlanId,
        group: u64,
        path: &Path,
    ) -> Result<Option<(RunId, ActionState)>, CatalogError> {
        let done = "SELECT runs.id, actions.state
               FROM runs JOIN actions ON actions.run = runs.id
              WHERE runs.plan = ?1 AND actions.group_no = ?2 AND actions.path = ?3
                AND actions.state IN ('trashed', 'deleted', 'gone')
              ORDER BY actions.id DESC LIMIT 1";
        let values = params![plan, signed(group), path_blob(path)];
        Ok(sql::first(&self.connection, done, values, |row| {
            Ok((row.get(0)?, rows::word(row, 1, ActionState::parse)?))
        })?)
    }
}

const ENTRIES: &str = "SELECT actions.id, run, group_no, path, keeper, size, mtime_ns, ctime_ns,
        ino, allocated, digest, trash, state, reason, trashed_ctime, changed_at, runs.action
   FROM actions JOIN runs ON runs.id = actions.run";

fn entry(row: &Row<'_>) -> rusqlite::Result<ActionEntry> {
    Ok(ActionEntry {
        id: row.get(0)?,
        run: row.get(1)?,
        kind: rows::word(row, 16, Action::parse)?,
        action: NewAction {
            group: unsigned(row.get(2)?),
            path: rows::path(row, 3)?,
            keeper: rows::path(row, 4)?,
            state: rows::state(row, 5)?,
            occupied: unsigned(row.get(9)?),
            digest: digest(row, 10)?,
            trash: rows::path(row, 11)?,
        },
        progress: rows::word(row, 12, ActionState::parse)?,
        reason: row.get(13)?,
        trashed_ctime_ns: row.get(14)?,
        at: row.get(15)?,
    })
}

fn insert(
    transaction: &Transaction<'_>,
    run: RunId,
    action: &NewAction,
    state: ActionState,
    reason: &str,
) -> rusqlite::Result<ActionId> {
    let insert = "INSERT INTO actions (run, group_no, path, keeper, size, mtime_ns, ctime_ns, ino,
             allocated, digest, trash, state, reason, changed_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) RETURNING id";
    let values = params![
        run,
        signed(action.group),
        path_blob(&action.path),
        path_blob(&action.keeper),
        signed(action.state.size),
        action.state.mtime_ns,
        action.state.ctime_ns,
        action.state.ino.map(u64::cast_signed),
        signed(action.occupied),
        action.digest.as_bytes(),
        path_blob(&action.trash),
        state.name(),
        reason,
        Timestamp::now(),
    ];
    sql::value(transaction, insert, values)
}

fn settle(transaction: &Transaction<'_>, outcome: &ActionOutcome) -> rusqlite::Result<()> {
    let ActionOutcome {
        id,
        progress,
        reason,
        ctime_ns,
    } = outcome;
    let known = format!("{ENTRIES} WHERE actions.id = ?1");
    let Some(before) = sql::first(transaction, &known, [id], entry)? else {
        return Ok(());
    };
    let stays = *progress == ActionState::Trashed && before.progress != ActionState::Moving;
    let changed = if stays { before.at } else { Timestamp::now() };
    let update = "UPDATE actions SET state = ?2, reason = ?3, changed_at = ?4,
             trashed_ctime = coalesce(?5, trashed_ctime)
          WHERE id = ?1";
    let values = params![id, progress.name(), reason, changed, ctime_ns];
    sql::run(transaction, update, values)?;
    match (before.progress, progress, ctime_ns) {
        // What was in the trash before has no row: another file may have its name.
        (ActionState::Moving, ActionState::Trashed | ActionState::Deleted, _) => {
            effects::take_away(transaction, &before.action)
        }
        // Moved and put back: its content is the one that was compared.
        (ActionState::Moving, ActionState::Skipped, Some(ctime)) => {
            effects::touch(transaction, &before.action, *ctime)?;
            plan_again(transaction, &before, *ctime)
        }
        (_, ActionState::Restored, Some(ctime)) => {
            effects::bring_back(transaction, &before.action, *ctime)?;
            plan_again(transaction, &before, *ctime)
        }
        _ => Ok(()),
    }
}

/// Makes the plan of a run hold again for a file that is back: only its change
/// time is another one.
fn plan_again(
    transaction: &Transaction<'_>,
    entry: &ActionEntry,
    ctime_ns: i64,
) -> rusqlite::Result<()> {
    let update = "UPDATE plan_files SET ctime_ns = ?4
          WHERE plan = (SELECT plan FROM runs WHERE id = ?1) AND group_no = ?2 AND path = ?3";
    let group = signed(entry.action.group);
    let values = params![entry.run, group, path_blob(&entry.action.path), ctime_ns];
    sql::run(transaction, update, values).map(drop)
}
