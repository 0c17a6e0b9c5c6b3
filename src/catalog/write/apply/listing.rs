//! Rows of a folder that was listed: its files, its subfolders and itself.

use rusqlite::{Connection, params};

use super::statements::Statements;
use super::{Applier, subtree};
use crate::catalog::store::{blob, sql, terms, unsigned};
use crate::catalog::write::records::{FileChange, FolderListing, PartListing, SampleHash};
use crate::catalog::write::signature::Signature;
use crate::model::FolderId;

/// Stores that a file which a scan found again was gone, before its row is
/// changed: that row will only say that the file exists.
const NOTE_ABSENCE: &str = "
    INSERT OR IGNORE INTO absences (folder, name, removed_in, returned_in)
    SELECT folder, name, removed_in, ?3 FROM files
     WHERE folder = ?1 AND name = ?2 AND removed_in < ?3";

/// Forgets what the catalog holds of the files of a folder outside their rows.
fn forget_beside_rows(connection: &Connection, folder: FolderId) -> rusqlite::Result<()> {
    for table in ["hash_states", "audits", "corrupted"] {
        let forget = format!("DELETE FROM {table} WHERE folder = ?1");
        sql::run(connection, &forget, [folder])?;
    }
    Ok(())
}

impl Applier<'_> {
    pub(crate) fn apply_listing(&mut self, listing: &FolderListing) -> rusqlite::Result<()> {
        let PartListing { scan, folder, .. } = listing.files;
        self.mark_listed(listing)?;
        if listing.is_elsewhere {
            forget_beside_rows(self.transaction, folder)?;
        }
        self.apply_part(&listing.files)?;
        self.insert_folders(listing)?;
        for gone in &listing.vanished_folders {
            self.remove_subtree(&listing.files, *gone)?;
        }
        self.clear_listing_faults(folder)?;
        let counters = self.sums.scan(scan);
        counters.folders += u64::from(!listing.is_repeat);
        counters.add(&listing.counts);
        Ok(())
    }

    pub(crate) fn apply_part(&mut self, part: &PartListing) -> rusqlite::Result<()> {
        for change in &part.changes {
            self.upsert_file(part, change)?;
            self.sum_up(part, change);
        }
        for name in &part.vanished {
            let gone = self.remove_file(part.scan, part.folder, blob(name))?;
            self.sums.count_removed(part.scan, part.root, gone);
        }
        self.sums.scan(part.scan).bytes_read += part.bytes_read;
        Ok(())
    }

    fn mark_listed(&self, listing: &FolderListing) -> rusqlite::Result<()> {
        let mark = "UPDATE folders SET volume = ?2, mount_point = ?3, visited_in = ?4,
                    listed_in = ?4, mtime_ns = ?5, ctime_ns = ?6, signature = ?7, linked = ?8
              WHERE id = ?1";
        let (mtime, ctime) = listing.times.unzip();
        let values = params![
            listing.files.folder,
            listing.volume,
            listing.mount_point,
            listing.files.scan,
            mtime,
            ctime,
            listing.signature.as_ref().map(Signature::as_bytes),
            listing.is_linked,
        ];
        sql::run(self.transaction, mark, values).map(drop)
    }

    fn upsert_file(&mut self, part: &PartListing, change: &FileChange) -> rusqlite::Result<()> {
        let standing = part.sizes.standing(change.meta.size) as i64;
        let name = blob(&change.name);
        let file = params![part.folder, name, part.scan, change.is_link, standing];
        let metadata = terms::metadata_values(&change.meta, change.ino);
        let metadata = sql::values(&metadata);
        let Statements {
            update_file,
            insert_file,
            ..
        } = &mut self.statements;
        if change.returns {
            sql::run(self.transaction, NOTE_ABSENCE, &file[..3])?;
        }
        if change.keeps_digest {
            return sql::execute(update_file, &[file, &metadata]).map(drop);
        }
        let (probe, digest) = match change.sample.map(|sample| sample.hash) {
            None => (None, None),
            Some(SampleHash::Probe(probe)) => (Some(probe), None),
            Some(SampleHash::Digest(digest)) => (None, Some(digest)),
        };
        let digest = digest.as_ref().map(|digest| digest.as_bytes());
        let racy = change.sample.is_some_and(|sample| sample.racy);
        let learned = params![probe, digest, digest.map(|_| part.scan), racy];
        sql::execute(insert_file, &[file, &metadata, learned]).map(drop)
    }

    fn sum_up(&mut self, part: &PartListing, change: &FileChange) {
        let delta = self.sums.root(part.root);
        delta.bytes += i128::from(change.meta.size) - i128::from(change.replaces.unwrap_or(0));
        delta.files += i64::from(change.replaces.is_none());
        self.sums.unsettled |= change.meta.size > 0;
        // A file that became empty leaves its group, but unsettles nothing.
        self.sums.has_regrouped |= change.replaces.is_some();
        match change.sample.map(|sample| sample.hash) {
            None => {}
            Some(SampleHash::Probe(_)) => self.sums.scan(part.scan).probed += 1,
            Some(SampleHash::Digest(_)) => self.sums.scan(part.scan).hashed += 1,
        }
    }

    fn insert_folders(&mut self, listing: &FolderListing) -> rusqlite::Result<()> {
        let PartListing {
            root, folder, scan, ..
        } = listing.files;
        let insert = "INSERT INTO folders (id, root, parent, name, first_scan)
             VALUES (?1, ?2, ?3, ?4, ?5)";
        let restore = "UPDATE folders SET removed_in = NULL, visited_in = NULL, listed_in = NULL
              WHERE id = ?1 AND removed_in IS NOT NULL";
        let mut added = 0;
        for new in &listing.new_folders {
            let values = params![new.id, root, folder, blob(&new.name), scan];
            added += sql::run(self.transaction, insert, values)?;
        }
        for returned in &listing.returned_folders {
            added += sql::run(self.transaction, restore, [returned])?;
        }
        self.sums.root(root).folders += i64::try_from(added).unwrap_or(0);
        Ok(())
    }

    /// Marks a vanished folder and everything below it as deleted.
    fn remove_subtree(&mut self, part: &PartListing, top: FolderId) -> rusqlite::Result<()> {
        for folder in subtree(self.transaction, top)? {
            let values = params![folder, part.scan];
            let mark_files =
                "UPDATE files SET removed_in = ?2 WHERE folder = ?1 AND removed_in IS NULL
                 RETURNING size";
            let sizes: Vec<i64> = sql::all(self.transaction, mark_files, values, |row| row.get(0))?;
            let mark_folder = "UPDATE folders SET removed_in = ?2, signature = NULL
                  WHERE id = ?1 AND removed_in IS NULL";
            let marked = sql::run(self.transaction, mark_folder, values)?;
            let clear = "DELETE FROM faults WHERE folder = ?1";
            sql::run(self.transaction, clear, [folder])?;
            for size in sizes {
                let gone = Some(unsigned(size));
                self.sums.count_removed(part.scan, part.root, gone);
            }
            self.sums.root(part.root).folders -= i64::try_from(marked).unwrap_or(0);
        }
        Ok(())
    }

    /// A complete listing clears the fault of the folder itself and those of
    /// entries that were not examined. Entries that still cannot be follow as
    /// new records.
    fn clear_listing_faults(&self, folder: FolderId) -> rusqlite::Result<()> {
        if self.has_faults {
            let clear = "DELETE FROM faults WHERE folder = ?1 AND (name = x'' OR step = 'stat')";
            sql::run(self.transaction, clear, [folder])?;
        }
        Ok(())
    }
}
