//! Volumes: which filesystem roots and folders are on, and whether what was
//! learned there still holds.

use std::path::PathBuf;

use rusqlite::{Connection, Row, Transaction, params};

use crate::catalog::store::terms::{self, UNREAD};
use crate::catalog::store::{CatalogError, Exclusive, FolderPaths, ReadOnly, sql};
use crate::catalog::write::{WriterHandle, forget_summary, unsettle};
use crate::model::{FolderId, FolderIdentity, RootId, Timestamp, VolumeId};

/// A filesystem, as the platform layer identified it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeRow {
    /// Stable name, for instance `uuid:…`.
    pub identity: String,
    /// Type of the filesystem.
    pub fstype: String,
    /// Whether inode numbers identify files on it.
    pub stable_inodes: bool,
    /// The disk or partition it was last seen on, where the system told.
    pub disk: Option<String>,
}

impl VolumeRow {
    /// Whether what was learned of files on this volume holds for files in the
    /// same state on the volume that is in its place now. Identities without a
    /// UUID change with every boot, which proves nothing; that of an image must be
    /// the same, since the states of its files prove nothing.
    pub fn holds_on(&self, now: &Self) -> bool {
        let is_image = self.is_image() || now.is_image();
        let may_be = !is_image && self.fstype == now.fstype && !self.has_other_uuid(now);
        self.identity == now.identity || may_be
    }

    /// Whether both have a UUID, and not the same one.
    pub fn has_other_uuid(&self, now: &Self) -> bool {
        let uuids = self.uuid().zip(now.uuid());
        uuids.is_some_and(|(before, now)| before != now)
    }

    /// Whether it is an image, which is known only while it stays mounted.
    pub fn is_image(&self) -> bool {
        self.identity.contains(MOUNT)
    }

    fn uuid(&self) -> Option<&str> {
        let uuid = self.identity.strip_prefix("uuid:")?;
        uuid.split(MOUNT).next()
    }
}

/// What comes before the mount in the identity of an image.
const MOUNT: &str = "/mount:";

/// A folder that is on another volume than the folder above it, or above which
/// there is none.
#[derive(Debug)]
pub struct VolumeTop {
    /// Its root.
    pub root: RootId,
    /// Its path below the root.
    pub below: PathBuf,
    /// The volume it was on when it was listed.
    pub volume: VolumeRow,
}

/// The columns from `first` on as a volume.
pub(crate) fn volume_row(row: &Row<'_>, first: usize) -> rusqlite::Result<VolumeRow> {
    Ok(VolumeRow {
        identity: row.get(first)?,
        fstype: row.get(first + 1)?,
        stable_inodes: row.get(first + 2)?,
        disk: row.get(first + 3)?,
    })
}

impl ReadOnly {
    /// The volumes of roots and folders, and when each was last seen.
    pub fn volumes(&self) -> Result<Vec<(VolumeRow, Timestamp)>, CatalogError> {
        let volumes = "SELECT identity, fstype, stable_inodes, disk, last_seen FROM volumes
              WHERE id IN (SELECT volume FROM roots UNION SELECT volume FROM folders)
              ORDER BY identity";
        Ok(sql::all(&self.connection, volumes, [], |row| {
            Ok((volume_row(row, 0)?, row.get(4)?))
        })?)
    }

    /// The volume with this number.
    pub fn volume(&self, volume: VolumeId) -> Result<VolumeRow, CatalogError> {
        Ok(volume_numbered(&self.connection, volume)?)
    }

    /// The topmost live folders of every volume, in each root.
    pub fn volume_tops(&self) -> Result<Vec<VolumeTop>, CatalogError> {
        let tops = "SELECT folders.id, identity, fstype, stable_inodes, disk
               FROM folders JOIN volumes ON volumes.id = folders.volume
               LEFT JOIN folders AS parents ON parents.id = folders.parent
              WHERE parents.volume IS NOT folders.volume AND folders.removed_in IS NULL";
        let tops: Vec<(FolderId, VolumeRow)> = sql::all(&self.connection, tops, [], |row| {
            Ok((row.get(0)?, volume_row(row, 1)?))
        })?;
        let mut paths = FolderPaths::default();
        let top = |(folder, volume)| {
            let (root, below) = paths.get(self, folder)?;
            let below = below.to_path_buf();
            Ok(VolumeTop {
                root,
                below,
                volume,
            })
        };
        tops.into_iter().map(top).collect()
    }
}

