//! Random catalogs, filters and bounds: the groups, their order and the totals
//! must be those of a plain count over all names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::sample::select;
use rusqlite::params;

use super::*;
use crate::catalog::store::signed;
use crate::catalog::testing::Bed;
use crate::model::{Algorithm, CopyEntry, Digest};
use crate::testing::proptest_config;

const ROOTS: [&str; 3] = ["/r", "/r.x", "/s"];
/// Folders below each root; their order differs from that of whole paths.
const FOLDERS: [&str; 5] = ["", "a", "a/b", "a.b", "a-"];
/// The sizes of contents: two pairs tie, and one is empty.
const SIZES: [u64; 6] = [0, 10, 10, 20, 30, 30];
const EMPTY: [u8; 32] = [0xee; 32];

/// One row.
#[derive(Debug, Clone)]
struct Name {
    root: usize,
    folder: usize,
    name: String,
    volume: i64,
    ino: Option<i64>,
    content: usize,
    allocated: u64,
    /// What is known: 0 nothing, 1 its probe, 2 that it is settled, else all.
    known: u8,
    mtime: i64,
    compared: Option<i64>,
    is_removed: bool,
    is_link: bool,
}

impl Name {
    fn below(&self) -> PathBuf {
        Path::new(FOLDERS[self.folder]).join(&self.name)
    }

    fn path(&self) -> PathBuf {
        Path::new(ROOTS[self.root]).join(self.below())
    }

    fn size(&self) -> u64 {
        SIZES[self.content]
    }

    fn occupied(&self) -> u64 {
        self.allocated.min(self.size())
    }

    fn digest(&self) -> Option<[u8; 32]> {
        (self.size() > 0 && self.known > 2).then(|| digest_of(self.content))
    }

    fn probe(&self) -> Option<i64> {
        (self.known > 0 && self.size() > 20).then_some(self.content as i64 % 2)
    }

    /// Names with equal results are one copy.
    fn copy(&self) -> (i64, Option<i64>, PathBuf) {
        match self.ino {
            Some(_) => (self.volume, self.ino, PathBuf::new()),
            None => (self.volume, None, self.path()),
        }
    }
}

/// The digests of contents 1 and 3 begin alike; their sizes differ.
fn digest_of(content: usize) -> [u8; 32] {
    let mut digest = [u8::try_from(content).unwrap(); 32];
    if content == 3 {
        digest[..8].fill(1);
    }
    digest
}

#[derive(Debug, Clone)]
struct Wanted {
    order: Order,
    min_count: u64,
    min_size: Option<u64>,
    max_size: Option<u64>,
    empty: bool,
    across: bool,
    below: Option<&'static str>,
    txt: bool,
    exclude: bool,
    limit: Option<u64>,
}

impl Wanted {
    fn filter(&self) -> GroupFilter {
        GroupFilter {
            order: self.order,
            min_count: self.min_count,
            min_size: self.min_size,
            max_size: self.max_size,
            empty: Digest::from_bytes(&EMPTY).filter(|_| self.empty),
            across: self.across,
            below: self.below.map(PathBuf::from).into_iter().collect(),
            extensions: self.txt.then(|| "TXT".to_owned()).into_iter().collect(),
            exclude: self
                .exclude
                .then(|| -> Exclusion { Box::new(|path| path.parent() == Some(Path::new("a/b"))) }),
            limit: self.limit,
            ..GroupFilter::default()
        }
    }

    fn admits(&self, name: &Name) -> bool {
        self.admits_unread(name)
            && !name.is_removed
            && (name.digest().is_some() || (name.size() == 0 && self.empty))
    }

    /// What does not depend on the content.
    fn admits_unread(&self, name: &Name) -> bool {
        let size = name.size();
        self.min_size.is_none_or(|min| size >= min)
            && self.max_size.is_none_or(|max| size <= max)
            && (!self.txt || name.name.ends_with(".txt"))
            && (!self.exclude || FOLDERS[name.folder] != "a/b")
    }

