//! Globs as `--include` and `--exclude` mean them. Pure: paths come as names
//! below a root, and nothing is looked up.
//!
//! A glob without a slash is matched against names, one with a slash against
//! the whole path below the root. A slash at the end is ignored, so that
//! `cache/` means what it does elsewhere; one in front ties the glob to the
//! root.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

/// A set of compiled globs. Clones share what they know about matches.
#[derive(Debug, Clone, Default)]
pub struct Globs {
    names: Matcher,
    paths: Matcher,
}

impl Globs {
    /// Compiles the globs; an error is the bad glob and what is wrong with it.
    pub fn new(globs: &[String]) -> Result<Self, (String, String)> {
        let (mut names, mut paths) = (Vec::new(), Vec::new());
        for text in globs {
            let trimmed = text.strip_suffix('/').unwrap_or(text);
            let set = if trimmed.contains('/') {
                &mut paths
            } else {
                &mut names
            };
            let anchored = trimmed.strip_prefix('/').unwrap_or(trimmed);
            let glob = compile(anchored).map_err(|error| describe(text, &error))?;
            set.push((text.clone(), glob));
        }
        Ok(Self {
            names: Matcher::new(names)?,
            paths: Matcher::new(paths)?,
        })
    }

    /// Whether there are no globs, so that nothing matches.
    pub fn is_empty(&self) -> bool {
        self.names.set.is_empty() && self.paths.set.is_empty()
    }

    /// The globs that have matched nothing so far, as they were typed.
    pub fn unmatched(&self) -> impl Iterator<Item = &str> {
        self.names.unmatched().chain(self.paths.unmatched())
    }

    /// Whether this one entry matches, whatever the folders above it do.
    pub fn matches_name(&self, relative: &Path) -> bool {
        let by_name = relative
            .file_name()
            .is_some_and(|name| self.names.is_match(Path::new(name)));
        by_name || self.paths.is_match(relative)
    }

    /// Whether a file or any folder above it matches.
    pub fn matches_file(&self, relative: &Path) -> bool {
        !self.is_empty()
            && relative
                .ancestors()
                .any(|entry| !entry.as_os_str().is_empty() && self.matches_name(entry))
    }
}

/// Globs that are matched together.
#[derive(Debug, Clone, Default)]
struct Matcher {
    set: GlobSet,
    known: Arc<Known>,
}

/// Which globs of a set have matched something.
#[derive(Debug, Default)]
struct Known {
    typed: Vec<String>,
    has_matched: Vec<AtomicBool>,
    /// How many have not.
    left: AtomicUsize,
}

impl Matcher {
    fn new(globs: Vec<(String, Glob)>) -> Result<Self, (String, String)> {
        let (mut builder, mut known) = (GlobSetBuilder::new(), Known::default());
        *known.left.get_mut() = globs.len();
        for (text, glob) in globs {
            builder.add(glob);
            known.typed.push(text);
            known.has_matched.push(AtomicBool::new(false));
        }
        Ok(Self {
            set: builder.build().map_err(|error| describe("", &error))?,
            known: Arc::new(known),
        })
    }

    fn is_match(&self, path: &Path) -> bool {
        let is_match = self.set.is_match(path);
        if is_match && self.known.left.load(Relaxed) > 0 {
            self.note(path);
        }
        is_match
    }

    /// Finding out which globs match costs more than whether one does.
    #[cold]
    fn note(&self, path: &Path) {
        for matching in self.set.matches(path) {
            if !self.known.has_matched[matching].swap(true, Relaxed) {
                self.known.left.fetch_sub(1, Relaxed);
            }
        }
    }

    fn unmatched(&self) -> impl Iterator<Item = &str> {
        let typed = self.known.typed.iter().zip(&self.known.has_matched);
        let unmatched = typed.filter(|(_, has_matched)| !has_matched.load(Relaxed));
        unmatched.map(|(text, _)| text.as_str())
    }
}

/// What a glob was meant to be that begins with the path of a root: globs are
/// matched below it.
pub fn meant_below<'g>(glob: &'g str, root: &Path) -> Option<&'g str> {
    let rest = glob.strip_prefix(root.to_str()?)?;
    (rest.starts_with('/') && rest.len() > 1).then_some(rest)
}

