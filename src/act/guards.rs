//! Trees whose files belong to a program: a copy in one of them is not redundant
//! because an equal file exists elsewhere, nor is one elsewhere redundant because of
//! it. The program may delete it.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

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
    ("a mail store", |name| {
        matches!(
            name,
            b"Maildir" | b".maildir" | b".thunderbird" | b".notmuch"
        )
    }),
];

/// Trees from which copies vanish by themselves. They never stand for others.
const FLEETING: &[Guard] = &[
    ("a snapshot folder", |name| {
        matches!(name, b".snapshots" | b".zfs" | b".snapshot")
    }),
    ("data of a sync program", |name| {
        matches!(
            name,
            b".stfolder" | b".stversions" | b".dropbox.cache" | b".sync" | b".owncloudsync"
        )
    }),
    ("a trash folder", |name| {
        let is_users = name.strip_prefix(b".Trash-");
        matches!(
            name,
            b".Trash" | b".Trashes" | b"$RECYCLE.BIN" | b"#recycle" | b"@Recycle"
        ) || is_users.is_some_and(|user| user.iter().all(u8::is_ascii_digit))
    }),
    ("lost+found", |name| name == b"lost+found"),
];

/// The trash of most desktops, below the folder for users' data.
const DESKTOP_TRASH: [&[u8]; 2] = [b"Trash", b"files"];

/// Trees that are known by what is in their topmost folder, all of it together.
const BY_CONTENT: &[(&str, &[&str])] = &[
    (
        "a restic repository",
        &["config", "data", "index", "keys", "snapshots"],
    ),
    ("a borg repository", &["README", "config", "data"]),
    ("a version control repository", &["HEAD", "objects", "refs"]),
    ("a virtual environment", &["pyvenv.cfg"]),
    ("a mail store", &["cur", "new", "tmp"]),
];

/// Recognises guarded trees by their names, and by what is in them on the disk: the
/// catalog lacks what is excluded or unreadable.
#[derive(Default)]
pub(crate) struct Guards {
    by_content: HashMap<PathBuf, Option<&'static str>>,
}

impl Guards {
    /// The tree that a file is in, and must not be acted on without
    /// `--include-guarded`.
    pub(crate) fn tree_of(&mut self, path: &Path) -> Option<&'static str> {
        let by_name = fleeting_tree(path).or_else(|| named(GUARDS, path));
        by_name.or_else(|| self.tree_by_content(path))
    }

    fn tree_by_content(&mut self, path: &Path) -> Option<&'static str> {
        let folder = path.parent()?;
        if let Some(known) = self.by_content.get(folder) {
            return *known;
        }
        let tree = guarded_by_content(|name| folder.join(name).symlink_metadata().is_ok())
            .or_else(|| self.tree_by_content(folder));
        self.by_content.insert(folder.to_owned(), tree);
        tree
    }
}

/// The tree that a file is in, from which it may vanish by itself.
pub(crate) fn fleeting_tree(path: &Path) -> Option<&'static str> {
    let names: Vec<&[u8]> = path.parent()?.iter().map(OsStr::as_bytes).collect();
    let is_in_trash = names.windows(2).any(|two| two == DESKTOP_TRASH);
    named(FLEETING, path).or(is_in_trash.then_some("a trash folder"))
}

/// The first of these trees that a path is in by the names of its folders.
fn named(trees: &[Guard], path: &Path) -> Option<&'static str> {
    let folders = path.parent()?.iter().map(OsStr::as_bytes);
    let tree = |name| trees.iter().find(|(_, is_one)| is_one(name));
    folders.filter_map(tree).map(|(words, _)| *words).next()
}

/// The tree that begins with a folder, given what the folder has.
fn guarded_by_content(has: impl Fn(&str) -> bool) -> Option<&'static str> {
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
            ("/h/.Trash-1000/files/1", "a trash folder"),
            ("/h/.local/share/Trash/files/1", "a trash folder"),
        ] {
            let tree = Guards::default().tree_of(Path::new(path));
            assert_eq!(tree, Some(guard), "{path}");
        }
        // The name of the file itself is none of these, nor a part of a name.
        for path in [
            "/h/p/node_modules",
            "/h/.gitignore",
            "/h/x.git/a",
            "/h/.Trash-x/a",
            "/h/Trash/a",
            "/",
        ] {
            assert_eq!(Guards::default().tree_of(Path::new(path)), None, "{path}");
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
