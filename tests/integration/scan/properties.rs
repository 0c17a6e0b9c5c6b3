//! Random trees against the oracle, then random edits, a scan of what was
//! edited, and against the oracle again. Some of the scans are killed first.
//!
//! Cases are seeded, so that every run tries the same ones; try others with
//! `PROPTEST_RNG_SEED=7 PROPTEST_CASES=500 cargo test properties`.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{FileFailurePersistence, RngSeed};
use walkdir::WalkDir;

use crate::env::oracle;
use crate::env::{TestEnv, odd};

/// The parts that can be scanned by themselves; the last is a root of its own.
const PARTS: [&str; 4] = ["tree/one", "tree/two", "tree/three", "other"];

/// Sizes around every border: nothing, one byte, a page, the probe, a chunk.
const SIZES: [usize; 12] = [
    0, 1, 2, 4_096, 49_151, 49_152, 49_153, 65_535, 65_536, 65_537, 131_072, 200_000,
];

/// Content from a small alphabet, so that duplicates are common.
#[derive(Debug, Clone)]
struct Content {
    size: usize,
    letter: u8,
    /// Where one byte differs: head, middle or tail.
    twist: Option<Place>,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    Head,
    Middle,
    Tail,
}

impl Place {
    fn offset(self, size: usize) -> usize {
        match self {
            Self::Head => 0,
            Self::Middle => size / 2,
            Self::Tail => size.saturating_sub(1),
        }
    }
}

impl Content {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![self.letter; self.size];
        if let Some(byte) = self
            .twist
            .and_then(|place| bytes.get_mut(place.offset(self.size)))
        {
            *byte = b'!';
        }
        bytes
    }
}

/// One change to the files of a part, or of all parts.
#[derive(Debug, Clone)]
enum Edit {
    Create {
        part: Index,
        folder: u8,
        name: Vec<u8>,
        content: Content,
    },
    CopyOf {
        file: Index,
        name: Vec<u8>,
    },
    Link {
        file: Index,
        name: Vec<u8>,
    },
    Symlink {
        file: Index,
        name: Vec<u8>,
    },
    Write {
        file: Index,
        content: Content,
    },
    Append {
        file: Index,
    },
    Replace {
        file: Index,
        content: Content,
    },
    Secretly {
        file: Index,
        place: Place,
    },
    Rename {
        file: Index,
        name: Vec<u8>,
    },
    Delete {
        file: Index,
    },
    Restore,
    MoveFolder {
        folder: Index,
        name: Vec<u8>,
    },
    DeleteFolder {
        folder: Index,
    },
    BecomeFolder {
        file: Index,
    },
    BecomeFile {
        folder: Index,
        content: Content,
    },
    BecomeLink {
        file: Index,
    },
}

/// Edits inside `part` (or everywhere), and how they are scanned.
#[derive(Debug, Clone)]
struct Round {
    part: Option<Index>,
    edits: Vec<Edit>,
    options: &'static str,
    /// A scan that is killed after so long, and what is edited after that.
    killed: Option<(Duration, Vec<Edit>)>,
}

/// How the first scan looks at the roots.
#[derive(Debug, Clone, Copy)]
enum First {
    Plain,
    PartBefore,
    Overlapping,
}

fn content() -> impl Strategy<Value = Content> {
    let place = prop_oneof![Just(Place::Head), Just(Place::Middle), Just(Place::Tail)];
    (
        select(&SIZES[..]),
        b'a'..=b'b',
        proptest::option::weighted(0.4, place),
    )
        .prop_map(|(size, letter, twist)| Content {
            size,
            letter,
            twist,
        })
}

/// A name of any bytes that a filesystem takes.
fn name() -> impl Strategy<Value = Vec<u8>> {
    let plain = "[a-c]{1,2}".prop_map(String::into_bytes);
    let strange = proptest::collection::vec(1..=255_u8, 1..12);
    prop_oneof![3 => plain, 1 => strange].prop_map(|mut name| {
        name.iter_mut()
            .filter(|byte| **byte == b'/')
            .for_each(|byte| *byte = b'_');
        if name == b"." || name == b".." {
            name.push(b'x');
        }
        name
    })
}

