use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::folders::comparer::Comparer;
use crate::folders::testing::{Content, Tree, size, trees};
use crate::testing::proptest_config;

const UNLIMITED: Tuning = Tuning {
    crowd: usize::MAX,
    most_pairs: usize::MAX,
    most_steps: u64::MAX,
};

/// Pairs of folders, with what is in both and in either.
type Pairs = BTreeMap<(usize, usize), (Overlap, Overlap)>;

fn sizes(tree: &Tree, folder: usize) -> BTreeMap<Content, u64> {
    let files = tree.below(folder).into_iter().map(|(_, inode)| inode);
    files
        .filter(|&inode| size(inode) > 0)
        .map(|inode| (tree.content(inode), size(inode)))
        .collect()
}

fn overlap<'a>(sizes: impl Iterator<Item = &'a u64>) -> Overlap {
    sizes.fold(Overlap::default(), |sum, &bytes| Overlap {
        contents: sum.contents + 1,
        bytes: sum.bytes + bytes,
    })
}

/// Every pair that is similar enough, topmost or not.
fn alike(tree: &Tree, percent: u8, measure: Measure) -> Pairs {
    let mut pairs = Pairs::new();
    for a in 0..tree.parents.len() {
        for b in 0..tree.parents.len() {
            if tree.path(a) >= tree.path(b) || tree.are_related(a, b) {
                continue;
            }
            let (left, right) = (sizes(tree, a), sizes(tree, b));
            let both = overlap(
                left.iter()
                    .filter(|(c, _)| right.contains_key(c))
                    .map(|(_, s)| s),
            );
            let union: BTreeMap<_, _> = left.iter().chain(&right).collect();
            let either = overlap(union.into_values());
            let (part, whole) = match measure {
                Measure::Count => (both.contents, either.contents),
                Measure::Bytes => (both.bytes, either.bytes),
            };
            if part > 0 && part * 100 >= u64::from(percent) * whole {
                pairs.insert((a, b), (both, either));
            }
        }
    }
    pairs
}

/// Whether a pair is below another.
fn is_below(tree: &Tree, pair: (usize, usize), top: (usize, usize)) -> bool {
    let holds = |a: usize, b: usize| tree.holds(a, pair.0) && tree.holds(b, pair.1);
    pair != top && (holds(top.0, top.1) || holds(top.1, top.0))
}

fn topmost(tree: &Tree, pairs: &Pairs) -> Pairs {
    let is_top = |pair: &(usize, usize)| !pairs.keys().any(|&top| is_below(tree, *pair, top));
    let tops = pairs.iter().filter(|(pair, _)| is_top(pair));
    tops.map(|(pair, counts)| (*pair, *counts)).collect()
}

fn found(tree: &Tree, percent: u8, measure: Measure, tuning: Tuning) -> (Pairs, SimilarPairs) {
    let forest = tree.forest(false);
    let similarity = Similarity {
        percent,
        measure,
        tuning,
    };
    let result = similar(&forest, |_| true, &similarity);
    let folder = |node| Tree::folder(&forest, node);
    let pairs: Pairs = result
        .pairs
        .iter()
        .map(|pair| {
            (
                (folder(pair.left), folder(pair.right)),
                (pair.both, pair.either),
            )
        })
        .collect();
    assert_eq!(pairs.len(), result.pairs.len(), "a pair came twice");
    (pairs, result)
}

fn measures() -> impl Strategy<Value = Measure> {
    prop_oneof![Just(Measure::Count), Just(Measure::Bytes)]
}

