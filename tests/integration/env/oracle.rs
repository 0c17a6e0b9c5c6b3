//! The brute force to compare with: walks everything, compares bytes with
//! bytes, knows nothing of hashes, catalogs or scans.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use crate::env::report_json::{Copies, Groups};

/// The duplicate groups below `roots`, each the set of its copies, each copy
/// the set of its names relative to `base`. Empty files are skipped.
pub(crate) fn copies(base: &Path, roots: &[&str]) -> Copies {
    let mut classes: Vec<(Vec<u8>, BTreeSet<BTreeSet<PathBuf>>)> = Vec::new();
    for names in inodes(base, roots).into_values() {
        let content = fs::read(base.join(names.first().unwrap())).unwrap();
        if content.is_empty() {
            continue;
        }
        match classes.iter_mut().find(|(known, _)| *known == content) {
            Some((_, copies)) => {
                copies.insert(names);
            }
            None => classes.push((content, BTreeSet::from([names]))),
        }
    }
    let several = |(_, copies): (_, BTreeSet<_>)| (copies.len() > 1).then_some(copies);
    classes.into_iter().filter_map(several).collect()
}

/// As [`copies`], with the first name of each copy only.
pub(crate) fn groups(base: &Path, roots: &[&str]) -> Groups {
    // By bytes, as reports sort them: `Path` would compare folder by folder.
    let by_bytes = |a: &PathBuf, b: &PathBuf| a.as_os_str().cmp(b.as_os_str());
    let first = |names: BTreeSet<PathBuf>| names.into_iter().min_by(by_bytes).unwrap();
    let group = |copies: BTreeSet<_>| copies.into_iter().map(first).collect();
    copies(base, roots).into_iter().map(group).collect()
}

/// The names of every regular file, by device and inode.
fn inodes(base: &Path, roots: &[&str]) -> BTreeMap<(u64, u64), BTreeSet<PathBuf>> {
    let mut inodes: BTreeMap<_, BTreeSet<PathBuf>> = BTreeMap::new();
    for root in roots {
        for entry in WalkDir::new(base.join(root)).follow_links(false) {
            let entry = entry.unwrap();
            if entry.file_type().is_file() {
                let meta = entry.metadata().unwrap();
                let name = entry.path().strip_prefix(base).unwrap().to_owned();
                inodes
                    .entry((meta.dev(), meta.ino()))
                    .or_default()
                    .insert(name);
            }
        }
    }
    inodes
}

#[cfg(test)]
mod tests {
    use crate::env::report_json::expected;

    use super::*;

    #[test]
    fn the_oracle_sees_copies_links_and_near_misses() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        fs::create_dir(base.join("t")).unwrap();
        for (name, content) in [
            ("a", "same"),
            ("b", "same"),
            ("c", "sane"),
            ("d", ""),
            ("e", ""),
        ] {
            fs::write(base.join("t").join(name), content).unwrap();
        }
        fs::hard_link(base.join("t/a"), base.join("t/a2")).unwrap();
        fs::hard_link(base.join("t/c"), base.join("t/c2")).unwrap();
        assert_eq!(groups(base, &["t", "t"]), expected(&[&["t/a", "t/b"]]));
        let names: BTreeSet<_> = ["t/a", "t/a2"].map(PathBuf::from).into();
        assert!(copies(base, &["t"]).first().unwrap().contains(&names));
    }
}
