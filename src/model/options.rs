//! What the user asked for. The options of a scan are stored as JSON with it, so
//! that a resume uses the options it was started with; the filters of an answer
//! are shown with it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Algorithm, RootScope, SizeLimits};

/// Which stages a scan runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// List, then probe and hash what can be a duplicate.
    #[default]
    All,
    /// List only; no file is opened.
    Folders,
    /// Probe and hash what the catalog lists, without listing again.
    Files,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Self; 3] = [Self::All, Self::Folders, Self::Files];
    /// What the catalog stores for a retry of single paths, which has no mode.
    pub const RETRY: &'static str = "retry";

    /// The name used on the command line and in the catalog.
    pub const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Folders => "folders",
            Self::Files => "files",
        }
    }
}

/// How disks are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IoMode {
    /// As one with a moving head where the disk says so and is as slow.
    #[default]
    Auto,
    /// By all workers at once.
    Ssd,
    /// By one worker, file after file.
    Hdd,
}

/// Everything that shapes one scan.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScanOptions {
    /// Which stages run.
    pub mode: Mode,
    /// The digest algorithm; `None` keeps the catalog's.
    pub algorithm: Option<Algorithm>,
    /// What is listed.
    pub listing: ListingOptions,
    /// Distrust every stored digest of the scanned roots.
    pub rehash: bool,
    /// Treat a file whose ctime alone moved as unchanged.
    pub ignore_ctime: bool,
    /// Smallest size that is hashed.
    pub min_size: Option<u64>,
    /// Largest size that is hashed.
    pub max_size: Option<u64>,
    /// Digest every file, not only possible duplicates.
    pub hash_all: bool,
    /// Run at the lowest CPU and I/O priority.
    pub nice: bool,
    /// Bytes per second that may be read, over all workers.
    pub bwlimit: Option<u64>,
    /// How disks are read.
    pub io: IoMode,
}

/// The options that decide which names a scan sees. A resumed scan keeps
/// its list only when these are the same.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ListingOptions {
    /// Follow symbolic links.
    pub follow_links: bool,
    /// Stay on the root's filesystem.
    pub one_file_system: bool,
    /// Globs of which a file must match one, when there are any.
    pub include: Vec<String>,
    /// Globs of files and folders to skip.
    pub exclude: Vec<String>,
    /// Respect the `.gitignore` files found from the root downwards.
    pub gitignore: bool,
    /// Skip names that start with a dot.
    pub no_hidden: bool,
    /// Levels below the root to descend; 0 lists the root's own files only.
    pub max_depth: Option<u32>,
}

impl ListingOptions {
    /// Whether a scan with these options may have skipped files that are there.
    /// Destructured, so that a new option does not compile until this is decided.
    pub fn may_hide_files(&self) -> bool {
        let Self {
            // What a link leads to has a path of its own.
            follow_links: _,
            one_file_system,
            include,
            exclude,
            gitignore,
            no_hidden,
            max_depth,
        } = self;
        *one_file_system
            || *gitignore
            || *no_hidden
            || max_depth.is_some()
            || !include.is_empty()
            || !exclude.is_empty()
    }
}

impl ListingOptions {
    /// Whether a scan with these options may have skipped files that are there and
    /// that these excludes do not match: what a root excludes is known.
    pub fn may_hide_beside(&self, excludes: &[String]) -> bool {
        let mut others = self.clone();
        others.exclude.retain(|glob| !excludes.contains(glob));
        others.may_hide_files()
    }
}

impl ScanOptions {
    /// The sizes that are compared.
    pub fn sizes(&self) -> SizeLimits {
        SizeLimits {
            min: self.min_size,
            max: self.max_size,
        }
    }

    /// The same options with the scope of a root.
    #[must_use]
    pub fn within(&self, scope: &RootScope) -> Self {
        Self {
            listing: ListingOptions {
                exclude: scope.excludes.globs(),
                ..self.listing.clone()
            },
            min_size: scope.sizes.min,
            max_size: scope.sizes.max,
            ..self.clone()
        }
    }

    /// The options as the catalog stores them.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).expect("plain options always serialise")
    }

    /// The options that the catalog stored; `None` where they cannot be read or
    /// hold something that this program does not know, such as a newer filter.
    pub(crate) fn from_json(json: &str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }
}

