//! Trees whose files belong together: a copy in one of them is not redundant
//! because an equal file exists elsewhere.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A kind of tree, in words, and how to recognise the folder it begins with.
type Guard = (&'static str, fn(&[u8]) -> bool);

const GUARDS: &[Guard] = &[
    ("a version control repository", |name| {
        matches!(name, b".git" | b".hg" | b".jj" | b".svn" | b".bzr")
    }),
    ("node_modules", |name| name == b"node_modules"),
    ("a virtual environment", |name| {
        matches!(name, b".venv" | b"venv" | b".tox" | b"site-packages")
    }),
    ("a photo library", |name| {
        let ends = [&b".photoslibrary"[..], b".photolibrary", b".aplibrary"];
        ends.iter().any(|end| name.ends_with(end))
    }),
    ("a snapshot folder", |name| {
        matches!(name, b".snapshots" | b".zfs" | b".snapshot")
    }),
    ("data of a sync program", |name| {
        matches!(
            name,
            b".stfolder" | b".stversions" | b".dropbox.cache" | b".sync" | b".owncloudsync"
        )
    }),
    ("a mail store", |name| {
        matches!(
            name,
            b"Maildir" | b".maildir" | b".thunderbird" | b".notmuch"
        )
    }),
];

/// Trees that are known by what is in their topmost folder, all of it together.
const BY_CONTENT: &[(&str, &[&str])] = &[
    (
        "a restic repository",
        &["config", "data", "index", "keys", "snapshots"],
    ),
    ("a borg repository", &["README", "config", "data"]),
    ("a virtual environment", &["pyvenv.cfg"]),
    ("a mail store", &["cur", "new", "tmp"]),
];

/// Why a file must not be acted on without `--include-guarded`, given its
/// path; `None` for a path that is in no such tree by its name.
pub(crate) fn guarded_by_name(path: &Path) -> Option<&'static str> {
    let folders = path.parent()?.iter().map(OsStr::as_bytes);
    let guard = |name| GUARDS.iter().find(|(_, is_one)| is_one(name));
    folders.filter_map(guard).map(|(words, _)| *words).next()
}

/// The tree that begins with a folder, given what the folder has.
pub(crate) fn guarded_by_content(has: impl Fn(&str) -> bool) -> Option<&'static str> {
    let is_one = |names: &[&str]| names.iter().all(|name| has(name));
    let tree = BY_CONTENT.iter().find(|(_, names)| is_one(names));
    tree.map(|(words, _)| *words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guarded_trees_are_known_by_the_names_above_a_file() {
        for (path, guard) in [
            ("/h/p/.git/objects/ab/cdef", "a version control repository"),
            ("/h/p/node_modules/x/index.js", "node_modules"),
            ("/h/p/.venv/lib/x.py", "a virtual environment"),
            ("/h/Old.photoslibrary/originals/1.jpg", "a photo library"),
            ("/h/.snapshots/3/snapshot/x", "a snapshot folder"),
            ("/h/sync/.stfolder/x", "data of a sync program"),
            ("/h/Maildir/cur/1", "a mail store"),
        ] {
            assert_eq!(guarded_by_name(Path::new(path)), Some(guard), "{path}");
        }
        // The name of the file itself is none of these, nor a part of a name.
        for path in ["/h/p/node_modules", "/h/.gitignore", "/h/x.git/a", "/"] {
            assert_eq!(guarded_by_name(Path::new(path)), None, "{path}");
        }
    }

    #[test]
    fn backup_repositories_are_known_by_what_is_in_them() {
        let tree = |names: &[&str]| guarded_by_content(|name| names.contains(&name));
        let restic = ["config", "data", "index", "keys", "locks", "snapshots"];
        assert_eq!(tree(&restic), Some("a restic repository"));
        assert_eq!(tree(&restic[..3]), None);
        assert_eq!(
            tree(&["README", "config", "data", "hints.5"]),
            Some("a borg repository")
        );
        assert_eq!(tree(&["bin", "pyvenv.cfg"]), Some("a virtual environment"));
    }
}