fn edit() -> impl Strategy<Value = Edit> {
    let file = any::<Index>;
    let place = prop_oneof![Just(Place::Head), Just(Place::Middle), Just(Place::Tail)];
    prop_oneof![
        4 => create(),
        3 => (file(), name()).prop_map(|(file, name)| Edit::CopyOf { file, name }),
        2 => (file(), name()).prop_map(|(file, name)| Edit::Link { file, name }),
        1 => (file(), name()).prop_map(|(file, name)| Edit::Symlink { file, name }),
        2 => (file(), content()).prop_map(|(file, content)| Edit::Write { file, content }),
        1 => file().prop_map(|file| Edit::Append { file }),
        2 => (file(), content()).prop_map(|(file, content)| Edit::Replace { file, content }),
        3 => (file(), place).prop_map(|(file, place)| Edit::Secretly { file, place }),
        2 => (file(), name()).prop_map(|(file, name)| Edit::Rename { file, name }),
        2 => file().prop_map(|file| Edit::Delete { file }),
        2 => Just(Edit::Restore),
        1 => (file(), name()).prop_map(|(folder, name)| Edit::MoveFolder { folder, name }),
        1 => file().prop_map(|folder| Edit::DeleteFolder { folder }),
        1 => file().prop_map(|file| Edit::BecomeFolder { file }),
        1 => (file(), content()).prop_map(|(folder, content)| Edit::BecomeFile { folder, content }),
        1 => file().prop_map(|file| Edit::BecomeLink { file }),
    ]
}

fn create() -> impl Strategy<Value = Edit> {
    (any::<Index>(), 0..4_u8, name(), content()).prop_map(|(part, folder, name, content)| {
        Edit::Create {
            part,
            folder,
            name,
            content,
        }
    })
}

fn round() -> impl Strategy<Value = Round> {
    let options = select(vec![
        "",
        "",
        "",
        "--threads 1",
        "--threads 7 --queue-per-thread 1",
        "--batch-rows 1",
        "--hash blake3",
        "--hash sha256",
        "--hash-all",
        "--rehash",
    ]);
    let part = proptest::option::weighted(0.5, any::<Index>());
    let edits = || proptest::collection::vec(edit(), 1..8);
    let moment = (0..40_000_u64).prop_map(Duration::from_micros);
    let killed = proptest::option::weighted(0.3, (moment, edits()));
    (part, edits(), options, killed).prop_map(|(part, edits, options, killed)| Round {
        part,
        edits,
        options,
        killed,
    })
}

fn first() -> impl Strategy<Value = First> {
    prop_oneof![
        Just(First::Plain),
        Just(First::PartBefore),
        Just(First::Overlapping)
    ]
}

/// The files of one case, and what has been scanned of them.
struct World {
    env: TestEnv,
    roots: BTreeSet<&'static str>,
    graves: Vec<(PathBuf, Vec<u8>)>,
}

impl World {
    fn new(files: &[Edit]) -> Self {
        let env = TestEnv::new();
        for part in PARTS {
            env.folder(part);
        }
        // A root that became empty would be taken for one that is offline.
        env.symlink("nowhere", "other/stays");
        let mut world = Self {
            env,
            roots: BTreeSet::new(),
            graves: Vec::new(),
        };
        for edit in files {
            world.apply(edit, &PARTS);
        }
        world
    }

    fn scan_first(&mut self, first: First) {
        match first {
            First::Plain => self.scan("tree", ""),
            First::PartBefore => {
                self.env.run("scan tree/one").ok();
                let below = oracle::copies(&self.env.path(""), &["tree/one"]);
                assert_eq!(self.env.copies(), below, "after a scan below the root");
                self.scan("tree", "");
            }
            First::Overlapping => {
                self.roots.insert("other");
                self.scan("tree/two tree tree/one other tree", "");
            }
        }
    }

    fn scan(&mut self, paths: &str, options: &str) {
        self.roots
            .insert(if paths == "other" { "other" } else { "tree" });
        self.env.run(&format!("scan {paths} {options}")).ok();
        self.compare();
    }

