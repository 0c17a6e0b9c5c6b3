//! What an open folder holds, compared with the catalog. The entries of a large
//! folder are taken in parts, so that memory grows with their names only.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::diff::{Comparison, Diff};
use super::entries::{Examiner, Found, FoundFile};
use super::folder::Folder;
use super::inodes::Inodes;
use super::stats::ask_all;
use super::subfolders::Subfolders;
use super::visit::{Stop, Visit, fault};
use crate::access::{is_racy, volume_row};
use crate::catalog::{
    CatalogError, FileChange, FolderListing, KnownFile, KnownFolder, NameRange, NewFolder,
    PartListing, Record, Signature, Signer, WorkCopy,
};
use crate::model::{
    FileState, FolderId, Probe, ScanCounters, Step, VolumeId, is_too_young, now_ns,
};
use crate::platform::{Entries, RawEntry, Volume};
use crate::scan::context::HandIn;
use crate::scan::engine::ItemResult;
use crate::scan::first_scan::FirstScan;
use crate::scan::read::ListedFolder;
use crate::scan::scope::is_ignore_file;

/// Entries that are taken at once.
const PART: usize = 10_000;
/// Files that are kept open from the first look at them until they are read.
const MOST_OPEN: usize = 256;

/// The contents of a folder that is being listed.
pub(super) struct Contents<'v, 'a, 'c> {
    visit: &'v mut Visit<'a, 'c>,
    folder: Folder,
    volume: VolumeId,
    /// How files are numbered, where that is stable.
    inodes: Option<Inodes>,
    /// How many files may be opened while they are looked at.
    most_open: usize,
    /// Whether calls wait for a server.
    is_far: bool,
    /// When the listing began.
    began: i64,
    /// Whether an interrupted scan listed the folder before.
    is_repeat: bool,
    /// Whether what was learned about its files no longer holds, since they are
    /// on another volume now.
    is_elsewhere: bool,
    /// The folders found in all parts, and what all parts add up to.
    folders: Vec<(OsString, bool)>,
    unsure_folders: Vec<OsString>,
    counts: ScanCounters,
}

impl<'v, 'a, 'c> Contents<'v, 'a, 'c> {
    pub(super) fn new(visit: &'v mut Visit<'a, 'c>, folder: Folder) -> Result<Self, Stop> {
        let began = now_ns();
        let run = visit.context.run;
        if visit.item.is_repeated {
            // What an earlier attempt sent must be seen.
            run.writer.flush()?;
        }
        let (volume, volume_id) = run
            .volume(&folder.dir, &folder.stat)?
            .map_err(fault(Step::OpenFolder))?;
        let is_elsewhere = is_elsewhere(visit, &folder, (&volume, volume_id))?;
        Ok(Self {
            is_elsewhere,
            most_open: most_open(visit, &folder, &volume),
            is_far: volume.network,
            volume: volume_id,
            inodes: Inodes::of(&volume, &folder.stat),
            began,
            is_repeat: visit.is_repeat(),
            visit,
            folder,
            folders: Vec::new(),
            unsure_folders: Vec::new(),
            counts: ScanCounters::default(),
        })
    }

    /// Lists the folder and sends what differs from the catalog.
    pub(super) fn list(mut self) -> Result<(), Stop> {
        let mut rest = self.read_entries()?;
        let options = &self.visit.listing.options;
        if options.gitignore && rest.iter().any(|entry| is_ignore_file(&entry.name)) {
            self.folder.read_ignores();
        }
        // Where a folder may be reached twice, nothing is sent before all of it
        // is known to be readable.
        let part = if options.follow_links {
            usize::MAX
        } else {
            PART
        };
        let mut after = None;
        while rest.len() > part {
            let next = rest.split_off(part);
            let until = rest.last().map(|last| last.name.clone());
            let found = self.sort_entries(rest)?;
            let range = NameRange {
                after: after.as_deref(),
                until: until.as_deref(),
            };
            let files = self.part(found, range)?;
            // The item can still be taken away afterwards: the folder does not
            // count as listed yet.
            let probed = self.probed(&files);
            let record = Record::Part(Box::new(files), self.volume);
            self.hand_in(record, probed, HandIn::Part);
            after = until;
            rest = next;
        }
        let found = self.sort_entries(rest)?;
        self.list_rest(found, after.as_deref())
    }

