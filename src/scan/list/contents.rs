//! What an open folder holds, compared with the catalog. The entries of a
//! large folder are worked off in parts, so that memory grows with their names
//! only.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::diff::{Comparison, Diff};
use super::entries::{Examiner, Found};
use super::reading::{probed, remember};
use super::subfolders::{Subfolder, Subfolders};
use super::{Folder, Stop, Visit, fault, read_ignores, send, subfolders, visited};
use crate::access::{Opener, is_racy, join};
use crate::catalog::{
    CatalogError, FolderListing, KnownFolder, ListingCounts, NameRange, NewFolder, PartListing,
    Record, Signature, Signer,
};
use crate::model::{
    Fault, FaultClass, FileName, FileState, FolderId, Step, VolumeId, is_too_young, now_ns,
};
use crate::platform::{Entries, RawEntry};
use crate::pool::WorkerContext;
use crate::scan::engine::{Failure, FromParent, ItemReport, ItemResult, ListItem, Origin, Place};
use crate::scan::read::SampleReader;
use crate::scan::scope::is_ignore_file;

/// Entries that are worked off at once.
const PART: usize = 10_000;

/// What the parts of a listing have in common.
pub(crate) struct Parts<'a> {
    pub(crate) visit: &'a Visit<'a>,
    access: &'a Opener,
    pub(crate) path: &'a Path,
    pub(crate) volume: VolumeId,
    /// The device on which inode numbers identify files.
    stable_dev: Option<u64>,
    /// How many files may be opened while they are looked at.
    most_open: usize,
}

/// What the parts add up to.
#[derive(Default)]
struct Sum {
    folders: Found,
    counts: ListingCounts,
}

impl Sum {
    fn add(&mut self, diff: &Diff, mut found: Found) {
        self.counts.add(&diff.counts);
        self.folders.folders.append(&mut found.folders);
        self.folders
            .unsure_folders
            .append(&mut found.unsure_folders);
    }
}

impl Folder {
    /// Lists the folder and sends what differs from the catalog.
    pub(crate) fn list(
        mut self,
        access: &Opener,
        visit: &Visit<'_>,
        reader: &mut SampleReader,
        report: &mut ItemReport,
        path: &Path,
    ) -> Result<(), Stop> {
        let (shared, context) = (visit.shared, visit.context);
        let began = now_ns();
        if visit.item.is_repeated {
            // What an earlier attempt sent must be seen.
            shared.writer.flush()?;
        }
        let (volume, volume_id) = shared
            .volume(&self.dir, &self.stat)?
            .map_err(fault(Step::OpenFolder))?;
        let entries = self.read_entries(context)?;
        if shared.listing.gitignore && entries.iter().any(|entry| is_ignore_file(&entry.name)) {
            self.ignores = read_ignores(&self.dir, &self.below, &self.ignores);
        }
        let parts = Parts {
            visit,
            access,
            path,
            volume: volume_id,
            stable_dev: volume.stable_inodes.then_some(self.stat.dev),
            most_open: self.most_open(visit, &volume, reader),
        };
        // Where a folder may be reached twice, nothing is sent before all of
        // it is known to be readable.
        let part = if shared.listing.follow_links {
            usize::MAX
        } else {
            PART
        };
        let mut sum = Sum::default();
        let mut rest = entries;
        let mut after = None;
        while rest.len() > part {
            let next = rest.split_off(part);
            let until = rest.last().map(|last| last.name.clone());
            let found = self.sort_entries(&parts, rest, report)?;
            let range = NameRange {
                after: after.as_deref(),
                until: until.as_deref(),
            };
            let files = self.part(&parts, found, range, reader, &mut sum)?;
            send_part(&parts, report, files);
            after = until;
            rest = next;
        }
        let found = self.sort_entries(&parts, rest, report)?;
        // Asked last, so that an attempt that failed does not count.
        if !shared.is_first_visit(self.stat.id()) {
            let record = self.elsewhere(&parts, began)?;
            send(shared, context, report, record);
            return Ok(());
        }
        let range = NameRange {
            after: after.as_deref(),
            until: None,
        };
        // One that is worked off in parts would have to be signed in parts.
        let is_whole = after.is_none();
        let signature = is_whole.then(|| sign(&parts, &found, began)).flatten();
        let files = match signature {
            Some(signature) if self.signature == Some(signature) => {
                self.unchanged(&parts, found, &mut sum)
            }
            _ => self.part(&parts, found, range, reader, &mut sum)?,
        };
        self.conclude(&parts, began, files, signature, &sum, report)
    }