    fn compare(&self) {
        let roots: Vec<_> = self.roots.iter().copied().collect();
        let truth = oracle::copies(&self.env.path(""), &roots);
        assert_eq!(
            self.env.copies(),
            truth,
            "left: dupescan, right: the oracle"
        );
        assert_eq!(self.env.report("")["totals"]["unchecked"], 0);
    }

    fn play(&mut self, round: &Round) {
        let part = round.part.map(|part| *part.get(&PARTS));
        let parts = match &part {
            Some(part) => std::slice::from_ref(part),
            None => &PARTS[..],
        };
        for edit in &round.edits {
            self.apply(edit, parts);
        }
        // A part can be scanned by itself once its root is known; a root that
        // was never scanned is scanned now.
        let paths = match part {
            Some(part) => part,
            None if self.roots.contains("other") => "tree other",
            None => "tree",
        };
        if let Some((moment, edits)) = &round.killed {
            self.scan_killed(&format!("scan {paths} {}", round.options), *moment);
            for edit in edits {
                self.apply(edit, parts);
            }
            // This one resumes with what was listed before the last edits ...
            let run = self.env.run(&format!("scan {paths} {}", round.options));
            let errors = self.env.run("errors").out();
            assert_eq!(run.exit, Some(0), "{}\n{errors}", run.describe());
        }
        // ... and this one sees them all.
        self.scan(paths, round.options);
    }

    fn scan_killed(&self, line: &str, moment: Duration) {
        let mut scan = self.env.start(line);
        std::thread::sleep(moment);
        scan.signal(rustix::process::Signal::KILL);
        let run = scan.wait();
        assert!(matches!(run.exit, None | Some(0)), "{}", run.describe());
    }

    /// Applies an edit inside `parts`; one that makes no sense there is passed
    /// over.
    fn apply(&mut self, edit: &Edit, parts: &[&str]) {
        let env = &self.env;
        match edit {
            Edit::Create {
                part,
                folder,
                name,
                content,
            } => {
                let folder = match folder {
                    0 => PathBuf::from(part.get(parts)),
                    1 => Path::new(part.get(parts)).join("sub"),
                    2 => Path::new(part.get(parts)).join("sub/deeper"),
                    _ => Path::new(part.get(parts)).join(odd(b"s\xffb")),
                };
                let path = folder.join(odd(name));
                if free(env, &path) {
                    env.file(path, content.bytes());
                }
            }
            Edit::CopyOf { file, name } => self.beside(file, name, parts, |from, to| {
                env.copy(from, to);
            }),
            Edit::Link { file, name } => self.beside(file, name, parts, |from, to| {
                env.hard_link(from, to);
            }),
            Edit::Symlink { file, name } => self.beside(file, name, parts, |from, to| {
                env.symlink(env.path(from), to);
            }),
            Edit::Rename { file, name } => self.beside(file, name, parts, |from, to| {
                env.rename(from, to);
            }),
            Edit::Write { file, content } => self.in_place(file, parts, |path| {
                env.file(path, content.bytes());
            }),
            Edit::Append { file } => self.in_place(file, parts, |path| {
                env.append(path, "more");
            }),
            Edit::Secretly { file, place } => self.in_place(file, parts, |path| {
                let size = fs::metadata(env.path(path)).unwrap().len() as usize;
                if size > 0 {
                    env.flip_secretly(path, place.offset(size) as u64);
                }
            }),
            Edit::Replace { file, content } => {
                if let Some(path) = self.pick(file, parts) {
                    env.file("data/new", content.bytes())
                        .rename("data/new", path);
                }
            }
            Edit::Delete { file } => {
                if let Some(path) = self.pick(file, parts) {
                    let content = fs::read(env.path(&path)).unwrap();
                    env.remove(&path);
                    self.graves.push((path, content));
                }
            }
            Edit::Restore => {
                let inside = |path: &Path| parts.iter().any(|part| path.starts_with(part));
                let grave = self.graves.iter().position(|(path, _)| inside(path));
                if let Some((path, content)) = grave.map(|at| self.graves.remove(at))
                    && free(env, &path)
                {
                    env.file(path, content);
                }
            }
            Edit::MoveFolder { folder, name } => {
                if let Some(from) = self.pick_folder(folder, parts) {
                    let to = from.with_file_name(odd(name));
                    if free(env, &to) {
                        env.rename(from, to);
                    }
                }
            }
            Edit::DeleteFolder { folder } => {
                if let Some(path) = self.pick_folder(folder, parts) {
                    env.remove(path);
                }
            }
            Edit::BecomeFolder { file } => {
                if let Some(path) = self.pick(file, parts) {
                    let content = fs::read(env.path(&path)).unwrap();
                    env.remove(&path).file(path.join("inside"), content);
                }
            }
            Edit::BecomeFile { folder, content } => {
                if let Some(path) = self.pick_folder(folder, parts) {
                    env.remove(&path).file(path, content.bytes());
                }
            }
            Edit::BecomeLink { file } => {
                if let Some(path) = self.pick(file, parts) {
                    env.remove(&path).symlink("anywhere", path);
                }
            }
        }
    }

