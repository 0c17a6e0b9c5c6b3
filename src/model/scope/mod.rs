//! What of a root is compared with other files: the excludes that belong to it,
//! and the sizes it was last scanned for. `catalog/store/terms.rs` says in SQL
//! what [`Standing`] says here.

mod globs;

use std::path::Path;

use serde::{Deserialize, Serialize};

pub use globs::{Globs, meant_below};

/// How a file of the catalog stands to the scope of its root. Stored with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is compared.
    InScope = 0,
    /// An exclude of its root matches: it appears in no list of duplicates, and
    /// nothing is said of it.
    Excluded = 1,
    /// Its size is not one that its root was scanned for. Without a digest it is
    /// not compared; with one, an earlier scan did that.
    OtherSize = 2,
}

/// What of a root is compared.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RootScope {
    /// Which names are not.
    pub excludes: Excludes,
    /// Which sizes are.
    pub sizes: SizeLimits,
}

/// The globs of names to skip that belong to a root.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Excludes {
    /// Those of the configuration file or the environment, as of the last scan.
    pub configured: Vec<String>,
    /// Those typed at a scan, which stay until others replace them.
    pub given: Vec<String>,
}

/// The sizes that are compared; all, unless there are limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct SizeLimits {
    /// The smallest.
    pub min: Option<u64>,
    /// The largest.
    pub max: Option<u64>,
}

/// Files that are not compared because of their size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotCompared {
    /// The limits of their roots; `None` where those differ.
    pub limits: Option<SizeLimits>,
    /// How many files there are.
    pub files: u64,
}

impl Excludes {
    /// All globs, each once.
    pub fn globs(&self) -> Vec<String> {
        let mut all = self.configured.clone();
        let new = |glob: &&String| !self.configured.contains(glob);
        all.extend(self.given.iter().filter(new).cloned());
        all
    }

    /// Those that were typed, as a root above means them that has this one at
    /// `below`.
    pub fn given_from_above(&self, below: &Path) -> impl Iterator<Item = String> {
        self.given.iter().filter_map(|glob| within(below, glob))
    }

    /// The globs as the catalog stores them.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).expect("lists of text always serialise")
    }

    /// The globs that the catalog stored; none where they cannot be read, which
    /// only makes more files count as not scanned.
    pub(crate) fn from_json(json: &str) -> Self {
        serde_json::from_str(json).unwrap_or_default()
    }

    /// The globs, compiled. One that cannot be was refused when it was given.
    pub fn compile(&self) -> Globs {
        Globs::new(&self.globs()).unwrap_or_default()
    }
}

/// The glob that matches below a folder what this one matches below `/`; `None`
/// where the folder's name is no text.
fn within(folder: &Path, glob: &str) -> Option<String> {
    let mut escaped = String::new();
    for letter in folder.to_str()?.chars() {
        match letter {
            '*' | '?' | '[' | ']' | '{' | '}' | '\\' | '!' => {
                escaped.extend(['[', letter, ']']);
            }
            _ => escaped.push(letter),
        }
    }
    let anchored = glob.strip_suffix('/').unwrap_or(glob).contains('/');
    Some(match anchored {
        true => format!("/{escaped}/{}", glob.strip_prefix('/').unwrap_or(glob)),
        false => format!("/{escaped}/**/{glob}"),
    })
}

impl SizeLimits {
    /// Whether there are none.
    pub fn is_open(&self) -> bool {
        *self == Self::default()
    }

    /// How a file of this size stands that no exclude matches. Empty files need
    /// no comparing.
    pub fn standing(&self, size: u64) -> Standing {
        let is_small = self.min.is_some_and(|min| size < min);
        let is_large = self.max.is_some_and(|max| size > max);
        match size > 0 && (is_small || is_large) {
            true => Standing::OtherSize,
            false => Standing::InScope,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excludes_are_the_same_seen_from_above() {
        let excludes = Excludes {
            given: ["*.iso", "/top", "a/*/c", "cache/"]
                .map(str::to_owned)
                .to_vec(),
            ..Excludes::default()
        };
        let above = Excludes {
            given: excludes.given_from_above(Path::new("in/{odd*}")).collect(),
            ..Excludes::default()
        };
        let (inner, outer) = (excludes.compile(), above.compile());
        for path in [
            "x.iso",
            "deep/er/x.iso",
            "top/file",
            "not/top",
            "a/b/c/file",
            "a/b/x/c",
            "cache/1",
            "x/cache/1",
            "file",
        ] {
            let seen = Path::new("in/{odd*}").join(path);
            let is_excluded = inner.matches_file(Path::new(path));
            assert_eq!(outer.matches_file(&seen), is_excluded, "{path}");
            assert!(!outer.matches_file(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn globs_are_counted_once() {
        let twice = Excludes {
            configured: vec!["a".to_owned(), "b".to_owned()],
            given: vec!["b".to_owned(), "c".to_owned()],
        };
        assert_eq!(twice.globs(), ["a", "b", "c"]);
    }

    #[test]
    fn sizes_beyond_the_limits_are_not_compared_but_empty_files_are() {
        let limits = SizeLimits {
            min: Some(10),
            max: Some(20),
        };
        let standing = |size| limits.standing(size);
        assert_eq!([0, 10, 20].map(standing), [Standing::InScope; 3]);
        assert_eq!([1, 9, 21].map(standing), [Standing::OtherSize; 3]);
        assert_eq!(SizeLimits::default().standing(1), Standing::InScope);
    }
}