proptest! {
    #![proptest_config(proptest_config())]

    #[test]
    fn the_brute_force_finds_the_same_pairs(
        tree in trees(false),
        percent in 50..=100_u8,
        measure in measures(),
    ) {
        let (pairs, result) = found(&tree, percent, measure, UNLIMITED);
        prop_assert!(result.is_complete);
        prop_assert_eq!(pairs, topmost(&tree, &alike(&tree, percent, measure)));
    }

    #[test]
    fn what_is_not_known_counts_as_different(
        tree in trees(true),
        percent in 1..=100_u8,
        measure in measures(),
    ) {
        let (pairs, _) = found(&tree, percent, measure, UNLIMITED);
        prop_assert_eq!(pairs, topmost(&tree, &alike(&tree, percent, measure)));
    }

    #[test]
    fn only_folders_of_a_crowd_can_be_missing(tree in trees(false), percent in 50..=100_u8) {
        let tuning = Tuning { crowd: 2, ..UNLIMITED };
        let (pairs, _) = found(&tree, percent, Measure::Count, tuning);
        let all = alike(&tree, percent, Measure::Count);
        let in_crowd = |folder: usize| {
            let own = sizes(&tree, folder);
            (0..tree.parents.len()).filter(|&other| sizes(&tree, other) == own).count() > 2
        };
        for (pair, counts) in &pairs {
            prop_assert_eq!(all.get(pair), Some(counts));
        }
        for pair in all.keys().filter(|pair| !in_crowd(pair.0) && !in_crowd(pair.1)) {
            let is_listed = pairs.keys().any(|&top| top == *pair || is_below(&tree, *pair, top));
            prop_assert!(is_listed, "{:?} is missing from {:?}", pair, pairs);
        }
    }

    #[test]
    fn wanted_folders_get_the_pairs_they_have(tree in trees(false), folder: prop::sample::Index) {
        let forest = tree.forest(false);
        let top = folder.index(tree.parents.len());
        let wanted = |node: Node| tree.holds(top, Tree::folder(&forest, node));
        let similarity = Similarity { percent: 50, measure: Measure::Count, tuning: UNLIMITED };
        let result = similar(&forest, wanted, &similarity);
        let found: BTreeSet<_> = result
            .pairs
            .iter()
            .map(|pair| (Tree::folder(&forest, pair.left), Tree::folder(&forest, pair.right)))
            .collect();
        let mut all = alike(&tree, 50, Measure::Count);
        all.retain(|(a, b), _| tree.holds(top, *a) || tree.holds(top, *b));
        prop_assert_eq!(found, topmost(&tree, &all).into_keys().collect::<BTreeSet<_>>());
    }

    #[test]
    fn sides_are_counted_out(tree in trees(true)) {
        let forest = tree.forest(false);
        let similarity = Similarity { percent: 1, measure: Measure::Count, tuning: UNLIMITED };
        let mut comparer = Comparer::new(&forest);
        for pair in similar(&forest, |_| true, &similarity).pairs {
            let folders = [pair.left, pair.right].map(|node| Tree::folder(&forest, node));
            let [left, right] = comparer.sides(&pair);
            for (side, own, other) in [(left, folders[0], folders[1]), (right, folders[1], folders[0])] {
                let (mine, theirs) = (sizes(&tree, own), sizes(&tree, other));
                let files: Vec<u8> = tree.below(own).into_iter().map(|file| file.1).collect();
                let files = files.into_iter().filter(|&inode| size(inode) > 0);
                let is_only = |inode: &u8| !theirs.contains_key(&tree.content(*inode));
                prop_assert_eq!(side.all, overlap(mine.values()));
                let only = mine.iter().filter(|(c, _)| !theirs.contains_key(c)).map(|(_, s)| s);
                prop_assert_eq!(side.only, overlap(only));
                prop_assert_eq!(side.files, files.clone().count() as u64);
                prop_assert_eq!(side.only_files, files.clone().filter(is_only).count() as u64);
                let bytes = files.clone().filter(is_only).map(size);
                prop_assert_eq!(side.only_bytes, bytes.sum::<u64>());
                let unsure = files.filter(is_only).filter(|&inode| tree.is_unresolved(inode));
                prop_assert_eq!(side.unchecked, unsure.count() as u64);
            }
        }
    }
}

#[test]
fn a_search_that_stops_early_says_so() {
    let tree = Tree {
        parents: vec![None, None, None],
        files: vec![(0, 0, 1), (1, 0, 14), (2, 0, 27)],
        states: vec![crate::folders::testing::ReadState::Digested; 60],
        unlisted: BTreeSet::new(),
    };
    let (pairs, result) = found(&tree, 50, Measure::Count, UNLIMITED);
    assert_eq!(pairs.len(), 3);
    assert!(result.is_complete);
    let few = Tuning {
        most_pairs: 2,
        ..UNLIMITED
    };
    let (pairs, result) = found(&tree, 50, Measure::Count, few);
    assert_eq!(pairs.len(), 2);
    assert!(!result.is_complete);
    let short = Tuning {
        most_steps: 3,
        ..UNLIMITED
    };
    assert!(!found(&tree, 50, Measure::Count, short).1.is_complete);
    let crowd = Tuning {
        crowd: 2,
        ..UNLIMITED
    };
    let (pairs, result) = found(&tree, 50, Measure::Count, crowd);
    assert_eq!(pairs.into_keys().collect::<Vec<_>>(), [(0, 1), (0, 2)]);
    assert_eq!(result.crowded, 2);
}
