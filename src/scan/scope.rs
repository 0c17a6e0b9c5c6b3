//! Which names a scan looks at. What is out of scope is skipped: it is neither
//! read nor marked as deleted.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::model::{Globs, ListingOptions};

/// The name filters of one scan, compiled.
#[derive(Debug)]
pub(crate) struct Scope {
    include: Option<Globs>,
    exclude: Globs,
    no_hidden: bool,
    max_depth: Option<u32>,
    is_open: bool,
}

impl Scope {
    /// Compiles the filters; a bad glob is returned with what is wrong.
    pub(crate) fn new(options: &ListingOptions) -> Result<Self, (String, String)> {
        Ok(Self {
            include: match options.include.as_slice() {
                [] => None,
                globs => Some(Globs::new(globs)?),
            },
            exclude: Globs::new(&options.exclude)?,
            no_hidden: options.no_hidden,
            max_depth: options.max_depth,
            is_open: !options.may_hide_files(),
        })
    }

    /// The globs that matched nothing in all that was looked at.
    pub(crate) fn unmatched(&self) -> Vec<String> {
        let globs = self.include.iter().chain([&self.exclude]);
        globs
            .flat_map(Globs::unmatched)
            .map(str::to_owned)
            .collect()
    }

    /// Whether nothing is filtered, so that no path has to be put together.
    pub(crate) fn admits_all(&self) -> bool {
        self.is_open
    }

    /// Whether an entry found in a folder that is in scope is in scope too.
    pub(crate) fn admits_file(&self, below: &Path, ignores: &IgnoreChain) -> bool {
        self.admits(below, false, ignores)
            && self
                .include
                .as_ref()
                .is_none_or(|include| include.matches_file(below))
    }

    /// The same for a subfolder. Depth counts from the folder the user named,
    /// `start` levels below the root.
    pub(crate) fn admits_subfolder(
        &self,
        below: &Path,
        start: usize,
        ignores: &IgnoreChain,
    ) -> bool {
        let is_too_deep = self
            .max_depth
            .is_some_and(|most| below.components().count() > start + most as usize);
        !is_too_deep && self.admits(below, true, ignores)
    }

    /// Whether a folder is in scope, looking at every step between it and the
    /// folder the user named.
    pub(crate) fn admits_path(&self, below: &Path, start: usize, ignores: &IgnoreChain) -> bool {
        below
            .ancestors()
            .filter(|step| step.components().count() > start)
            .all(|step| self.admits_subfolder(step, start, ignores))
    }

    fn admits(&self, below: &Path, is_folder: bool, ignores: &IgnoreChain) -> bool {
        !self.is_hidden(below)
            && !self.exclude.matches_name(below)
            && !ignores.ignores(below, is_folder)
    }

    fn is_hidden(&self, below: &Path) -> bool {
        self.no_hidden
            && below
                .file_name()
                .is_some_and(|name| name.as_bytes().starts_with(b"."))
    }
}

/// The `.gitignore` files from the root down to one folder, innermost first.
#[derive(Debug, Clone, Default)]
pub(crate) struct IgnoreChain(Option<Arc<Link>>);

#[derive(Debug)]
struct Link {
    rules: Gitignore,
    outer: IgnoreChain,
}

impl IgnoreChain {
    /// The name of the files the rules come from.
    pub(crate) const FILE: &'static str = ".gitignore";

    /// The chain with the rules of one more folder. Lines that are no valid
    /// pattern are passed over, as git does.
    #[must_use]
    pub(crate) fn with(&self, folder: &Path, content: &[u8]) -> Self {
        // Patterns are anchored at the folder; the builder wants absolute
        // paths, so the scan's root plays "/".
        let mut builder = GitignoreBuilder::new(Path::new("/").join(folder));
        for line in String::from_utf8_lossy(content).lines() {
            builder.add_line(None, line).ok();
        }
        match builder.build() {
            Ok(rules) if !rules.is_empty() => Self(Some(Arc::new(Link {
                rules,
                outer: self.clone(),
            }))),
            _ => self.clone(),
        }
    }

    /// Whether git would ignore the entry: the innermost match decides.
    fn ignores(&self, below: &Path, is_folder: bool) -> bool {
        let path = Path::new("/").join(below);
        let mut chain = self;
        while let Some(link) = &chain.0 {
            match link.rules.matched(&path, is_folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => chain = &link.outer,
            }
        }
        false
    }
}

/// Whether a name is the one that holds ignore rules.
pub(crate) fn is_ignore_file(name: &OsStr) -> bool {
    name == OsStr::new(IgnoreChain::FILE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(change: impl FnOnce(&mut ListingOptions)) -> Scope {
        let mut options = ListingOptions::default();
        change(&mut options);
        Scope::new(&options).unwrap()
    }

    fn admits(scope: &Scope, path: &str, is_folder: bool) -> bool {
        let (path, chain) = (Path::new(path), IgnoreChain::default());
        if is_folder {
            scope.admits_subfolder(path, 0, &chain)
        } else {
            scope.admits_file(path, &chain)
        }
    }

    #[test]
    fn hidden_names_are_in_scope_unless_excluded() {
        assert!(admits(&scope(|_| ()), ".git", true));
        let scope = scope(|options| options.no_hidden = true);
        assert!(!admits(&scope, ".git", true));
        assert!(!admits(&scope, "a/.x", false));
        assert!(admits(&scope, "a/x.", false));
    }

    #[test]
    fn depth_counts_folders_below_the_root() {
        let scope = scope(|options| options.max_depth = Some(1));
        assert!(admits(&scope, "a", true));
        assert!(admits(&scope, "a/file", false));
        assert!(!admits(&scope, "a/b", true));
        let chain = IgnoreChain::default();
        assert!(scope.admits_subfolder(Path::new("a/b"), 1, &chain));
        assert!(!scope.admits_path(Path::new("a/b/c"), 1, &chain));
    }

    #[test]
    fn includes_choose_files_but_never_close_folders() {
        let scope = scope(|options| options.include = vec!["*.jpg".to_owned()]);
        assert!(admits(&scope, "photos", true));
        assert!(admits(&scope, "photos/a.jpg", false));
        assert!(!admits(&scope, "photos/a.txt", false));
    }

    #[test]
    fn an_excluded_folder_closes_everything_below_it() {
        let scope = scope(|options| options.exclude = vec!["node_modules".to_owned()]);
        assert!(!admits(&scope, "web/node_modules", true));
        let chain = IgnoreChain::default();
        assert!(!scope.admits_path(Path::new("web/node_modules/deep"), 0, &chain));
        assert!(scope.admits_path(Path::new("web/src"), 0, &chain));
        // Named by the user, so in scope whatever its name.
        assert!(scope.admits_path(Path::new("web/node_modules/deep"), 2, &chain));
    }

    #[test]
    fn the_innermost_gitignore_decides() {
        let outer = IgnoreChain::default().with(Path::new(""), b"*.log\n/build\n");
        let inner = outer.with(Path::new("keep"), b"!important.log\n");
        let ignores =
            |chain: &IgnoreChain, path: &str, is_folder| chain.ignores(Path::new(path), is_folder);
        assert!(ignores(&outer, "a.log", false));
        assert!(ignores(&outer, "build", true));
        assert!(!ignores(&outer, "src/build", true));
        assert!(ignores(&inner, "keep/other.log", false));
        assert!(!ignores(&inner, "keep/important.log", false));
    }
}
