//! The differences between two folders, file by file.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// A file of one of two folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFile {
    /// Its path below the folder.
    pub path: PathBuf,
    /// Its content in the forest.
    pub content: u32,
    /// Whether that is known for certain.
    pub is_certain: bool,
    /// Whether a file that was not read may have it.
    pub is_unresolved: bool,
    /// Its size.
    pub size: u64,
    /// Its modification time.
    pub mtime_ns: i64,
}

/// A name that both folders have, with different content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// The path below both folders.
    pub path: PathBuf,
    /// Sizes, left and right.
    pub sizes: [u64; 2],
    /// Modification times, left and right.
    pub mtimes_ns: [i64; 2],
}

/// The differences of two folders, each list by path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Differences {
    /// Files whose content the other folder does not have as far as is known,
    /// left and right. Unchecked ones are among them.
    pub only: [Vec<NamedFile>; 2],
    /// Names with different content; they are not in `only` as well.
    pub changed: Vec<ChangedFile>,
}

/// Compares the files of two folders. An empty file alone is not a difference,
/// but a name that is empty on one side only is.
pub fn differences(left: Vec<NamedFile>, right: Vec<NamedFile>) -> Differences {
    let changed = changed(&left, &right);
    let names: HashSet<&Path> = changed.iter().map(|file| &*file.path).collect();
    let contents = |files: &[NamedFile]| files.iter().map(|file| file.content).collect();
    let (in_left, in_right): (HashSet<u32>, HashSet<u32>) = (contents(&left), contents(&right));
    let only = |mut files: Vec<NamedFile>, other: &HashSet<u32>| {
        let is_only = |file: &NamedFile| file.size > 0 && !other.contains(&file.content);
        files.retain(|file| is_only(file) && !names.contains(&*file.path));
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files
    };
    let only = [only(left, &in_right), only(right, &in_left)];
    Differences { only, changed }
}

/// Names that both have, whose contents are known and differ.
fn changed(left: &[NamedFile], right: &[NamedFile]) -> Vec<ChangedFile> {
    let by_path: HashMap<&Path, &NamedFile> =
        right.iter().map(|file| (&*file.path, file)).collect();
    let differ =
        |a: &NamedFile, b: &NamedFile| a.content != b.content && a.is_certain && b.is_certain;
    let mut changed: Vec<ChangedFile> = left
        .iter()
        .filter_map(|file| Some((file, *by_path.get(&*file.path)?)))
        .filter(|(a, b)| differ(a, b))
        .map(|(a, b)| ChangedFile {
            path: a.path.clone(),
            sizes: [a.size, b.size],
            mtimes_ns: [a.mtime_ns, b.mtime_ns],
        })
        .collect();
    changed.sort_by(|a, b| a.path.cmp(&b.path));
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, content: u32) -> NamedFile {
        NamedFile {
            path: path.into(),
            content,
            is_certain: content < 90,
            is_unresolved: content >= 90,
            size: content.into(),
            mtime_ns: i64::from(content) * 10,
        }
    }

    fn paths(files: &[NamedFile]) -> Vec<&str> {
        files
            .iter()
            .map(|file| file.path.to_str().unwrap())
            .collect()
    }

    #[test]
    fn every_difference_has_one_place() {
        let left = vec![
            file("same", 1),
            file("moved", 2),
            file("z/mine", 3),
            file("a/mine", 4),
            file("edited", 5),
            file("unread", 91),
            file("empty", 0),
        ];
        let right = vec![
            file("same", 1),
            file("elsewhere", 2),
            file("edited", 6),
            file("theirs", 7),
            file("unread", 92),
        ];
        let found = differences(left, right);
        assert_eq!(paths(&found.only[0]), ["a/mine", "unread", "z/mine"]);
        assert_eq!(paths(&found.only[1]), ["theirs", "unread"]);
        assert_eq!(
            found.changed,
            [ChangedFile {
                path: "edited".into(),
                sizes: [5, 6],
                mtimes_ns: [50, 60],
            }]
        );
    }
}