    /// The listing of a folder whose files are what its rows say: not one row
    /// has to be read.
    fn unchanged(&self, parts: &Parts<'_>, mut found: Found, sum: &mut Sum) -> PartListing {
        let metrics = &parts.visit.shared.metrics;
        let files = std::mem::take(&mut found.files);
        let diff = Diff::of_unchanged(files.iter().map(|(_, stat)| stat));
        metrics.files_seen.add(diff.counts.files);
        metrics.files_unchanged.add(diff.unchanged);
        sum.add(&diff, found);
        part_listing(parts.visit.item, diff, 0)
    }

    /// Compares one part of the folder with its rows, and reads what may be
    /// read at once.
    fn part(
        &self,
        parts: &Parts<'_>,
        mut found: Found,
        range: NameRange<'_>,
        reader: &mut SampleReader,
        sum: &mut Sum,
    ) -> Result<PartListing, Stop> {
        let metrics = &parts.visit.shared.metrics;
        let files = std::mem::take(&mut found.files);
        let unsure = std::mem::take(&mut found.unsure_files);
        let open = std::mem::take(&mut found.open);
        let mut diff = self.compare(parts, files, &unsure, range)?;
        let bytes_read = self.read_files(parts, reader, &mut diff.changes, open);
        metrics.files_seen.add(diff.counts.files);
        metrics.files_unchanged.add(diff.unchanged);
        sum.add(&diff, found);
        Ok(part_listing(parts.visit.item, diff, bytes_read))
    }

    fn compare(
        &self,
        parts: &Parts<'_>,
        files: Vec<(FileName, crate::platform::Stat)>,
        unsure: &[std::ffi::OsString],
        range: NameRange<'_>,
    ) -> Result<Diff, CatalogError> {
        let ignore_ctime = parts.visit.shared.ignore_ctime;
        let mut comparison = Comparison::new(files, unsure, parts.stable_dev, ignore_ctime);
        if !self.is_new {
            let catalog = parts.access.catalog();
            catalog.files_of(parts.visit.item.folder, range, |row| comparison.row(row))?;
        }
        Ok(comparison.finish())
    }

    /// Sends the last part together with the folder itself, and reports the
    /// subfolders.
    fn conclude(
        &self,
        parts: &Parts<'_>,
        began: i64,
        files: PartListing,
        signature: Option<Signature>,
        sum: &Sum,
        report: &mut ItemReport,
    ) -> Result<(), Stop> {
        let Visit {
            shared,
            item,
            context,
            ..
        } = parts.visit;
        let mut subfolders = subfolders::pair(
            &sum.folders.folders,
            &sum.folders.unsure_folders,
            self.known_folders(parts, &sum.folders)?,
            shared.allow_empty,
            || shared.writer.allocate_folder(),
        );
        if !shared.allow_empty {
            let catalog = parts.access.catalog();
            subfolders.keep_unplugged(|gone| catalog.has_mount_point_below(gone))?;
        }
        shared.metrics.folders_listed.add(1);
        let unplugged = subfolders.unplugged.iter();
        report
            .offline
            .extend(unplugged.map(|name| join(parts.path, Path::new(name))));
        let probed = probed(parts, &files);
        let record = self.record(parts, began, files, signature, sum.counts, &subfolders);
        // Those of a folder that is listed again are looked at again or still
        // pending by themselves; none may be listed twice at once.
        if !matches!(item.origin, Origin::Listed) {
            report.found = ItemResult::Subfolders(self.children(item, parts.volume, &subfolders));
        }
        if send(shared, context, report, record) {
            remember(shared, probed);
        }
        Ok(())
    }

