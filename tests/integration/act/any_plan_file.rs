//! Whatever is in a plan file: what is imported of it, a brute-force oracle that
//! looks at the disk finds harmless.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use dupescan::act::{PlanRequest, import_plan};
use dupescan::catalog::{CatalogError, Exclusive};
use dupescan::model::{Globs, PlanOptions, PlannedGroup, Role};
use dupescan::report::{PlanFileError, PlanReader};
use serde_json::{Value, json};

use crate::env::TestEnv;

/// Cases in a `cargo test`; `DUPESCAN_CASES` asks for another number.
const CASES: u64 = 100;

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ mixed >> 31) % end as u64).unwrap()
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// Groups of every kind that rules know of, in folders that are protected, guarded,
/// excluded, and outside.
fn scanned() -> TestEnv {
    let env = TestEnv::new();
    for group in 0..6_u64 {
        let first = format!("tree/a/{group}");
        env.random(&first, group, 3_000 + 100 * usize::try_from(group).unwrap());
        for folder in ["b", "c", "safe", "repo/.git", "skip"]
            .iter()
            .take(1 + usize::try_from(group).unwrap())
        {
            env.copy(&first, format!("tree/{folder}/{group}"));
        }
    }
    env.hard_link("tree/a/3", "tree/a/3 again");
    env.hard_link("tree/b/4", "outside/4");
    env.copy("tree/a/1", "outside/1");
    env.symlink(env.path("tree/a/2"), "tree/link");
    env.file("tree/alone", "of its kind").settle_clock();
    env.run("scan tree --follow --exclude skip/**").ok();
    env.run("protect tree/safe").ok();
    env
}

/// A file on the disk.
#[derive(Debug)]
struct Fact {
    id: (u64, u64),
    nlink: u64,
    times: (i64, i64),
    content: Vec<u8>,
}

/// All regular files below a folder.
fn facts(top: &Path) -> BTreeMap<PathBuf, Fact> {
    let files = walkdir::WalkDir::new(top).into_iter().map(Result::unwrap);
    let is_trash = |path: &Path| path.to_string_lossy().contains(".dupescan-trash-");
    let files = files.filter(|entry| entry.file_type().is_file() && !is_trash(entry.path()));
    files
        .map(|entry| {
            let meta = entry.metadata().unwrap();
            let nanos = |seconds: i64, nanos: i64| seconds * 1_000_000_000 + nanos;
            let fact = Fact {
                id: (meta.dev(), meta.ino()),
                nlink: meta.nlink(),
                times: (
                    nanos(meta.mtime(), meta.mtime_nsec()),
                    nanos(meta.ctime(), meta.ctime_nsec()),
                ),
                content: std::fs::read(entry.path()).unwrap(),
            };
            (entry.into_path(), fact)
        })
        .collect()
}

/// The lists of copies of a group.
const LISTS: [&str; 2] = ["keep", "act"];

/// One edit of the lines of a plan file.
fn edit(lines: &mut Vec<Value>, paths: &[String], dice: &mut Dice) {
    let last = lines.len() - 1;
    if last < 2 {
        return;
    }
    let at = 1 + dice.below(last - 1);
    let (from, to) = (*dice.pick(&LISTS), *dice.pick(&LISTS));
    let copies = |line: &Value, list: &str| line[list].as_array().map_or(0, Vec::len);
    let one = match copies(&lines[at], from) {
        0 => return,
        number => dice.below(number),
    };
    match dice.below(16) {
        0 | 1 => {
            let copy = lines[at][from].as_array_mut().unwrap().remove(one);
            lines[at][to].as_array_mut().unwrap().push(copy);
        }
        2 => drop(lines[at][from].as_array_mut().unwrap().remove(one)),
        3 => {
            let copy = lines[at][from][one].clone();
            let other = 1 + dice.below(last - 1);
            lines[other][to].as_array_mut().unwrap().push(copy);
        }
        4 => drop(lines.remove(at)),
        5 => {
            let line = lines[at].clone();
            lines.insert(1 + dice.below(last), line);
        }
        6 => {
            let (keep, act) = (lines[at]["keep"].clone(), lines[at]["act"].clone());
            (lines[at]["keep"], lines[at]["act"]) = (act, keep);
        }
        7 => {
            let field = *dice.pick(&["inode", "mtime", "ctime", "volume", "names"]);
            let value = lines[1 + dice.below(last - 1)]["keep"][0][field].clone();
            lines[at][from][one][field] = value;
        }
        8 | 9 => {
            let path = dice.pick(paths);
            let names = lines[at][from][one]["names"].as_array_mut().unwrap();
            names.pop();
            names.push(json!({ "path": path }));
        }
        10 => {
            let path = dice.pick(paths);
            let names = lines[at][from][one]["names"].as_array_mut().unwrap();
            match dice.below(2) {
                0 => names.push(json!({ "path": path })),
                _ => drop(names.pop()),
            }
        }
        11 => {
            let field = *dice.pick(&["size", "digest"]);
            lines[at][field] = lines[1 + dice.below(last - 1)][field].clone();
        }
        12 => lines[0]["options"]["copies"] = json!(dice.below(4)),
        13 => lines[0]["options"]["include_guarded"] = json!(true),
        14 => lines[0]["catalog"] = json!("00ff"),
        _ => lines[0]["options"]["paths"] = json!([dice.pick(paths)]),
    }
}

