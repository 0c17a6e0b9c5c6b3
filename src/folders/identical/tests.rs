use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use crate::folders::forest::Node;
use crate::folders::testing::{Content, Tree, occupied, size, trees};
use crate::testing::proptest_config;

/// A group of folders: the one to keep, the others, files, bytes, what they
/// save, and which have the same files as the one to keep.
type Expected = (usize, BTreeSet<usize>, usize, u64, u64, BTreeSet<usize>);

/// What makes two folders identical.
type Likeness = BTreeMap<(Vec<String>, Content), usize>;

fn likeness(tree: &Tree, folder: usize, same_names: bool) -> Likeness {
    let mut likeness = Likeness::new();
    for (path, inode) in tree.below(folder) {
        let path = if same_names { path } else { Vec::new() };
        *likeness.entry((path, tree.content(inode))).or_default() += 1;
    }
    likeness
}

/// Bytes and number of the inodes that have all their names below `folders`;
/// empty ones free nothing.
fn freed(tree: &Tree, folders: &[usize]) -> (u64, usize) {
    let inodes: BTreeSet<u8> = tree.files.iter().map(|file| file.2).collect();
    let goes = |&inode: &u8| {
        let mut names = tree.files.iter().filter(|file| file.2 == inode);
        names.all(|file| folders.iter().any(|&top| tree.holds(top, file.0)))
    };
    let goes: Vec<u8> = inodes.into_iter().filter(goes).collect();
    let bytes = goes.iter().map(|&inode| occupied(inode)).sum();
    let copies = goes.iter().filter(|&&inode| size(inode) > 0).count();
    (bytes, copies)
}

/// All groups by brute force, and how many save nothing.
fn expected(tree: &Tree, same_names: bool) -> (BTreeSet<Expected>, u64) {
    let bytes = |folder: usize| -> u64 { tree.below(folder).iter().map(|file| size(file.1)).sum() };
    let folders: Vec<usize> = (0..tree.parents.len())
        .filter(|&folder| tree.is_complete(folder) && bytes(folder) > 0)
        .collect();
    let mut open: Vec<Vec<usize>> = Vec::new();
    let mut by_likeness: BTreeMap<Likeness, Vec<usize>> = BTreeMap::new();
    for &folder in &folders {
        let same = by_likeness
            .entry(likeness(tree, folder, same_names))
            .or_default();
        same.push(folder);
    }
    for same in by_likeness.into_values() {
        let is_top = |&folder: &usize| {
            !same
                .iter()
                .any(|&top| top != folder && tree.holds(top, folder))
        };
        let mut tops: Vec<usize> = same.iter().copied().filter(is_top).collect();
        tops.sort_by_key(|&folder| tree.path(folder));
        open.push(tops);
    }
    let (mut groups, mut linked) = (BTreeSet::new(), 0);
    // A group's turn comes when no other still open has a folder above it.
    while let Some(next) = (0..open.len()).find(|&at| {
        let is_above = |top: usize| open[at].iter().any(|&folder| tree.holds(top, folder));
        let mut others = (0..open.len()).filter(|&other| other != at);
        others.all(|other| open[other].len() < 2 || !open[other].iter().any(|&top| is_above(top)))
    }) {
        let mut group = open.remove(next);
        if group.len() < 2 {
            continue;
        }
        let keep = *group
            .iter()
            .min_by_key(|&&folder| freed(tree, &[folder]))
            .unwrap();
        group.retain(|&folder| folder != keep);
        let (frees, copies) = freed(tree, &group);
        if copies == 0 {
            linked += 1;
            continue;
        }
        for other in &mut open {
            other.retain(|&folder| !group.iter().any(|&copy| tree.holds(copy, folder)));
        }
        let inodes = |folder: usize| {
            let mut inodes: Vec<u8> = tree.below(folder).iter().map(|file| file.1).collect();
            inodes.sort_unstable();
            inodes
        };
        let is_alias = |&folder: &usize| inodes(folder) == inodes(keep);
        let (aliases, others) = group.into_iter().partition(is_alias);
        let files = tree.below(keep).len();
        groups.insert((keep, others, files, bytes(keep), frees, aliases));
    }
    assert!(open.iter().all(|group| group.len() < 2), "a ring of groups");
    (groups, linked)
}