    fn wants(&self, names: &[&Name]) -> bool {
        let names: Vec<_> = names.iter().filter(|name| !name.is_link).collect();
        let copies: BTreeSet<_> = names.iter().map(|name| name.copy()).collect();
        let roots: BTreeSet<_> = names.iter().map(|name| name.root).collect();
        copies.len() >= 2
            && copies.len() as u64 >= self.min_count
            && (!self.across || roots.len() > 1)
            && self
                .below
                .is_none_or(|top| names.iter().any(|name| name.path().starts_with(top)))
    }
}

/// All groups of a catalog, by brute force.
fn expected(names: &[Name], wanted: &Wanted) -> (Vec<Group>, Totals) {
    let mut contents: BTreeMap<[u8; 32], Vec<&Name>> = BTreeMap::new();
    for name in names.iter().filter(|name| wanted.admits(name)) {
        let digest = name.digest().unwrap_or(EMPTY);
        contents.entry(digest).or_default().push(name);
    }
    let mut groups: Vec<Group> = contents
        .iter()
        .filter(|(_, names)| wanted.wants(names))
        .map(|(digest, names)| group(digest, names))
        .collect();
    // Stable: ties stay in the order of their digests.
    match wanted.order {
        Order::Reclaimable => groups.sort_by_key(|group| std::cmp::Reverse(saved(group))),
        Order::Size => groups.sort_by_key(|group| std::cmp::Reverse(group.size)),
        Order::Count => groups.sort_by_key(|group| std::cmp::Reverse(group.copies.len())),
        Order::Path => groups.sort_by_key(|group| bytes(&group.copies[0].path)),
    }
    let totals = Totals {
        groups: groups.len() as u64,
        copies: groups.iter().map(|group| group.copies.len() as u64).sum(),
        reclaimable: groups.iter().map(saved).sum(),
        unchecked: 0,
    };
    let limit = wanted.limit.unwrap_or(u64::MAX);
    groups.truncate(usize::try_from(limit).unwrap());
    (groups, totals)
}

fn bytes(path: &Path) -> Vec<u8> {
    path.as_os_str().as_encoded_bytes().to_vec()
}

fn group(digest: &[u8; 32], names: &[&Name]) -> Group {
    let mut copies: BTreeMap<_, Vec<&Name>> = BTreeMap::new();
    for name in names {
        copies.entry(name.copy()).or_default().push(name);
    }
    copies.retain(|_, names| names.iter().any(|name| !name.is_link));
    let compared: BTreeSet<_> = copies
        .values()
        .flatten()
        .map(|name| name.compared)
        .collect();
    let mut copies: Vec<CopyEntry> = copies.into_values().map(copy).collect();
    copies.sort_by_key(|copy| bytes(&copy.path));
    Group {
        digest: Digest::from_bytes(digest).unwrap(),
        algorithm: Algorithm::Sha256,
        size: names[0].size(),
        byte_for_byte: compared.len() == 1 && !compared.contains(&None),
        copies,
        kept: None,
    }
}

fn copy(mut names: Vec<&Name>) -> CopyEntry {
    names.sort_by_key(|name| (name.is_link, bytes(&name.path())));
    let others = |are_links| {
        let others = names[1..].iter().filter(|name| name.is_link == are_links);
        others.map(|name| name.path()).collect()
    };
    CopyEntry {
        path: names[0].path(),
        root: ROOTS[names[0].root].into(),
        mtime_ns: names[0].mtime,
        ctime_ns: names[0].mtime + 1,
        volume: format!("uuid:{}", names[0].volume),
        inode: names[0].ino.map(i64::cast_unsigned),
        occupied: least_of(&names),
        links: others(false),
        symlinks: others(true),
    }
}

/// What the names of a copy say that are not links, the least of it.
fn least_of(names: &[&Name]) -> u64 {
    let real = names.iter().filter(|name| !name.is_link);
    real.map(|name| name.occupied()).min().unwrap()
}

/// What all copies but one occupy, by trying out each of them: at least that
/// much is saved whichever is kept.
fn saved(group: &Group) -> u64 {
    let without = |kept: usize| {
        let copies = group.copies.iter().enumerate();
        let others = copies.filter(|(at, _)| *at != kept);
        others.map(|(_, copy)| copy.occupied).sum()
    };
    (0..group.copies.len()).map(without).min().unwrap()
}