/// The text of an edited file; sometimes with damage that is no JSON.
fn text(lines: &[Value], dice: &mut Dice) -> Vec<u8> {
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let mut text = (lines.join("\n") + "\n").into_bytes();
    match dice.below(20) {
        0 => text.truncate(dice.below(text.len())),
        1 | 2 => {
            let at = dice.below(text.len());
            text[at] = text[at].wrapping_add(1 + u8::try_from(dice.below(255)).unwrap());
        }
        3 => {
            let at = dice.below(text.len());
            text.drain(at..(at + dice.below(200)).min(text.len()));
        }
        _ => {}
    }
    text
}

enum Refused {
    File,
    Catalog(CatalogError),
}

impl From<CatalogError> for Refused {
    fn from(error: CatalogError) -> Self {
        Self::Catalog(error)
    }
}

impl From<PlanFileError> for Refused {
    fn from(_: PlanFileError) -> Self {
        Self::File
    }
}

/// What was made of a file.
struct Imported {
    options: PlanOptions,
    /// What the file asks for.
    wanted: Vec<PlannedGroup>,
    groups: Vec<PlannedGroup>,
    refused: u64,
}

/// Imports a file as the command does.
fn import(catalog: &mut Exclusive, text: &[u8]) -> Result<Imported, Refused> {
    let mut lines = PlanReader::begin(text)?;
    let reader = catalog.reader()?;
    let source = lines.source().clone();
    if source.catalog != reader.identity()? {
        return Err(Refused::File);
    }
    let request = PlanRequest {
        action: source.action,
        rules: Vec::new(),
        exclude: Globs::new(&source.options.exclude).map_err(|_| Refused::File)?,
        protected: reader.protected()?,
        options: PlanOptions {
            include_guarded: false,
            ..source.options.clone()
        },
    };
    let mut wanted = Vec::new();
    let imported = import_plan(catalog, &request, &mut || {
        let group = lines.next_group().map_err(Refused::from)?;
        wanted.extend(group.clone());
        Ok::<_, Refused>(group)
    })?;
    let mut groups = Vec::new();
    if let Some(plan) = imported.id {
        groups = catalog.reader()?.plan_groups(plan, 0, 1_000)?;
        catalog.delete_plan(plan)?;
    }
    Ok(Imported {
        options: source.options,
        wanted,
        groups,
        refused: imported.refused.len() as u64,
    })
}

/// The role and the names of the copies of groups.
fn rows(groups: &[PlannedGroup]) -> BTreeSet<(Role, BTreeSet<&PathBuf>)> {
    let copies = groups.iter().flat_map(|group| &group.copies);
    copies
        .map(|one| (one.role, one.copy.names().collect()))
        .collect()
}

