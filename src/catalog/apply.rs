//! The statements that turn records into rows, inside the writer's
//! transaction.

use std::collections::HashMap;

use rusqlite::{Connection, Transaction, params};

use super::HUGE;
use super::records::{FaultRecord, FileChange, FileOutcome, FileResult, FolderListing, Record};
use super::rows::{blob, signed, unsigned};
use super::scans::ScanCounters;
use super::{hash_states, summary};
use crate::model::{FolderId, RootId, ScanId, Timestamp};

/// Sums that would cost one row update per record; written once per
/// transaction instead.
#[derive(Debug, Default)]
pub(super) struct Sums {
    scans: HashMap<ScanId, ScanCounters>,
    roots: HashMap<RootId, RootDelta>,
    unsettled: bool,
    has_regrouped: bool,
}

/// How the live contents of a root moved.
#[derive(Debug, Default, Clone, Copy)]
struct RootDelta {
    folders: i64,
    files: i64,
    bytes: i64,
}

impl Sums {
    fn scan(&mut self, scan: ScanId) -> &mut ScanCounters {
        self.scans.entry(scan).or_default()
    }

    fn root(&mut self, root: RootId) -> &mut RootDelta {
        self.roots.entry(root).or_default()
    }

    /// Writes the sums and starts again at zero.
    pub(super) fn write(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        for (scan, counters) in self.scans.drain() {
            counters.add_to(connection, scan)?;
        }
        for (root, delta) in self.roots.drain() {
            connection
                .prepare_cached(
                    "UPDATE roots SET folders = folders + ?2, files = files + ?3, bytes = bytes + ?4
                     WHERE id = ?1",
                )?
                .execute(params![root.0, delta.folders, delta.files, delta.bytes])?;
        }
        if std::mem::take(&mut self.has_regrouped) {
            summary::forget(connection)?;
        }
        if std::mem::take(&mut self.unsettled) {
            connection.execute("UPDATE catalog SET unsettled = 1 WHERE unsettled = 0", [])?;
        }
        Ok(())
    }
}

/// Applies one record.
pub(super) fn apply(
    transaction: &Transaction<'_>,
    record: &Record,
    sums: &mut Sums,
) -> rusqlite::Result<()> {
    match record {
        Record::Listed(listing) => apply_listing(transaction, listing, sums),
        Record::Visited { folder, scan } => visit(transaction, *folder, *scan),
        Record::Files {
            scan,
            bytes_read,
            results,
        } => {
            sums.scan(*scan).bytes_read += bytes_read;
            results
                .iter()
                .try_for_each(|result| apply_result(transaction, *scan, result, sums))
        }
        Record::Fault(fault) => apply_fault(transaction, fault, sums),
    }
}

fn visit(connection: &Connection, folder: FolderId, scan: ScanId) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE folders SET visited_in = ?2 WHERE id = ?1")?
        .execute(params![folder.0, scan.0])?;
    Ok(())
}

fn apply_listing(
    transaction: &Transaction<'_>,
    listing: &FolderListing,
    sums: &mut Sums,
) -> rusqlite::Result<()> {
    mark_listed(transaction, listing)?;
    for change in &listing.files {
        upsert_file(transaction, listing, change)?;
        let delta = sums.root(listing.root);
        delta.bytes += signed(change.meta.size) - signed(change.replaces.unwrap_or(0));
        delta.files += i64::from(change.replaces.is_none());
        sums.unsettled |= change.meta.size > 0;
        // A file that became empty leaves its group and unsettles nothing.
        sums.has_regrouped |= change.replaces.is_some();
    }
    for name in &listing.vanished {
        let gone = remove_file(transaction, listing.scan, listing.folder, blob(name))?;
        count_removed(sums, listing.scan, listing.root, gone);
    }
    insert_folders(transaction, listing, sums)?;
    for folder in &listing.vanished_folders {
        remove_subtree(transaction, listing, *folder, sums)?;
    }
    clear_listing_faults(transaction, listing.folder)?;
    let counters = sums.scan(listing.scan);
    counters.folders += u64::from(!listing.is_repeat);
    counters.add_listing(&listing.counts);
    Ok(())
}

