//! The trees never change: figures of different days and machines are about
//! the same bytes.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::content::Content;
use super::{KINDS, Kind, Size, Tree};

/// The digest of paths and contents, in the order of paths.
fn digest(files: impl IntoIterator<Item = (PathBuf, Vec<u8>)>) -> String {
    let mut files: Vec<_> = files.into_iter().collect();
    files.sort();
    let mut hasher = blake3::Hasher::new();
    for (path, content) in files {
        hasher.update(path.as_os_str().as_encoded_bytes());
        hasher.update(&[0]);
        hasher.update(&(content.len() as u64).to_le_bytes());
        hasher.update(&content);
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

fn planned(tree: &Tree) -> String {
    digest((0..tree.files()).map(|number| (tree.path(number), bytes(tree.content(number)))))
}

fn bytes(content: Content) -> Vec<u8> {
    let mut bytes = vec![0xff; 3];
    content.make(&mut bytes);
    bytes
}

fn on_disk(top: &Path) -> String {
    let files = walkdir::WalkDir::new(top).into_iter().map(Result::unwrap);
    digest(
        files
            .filter(|entry| entry.file_type().is_file())
            .map(|entry| {
                let below = entry.path().strip_prefix(top).unwrap().to_path_buf();
                (below, fs::read(entry.path()).unwrap())
            }),
    )
}

#[test]
fn a_quick_tree_is_the_same_everywhere() {
    let top = tempfile::tempdir().unwrap();
    let tree = Tree::new(Kind::from_name("small").unwrap(), Size::Quick);
    tree.write(top.path()).unwrap();
    assert_eq!(on_disk(top.path()), QUICK_SMALL);

    let some: Vec<u64> = (0..tree.files()).step_by(100).collect();
    tree.rewrite(top.path(), &some, 3).unwrap();
    assert_ne!(on_disk(top.path()), QUICK_SMALL);
    tree.restore(top.path(), &some).unwrap();
    assert_eq!(on_disk(top.path()), QUICK_SMALL);
}

const QUICK_SMALL: &str = "bfaa3e6d55940a1f";

/// The first files of every kind; whole quick trees would take a debug build
/// seconds.
#[test]
fn every_kind_is_the_same_everywhere() {
    let found: Vec<_> = KINDS
        .iter()
        .map(|kind| {
            let tree = Tree::new(kind, Size::Quick);
            let start = tree.files().min(12);
            let files = (0..start).map(|number| (tree.path(number), bytes(tree.content(number))));
            (kind.name, tree.bytes(), digest(files))
        })
        .collect();
    let found: Vec<_> = found
        .iter()
        .map(|(name, bytes, digest)| (*name, *bytes, digest.as_str()))
        .collect();
    assert_eq!(found, QUICK_KINDS);
}

/// Kind, bytes of all files, digest of the first twelve.
const QUICK_KINDS: &[(&str, u64, &str)] = &[
    ("small", 27_232_371, "6f894f4f98a269e0"),
    ("media", 53_820_452, "cf7798e210212cc2"),
    ("mixed", 199_044_356, "bb9ea63f6125644b"),
    ("twins", 65_536_000, "626d2e7de81d5327"),
    ("deep", 455_581, "0ce047e9d986e065"),
    ("million", 144_819_060, "6f894f4f98a269e0"),
    ("tiny", 464_178, "46dd7d71f27f420c"),
];

#[test]
fn the_counts_are_the_promised_ones() {
    for kind in KINDS {
        let tree = Tree::new(kind, Size::Quick);
        assert_eq!((tree.files(), tree.folders), kind.quick);
        let (files, folders) = kind.full;
        let tree = Tree::with_files(kind, files / 1_000);
        assert_eq!(tree.folders, folders.div_ceil(1_000), "{}", kind.name);
    }
}

/// The share of files whose content an earlier one has.
fn copies(tree: &Tree) -> f64 {
    let mut seen: HashMap<_, u64> = HashMap::new();
    for content in &tree.contents {
        let change = content.change.map(|change| (change.at, change.number));
        *seen
            .entry((content.seed, content.size, content.head, change))
            .or_default() += 1;
    }
    1.0 - seen.len() as f64 / tree.contents.len() as f64
}

#[test]
fn the_shares_are_the_promised_ones() {
    let full = |name| Tree::new(Kind::from_name(name).unwrap(), Size::Full);
    let near = |found: f64, promised: f64| (found / promised - 1.0).abs() < 0.05;

    let small = full("small");
    assert!(near(copies(&small), 0.35), "{}", copies(&small));
    let mut sizes: Vec<_> = small.contents.iter().map(|content| content.size).collect();
    sizes.sort_unstable();
    let median = sizes[sizes.len() / 2];
    assert!(near(median as f64, 1_500.0), "{median}");
    assert!(near(small.bytes() as f64, 1.5e9), "{}", small.bytes());

    let mixed = full("mixed");
    assert!(near(copies(&mixed), 0.15), "{}", copies(&mixed));
    assert!(near(mixed.bytes() as f64, 10e9), "{}", mixed.bytes());

    assert_eq!(copies(&full("twins")), 0.0);
}