/// The same from the algorithm.
fn found(tree: &Tree, same_names: bool) -> (BTreeSet<Expected>, u64) {
    let forest = tree.forest(same_names);
    let result = forest.identical(|_| true);
    let frees: Vec<_> = result
        .groups
        .iter()
        .map(|group| group.reclaimable)
        .collect();
    assert!(frees.is_sorted_by(|a, b| a >= b), "{frees:?}");
    let groups = result.groups.iter().map(|group| {
        let named = |nodes: &[Node]| -> Vec<usize> {
            let nodes = nodes.iter();
            nodes.map(|&node| Tree::folder(&forest, node)).collect()
        };
        let folders = named(&group.folders);
        (
            folders[0],
            folders[1..].iter().copied().collect(),
            usize::try_from(group.files).unwrap(),
            group.bytes,
            group.reclaimable,
            named(&group.aliases).into_iter().collect(),
        )
    });
    (groups.collect(), result.linked)
}

proptest! {
    #![proptest_config(proptest_config())]

    #[test]
    fn the_brute_force_finds_the_same_groups(tree in trees(false), same_names: bool) {
        prop_assert_eq!(found(&tree, same_names), expected(&tree, same_names));
    }

    #[test]
    fn what_is_not_known_is_never_called_identical(tree in trees(true), same_names: bool) {
        prop_assert_eq!(found(&tree, same_names), expected(&tree, same_names));
    }

    #[test]
    fn unchecked_folders_may_have_an_equal(tree in trees(true)) {
        let is_only = |inode: u8| {
            let same = tree.files.iter().filter(|file| tree.content(file.2) == tree.content(inode));
            size(inode) > 0 && same.count() == 1 && !tree.is_unresolved(inode)
        };
        let has_equal = |folder: usize| {
            let alike = likeness(&tree, folder, false);
            tree.is_complete(folder) && tree.below(folder).iter().any(|file| size(file.1) > 0)
                && (0..tree.parents.len()).any(|other| {
                    !tree.are_related(folder, other)
                        && tree.is_complete(other)
                        && likeness(&tree, other, false) == alike
                })
        };
        let unchecked = (0..tree.parents.len()).filter(|&folder| {
            let below = tree.below(folder);
            let is_open = !tree.is_complete(folder)
                || below.iter().any(|file| tree.is_unresolved(file.1));
            is_open && !has_equal(folder) && !below.iter().any(|file| is_only(file.1))
        });
        let result = tree.forest(false).identical(|_| true);
        prop_assert_eq!(result.unchecked.folders, unchecked.count() as u64);
    }
}

/// Two trees `0` and `1`, each with a folder of files of these inodes.
fn twins(left: &[u8], right: &[u8]) -> Tree {
    let files = |folder: usize, inodes: &[u8]| -> Vec<(usize, u8, u8)> {
        (0..)
            .zip(inodes)
            .map(|(name, &inode)| (folder, name, inode))
            .collect()
    };
    Tree {
        parents: vec![None, None, Some(0), Some(1)],
        files: [files(2, left), files(3, right)].concat(),
        states: vec![crate::folders::testing::ReadState::Digested; 60],
        unlisted: BTreeSet::new(),
    }
}

#[test]
fn only_the_topmost_folders_are_named() {
    let (groups, linked) = found(&twins(&[1, 2], &[14, 15]), false);
    assert_eq!(
        groups,
        BTreeSet::from([(0, BTreeSet::from([1]), 2, 21, 21, BTreeSet::new())])
    );
    assert_eq!(linked, 0);
}

#[test]
fn hard_links_free_nothing() {
    assert_eq!(found(&twins(&[1, 2], &[1, 2]), false), (BTreeSet::new(), 1));
    let (groups, _) = found(&twins(&[1, 2], &[1, 15]), false);
    assert_eq!(groups.first().unwrap().4, 11);
}

/// A bind mount, or hard links of all files: it is not offered for deletion.
#[test]
fn the_very_files_of_the_folder_to_keep_are_no_copy() {
    let mut tree = twins(&[1, 2], &[1, 2]);
    tree.parents.push(None);
    tree.files.extend([(4, 0, 14), (4, 1, 15)]);
    let expected = (0, BTreeSet::from([4]), 2, 21, 21, BTreeSet::from([1]));
    assert_eq!(found(&tree, false).0, BTreeSet::from([expected]));
}

#[test]
fn every_file_counts_as_often_as_it_is_there() {
    assert_eq!(
        found(&twins(&[1, 2], &[1, 2, 15]), false).0,
        BTreeSet::new()
    );
    assert_eq!(found(&twins(&[1, 0], &[14]), false).0, BTreeSet::new());
    assert_eq!(found(&twins(&[1, 0], &[13, 14]), false).0.len(), 1);
    assert_eq!(found(&twins(&[1, 0], &[13, 14]), true).0.len(), 0);
    assert_eq!(found(&twins(&[0], &[13]), false), (BTreeSet::new(), 0));
}