/// Wanted files neither known to be duplicates nor known to be unique.
fn unchecked(names: &[Name], wanted: &Wanted) -> u64 {
    let live: Vec<&Name> = names
        .iter()
        .filter(|name| !name.is_removed && name.size() > 0)
        .collect();
    let several = |alike: &dyn Fn(&Name) -> bool| {
        let copies: BTreeSet<_> = live
            .iter()
            .filter(|name| alike(name))
            .map(|name| name.copy())
            .collect();
        copies.len() > 1
    };
    let open = live.iter().filter(|name| {
        let of_size = |other: &Name| other.size() == name.size();
        let of_probe = |other: &Name| of_size(other) && other.probe() == name.probe();
        let some = |is: &dyn Fn(&Name) -> bool| live.iter().any(|other| is(other));
        let is_size_open = several(&of_size)
            && some(&|other| of_size(other) && other.digest().is_none() && other.probe().is_none());
        let is_probe_open = name.probe().is_some()
            && several(&of_probe)
            && some(&|other| of_probe(other) && other.digest().is_none() && other.known < 2);
        is_size_open || is_probe_open
    });
    let unknown = open.filter(|name| {
        name.digest().is_none() || !several(&|other: &Name| other.digest() == name.digest())
    });
    let wanted = unknown.filter(|name| {
        let is_below = |top| name.path().starts_with(top);
        wanted.admits_unread(name) && wanted.below.is_none_or(is_below)
    });
    wanted.count() as u64
}

/// Each folder lies on one volume.
fn volume_of(root: usize, folder: usize) -> i64 {
    1 + i64::from((root + folder).is_multiple_of(3))
}

fn store(bed: &Bed, names: &[Name], is_settled: bool) {
    let catalog = bed.open();
    let connection = &catalog.connection;
    connection.execute_batch("BEGIN").unwrap();
    connection
        .execute_batch(
            "INSERT INTO volumes (id, identity, fstype, stable_inodes, last_seen)
                  VALUES (1, 'uuid:1', 'ext4', 1, 0), (2, 'uuid:2', 'ext4', 1, 0)",
        )
        .unwrap();
    for (root, path) in ROOTS.iter().enumerate() {
        let insert = "INSERT INTO roots (id, path, volume, created_at) VALUES (?1, ?2, 1, 0)";
        connection
            .execute(insert, params![root_id(root), path.as_bytes()])
            .unwrap();
        for (folder, path) in FOLDERS.iter().enumerate() {
            let parent = match *path {
                "" => None,
                "a/b" => Some(folder_id(root, 1)),
                _ => Some(folder_id(root, 0)),
            };
            let name = path.rsplit('/').next().unwrap().as_bytes();
            let volume = volume_of(root, folder);
            connection
                .execute(
                    "INSERT INTO folders (id, root, parent, name, volume, first_scan)
                     VALUES (?1, ?2, ?3, ?4, ?5, 1)",
                    params![folder_id(root, folder), root_id(root), parent, name, volume],
                )
                .unwrap();
        }
    }
    for name in names {
        connection
            .execute(
                "INSERT INTO files (folder, name, size, allocated, mtime_ns, ctime_ns, ino, nlink,
                     probe, digest, compared, settled_in, first_scan, removed_in, link)
                 VALUES (?1, ?2, ?3, ?13, ?4, ?5, ?6, 1, ?7, ?8, ?9, ?10, 1, ?11, ?12)",
                params![
                    folder_id(name.root, name.folder),
                    name.name.as_bytes(),
                    signed(name.size()),
                    name.mtime,
                    name.mtime + 1,
                    name.ino,
                    name.probe(),
                    name.digest(),
                    name.compared,
                    (name.known == 2).then_some(1),
                    name.is_removed.then_some(1),
                    name.is_link,
                    signed(name.allocated),
                ],
            )
            .unwrap();
    }
    connection
        .execute("UPDATE catalog SET unsettled = ?1", [!is_settled])
        .unwrap();
    connection.execute_batch("COMMIT").unwrap();
}