    /// The subfolder rows to pair with what was found. Most folders have none
    /// on either side, and need not be asked about.
    fn known_folders(
        &self,
        parts: &Parts<'_>,
        found: &Found,
    ) -> Result<Vec<KnownFolder>, CatalogError> {
        let is_pairless = found.folders.is_empty() && !self.has_subfolders;
        if self.is_new || is_pairless {
            return Ok(Vec::new());
        }
        parts
            .access
            .catalog()
            .subfolders_of(parts.visit.item.folder)
    }

    /// A folder that was listed under another path: rows that an earlier scan
    /// made under this one would never be looked at again.
    fn elsewhere(&self, parts: &Parts<'_>, began: i64) -> Result<Record, Stop> {
        let item = parts.visit.item;
        let diff = self.compare(parts, Vec::new(), &[], NameRange::default())?;
        let folders = self.known_folders(parts, &Found::default())?;
        let subfolders = subfolders::pair(&[], &[], folders, true, || FolderId(0));
        if diff.vanished.is_empty() && subfolders.vanished.is_empty() {
            return Ok(visited(item));
        }
        let files = part_listing(item, diff, 0);
        let counts = ListingCounts::default();
        Ok(self.record(parts, began, files, None, counts, &subfolders))
    }

    fn read_entries(&mut self, context: &WorkerContext) -> Result<Vec<RawEntry>, Stop> {
        let mut entries = Vec::new();
        for entry in Entries::of(&mut self.dir).map_err(fault(Step::ReadFolder))? {
            entries.push(entry.map_err(fault(Step::ReadFolder))?);
            if entries.len() % 1_000 == 0 {
                context.progress(0);
            }
        }
        entries.sort_unstable_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
        Ok(entries)
    }

    /// Sorts the entries by what they are. On the last attempt those that
    /// cannot be examined are reported one by one.
    fn sort_entries(
        &self,
        parts: &Parts<'_>,
        entries: Vec<RawEntry>,
        report: &mut ItemReport,
    ) -> Result<Found, Stop> {
        let visit = parts.visit;
        let examiner = Examiner {
            dir: &self.dir,
            folder: &self.stat,
            below: &self.below,
            ignores: &self.ignores,
            start_depth: visit.item.start_depth,
            stable_dev: parts.stable_dev,
            most_open: parts.most_open,
            shared: visit.shared,
        };
        let mut found = Found::default();
        for (number, entry) in entries.into_iter().enumerate() {
            if number % 1_000 == 999 {
                visit.context.progress(0);
            }
            if let Err((name, error)) = examiner.sort(entry, &mut found) {
                let failure = examination_failure(parts, &name, &error);
                match failure.fault.class {
                    FaultClass::Vanished => continue,
                    class if class.is_retried() && !visit.is_last_attempt => {
                        return Err(Stop::Fault(failure.fault));
                    }
                    _ => {}
                }
                found.unsure_files.push(failure.place.name.clone());
                found.unsure_folders.push(failure.place.name.clone());
                report.failures.push(failure);
            }
        }
        Ok(found)
    }