impl Exclusive {
    /// Registers a volume, or refreshes when it was last seen.
    pub fn register_volume(&self, volume: &VolumeRow) -> Result<VolumeId, CatalogError> {
        Ok(upsert_volume(&self.connection, volume)?)
    }

    /// Stores the volume that a root is on now. Identities without a UUID change
    /// with every boot; all folders of the root follow, or two names of one file,
    /// seen in different boots, would count as two copies. What does not hold on
    /// the new volume is forgotten. `folder` is which folder it is.
    pub fn rehome(
        &mut self,
        root: RootId,
        volume: VolumeId,
        folder: Option<FolderIdentity>,
    ) -> Result<(), CatalogError> {
        let transaction = self.connection.transaction()?;
        let old = "SELECT volume FROM roots WHERE id = ?1";
        let old: VolumeId = sql::value(&transaction, old, [root])?;
        let before = volume_numbered(&transaction, old)?;
        if !before.holds_on(&volume_numbered(&transaction, volume)?) {
            forget_on(&transaction, root, old)?;
        }
        for statement in [
            "UPDATE folders SET volume = ?2
              WHERE root = ?1 AND volume = (SELECT volume FROM roots WHERE id = ?1)
                AND volume <> ?2",
            "UPDATE roots SET volume = ?2 WHERE id = ?1 AND volume <> ?2",
        ] {
            transaction.execute(statement, params![root, volume])?;
        }
        let (ino, born) = FolderIdentity::columns(folder);
        transaction.execute(
            "UPDATE roots SET ino = ?2, born_ns = ?3
              WHERE id = ?1 AND (ino IS NOT ?2 OR born_ns IS NOT ?3)",
            params![root, ino, born],
        )?;
        transaction.commit()?;
        Ok(())
    }
}

impl WriterHandle {
    /// Registers a volume met during a scan.
    pub fn register_volume(&self, volume: VolumeRow) -> Result<VolumeId, CatalogError> {
        self.run(move |transaction| Ok(upsert_volume(transaction, &volume)?))
    }
}

fn volume_numbered(connection: &Connection, volume: VolumeId) -> rusqlite::Result<VolumeRow> {
    let find = "SELECT identity, fstype, stable_inodes, disk FROM volumes WHERE id = ?1";
    connection.query_row(find, [volume], |row| volume_row(row, 0))
}

/// Inserts a volume or refreshes the moment it was last seen.
fn upsert_volume(connection: &Connection, volume: &VolumeRow) -> rusqlite::Result<VolumeId> {
    let upsert = "INSERT INTO volumes (identity, fstype, stable_inodes, last_seen, disk)
         VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (identity) DO UPDATE SET
             fstype = excluded.fstype, stable_inodes = excluded.stable_inodes,
             last_seen = excluded.last_seen, disk = coalesce(excluded.disk, disk)
         RETURNING id";
    let (identity, fstype) = (&volume.identity, &volume.fstype);
    let (stable, disk) = (volume.stable_inodes, &volume.disk);
    let values = params![identity, fstype, stable, Timestamp::now(), disk];
    sql::value(connection, upsert, values)
}

/// Forgets what was learned of the files of a root that are on this volume. They
/// count as too young to trust, so that the next listing takes none for unchanged.
fn forget_on(
    transaction: &Transaction<'_>,
    root: RootId,
    volume: VolumeId,
) -> rusqlite::Result<()> {
    let folders = "(SELECT id FROM folders WHERE root = ?1 AND volume = ?2)";
    let forget = terms::forget_content();
    for statement in [
        format!("UPDATE files SET {forget} WHERE NOT {UNREAD} AND folder IN {folders}"),
        format!("UPDATE files SET racy = 1 WHERE folder IN {folders}"),
        format!("UPDATE folders SET signature = NULL WHERE id IN {folders}"),
        format!("DELETE FROM hash_states WHERE folder IN {folders}"),
        format!("DELETE FROM audits WHERE folder IN {folders}"),
        format!("DELETE FROM corrupted WHERE folder IN {folders}"),
    ] {
        transaction.execute(&statement, params![root, volume])?;
    }
    forget_summary(transaction)?;
    unsettle(transaction)
}
