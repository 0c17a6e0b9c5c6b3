//! The names of all settings: one list that gives the keys of the file, the
//! environment variables and the flags. And what the switches among them set.

use std::fmt;

use crate::model::ScanOptions;

/// The variable that names the configuration file; not a setting of its own.
pub(crate) const CONFIG_VARIABLE: &str = "DUPESCAN_CONFIG";

macro_rules! keys {
    ($($(#[$doc:meta])* $key:ident = $name:literal,)*) => {
        /// One setting that the file, the environment and the flags can give.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Key {
            $($(#[$doc])* $key,)*
        }

        impl Key {
            /// Every setting, in the order in which messages list them.
            pub const ALL: &'static [Self] = &[$(Self::$key,)*];

            /// Its key in the configuration file.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$key => $name,)*
                }
            }
        }
    };
}

keys! {
    /// The catalog.
    Db = "db",
    /// How much is logged; `-v` and `-q` on the command line.
    LogLevel = "log_level",
    /// Text or JSON lines.
    LogFormat = "log_format",
    /// Where the log goes instead of standard error.
    LogFile = "log_file",
    /// When to use colour.
    Color = "color",
    /// The digest algorithm.
    Hash = "hash",
    /// Smallest size that is hashed.
    MinSize = "min_size",
    /// Largest size that is hashed.
    MaxSize = "max_size",
    /// Globs of which a file must match at least one.
    Include = "include",
    /// Globs of files and folders to skip.
    Exclude = "exclude",
    /// Respect `.gitignore` files.
    Gitignore = "gitignore",
    /// Include names that start with a dot.
    Hidden = "hidden",
    /// Follow symbolic links.
    FollowLinks = "follow_links",
    /// Stay on the root's filesystem.
    OneFileSystem = "one_file_system",
    /// Treat a file as unchanged if only its ctime changed.
    IgnoreCtime = "ignore_ctime",
    /// Run at the lowest priority.
    Nice = "nice",
    /// Bytes per second that may be read.
    Bwlimit = "bwlimit",
    /// How disks are read.
    Io = "io",
    /// Where metrics are written.
    MetricsFile = "metrics_file",
    /// How often they are.
    MetricsInterval = "metrics_interval",
    /// How progress is shown.
    Progress = "progress",
    /// How often, without a terminal.
    ProgressInterval = "progress_interval",
    /// What a power cut may lose.
    Durability = "durability",
    /// Worker threads.
    Threads = "threads",
    /// Queued work items per thread.
    QueuePerThread = "queue_per_thread",
    /// File rows in one transaction.
    BatchRows = "batch_rows",
    /// Longest time before a row is committed.
    BatchTime = "batch_time",
    /// When to give up on an item without progress.
    ItemTimeout = "item_timeout",
    /// When to warn about an item without progress.
    StallWarning = "stall_warning",
    /// Longest time to wait after a request to stop.
    ShutdownTimeout = "shutdown_timeout",
    /// Attempts after the first.
    Retries = "retries",
    /// Pause before the first retry.
    Backoff = "backoff",
    /// Internal failures after which a scan gives up.
    FatalErrors = "fatal_errors",
}

/// An option of a scan that is on or off.
type Switch = fn(&mut ScanOptions) -> &mut bool;

/// The settings that switch an option of scans on. `hidden` is not among them: it
/// switches one off.
pub(crate) const SWITCHES: [(Key, Switch); 5] = [
    (Key::Gitignore, |scan| &mut scan.listing.gitignore),
    (Key::FollowLinks, |scan| &mut scan.listing.follow_links),
    (Key::OneFileSystem, |scan| &mut scan.listing.one_file_system),
    (Key::IgnoreCtime, |scan| &mut scan.ignore_ctime),
    (Key::Nice, |scan| &mut scan.nice),
];

impl Key {
    /// The setting with this key in the file.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|key| key.name() == name)
    }

    /// Its environment variable, for instance `DUPESCAN_MIN_SIZE`.
    pub fn variable(self) -> String {
        format!("DUPESCAN_{}", self.name().to_ascii_uppercase())
    }

    /// Its flag, for instance `--min-size`.
    pub fn flag(self) -> String {
        format!("--{}", self.name().replace('_', "-"))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