/// Panics if an imported plan could do harm. Returns the copies that would go.
fn judge(imported: &Imported, facts: &BTreeMap<PathBuf, Fact>, top: &Path) -> u64 {
    let Imported {
        options, groups, ..
    } = imported;
    assert!(
        rows(groups).is_subset(&rows(&imported.wanted)),
        "not asked for"
    );
    let mut seen = BTreeSet::new();
    let mut go = 0;
    for group in groups {
        let kept: Vec<&Fact> = group
            .with_role(Role::Keep)
            .map(|one| &facts[&one.copy.path])
            .collect();
        let kept_ids: BTreeSet<_> = kept.iter().map(|fact| fact.id).collect();
        assert!(
            kept_ids.len() as u64 >= options.copies.max(1),
            "too few copies stay: {group:#?}"
        );
        for planned in &group.copies {
            let fact = &facts[&planned.copy.path];
            assert!(seen.insert(fact.id), "twice in one plan: {group:#?}");
            let known = (planned.copy.mtime_ns, planned.copy.ctime_ns);
            assert_eq!((planned.copy.inode, known), (Some(fact.id.1), fact.times));
        }
        for planned in group.with_role(Role::Act) {
            go += 1;
            let fact = &facts[&planned.copy.path];
            let names: BTreeSet<&PathBuf> = planned.copy.names().collect();
            let on_disk = facts.iter().filter(|(_, other)| other.id == fact.id);
            let on_disk: BTreeSet<&PathBuf> = on_disk.map(|(path, _)| path).collect();
            assert_eq!(names, on_disk, "not all names");
            assert_eq!(names.len() as u64, fact.nlink, "a name outside the catalog");
            for name in names {
                let below = name.strip_prefix(top).expect("outside what was scanned");
                for spared in ["safe", "repo/.git", "skip"] {
                    assert!(!below.starts_with(spared), "{}", name.display());
                }
                let is_inside = |path: &PathBuf| name.starts_with(path);
                assert!(options.paths.is_empty() || options.paths.iter().any(is_inside));
                assert_ne!(below, Path::new("a/2"), "a symbolic link leads there");
            }
            for stays in &kept {
                assert_eq!(stays.content, fact.content);
            }
        }
    }
    go
}

#[test]
fn nothing_harmful_is_imported_of_any_plan_file() {
    let env = scanned();
    let cases = std::env::var("DUPESCAN_CASES").ok();
    let cases = cases.and_then(|cases| cases.parse().ok()).unwrap_or(CASES);
    env.run("plan --include-guarded --keep under:tree/c --keep under:tree/a")
        .ok();
    env.run("plans 1 --format jsonl -o plan.jsonl").ok();
    let whole = std::fs::read_to_string(env.path("plan.jsonl")).unwrap();
    let lines = whole
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let lines: Vec<Value> = lines.collect();
    let top = env.path("tree");
    let mut paths: Vec<String> = [facts(&top), facts(&env.path("outside"))]
        .iter()
        .flat_map(|facts| facts.keys().map(|path| path.display().to_string()))
        .collect();
    paths.extend(["/", "/etc/passwd", "", "relative"].map(str::to_owned));
    for other in ["tree/link", "tree", "tree/gone", "tree/a/../b/1"] {
        paths.push(env.path(other).display().to_string());
    }
    let (mut go, mut refused, mut whole_files) = (0, 0, 0);
    let mut run = |cases: std::ops::Range<u64>| {
        let facts = facts(&top);
        let mut catalog = Exclusive::open(&env.db(), "test").unwrap();
        for case in cases {
            let mut dice = Dice(case);
            let mut edited = lines.clone();
            for _ in 0..dice.below(6) {
                edit(&mut edited, &paths, &mut dice);
            }
            let text = text(&edited, &mut dice);
            match import(&mut catalog, &text) {
                Ok(imported) => {
                    let judged = std::panic::catch_unwind(|| judge(&imported, &facts, &top));
                    let text = String::from_utf8_lossy(&text);
                    go += judged.unwrap_or_else(|_| panic!("case {case} of\n{text}"));
                    refused += imported.refused;
                }
                Err(Refused::File) => whole_files += 1,
                Err(Refused::Catalog(error)) => panic!("case {case}: {error}"),
            }
        }
    };
    run(0..cases - cases / 5);
    let before = facts(&top).len();
    env.run("apply plan.jsonl --yes").ok();
    assert!(facts(&top).len() < before);
    // Replayed after it was applied: the files are gone, and copies may be the last.
    run(cases - cases / 5..cases);
    let counts = format!("{go} copies go, {refused} rows and {whole_files} files refused");
    assert!(
        go > cases && refused > cases && whole_files > cases / 20,
        "{counts}"
    );
    println!("{cases} files: {counts}");
}