    /// Lists the last part, which is mostly the only one, and the folder itself.
    fn list_rest(mut self, found: Found, after: Option<&OsStr>) -> Result<(), Stop> {
        // Asked last, so that an attempt that failed does not count.
        if !self.visit.listing.is_first_visit(self.folder.stat.id()) {
            return self.hand_in_elsewhere();
        }
        // One that is listed in parts would have to be signed in parts.
        let signature = match after {
            None => sign(&found, self.inodes, self.began),
            Some(_) => None,
        };
        let is_unchanged =
            signature.is_some() && signature == self.folder.known.signature && !self.is_elsewhere;
        let files = match is_unchanged {
            true => self.unchanged(found),
            false => {
                let range = NameRange { after, until: None };
                self.part(found, range)?
            }
        };
        self.conclude(files, signature)
    }
}

impl Contents<'_, '_, '_> {
    fn read_entries(&mut self) -> Result<Vec<RawEntry>, Stop> {
        let mut entries = Vec::new();
        if self.is_far {
            // It was opened, and is read now.
            self.visit.context.run.disks.count_far(2);
        }
        let read = Entries::of(&mut self.folder.dir);
        for entry in read.map_err(fault(Step::ReadFolder))? {
            entries.push(entry.map_err(fault(Step::ReadFolder))?);
            if entries.len() % 1_000 == 0 {
                self.visit.context.worker.progress(0);
            }
        }
        in_order(&mut entries);
        Ok(entries)
    }

    /// Sorts the entries by what they are. On the last attempt those that cannot
    /// be examined are reported one by one.
    fn sort_entries(&mut self, entries: Vec<RawEntry>) -> Result<Found, Stop> {
        let Visit { listing, item, .. } = self.visit;
        let examiner = Examiner {
            dir: &self.folder.dir,
            folder: &self.folder.stat,
            below: &self.folder.below,
            ignores: &self.folder.known.ignores,
            start_depth: item.start_depth,
            inodes: self.inodes,
            most_open: self.most_open,
            far: self.is_far.then_some(&self.visit.context.run.disks),
            listing,
            scope: listing.scope(item.root),
        };
        let mut found = Found::default();
        let mut answers = match self.is_far {
            true => ask_all(
                &self.folder.dir,
                &entries,
                &self.visit.context.run.disks,
                self.visit.context.worker,
            ),
            false => Vec::new(),
        }
        .into_iter();
        for (number, entry) in entries.into_iter().enumerate() {
            if number % 1_000 == 999 {
                self.visit.context.worker.progress(0);
            }
            let answer = answers.next().flatten();
            if let Err((name, error)) = examiner.sort(entry, answer, &mut found) {
                self.visit.note_unexamined(&name, &error, &mut found)?;
            }
        }
        Ok(found)
    }

    /// The listing of a folder whose files are what its rows say: not one row has
    /// to be read.
    fn unchanged(&mut self, mut found: Found) -> PartListing {
        let files = std::mem::take(&mut found.files);
        let diff = Diff::of_unchanged(files.iter().map(|file| &file.stat));
        self.take_in(diff, found)
    }

    /// Compares one part of the folder with its rows, and reads what may be read
    /// at once.
    fn part(&mut self, mut found: Found, range: NameRange<'_>) -> Result<PartListing, Stop> {
        let files = std::mem::take(&mut found.files);
        let open = std::mem::take(&mut found.open);
        let mut diff = self.compare(files, &found.unsure_files, range)?;
        let visit = &mut *self.visit;
        let listed = ListedFolder {
            dir: &self.folder.dir,
            links: self.folder.links,
            folder: visit.item.folder,
            volume: self.volume,
            path: &visit.path,
            hung: visit.item.hung.as_deref(),
        };
        listed.sample(visit.context, visit.sampler, &mut diff.changes, open);
        Ok(self.take_in(diff, found))
    }

    fn compare(
        &self,
        files: Vec<FoundFile>,
        unsure: &[OsString],
        range: NameRange<'_>,
    ) -> Result<Diff, CatalogError> {
        let ignore_ctime = self.visit.listing.ignore_ctime;
        let mut comparison = Comparison::new(files, unsure, self.inodes, ignore_ctime);
        if !self.folder.known.is_new {
            let catalog = self.visit.context.opener.catalog();
            catalog.files_of(self.visit.item.folder, range, |row| {
                let is_replaced = row.is_replaced || self.is_elsewhere;
                comparison.row(&KnownFile {
                    is_replaced,
                    ..*row
                });
            })?;
        }
        Ok(comparison.finish())
    }

    /// Adds a part to the sums; returns what the writer has to know of it.
    fn take_in(&mut self, diff: Diff, mut found: Found) -> PartListing {
        self.counts.add(&diff.counts);
        self.folders.append(&mut found.folders);
        self.unsure_folders.append(&mut found.unsure_folders);
        let metrics = &self.visit.context.run.metrics;
        metrics.files_seen.add(diff.counts.files);
        metrics.files_unchanged.add(diff.unchanged);
        self.part_listing(diff)
    }

    fn part_listing(&mut self, diff: Diff) -> PartListing {
        let item = self.visit.item;
        PartListing {
            scan: item.scan,
            root: item.root,
            folder: item.folder,
            changes: diff.changes,
            vanished: diff.vanished,
            bytes_read: self.visit.context.take_bytes_read(),
            sizes: self.visit.listing.sizes,
        }
    }

    /// The probes that are to be remembered once a part was sent.
    fn probed(&self, files: &PartListing) -> Vec<(Probe, WorkCopy)> {
        let memory = self.visit.context.run.first_scan.as_ref();
        let probed = |memory: &FirstScan| memory.probed(&files.changes, files.folder, self.volume);
        memory.map(probed).unwrap_or_default()
    }

    /// Sends a record, and remembers what was probed on the way.
    fn hand_in(&mut self, record: Record, probed: Vec<(Probe, WorkCopy)>, part: HandIn) {
        if self.visit.context.hand_in(record, part)
            && let Some(memory) = &self.visit.context.run.first_scan
        {
            memory.remember(probed);
        }
    }

    /// Sends the last part together with the folder itself, and reports the
    /// subfolders.
    fn conclude(mut self, files: PartListing, signature: Option<Signature>) -> Result<(), Stop> {
        let subfolders = self.subfolders()?;
        let unplugged = subfolders.unplugged.iter();
        let unplugged = unplugged.map(|name| self.visit.path.join(name));
        let report = &mut self.visit.context.report;
        report.offline.extend(unplugged);
        // Those of a folder that is listed again are looked at again or still
        // pending by themselves; none may be listed twice at once.
        if !self.is_repeat {
            let children = self
                .folder
                .children(self.visit.item, self.volume, &subfolders);
            report.found = ItemResult::Subfolders(children);
        }
        self.visit.context.run.metrics.folders_listed.add(1);
        let probed = self.probed(&files);
        // A signature promises that no row is to be distrusted.
        let is_racy = |change: &FileChange| change.sample.is_some_and(|sample| sample.racy);
        let signature = signature.filter(|_| !files.changes.iter().any(is_racy));
        let record = self.record(files, signature, &subfolders);
        self.hand_in(record, probed, HandIn::Last);
        Ok(())
    }

    /// The subfolders found, paired with their rows.
    fn subfolders(&self) -> Result<Subfolders, Stop> {
        let (allow_empty, writer) = (
            self.visit.listing.allow_empty,
            &self.visit.context.run.writer,
        );
        let known = self.known_folders(!self.folders.is_empty())?;
        let mut subfolders = Subfolders::pair(
            &self.folders,
            &self.unsure_folders,
            known,
            allow_empty,
            || writer.allocate_folder(),
        );
        if !allow_empty {
            let catalog = self.visit.context.opener.catalog();
            subfolders.keep_unplugged(|gone| catalog.has_mount_point_below(gone))?;
        }
        Ok(subfolders)
    }

    /// The subfolder rows to pair with what was found. Most folders have none on
    /// either side, and need not be asked about.
    fn known_folders(&self, has_found: bool) -> Result<Vec<KnownFolder>, CatalogError> {
        let known = &self.folder.known;
        if known.is_new || !has_found && !known.has_subfolders {
            return Ok(Vec::new());
        }
        let catalog = self.visit.context.opener.catalog();
        catalog.subfolders_of(self.visit.item.folder)
    }

    /// Notes a folder that was listed under another path: rows that an earlier
    /// scan made under this one would never be looked at again.
    fn hand_in_elsewhere(mut self) -> Result<(), Stop> {
        let diff = self.compare(Vec::new(), &[], NameRange::default())?;
        let rows = self.known_folders(false)?;
        let subfolders = Subfolders::pair(&[], &[], rows, true, || FolderId(0));
        if diff.vanished.is_empty() && subfolders.vanished.is_empty() {
            self.visit.hand_in_visited();
            return Ok(());
        }
        let files = self.part_listing(diff);
        let record = self.record(files, None, &subfolders);
        self.hand_in(record, Vec::new(), HandIn::Last);
        Ok(())
    }

    fn record(
        &self,
        files: PartListing,
        signature: Option<Signature>,
        subfolders: &Subfolders,
    ) -> Record {
        let meta = &self.folder.stat.meta;
        // One that is too young is listed again by a resume.
        let is_fresh = is_too_young(meta.ctime_ns.max(meta.mtime_ns), self.began);
        let (all, counts) = (&subfolders.all, self.counts);
        let returned = all.iter().filter(|folder| folder.returned);
        let new = all.iter().filter(|folder| folder.is_new);
        let new = new.map(|folder| NewFolder {
            id: folder.id,
            name: folder.name.clone(),
        });
        Record::Listed(Box::new(FolderListing {
            files,
            volume: self.volume,
            is_elsewhere: self.is_elsewhere,
            mount_point: self.folder.is_mount_point(),
            is_linked: self.folder.known.is_linked,
            times: (!is_fresh).then_some((meta.mtime_ns, meta.ctime_ns)),
            new_folders: new.collect(),
            returned_folders: returned.map(|folder| folder.id).collect(),
            vanished_folders: subfolders.vanished.iter().map(|gone| gone.0).collect(),
            signature,
            is_repeat: self.is_repeat,
            counts: match self.is_repeat {
                true => counts.only_new(),
                false => counts,
            },
        }))
    }
}

