//! What acting on a file changes in its row. The file itself was compared byte
//! for byte just before, so that what is known of its content stays known.

use std::path::Path;

use rusqlite::{Connection, params};

use crate::catalog::runs::folder_at;
use crate::catalog::store::{blob, signed, sql, unsigned};
use crate::catalog::write::{RootDelta, forget_summary, signature, unsettle};
use crate::model::{FolderId, NewAction, RootId};

/// The row of a file: its folder, the folder's root, and its name.
struct Place<'p> {
    folder: FolderId,
    root: RootId,
    name: &'p [u8],
}

impl<'p> Place<'p> {
    /// `None` where the catalog does not know the folder any more.
    fn of(connection: &Connection, path: &'p Path) -> rusqlite::Result<Option<Self>> {
        let Some((parent, name)) = path.parent().zip(path.file_name()) else {
            return Ok(None);
        };
        let Some(folder) = folder_at(connection, parent)? else {
            return Ok(None);
        };
        let root = "SELECT root FROM folders WHERE id = ?1";
        Ok(Some(Self {
            folder,
            root: sql::value(connection, root, [folder])?,
            name: blob(name),
        }))
    }

    /// Counts a file that came or went.
    fn count(&self, connection: &Connection, files: i64, size: i64) -> rusqlite::Result<()> {
        let delta = RootDelta {
            files,
            bytes: i128::from(files) * i128::from(unsigned(size)),
            ..RootDelta::default()
        };
        delta.add_to(connection, self.root)?;
        signature::forget(connection, self.folder)?;
        forget_summary(connection)
    }
}

/// Marks a file as deleted since the newest scan. A row that another file has
/// meanwhile stays: a scan may have come between a crash and this.
pub(crate) fn take_away(connection: &Connection, file: &NewAction) -> rusqlite::Result<()> {
    let Some(place) = Place::of(connection, &file.path)? else {
        return Ok(());
    };
    let mark = "UPDATE files SET removed_in = (SELECT coalesce(max(id), 0) FROM scans)
          WHERE folder = ?1 AND name = ?2 AND removed_in IS NULL
            AND size = ?3 AND mtime_ns = ?4 AND ino IS ?5 RETURNING size";
    let state = &file.state;
    let values = params![
        place.folder,
        place.name,
        signed(state.size),
        state.mtime_ns,
        state.ino.map(u64::cast_signed),
    ];
    let Some(size) = sql::first(connection, mark, values, |row| row.get(0))? else {
        return Ok(());
    };
    place.count(connection, -1, size)?;
    let clear = "DELETE FROM faults WHERE folder = ?1 AND name = ?2";
    sql::run(connection, clear, params![place.folder, place.name]).map(drop)
}

/// Gives the row of a file that was moved and put back its new change time.
pub(crate) fn touch(
    connection: &Connection,
    file: &NewAction,
    ctime_ns: i64,
) -> rusqlite::Result<()> {
    let Some(place) = Place::of(connection, &file.path)? else {
        return Ok(());
    };
    let touch = "UPDATE files SET ctime_ns = ?3
          WHERE folder = ?1 AND name = ?2 AND removed_in IS NULL
            AND size = ?4 AND mtime_ns = ?5 AND ino IS ?6 AND ctime_ns = ?7";
    let state = &file.state;
    let values = params![
        place.folder,
        place.name,
        ctime_ns,
        signed(state.size),
        state.mtime_ns,
        state.ino.map(u64::cast_signed),
        state.ctime_ns,
    ];
    match sql::run(connection, touch, values)? {
        0 => Ok(()),
        _ => signature::forget(connection, place.folder),
    }
}

/// Restores the row of a file that is back under its name, in the state that it
/// had but for its change time. A row that another file had meanwhile is left to
/// the next scan.
pub(crate) fn bring_back(
    connection: &Connection,
    file: &NewAction,
    ctime_ns: i64,
) -> rusqlite::Result<()> {
    let Some(place) = Place::of(connection, &file.path)? else {
        return Ok(());
    };
    let restore = "UPDATE files SET removed_in = NULL, ctime_ns = ?3
          WHERE folder = ?1 AND name = ?2 AND removed_in IS NOT NULL
            AND size = ?4 AND mtime_ns = ?5 AND ino IS ?6 RETURNING size";
    let state = &file.state;
    let values = params![
        place.folder,
        place.name,
        ctime_ns,
        signed(state.size),
        state.mtime_ns,
        state.ino.map(u64::cast_signed),
    ];
    match sql::first(connection, restore, values, |row| row.get(0))? {
        Some(size) => {
            // A file that nothing equalled meanwhile has a companion again.
            unsettle(connection)?;
            place.count(connection, 1, size)
        }
        None => Ok(()),
    }
}