fn mark_listed(connection: &Connection, listing: &FolderListing) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE folders SET volume = ?2, mount_point = ?3, visited_in = ?4, listed_in = ?4,
                    mtime_ns = ?5, ctime_ns = ?6
             WHERE id = ?1",
        )?
        .execute(params![
            listing.folder.0,
            listing.volume.0,
            listing.mount_point,
            listing.scan.0,
            listing.times.map(|times| times.0),
            listing.times.map(|times| times.1),
        ])?;
    Ok(())
}

fn upsert_file(
    connection: &Connection,
    listing: &FolderListing,
    change: &FileChange,
) -> rusqlite::Result<()> {
    let sql = if change.keeps_digest {
        "INSERT INTO files (folder, name, size, allocated, mtime_ns, ctime_ns, ino, nlink, first_scan)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT (folder, name) DO UPDATE SET
             size = excluded.size, allocated = excluded.allocated,
             mtime_ns = excluded.mtime_ns, ctime_ns = excluded.ctime_ns,
             ino = excluded.ino, nlink = excluded.nlink, removed_in = NULL,
             -- Others may have joined its class while it was away.
             settled_in = CASE WHEN files.removed_in IS NULL THEN files.settled_in END"
    } else {
        "INSERT INTO files (folder, name, size, allocated, mtime_ns, ctime_ns, ino, nlink, first_scan)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT (folder, name) DO UPDATE SET
             size = excluded.size, allocated = excluded.allocated,
             mtime_ns = excluded.mtime_ns, ctime_ns = excluded.ctime_ns,
             ino = excluded.ino, nlink = excluded.nlink, removed_in = NULL,
             probe = NULL, digest = NULL, compared = NULL, settled_in = NULL,
             hashed_in = NULL, racy = 0"
    };
    let meta = &change.meta;
    connection.prepare_cached(sql)?.execute(params![
        listing.folder.0,
        blob(&change.name),
        signed(meta.size),
        signed(meta.allocated),
        meta.mtime_ns,
        meta.ctime_ns,
        change.ino.map(u64::cast_signed),
        signed(meta.nlink),
        listing.scan.0,
    ])?;
    Ok(())
}

/// Flags a live file removed; returns the size it had.
fn remove_file(
    connection: &Connection,
    scan: ScanId,
    folder: FolderId,
    name: &[u8],
) -> rusqlite::Result<Option<u64>> {
    clear_fault(connection, folder, name)?;
    let mut statement = connection.prepare_cached(
        "UPDATE files SET removed_in = ?3
         WHERE folder = ?1 AND name = ?2 AND removed_in IS NULL RETURNING size",
    )?;
    let mut rows = statement.query(params![folder.0, name, scan.0])?;
    match rows.next()? {
        Some(row) => row.get(0).map(|size| Some(unsigned(size))),
        None => Ok(None),
    }
}

fn count_removed(sums: &mut Sums, scan: ScanId, root: RootId, gone: Option<u64>) {
    if let Some(size) = gone {
        sums.has_regrouped = true;
        sums.scan(scan).removed += 1;
        let delta = sums.root(root);
        delta.files -= 1;
        delta.bytes -= signed(size);
    }
}

fn insert_folders(
    connection: &Connection,
    listing: &FolderListing,
    sums: &mut Sums,
) -> rusqlite::Result<()> {
    for folder in &listing.new_folders {
        connection
            .prepare_cached(
                "INSERT INTO folders (id, root, parent, name, first_scan)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![
                folder.id.0,
                listing.root.0,
                listing.folder.0,
                blob(&folder.name),
                listing.scan.0
            ])?;
        sums.root(listing.root).folders += 1;
    }
    for folder in &listing.returned_folders {
        let back = connection
            .prepare_cached(
                "UPDATE folders SET removed_in = NULL, visited_in = NULL, listed_in = NULL
                  WHERE id = ?1 AND removed_in IS NOT NULL",
            )?
            .execute([folder.0])?;
        sums.root(listing.root).folders += i64::try_from(back).unwrap_or(0);
    }
    Ok(())
}

