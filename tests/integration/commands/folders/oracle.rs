//! The answers of `dupescan folders` against the disk: every folder is walked
//! and compared with every other, bytes with bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use super::{groups, json, pairs};
use crate::env::TestEnv;

/// The files below each folder of the disk: inode and bytes.
type Disk = BTreeMap<PathBuf, Vec<(u64, Vec<u8>)>>;

fn disk(env: &TestEnv) -> Disk {
    let top = env.path("tree");
    let mut disk = Disk::new();
    for entry in WalkDir::new(&top) {
        let entry = entry.unwrap();
        if entry.file_type().is_dir() {
            disk.entry(entry.into_path()).or_default();
            continue;
        }
        let bytes = std::fs::read(entry.path()).unwrap();
        let inode = entry.metadata().unwrap().ino();
        for above in entry
            .path()
            .ancestors()
            .skip(1)
            .take_while(|above| above.starts_with(&top))
        {
            disk.entry(above.to_owned())
                .or_default()
                .push((inode, bytes.clone()));
        }
    }
    disk
}

fn are_related(a: &Path, b: &Path) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

/// Compares every number of the groups with the disk, and looks for groups
/// that are missing.
pub(super) fn check_groups(env: &TestEnv, options: &str) {
    let disk = disk(env);
    let document = json(env, options);
    let multiset = |folder: &Path| {
        let mut contents: Vec<_> = disk[folder].iter().map(|file| &file.1).collect();
        contents.sort();
        contents
    };
    let size = |files: &[(u64, Vec<u8>)]| files.iter().map(|file| file.1.len()).sum::<usize>();
    let found: Vec<Vec<PathBuf>> = groups(&document, Path::new("/"))
        .into_iter()
        .map(|group| group.iter().map(|path| Path::new("/").join(path)).collect())
        .collect();
    let mut saves = 0;
    for (group, entry) in found.iter().zip(document["groups"].as_array().unwrap()) {
        assert!(
            group
                .iter()
                .all(|folder| multiset(folder) == multiset(&group[0]))
        );
        assert_eq!(entry["files"], disk[&group[0]].len());
        assert_eq!(entry["bytes"], size(&disk[&group[0]]));
        let gone: BTreeMap<u64, usize> = group[1..]
            .iter()
            .flat_map(|folder| disk[folder].iter().map(|file| (file.0, file.1.len())))
            .collect();
        assert_eq!(entry["reclaimable"], gone.values().sum::<usize>());
        saves += gone.values().sum::<usize>();
    }
    assert_eq!(document["totals"]["reclaimable"], saves);
    let is_listed = |a: &Path, b: &Path| {
        found.iter().any(|group| {
            let in_group = |path: &Path| group.iter().find(|folder| path.starts_with(folder));
            in_group(a).is_some() && in_group(b).is_some() && in_group(a) != in_group(b)
        })
    };
    let inodes = |folder: &Path| {
        disk[folder]
            .iter()
            .map(|file| file.0)
            .collect::<BTreeSet<_>>()
    };
    for (a, b) in disk.keys().flat_map(|a| disk.keys().map(move |b| (a, b))) {
        let saves_something = size(&disk[a]) > 0 && inodes(a) != inodes(b);
        if !are_related(a, b) && saves_something && multiset(a) == multiset(b) {
            assert!(is_listed(a, b), "{a:?} equals {b:?}");
        }
    }
}

/// Compares the pairs, and every number in them, with the disk.
pub(super) fn check_pairs(env: &TestEnv, percent: usize, by_bytes: bool) {
    let disk = disk(env);
    let contents = |folder: &Path| -> BTreeSet<&Vec<u8>> {
        let files = disk[folder].iter().map(|file| &file.1);
        files.filter(|bytes| !bytes.is_empty()).collect()
    };
    let bytes = |set: &BTreeSet<&Vec<u8>>| set.iter().map(|bytes| bytes.len()).sum::<usize>();
    let weight = |set: &BTreeSet<&Vec<u8>>| if by_bytes { bytes(set) } else { set.len() };
    let mut alike: BTreeMap<[PathBuf; 2], [usize; 4]> = BTreeMap::new();
    for (a, b) in disk.keys().flat_map(|a| disk.keys().map(move |b| (a, b))) {
        let both: BTreeSet<_> = contents(a).intersection(&contents(b)).copied().collect();
        let either: BTreeSet<_> = contents(a).union(&contents(b)).copied().collect();
        let is_alike = weight(&both) > 0 && weight(&both) * 100 >= percent * weight(&either);
        if a < b && !are_related(a, b) && is_alike {
            let numbers = [both.len(), either.len(), bytes(&both), bytes(&either)];
            alike.insert([a.clone(), b.clone()], numbers);
        }
    }
    let is_top = |pair: &[PathBuf; 2]| {
        !alike.keys().any(|top| {
            let holds = |x: usize| pair[0].starts_with(&top[x]) && pair[1].starts_with(&top[1 - x]);
            top != pair && (holds(0) || holds(1))
        })
    };
    let expected: BTreeMap<_, _> = alike.iter().filter(|(pair, _)| is_top(pair)).collect();
    let by = if by_bytes { "bytes" } else { "count" };
    let document = json(env, &format!("--similar {percent} --by {by}"));
    let found = pairs(&document, Path::new("/"));
    assert_eq!(found.len(), expected.len(), "at {percent} % by {by}");
    for (pair, entry) in found.iter().zip(document["pairs"].as_array().unwrap()) {
        let pair = pair.clone().map(|path| Path::new("/").join(path));
        let numbers = expected[&pair];
        let keys = [
            "distinct_files_in_both",
            "distinct_files_in_either",
            "bytes_in_both",
            "bytes_in_either",
        ];
        for (key, number) in keys.into_iter().zip(numbers) {
            assert_eq!(entry[key], *number, "{key} of {pair:?}");
        }
        let (part, whole) = if by_bytes {
            (numbers[2], numbers[3])
        } else {
            (numbers[0], numbers[1])
        };
        let share = entry["similarity"].as_f64().unwrap();
        assert!(
            (share - 100.0 * part as f64 / whole as f64).abs() <= 0.051,
            "{pair:?}: {share}"
        );
        for (side, own, other) in [("left", &pair[0], &pair[1]), ("right", &pair[1], &pair[0])] {
            let only: BTreeSet<_> = contents(own)
                .difference(&contents(other))
                .copied()
                .collect();
            let files = disk[own].iter().filter(|file| only.contains(&file.1));
            let sizes: Vec<usize> = files.map(|file| file.1.len()).collect();
            for (key, number) in [
                ("only_files", sizes.len()),
                ("only_bytes", sizes.iter().sum()),
                ("only_distinct_bytes", bytes(&only)),
                ("bytes", disk[own].iter().map(|file| file.1.len()).sum()),
            ] {
                assert_eq!(entry[side][key], number, "{key}, {side} of {pair:?}");
            }
            assert_eq!(
                entry[side]["distinct_files"],
                contents(own).len(),
                "{side} of {pair:?}"
            );
        }
    }
}