/// Everything that shapes a plan, besides the copies it finds: stored with it, so
/// that a changed plan is held to the same rules.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlanOptions {
    /// Only copies below these folders take part; all if there are none.
    #[serde(with = "escaped_paths")]
    pub paths: Vec<PathBuf>,
    /// The keep rules as they were typed; the default ones if there are none.
    pub keep: Vec<String>,
    /// Only copies below these go.
    #[serde(with = "escaped_paths")]
    pub from: Vec<PathBuf>,
    /// Only copies below these are compared with, and stay.
    #[serde(with = "escaped_paths", rename = "match")]
    pub matching: Vec<PathBuf>,
    /// At least this many copies stay.
    pub copies: u64,
    /// At least this many copies stay on each volume that has any.
    pub per_volume: u64,
    /// Copies below one of `paths` count as one, and stay or go together.
    pub isolate: bool,
    /// Copies that the rules do not tell apart all stay.
    pub skip_ties: bool,
    /// The plan ends once it reclaims this many bytes.
    pub max_bytes: Option<u64>,
    /// Folders that this plan never touches.
    #[serde(with = "escaped_paths")]
    pub protect: Vec<PathBuf>,
    /// Trees whose files belong together are acted on too.
    pub include_guarded: bool,
    /// Smallest file size.
    pub min_size: Option<u64>,
    /// Largest file size.
    pub max_size: Option<u64>,
    /// Only files with one of these extensions, if there are any.
    pub ext: Vec<String>,
    /// Globs of files that take no part.
    pub exclude: Vec<String>,
    /// Only groups with copies in more than one root, or in more than one of `paths`.
    pub across: bool,
}

impl PlanOptions {
    /// The options as the catalog stores them.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("plain options always serialise")
    }

    /// The options that the catalog stored; `None` where they cannot be read.
    pub fn from_json(json: &str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    /// Whether more than one copy of each file was asked to stay.
    pub fn keeps_several(&self) -> bool {
        self.copies > 1 || self.per_volume > 0
    }
}

/// Paths as escaped text, which leads back to their exact bytes.
mod escaped_paths {
    use std::path::PathBuf;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::model::escape::{escape, unescape};

    pub(super) fn serialize<S: Serializer>(paths: &[PathBuf], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(paths.iter().map(escape))
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Vec<PathBuf>, D::Error> {
        let texts = Vec::<String>::deserialize(from)?;
        let paths = texts.iter().map(|text| unescape(text).map(PathBuf::from));
        let paths: Option<_> = paths.collect();
        paths.ok_or_else(|| D::Error::custom("not an escaped path"))
    }
}

/// What an answer was narrowed down to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filters {
    /// Folders or files that it is about; all if there are none.
    pub paths: Vec<PathBuf>,
    /// Smallest file size.
    pub min_size: Option<u64>,
    /// Largest file size.
    pub max_size: Option<u64>,
    /// Only files with one of these extensions, if there are any.
    pub extensions: Vec<String>,
    /// Globs of files to skip.
    pub exclude: Vec<String>,
    /// Fewest copies of a group.
    pub min_count: Option<u64>,
    /// Only groups with copies in more than one place.
    pub across: bool,
    /// Only files that are now as they were scanned.
    pub check: bool,
    /// The filters of the scans are ignored.
    pub as_scanned: bool,
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn options_are_stored_and_read_again() {
        let options = ScanOptions {
            mode: Mode::Folders,
            min_size: Some(7),
            listing: ListingOptions {
                exclude: vec!["*.tmp".to_owned()],
                ..ListingOptions::default()
            },
            ..ScanOptions::default()
        };
        assert_eq!(ScanOptions::from_json(&options.to_json()), Some(options));
        let nothing = ScanOptions::from_json("{}");
        assert_eq!(nothing, Some(ScanOptions::default()));
    }

    #[test]
    fn options_of_plans_keep_the_exact_bytes_of_paths() {
        let path = PathBuf::from(OsStr::from_bytes(b"/a\\b\n\xff"));
        let options = PlanOptions {
            from: vec![path],
            matching: vec!["/b".into()],
            copies: 2,
            ..PlanOptions::default()
        };
        let json = options.to_json();
        assert_eq!(PlanOptions::from_json(&json), Some(options), "{json}");
        assert_eq!(PlanOptions::from_json(r#"{"from": ["\\q"]}"#), None);
    }

    #[test]
    fn what_is_unknown_cannot_be_read() {
        for json in ["", "{", r#"{"filter": 1}"#, r#"{"listing": {"only": 1}}"#] {
            assert_eq!(ScanOptions::from_json(json), None, "{json}");
        }
    }
}
