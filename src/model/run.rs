//! What a run reports: its counters while it works, and its outcome at the end.
//! Plain data, so that a renderer needs to know nothing of scanning.

use std::path::PathBuf;
use std::time::Duration;

use super::fault::Fault;
use super::files::{Summary, Totals};
use super::ids::VolumeId;
use super::scope::NotCompared;
use super::stage::Stage;

/// Groups that the folders of a [`Summary`] are added up from, those that save
/// most: the others would cost more than they change.
pub const GROUPS_FOR_FOLDERS: u64 = 1_000;

/// What a work item does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemKind {
    /// Lists a folder.
    List,
    /// Hashes head and tail of a batch of files.
    Probe,
    /// Reads files completely.
    Hash,
}

impl ItemKind {
    /// Every kind, in the order of the stages.
    pub const ALL: [Self; 3] = [Self::List, Self::Probe, Self::Hash];

    /// The name in the log and in the metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Probe => "probe",
            Self::Hash => "hash",
        }
    }
}

/// Hands the one list of counters to a macro: each with its help text, its name
/// in Rust, in progress events and in the metrics file. A counter that is added
/// here is in all of them.
macro_rules! with_counters {
    ($make:ident) => {
        $make! {
            /// Folders whose listing is complete.
            folders_listed, "folders", "folders_listed_total";
            /// Files found while listing.
            files_seen, "files", "files_seen_total";
            /// Files unchanged since the last scan.
            files_unchanged, "unchanged", "files_unchanged_total";
            /// Files whose start and end must be read.
            candidates, "candidates", "files_to_probe_total";
            /// Files whose start and end were read.
            files_probed, "probed", "files_probed_total";
            /// Files read completely.
            files_hashed, "hashed", "files_hashed_total";
            /// Bytes to read of files that must be read completely.
            bytes_to_hash, "bytes_to_hash", "bytes_to_hash_total";
            /// Bytes of those already read.
            bytes_hashed, "bytes_hashed", "bytes_hashed_total";
            /// Bytes of such files that were read before a resumed scan was stopped.
            bytes_hashed_before, "bytes_hashed_before", "bytes_hashed_before_total";
            /// Paths that failed.
            faults, "errors", "errors_total";
            /// Bytes occupied by files found equal to another one that was read beside them.
            reclaimable, "reclaimable_at_least", "reclaimable_bytes_total";
            /// Files that an audit must read.
            files_to_audit, "to_audit", "files_to_audit_total";
            /// Files of those that are done.
            files_audited, "audited", "files_audited_total";
            /// Files of those that are corrupted.
            files_corrupted, "corrupted", "files_corrupted_total";
        }
    };
}
pub(crate) use with_counters;