fn compile(glob: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(glob).literal_separator(true).build()
}

/// The glob at fault, as it was typed, and what is wrong with it.
fn describe(typed: &str, error: &globset::Error) -> (String, String) {
    let glob = if typed.is_empty() {
        error.glob().unwrap_or_default()
    } else {
        typed
    };
    (glob.to_owned(), error.kind().to_string())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    fn globs(list: &[&str]) -> Globs {
        let list: Vec<_> = list.iter().map(|&glob| glob.to_owned()).collect();
        Globs::new(&list).unwrap()
    }

    fn excludes(list: &[&str], path: &str) -> bool {
        globs(list).matches_file(Path::new(path))
    }

    #[test]
    fn a_glob_without_a_slash_matches_any_name_on_the_path() {
        assert!(excludes(&["*.iso"], "a/b/disc.iso"));
        assert!(excludes(&["node_modules"], "a/node_modules/b/c.js"));
        assert!(excludes(&["node_modules/"], "node_modules/c.js"));
        assert!(!excludes(&["node_modules"], "a/node_modules2/c.js"));
        assert!(!excludes(&["*.iso"], "a/disc.iso.txt"));
    }

    #[test]
    fn a_glob_with_a_slash_matches_the_whole_path() {
        assert!(excludes(&["cache/**"], "cache/a/b"));
        assert!(!excludes(&["cache/**"], "x/cache/a/b"));
        assert!(excludes(&["**/cache/*.tmp"], "x/y/cache/a.tmp"));
        assert!(excludes(&["a/*/c"], "a/b/c/deep/file"));
        assert!(!excludes(&["a/*/c"], "a/b/x/c"));
        assert!(excludes(&["/top"], "top/file"));
        assert!(!excludes(&["/top"], "a/top/file"));
    }

    #[test]
    fn one_entry_is_judged_without_the_folders_above_it() {
        let set = globs(&["*.jpg", "raw"]);
        assert!(set.matches_name(Path::new("raw/a.jpg")));
        assert!(!set.matches_name(Path::new("raw/a.png")));
        assert!(set.matches_file(Path::new("raw/a.png")));
    }

    #[test]
    fn names_are_bytes() {
        let name = OsStr::from_bytes(b"caf\xe9.iso");
        assert!(globs(&["*.iso"]).matches_file(Path::new(name)));
        assert!(globs(&["caf?.iso"]).matches_file(Path::new(name)));
    }

    #[test]
    fn a_glob_that_begins_with_the_root_is_told_from_others() {
        let meant = |glob| meant_below(glob, Path::new("/srv/photos"));
        assert_eq!(meant("/srv/photos/raw/*.dng"), Some("/raw/*.dng"));
        assert_eq!(meant("/srv/photos2/raw"), None);
        assert_eq!(meant("/srv/photos/"), None);
        assert_eq!(meant("/raw"), None);
        // Below `/`, whole paths are what they seem.
        assert_eq!(meant_below("/srv/photos", Path::new("/")), None);
    }

    #[test]
    fn globs_that_matched_nothing_are_known() {
        let set = globs(&["*.jpg", "*.png", "raw/*.png", "/x/", "a*"]);
        let unmatched = || {
            set.clone()
                .unmatched()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(unmatched().len(), 5);
        assert!(set.matches_file(Path::new("a.jpg")));
        assert_eq!(unmatched(), ["*.png", "raw/*.png", "/x/"]);
        assert!(set.matches_file(Path::new("x/y")) && !set.matches_file(Path::new("y")));
        assert_eq!(unmatched(), ["*.png", "raw/*.png"]);
    }

    #[test]
    fn no_globs_match_nothing() {
        let none = globs(&[]);
        assert!(none.is_empty());
        assert!(!none.matches_file(Path::new("a")));
    }

    #[test]
    fn a_bad_glob_is_named_as_it_was_typed() {
        let (glob, reason) = Globs::new(&["ok".to_owned(), "/a[".to_owned()]).unwrap_err();
        assert_eq!(glob, "/a[");
        assert!(!reason.is_empty());
    }
}