    fn record(
        &self,
        parts: &Parts<'_>,
        began: i64,
        files: PartListing,
        signature: Option<Signature>,
        counts: ListingCounts,
        subfolders: &Subfolders,
    ) -> Record {
        let meta = &self.stat.meta;
        let is_repeat = matches!(parts.visit.item.origin, Origin::Listed);
        // One that is too young is listed again by a resume.
        let is_fresh = is_too_young(meta.ctime_ns.max(meta.mtime_ns), began);
        let of_all =
            |wanted: fn(&Subfolder) -> bool| subfolders.all.iter().filter(move |f| wanted(f));
        Record::Listed(Box::new(FolderListing {
            files,
            volume: parts.volume,
            mount_point: self.is_mount_point(),
            times: (!is_fresh).then_some((meta.mtime_ns, meta.ctime_ns)),
            new_folders: of_all(|folder| folder.is_new)
                .map(|folder| NewFolder {
                    id: folder.id,
                    name: folder.name.clone(),
                })
                .collect(),
            returned_folders: of_all(|folder| folder.returned)
                .map(|folder| folder.id)
                .collect(),
            vanished_folders: subfolders.vanished.iter().map(|gone| gone.0).collect(),
            signature,
            is_repeat,
            counts: if is_repeat { counts.only_new() } else { counts },
        }))
    }

    /// The subfolders to list next. Those that a resumed scan knew before are
    /// looked at by way of the catalog.
    fn children(
        &self,
        item: &ListItem,
        volume: VolumeId,
        subfolders: &Subfolders,
    ) -> Vec<ListItem> {
        let is_repeat = matches!(item.origin, Origin::Listed);
        subfolders
            .all
            .iter()
            .filter(|folder| !is_repeat || folder.is_new || folder.returned)
            .map(|folder| ListItem {
                scan: item.scan,
                root: item.root,
                volume,
                folder: folder.id,
                start_depth: item.start_depth,
                origin: Origin::Parent(FromParent {
                    path: self.below.join(&folder.name).into(),
                    mount: self.stat.mount,
                    is_new: folder.is_new,
                    was_mount_point: folder.was_mount_point,
                    signature: folder.signature,
                    has_subfolders: folder.has_subfolders,
                    is_link: folder.is_link,
                    ignores: self.ignores.clone(),
                }),
                hung: None,
                is_repeated: false,
            })
            .collect()
    }
}

/// The signature of the files of a whole folder; `None` where some rows are
/// left alone, or where a file is so fresh that its next change may not show.
fn sign(parts: &Parts<'_>, found: &Found, began: i64) -> Option<Signature> {
    if !found.unsure_files.is_empty() {
        return None;
    }
    let mut signer = Signer::default();
    for (name, stat) in &found.files {
        let state = FileState {
            size: stat.meta.size,
            mtime_ns: stat.meta.mtime_ns,
            ctime_ns: stat.meta.ctime_ns,
            ino: (parts.stable_dev == Some(stat.dev)).then_some(stat.meta.ino),
        };
        if is_racy(&state, began) {
            return None;
        }
        signer.add(name, &state);
    }
    Some(signer.finish())
}

fn part_listing(item: &ListItem, diff: Diff, bytes_read: u64) -> PartListing {
    PartListing {
        scan: item.scan,
        root: item.root,
        folder: item.folder,
        changes: diff.changes,
        vanished: diff.vanished,
        bytes_read,
    }
}

/// Sends a part ahead of the rest. The item can still be given up afterwards:
/// the folder does not count as listed yet.
fn send_part(parts: &Parts<'_>, report: &mut ItemReport, files: PartListing) {
    let Visit {
        shared, context, ..
    } = parts.visit;
    if context.is_abandoned() {
        return;
    }
    let probed = probed(parts, &files);
    let record = Record::Part(Box::new(files), parts.volume);
    match shared.writer.send(record) {
        Ok(()) => remember(shared, probed),
        Err(error) => report.fatal = Some(error),
    }
}

fn examination_failure(parts: &Parts<'_>, name: &OsStr, error: &io::Error) -> Failure {
    let item = parts.visit.item;
    Failure {
        path: parts.path.join(name),
        place: Place {
            folder: item.folder,
            name: name.to_owned(),
        },
        volume: item.volume,
        again: None,
        fault: Fault::from_io(Step::Stat, error),
    }
}
