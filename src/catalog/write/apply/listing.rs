//! Rows of a folder that was listed: its files, its subfolders and itself.

use rusqlite::params;

use super::{Applier, absences, subtree};
use crate::catalog::store::{blob, signed, unsigned};
use crate::catalog::write::records::{FileChange, FolderListing, PartListing, Sample, SampleHash};
use crate::catalog::write::signature::Signature;
use crate::model::FolderId;

impl Applier<'_> {
    pub(crate) fn apply_listing(&mut self, listing: &FolderListing) -> rusqlite::Result<()> {
        let PartListing { scan, folder, .. } = listing.files;
        self.mark_listed(listing)?;
        self.apply_part(&listing.files)?;
        self.insert_folders(listing)?;
        for gone in &listing.vanished_folders {
            self.remove_subtree(&listing.files, *gone)?;
        }
        self.clear_listing_faults(folder)?;
        let counters = self.sums.scan(scan);
        counters.folders += u64::from(!listing.is_repeat);
        counters.add_listing(&listing.counts);
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
        self.transaction
            .prepare_cached(
                "UPDATE folders SET volume = ?2, mount_point = ?3, visited_in = ?4, listed_in = ?4,
                        mtime_ns = ?5, ctime_ns = ?6, signature = ?7
                 WHERE id = ?1",
            )?
            .execute(params![
                listing.files.folder.0,
                listing.volume.0,
                listing.mount_point,
                listing.files.scan.0,
                listing.times.map(|times| times.0),
                listing.times.map(|times| times.1),
                listing.signature.as_ref().map(Signature::as_bytes),
            ])?;
        Ok(())
    }

    fn upsert_file(&mut self, part: &PartListing, change: &FileChange) -> rusqlite::Result<()> {
        let meta = &change.meta;
        let (folder, name) = (part.folder.0, blob(&change.name));
        let (size, allocated) = (signed(meta.size), signed(meta.allocated));
        let (mtime, ctime) = (meta.mtime_ns, meta.ctime_ns);
        let ino = change.ino.map(u64::cast_signed);
        let (nlink, scan) = (signed(meta.nlink), part.scan.0);
        if change.returns {
            absences::note(self.transaction, part.folder, name, part.scan)?;
        }
        if change.keeps_digest {
            self.statements.update_file.execute(params![
                folder, name, size, allocated, mtime, ctime, ino, nlink, scan
            ])?;
            return Ok(());
        }
        let (probe, digest) = match change.sample.map(|sample| sample.hash) {
            None => (None, None),
            Some(SampleHash::Probe(probe)) => (Some(probe.0), None),
            Some(SampleHash::Digest(digest)) => (None, Some(digest)),
        };
        let digest = digest.as_ref().map(|digest| digest.as_bytes());
        let racy = change.sample.is_some_and(|sample| sample.racy);
        self.statements.insert_file.execute(params![
            folder,
            name,
            size,
            allocated,
            mtime,
            ctime,
            ino,
            nlink,
            scan,
            probe,
            digest,
            digest.map(|_| scan),
            racy
        ])?;
        Ok(())
    }

    fn sum_up(&mut self, part: &PartListing, change: &FileChange) {
        let delta = self.sums.root(part.root);
        delta.bytes += signed(change.meta.size) - signed(change.replaces.unwrap_or(0));
        delta.files += i64::from(change.replaces.is_none());
        self.sums.unsettled |= change.meta.size > 0;
        // A file that became empty leaves its group, but unsettles nothing.
        self.sums.has_regrouped |= change.replaces.is_some();
        match change.sample {
            None => {}
            Some(Sample {
                hash: SampleHash::Probe(_),
                ..
            }) => self.sums.scan(part.scan).probed += 1,
            Some(Sample {
                hash: SampleHash::Digest(_),
                ..
            }) => self.sums.scan(part.scan).hashed += 1,
        }
    }

    fn insert_folders(&mut self, listing: &FolderListing) -> rusqlite::Result<()> {
        if listing.new_folders.is_empty() && listing.returned_folders.is_empty() {
            return Ok(());
        }
        let mut insert = self.transaction.prepare_cached(
            "INSERT INTO folders (id, root, parent, name, first_scan)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        for folder in &listing.new_folders {
            insert.execute(params![
                folder.id.0,
                listing.files.root.0,
                listing.files.folder.0,
                blob(&folder.name),
                listing.files.scan.0
            ])?;
            self.sums.root(listing.files.root).folders += 1;
        }
        for folder in &listing.returned_folders {
            let back = self
                .transaction
                .prepare_cached(
                    "UPDATE folders SET removed_in = NULL, visited_in = NULL, listed_in = NULL
                      WHERE id = ?1 AND removed_in IS NOT NULL",
                )?
                .execute([folder.0])?;
            self.sums.root(listing.files.root).folders += i64::try_from(back).unwrap_or(0);
        }
        Ok(())
    }

    /// Marks a vanished folder and everything below it as deleted.
    fn remove_subtree(&mut self, part: &PartListing, top: FolderId) -> rusqlite::Result<()> {
        for folder in subtree(self.transaction, top)? {
            let (files, bytes): (i64, i64) = self
                .transaction
                .prepare_cached(
                    "SELECT count(*), coalesce(sum(size), 0) FROM files
                     WHERE folder = ?1 AND removed_in IS NULL",
                )?
                .query_row([folder.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
            self.transaction
                .prepare_cached(
                    "UPDATE files SET removed_in = ?2 WHERE folder = ?1 AND removed_in IS NULL",
                )?
                .execute(params![folder.0, part.scan.0])?;
            let marked = self
                .transaction
                .prepare_cached(
                    "UPDATE folders SET removed_in = ?2, signature = NULL
                      WHERE id = ?1 AND removed_in IS NULL",
                )?
                .execute(params![folder.0, part.scan.0])?;
            self.transaction
                .prepare_cached("DELETE FROM faults WHERE folder = ?1")?
                .execute([folder.0])?;
            let delta = self.sums.root(part.root);
            delta.files -= files;
            delta.bytes -= bytes;
            delta.folders -= i64::try_from(marked).unwrap_or(0);
            self.sums.has_regrouped |= files > 0;
            self.sums.scan(part.scan).removed += unsigned(files);
        }
        Ok(())
    }

    /// A complete listing clears the fault of the folder itself and those of
    /// entries that could not be examined. Entries that still cannot be follow as
    /// new records.
    fn clear_listing_faults(&self, folder: FolderId) -> rusqlite::Result<()> {
        if self.has_faults {
            self.transaction
                .prepare_cached(
                    "DELETE FROM faults WHERE folder = ?1 AND (name = x'' OR step = 'stat')",
                )?
                .execute([folder.0])?;
        }
        Ok(())
    }
}