fn root_id(root: usize) -> i64 {
    signed(1 + root as u64)
}

/// Folder ids are spread, so that some ranges hold none.
fn folder_id(root: usize, folder: usize) -> i64 {
    signed((1 + root * 40 + folder * 3) as u64)
}

fn names() -> impl Strategy<Value = Vec<Name>> {
    let ino = prop_oneof![
        4 => (1..9_i64).prop_map(Some),
        1 => Just(Some(-5)),
        2 => Just(None)
    ];
    // Less than a size where a file is sparse, more where blocks are larger.
    let allocated = prop_oneof![3 => Just(4096_u64), 1 => 0..35_u64];
    let name = (
        (0..ROOTS.len(), 0..FOLDERS.len(), 0..6_usize),
        (ino, 0..SIZES.len(), 0..12_u8, allocated),
        (
            0..50_i64,
            prop_oneof![Just(None), Just(Some(1)), Just(Some(2))],
        ),
        (prop::bool::weighted(0.1), prop::bool::weighted(0.15)),
    );
    let row = name.prop_map(
        |(
            (root, folder, name),
            (ino, content, known, allocated),
            (mtime, compared),
            (is_removed, is_link),
        )| Name {
            root,
            folder,
            name: ["a", "a.txt", "b", "c.TXT.txt", "c", "d.b"][name].to_owned(),
            volume: volume_of(root, folder),
            ino,
            content,
            allocated,
            known,
            mtime,
            compared,
            is_removed,
            is_link,
        },
    );
    prop::collection::vec(row, 0..60).prop_map(|mut names| {
        let mut seen = BTreeSet::new();
        names.retain(|name| seen.insert(name.path()));
        names
    })
}

fn wanted() -> impl Strategy<Value = Wanted> {
    let orders = vec![Order::Reclaimable, Order::Size, Order::Count, Order::Path];
    let rarely = || prop::bool::weighted(0.15);
    let size = || prop::option::weighted(0.15, select(&[0_u64, 10, 15, 20, 30][..]));
    let below = select(&["/s", "/r", "/r/a", "/r.x/a-", "/r/a.b/a.txt"][..]);
    (
        (select(orders), 0..5_u64, size(), size()),
        (any::<bool>(), rarely(), rarely(), rarely()),
        prop::option::weighted(0.2, below),
        prop::option::weighted(0.2, 0..5_u64),
    )
        .prop_map(
            |(
                (order, min_count, min_size, max_size),
                (empty, across, txt, exclude),
                below,
                limit,
            )| {
                Wanted {
                    order,
                    min_count,
                    min_size,
                    max_size,
                    empty,
                    across,
                    below,
                    txt,
                    exclude,
                    limit,
                }
            },
        )
}

fn bounds() -> impl Strategy<Value = Bounds> {
    let many = usize::MAX;
    (
        select(vec![1_usize, 100, 400, 1_000, many]),
        select(vec![1_usize, 2, 5, many]),
        select(vec![1_usize, 500, 2_000, many]),
    )
        .prop_map(|(count, groups, members)| Bounds {
            count,
            groups,
            members,
        })
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 60,
        ..proptest_config()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn groups_are_those_of_a_plain_count(
        names in names(),
        wanted in wanted(),
        bounds in bounds(),
        connections in 1..4_usize,
        is_settled: bool,
    ) {
        let bed = Bed::new();
        store(&bed, &names, is_settled);
        let (groups, mut totals) = expected(&names, &wanted);
        if !is_settled {
            totals.unchecked = unchecked(&names, &wanted);
        }
        let readers = Readers::of(bed.reader(), connections).unwrap();
        let mut list = GroupList::bounded(readers, wanted.filter(), bounds).unwrap();
        prop_assert_eq!(list.totals(), totals);
        let mut found = Vec::new();
        while let Some(group) = list.next_group().unwrap() {
            found.push(group);
        }
        prop_assert_eq!(found, groups);
    }
}