    /// Does something with a file and a free name in the same folder.
    fn beside(&self, file: &Index, name: &[u8], parts: &[&str], act: impl Fn(&Path, &Path)) {
        if let Some(from) = self.pick(file, parts) {
            let to = from.with_file_name(odd(name));
            if free(&self.env, &to) {
                act(&from, &to);
            }
        }
    }

    /// Changes a file through one of its names. Where only a part is scanned,
    /// names outside it must not change behind the scan's back.
    fn in_place(&self, file: &Index, parts: &[&str], act: impl Fn(&Path)) {
        if let Some(path) = self.pick(file, parts) {
            let links = fs::metadata(self.env.path(&path)).unwrap().nlink();
            if links == 1 || parts.len() == PARTS.len() {
                act(&path);
            }
        }
    }

    fn pick(&self, file: &Index, parts: &[&str]) -> Option<PathBuf> {
        let files = self.entries(parts, |entry| entry.file_type().is_file());
        (!files.is_empty()).then(|| file.get(&files).clone())
    }

    fn pick_folder(&self, folder: &Index, parts: &[&str]) -> Option<PathBuf> {
        let below = |entry: &walkdir::DirEntry| entry.file_type().is_dir() && entry.depth() > 0;
        let folders = self.entries(parts, below);
        (!folders.is_empty()).then(|| folder.get(&folders).clone())
    }

    fn entries(&self, parts: &[&str], wanted: impl Fn(&walkdir::DirEntry) -> bool) -> Vec<PathBuf> {
        let base = self.env.path("");
        let walk = |part: &&str| WalkDir::new(base.join(part)).sort_by_file_name();
        let entries = parts.iter().flat_map(walk).map(Result::unwrap);
        let relative =
            |entry: walkdir::DirEntry| entry.path().strip_prefix(&base).unwrap().to_owned();
        entries.filter(wanted).map(relative).collect()
    }
}

/// Whether nothing is in the way of a new file at `path`.
fn free(env: &TestEnv, path: &Path) -> bool {
    let path = env.path(path);
    let blocked = |above: &Path| above.symlink_metadata().is_ok_and(|meta| !meta.is_dir());
    path.symlink_metadata().is_err() && !path.ancestors().skip(1).any(blocked)
}

fn config() -> ProptestConfig {
    let mut config = ProptestConfig::with_cases(64);
    if std::env::var_os("PROPTEST_CASES").is_some() {
        config.cases = ProptestConfig::default().cases;
    }
    if std::env::var_os("PROPTEST_RNG_SEED").is_none() {
        config.rng_seed = RngSeed::Fixed(20_261_116);
    }
    config.max_shrink_iters = 200;
    config.failure_persistence = Some(Box::new(FileFailurePersistence::Direct(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/regressions/properties.txt"
    ))));
    config
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn dupescan_and_the_oracle_agree_whatever_is_edited(
        files in proptest::collection::vec(create(), 1..16),
        links in proptest::collection::vec(edit(), 0..6),
        first in first(),
        rounds in proptest::collection::vec(round(), 1..5),
    ) {
        let mut world = World::new(&[files, links].concat());
        world.scan_first(first);
        for round in &rounds {
            world.play(round);
        }
    }
}