macro_rules! make_snapshot {
    ($(#[doc = $help:literal] $name:ident, $json:literal, $metric:literal;)*) => {
        /// The metrics of a run at one moment.
        #[derive(Debug, Clone, Default)]
        pub struct MetricsSnapshot {
            /// Time since the command started.
            pub elapsed: Duration,
            /// The stage that the run is in.
            pub stage: Stage,
            /// When it began, and the bytes that were read by then.
            pub stage_began: (Duration, u64),
            /// Whether the run is an audit, which lists nothing.
            pub is_audit: bool,
            /// Worker threads.
            pub workers: u64,
            /// Threads that were started.
            pub threads: u64,
            /// The most that were admitted at a time.
            pub workers_peak: u64,
            /// Worker threads that are busy right now.
            pub active: u64,
            /// Work items queued so far.
            pub queued: u64,
            /// Work items finished.
            pub processed: u64,
            /// Work items that panicked or were abandoned.
            pub failed: u64,
            /// Work items abandoned together with their thread.
            pub abandoned: u64,
            /// Longest queue so far.
            pub queue_peak: u64,
            /// Busy time of all workers over workers × elapsed time, 0 to 1.
            pub utilisation: f64,
            /// How long work items took, by kind.
            pub durations: Vec<KindDurations>,
            /// Bytes read from files.
            pub bytes_read: u64,
            $(#[doc = $help] pub $name: u64,)*
        }

        impl MetricsSnapshot {
            /// Every counter under its names.
            pub fn counters(&self) -> Vec<NamedCount> {
                vec![$(NamedCount {
                    json: $json,
                    metric: $metric,
                    help: $help.trim_ascii(),
                    value: self.$name,
                },)*]
            }
        }
    };
}
with_counters!(make_snapshot);

/// One counter of a snapshot.
#[derive(Debug, Clone, Copy)]
pub struct NamedCount {
    /// Its field in progress events.
    pub json: &'static str,
    /// Its name in the metrics file.
    pub metric: &'static str,
    /// What it counts, in one sentence.
    pub help: &'static str,
    /// The sum so far.
    pub value: u64,
}

/// How long the work items of one kind took, abandoned ones excluded.
#[derive(Debug, Clone)]
pub struct KindDurations {
    /// The kind.
    pub kind: ItemKind,
    /// Their durations added up.
    pub total: Duration,
    /// How many took less than 1 µs, then less than 2, 4, 8 … µs; the last
    /// bucket holds everything longer.
    pub histogram: Vec<u64>,
}

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    /// Whether it was asked to stop; everything learned is saved.
    pub interrupted: bool,
    /// What its scans counted together, resumed parts included.
    pub counters: ScanCounters,
    /// What went wrong or was skipped.
    pub findings: Findings,
    /// Globs that matched nothing, if everything was listed from the start.
    pub unmatched: Vec<String>,
    /// Names that took over what was known of their inode.
    pub adopted: u64,
    /// The totals of what was scanned, and what saves most; `None` when
    /// interrupted.
    pub summary: Option<Summary>,
    /// The totals of the whole catalog, where more is in it than was scanned.
    pub whole: Option<Totals>,
    /// The files that are not compared because of their size, where this scan had
    /// such limits.
    pub not_compared: Option<NotCompared>,
    /// How long it took.
    pub elapsed: Duration,
    /// Where that time went.
    pub timing: Timing,
}

/// What went wrong or was skipped, over a whole run.
#[derive(Debug, Default)]
pub struct Findings {
    /// Paths that became dead letters.
    pub faults: u64,
    /// Folders skipped because of their filesystem: path and type.
    pub skipped: Vec<(PathBuf, String)>,
    /// Mount points on which nothing is mounted any more.
    pub offline: Vec<PathBuf>,
    /// Devices that were given up: a path on them, and its fault.
    pub given_up: Vec<(VolumeId, PathBuf, Fault)>,
    /// Workers that were abandoned.
    pub abandoned: usize,
    /// What the pool said about panics and abandoned workers.
    pub worker_errors: Vec<String>,
}

/// Declares the counters of a scan. Each is a column of `scans` of the same
/// name, which the schema makes from this list.
macro_rules! scan_counters {
    ($(#[doc = $help:literal] $name:ident;)*) => {
        /// What a scan counted, as the catalog keeps it.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct ScanCounters {
            $(#[doc = $help] pub $name: u64,)*
        }

        impl ScanCounters {
            /// The names of all counters.
            pub(crate) const NAMES: &[&str] = &[$(stringify!($name)),*];

            /// Every counter, in the order of the names.
            pub(crate) fn each(&mut self) -> [&mut u64; Self::NAMES.len()] {
                [$(&mut self.$name),*]
            }
        }
    };
}

scan_counters! {
    /// Folders listed.
    folders;
    /// Files seen.
    files;
    /// Bytes in them.
    bytes;
    /// Files seen for the first time.
    added;
    /// Files whose metadata changed.
    changed;
    /// Those of `changed` where only the ctime did.
    ctime_only;
    /// Unchanged files whose times prove nothing: scanned too soon after a change.
    young;
    /// Files that came back.
    restored;
    /// Bytes in files that are new or back.
    new_bytes;
    /// Files marked as deleted.
    removed;
    /// Copies whose head and tail were hashed.
    probed;
    /// Copies read completely.
    hashed;
    /// Bytes read.
    bytes_read;
    /// Paths that became dead letters.
    faults;
}

impl ScanCounters {
    /// Adds the counts of another scan, or of a part of it.
    pub fn add(&mut self, other: &Self) {
        let mut other = *other;
        for (sum, more) in self.each().into_iter().zip(other.each()) {
            *sum = sum.saturating_add(*more);
        }
    }

    /// What a repeated listing adds to the first: files that came since.
    #[must_use]
    pub fn only_new(self) -> Self {
        Self {
            files: self.added + self.restored,
            bytes: self.new_bytes,
            young: 0,
            ..self
        }
    }
}

/// How long the parts of a run took.
#[derive(Debug, Clone, Default)]
pub struct Timing {
    /// The stages that were run, each with the sum of its passes.
    pub stages: Vec<(Stage, Duration)>,
    /// Queries over the whole catalog, between and in stages.
    pub queries: Duration,
    /// Time the writer was working, in parallel with everything else.
    pub writer: Duration,
}

impl Timing {
    /// Adds a pass of a stage.
    pub(crate) fn add_stage(&mut self, stage: Stage, elapsed: Duration) {
        match self.stages.iter_mut().find(|(known, _)| *known == stage) {
            Some((_, sum)) => *sum += elapsed,
            None => self.stages.push((stage, elapsed)),
        }
    }
}