/// Flags a vanished folder and everything below it.
fn remove_subtree(
    connection: &Connection,
    listing: &FolderListing,
    top: FolderId,
    sums: &mut Sums,
) -> rusqlite::Result<()> {
    let below = subtree(connection, top)?;
    for folder in below {
        let (files, bytes): (i64, i64) = connection
            .prepare_cached(
                "SELECT count(*), coalesce(sum(size), 0) FROM files
                 WHERE folder = ?1 AND removed_in IS NULL",
            )?
            .query_row([folder.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
        connection
            .prepare_cached(
                "UPDATE files SET removed_in = ?2 WHERE folder = ?1 AND removed_in IS NULL",
            )?
            .execute(params![folder.0, listing.scan.0])?;
        let flagged = connection
            .prepare_cached(
                "UPDATE folders SET removed_in = ?2 WHERE id = ?1 AND removed_in IS NULL",
            )?
            .execute(params![folder.0, listing.scan.0])?;
        connection
            .prepare_cached("DELETE FROM faults WHERE folder = ?1")?
            .execute([folder.0])?;
        let delta = sums.root(listing.root);
        delta.files -= files;
        delta.bytes -= bytes;
        delta.folders -= i64::try_from(flagged).unwrap_or(0);
        sums.has_regrouped |= files > 0;
        sums.scan(listing.scan).removed += unsigned(files);
    }
    Ok(())
}

/// A folder and all folders below it, flagged ones included.
pub(super) fn subtree(connection: &Connection, top: FolderId) -> rusqlite::Result<Vec<FolderId>> {
    connection
        .prepare_cached(
            "WITH RECURSIVE below (id) AS (
                 VALUES (?1)
                 UNION ALL
                 SELECT folders.id FROM below JOIN folders ON folders.parent = below.id
             )
             SELECT id FROM below",
        )?
        .query_map([top.0], |row| row.get(0).map(FolderId))?
        .collect()
}

fn apply_result(
    transaction: &Transaction<'_>,
    scan: ScanId,
    result: &FileResult,
    sums: &mut Sums,
) -> rusqlite::Result<()> {
    for (folder, name) in &result.names {
        let name = blob(name);
        match &result.outcome {
            FileOutcome::Vanished => {
                if let Some(root) = root_of(transaction, *folder)? {
                    let gone = remove_file(transaction, scan, *folder, name)?;
                    count_removed(sums, scan, root, gone);
                }
            }
            FileOutcome::Partly(partly) => {
                hash_states::save(transaction, *folder, name, &result.state, partly)?;
            }
            FileOutcome::Changed(_) => change_file(transaction, *folder, name, result, sums)?,
            learned => store(transaction, scan, *folder, name, result, learned)?,
        }
    }
    match &result.outcome {
        FileOutcome::Probed { .. } => sums.scan(scan).probed += 1,
        FileOutcome::Digested { .. } | FileOutcome::Settled { .. } => sums.scan(scan).hashed += 1,
        FileOutcome::Partly(_) | FileOutcome::Changed(_) | FileOutcome::Vanished => {}
    }
    Ok(())
}

/// Stores what was learned on a row that is still in the state it was
/// learned from: a compare-and-set.
fn store(
    connection: &Connection,
    scan: ScanId,
    folder: FolderId,
    name: &[u8],
    result: &FileResult,
    learned: &FileOutcome,
) -> rusqlite::Result<()> {
    let state = &result.state;
    let (size, mtime, ctime) = (signed(state.size), state.mtime_ns, state.ctime_ns);
    let ino = state.ino.map(u64::cast_signed);
    match learned {
        FileOutcome::Probed { probe, racy } => connection
            .prepare_cached(
                "UPDATE files SET probe = ?7, racy = racy | ?8
                 WHERE folder = ?1 AND name = ?2 AND size = ?3 AND mtime_ns = ?4
                   AND ctime_ns = ?5 AND ino IS ?6",
            )?
            .execute(params![
                folder.0, name, size, mtime, ctime, ino, probe.0, racy
            ])?,
        FileOutcome::Digested {
            digest,
            compared,
            racy,
        } => connection
            .prepare_cached(
                "UPDATE files SET digest = ?7, compared = ?8, racy = racy | ?9, hashed_in = ?10,
                        settled_in = NULL
                 WHERE folder = ?1 AND name = ?2 AND size = ?3 AND mtime_ns = ?4
                   AND ctime_ns = ?5 AND ino IS ?6",
            )?
            .execute(params![
                folder.0,
                name,
                size,
                mtime,
                ctime,
                ino,
                digest.as_bytes(),
                compared,
                racy,
                scan.0
            ])?,
        FileOutcome::Settled { racy } => connection
            .prepare_cached(
                "UPDATE files SET settled_in = ?7, racy = racy | ?8
                 WHERE folder = ?1 AND name = ?2 AND size = ?3 AND mtime_ns = ?4
                   AND ctime_ns = ?5 AND ino IS ?6",
            )?
            .execute(params![
                folder.0, name, size, mtime, ctime, ino, scan.0, racy
            ])?,
        FileOutcome::Partly(_) | FileOutcome::Changed(_) | FileOutcome::Vanished => 0,
    };
    if state.size >= HUGE {
        hash_states::forget(connection, folder, name)?;
    }
    clear_fault(connection, folder, name)
}

/// Replaces the metadata of a row that is still in the state the reader
/// expected, and forgets what belonged to that state.
fn change_file(
    connection: &Connection,
    folder: FolderId,
    name: &[u8],
    result: &FileResult,
    sums: &mut Sums,
) -> rusqlite::Result<()> {
    let FileOutcome::Changed(meta) = &result.outcome else {
        return Ok(());
    };
    let state = &result.state;
    let changed = connection
        .prepare_cached(
            "UPDATE files SET size = ?7, allocated = ?8, mtime_ns = ?9, ctime_ns = ?10,
                    ino = CASE WHEN ino IS NULL THEN NULL ELSE ?11 END, nlink = ?12,
                    probe = NULL, digest = NULL, compared = NULL, settled_in = NULL,
                    hashed_in = NULL, racy = 0
             WHERE folder = ?1 AND name = ?2 AND size = ?3 AND mtime_ns = ?4
               AND ctime_ns = ?5 AND ino IS ?6 AND removed_in IS NULL",
        )?
        .execute(params![
            folder.0,
            name,
            signed(state.size),
            state.mtime_ns,
            state.ctime_ns,
            state.ino.map(u64::cast_signed),
            signed(meta.size),
            signed(meta.allocated),
            meta.mtime_ns,
            meta.ctime_ns,
            meta.ino.cast_signed(),
            signed(meta.nlink),
        ])?;
    if changed > 0 {
        sums.unsettled = true;
        if let Some(root) = root_of(connection, folder)? {
            sums.root(root).bytes += signed(meta.size) - signed(state.size);
        }
    }
    Ok(())
}

fn root_of(connection: &Connection, folder: FolderId) -> rusqlite::Result<Option<RootId>> {
    let mut statement = connection.prepare_cached("SELECT root FROM folders WHERE id = ?1")?;
    let mut rows = statement.query([folder.0])?;
    match rows.next()? {
        Some(row) => row.get(0).map(|id| Some(RootId(id))),
        None => Ok(None),
    }
}

fn apply_fault(
    connection: &Connection,
    record: &FaultRecord,
    sums: &mut Sums,
) -> rusqlite::Result<()> {
    let fault = &record.fault;
    connection
        .prepare_cached(
            "INSERT INTO faults (root, folder, name, scan, step, class, errno, attempts,
                                 first_at, last_at, message, hint)
             VALUES ((SELECT root FROM folders WHERE id = ?1), ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9,
                     ?10, ?11)
             ON CONFLICT (folder, name) DO UPDATE SET
                 scan = excluded.scan, step = excluded.step, class = excluded.class,
                 errno = excluded.errno, attempts = faults.attempts + excluded.attempts,
                 last_at = excluded.last_at, message = excluded.message, hint = excluded.hint",
        )?
        .execute(params![
            record.folder.0,
            blob(&record.name),
            record.scan.0,
            fault.step.name(),
            fault.class.name(),
            fault.errno,
            record.attempts,
            record.first_at.0,
            Timestamp::now().0,
            fault.message,
            fault.hint(),
        ])?;
    if record.name.is_empty() {
        visit(connection, record.folder, record.scan)?;
    }
    sums.scan(record.scan).faults += 1;
    Ok(())
}

/// A complete listing heals the folder's own fault and those of entries that
/// could not be examined; entries that still cannot follow as new records.
fn clear_listing_faults(connection: &Connection, folder: FolderId) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM faults WHERE folder = ?1 AND (name = x'' OR step = 'stat')")?
        .execute([folder.0])?;
    Ok(())
}

fn clear_fault(connection: &Connection, folder: FolderId, name: &[u8]) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM faults WHERE folder = ?1 AND name = ?2")?
        .execute(params![folder.0, name])?;
    Ok(())
}