/// Sorts entries by name, each name once: a folder that changes while it is read,
/// or a filesystem that is wrong, may give one twice.
fn in_order(entries: &mut Vec<RawEntry>) {
    entries.sort_unstable_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
    entries.dedup_by(|later, kept| later.name == kept.name);
}

/// Whether what was learned about the folder's files no longer holds, because of
/// the volume they are on now.
fn is_elsewhere(
    visit: &Visit<'_, '_>,
    folder: &Folder,
    (volume, id): (&Volume, VolumeId),
) -> Result<bool, CatalogError> {
    match folder.known.volume.filter(|before| *before != id) {
        None => Ok(false),
        Some(before) => {
            let before = visit.context.opener.catalog().volume(before)?;
            Ok(!before.holds_on(&volume_row(volume)))
        }
    }
}

/// How many files are opened at first sight: none, unless most are read anyway.
/// Then the handle tells what asking by name would, and is there already. Not
/// where the catalog is: closing a handle of it would drop SQLite's locks.
fn most_open(visit: &Visit<'_, '_>, folder: &Folder, volume: &Volume) -> usize {
    let run = visit.context.run;
    let is_local = volume.stable_inodes && !volume.network;
    let is_own = visit.listing.own_folder == Some(folder.stat.id());
    let is_reading = run.first_scan.is_some() && visit.item.hung.is_none();
    match is_local && !is_own && is_reading && visit.sampler.reads_most() {
        true => run.files_at_once.min(MOST_OPEN),
        false => 0,
    }
}

/// The signature of the files of a whole folder; `None` where some rows stay as
/// they are, or where a file is so fresh that its next change may not show.
fn sign(found: &Found, inodes: Option<Inodes>, began: i64) -> Option<Signature> {
    if !found.unsure_files.is_empty() {
        return None;
    }
    let mut signer = Signer::default();
    for FoundFile {
        name,
        stat,
        is_link,
    } in &found.files
    {
        let state = FileState {
            size: stat.meta.size,
            mtime_ns: stat.meta.mtime_ns,
            ctime_ns: stat.meta.ctime_ns,
            ino: inodes.and_then(|inodes| inodes.number(stat)),
        };
        if is_racy(&state, began) {
            return None;
        }
        signer.add(name, &state, *is_link);
    }
    Some(signer.finish())
}
