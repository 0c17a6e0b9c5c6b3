//! Every option of `dupescan scan` by its effect; `rescan` has those that are
//! about scanning again, `resume` has `--restart`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::env::oracle;
use crate::env::report_json::{Groups, expected};
use crate::env::{TestEnv, fixtures, skip};

/// The names that the catalog holds as live, relative to `tree`.
fn listed(env: &TestEnv) -> BTreeSet<String> {
    let names: String =
        env.sql("SELECT coalesce(group_concat(path, char(10)), '') FROM live_files");
    let prefix = format!("{}/", env.path("tree").display());
    names
        .lines()
        .map(|path| path.replace(&prefix, ""))
        .collect()
}

fn names(list: &[&str]) -> BTreeSet<String> {
    list.iter().map(ToString::to_string).collect()
}

/// Pairs of equal files under the names of `list`.
fn pairs(env: &TestEnv, list: &[&str]) {
    for (seed, name) in list.iter().enumerate() {
        env.random(format!("tree/{name}"), seed as u64, 2_000);
        env.copy(format!("tree/{name}"), format!("tree/{name}.copy"));
    }
}

fn pair(name: &str) -> BTreeSet<std::path::PathBuf> {
    [format!("tree/{name}"), format!("tree/{name}.copy")]
        .map(Into::into)
        .into()
}

#[test]
fn hash_gives_the_digests_that_other_tools_give() {
    let text = fs::read_to_string(fixtures().join("digests/digests.toml")).unwrap();
    let known: toml::Table = text.parse().unwrap();
    assert_eq!(known.len(), 6);
    for algorithm in ["sha256", "sha512", "sha3-256", "blake3"] {
        let env = TestEnv::new();
        env.fixture("digests", "tree")
            .fixture("digests", "tree/again");
        env.run(&format!("scan tree --hash {algorithm}")).ok();
        let report = env.report("--empty");
        let mut seen = 0;
        for group in report["groups"].as_array().unwrap() {
            let path = Path::new(group["files"][1]["path"].as_str().unwrap());
            let name = path.file_name().unwrap().to_str().unwrap();
            if let Some(digests) = known.get(name) {
                assert_eq!(
                    group["digest"].as_str(),
                    digests[algorithm].as_str(),
                    "{name}"
                );
                assert_eq!(group["algorithm"], algorithm);
                seen += 1;
            }
        }
        assert_eq!(seen, known.len(), "{algorithm}: {report}");
    }
}

#[test]
fn hash_all_digests_unique_files_too() {
    let env = TestEnv::new();
    env.fixture("digests", "tree");
    env.run("scan tree").ok();
    let digested = "SELECT count(*) FROM live_files WHERE digest <> '' AND size > 0";
    assert_eq!(env.sql::<i64>(digested), 0, "nothing has a partner");
    env.run("scan tree --hash-all --hash blake3").ok();
    let text = fs::read_to_string(fixtures().join("digests/digests.toml")).unwrap();
    let known: toml::Table = text.parse().unwrap();
    for (name, digests) in known.iter().filter(|(name, _)| *name != "empty") {
        let query = format!("SELECT digest FROM live_files WHERE path LIKE '%/tree/{name}'");
        assert_eq!(
            env.sql::<String>(&query),
            digests["blake3"].as_str().unwrap(),
            "{name}"
        );
    }
}

#[test]
fn another_hash_redoes_what_is_needed_and_says_how_many() {
    let env = TestEnv::new();
    pairs(&env, &["a", "b", "c"]);
    env.run("scan tree").ok();
    let before = env.groups();
    env.run("scan tree --hash blake3").ok().mentions("6");
    assert_eq!(env.groups(), before);
    let report = env.report("");
    for group in report["groups"].as_array().unwrap() {
        assert_eq!(group["algorithm"], "blake3");
        assert_eq!(group["digest"].as_str().unwrap().len(), 64);
    }
    // The catalog keeps its algorithm when nothing is said.
    env.run("scan tree").ok();
    assert_eq!(env.report("")["groups"][0]["algorithm"], "blake3");
}

#[test]
fn another_hash_leaves_no_stale_groups_of_other_roots() {
    let env = TestEnv::new();
    env.file("tree/a", "x")
        .file("tree/b", "x")
        .file("other/c", "x");
    env.run("scan tree other").ok();
    env.run("scan other --hash sha512").ok();
    let report = env.report("");
    for group in report["groups"].as_array().unwrap() {
        assert_eq!(group["algorithm"], "sha512", "{report}");
    }
    env.run("scan tree other").ok();
    assert_eq!(env.groups(), expected(&[&["other/c", "tree/a", "tree/b"]]));
}

#[test]
fn threads_is_the_number_of_worker_threads() {
    let env = TestEnv::new();
    env.random("tree/a", 1, 300_000).copy("tree/a", "tree/b");
    for workers in [1, 5] {
        env.use_db(&format!("data/{workers}.db"));
        let mut scan = env.start(&format!("scan tree --threads {workers} --bwlimit 200k"));
        let tasks = Path::new("/proc").join(scan.id().to_string()).join("task");
        let count = || {
            let Ok(tasks) = fs::read_dir(&tasks) else {
                return 0;
            };
            let comm = |task: std::io::Result<fs::DirEntry>| {
                fs::read_to_string(task.ok()?.path().join("comm")).ok()
            };
            let names = tasks.filter_map(comm);
            names.filter(|name| name.contains("worker")).count()
        };
        assert!(
            scan.wait_until(|| count() == workers),
            "never {workers} workers"
        );
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(count(), workers);
        scan.signal(rustix::process::Signal::INT);
        scan.wait().code(130);
    }
}

#[test]
fn the_number_of_threads_does_not_change_the_answer() {
    let env = TestEnv::new();
    for number in 0..60_u64 {
        env.random(format!("tree/{}/{number}", number % 7), number % 20, 80_000);
    }
    let truth = oracle::groups(&env.path(""), &["tree"]);
    for workers in [1, 2, 64] {
        env.use_db(&format!("data/{workers}.db"));
        env.run(&format!(
            "scan tree --threads {workers} --queue-per-thread 1 --batch-rows 3"
        ))
        .ok();
        assert_eq!(env.groups(), truth, "{workers} workers");
    }
}

#[test]
fn mode_folders_lists_and_opens_nothing() {
    let env = TestEnv::new();
    pairs(&env, &["a"]);
    let Some((run, opens)) = env.run_traced("scan tree --mode folders") else {
        skip!("no strace to prove that nothing is opened");
    };
    run.ok();
    let opened = opens.files_below(&env.path("tree"));
    assert!(opened.is_empty(), "{opened:?}");
    assert_eq!(listed(&env), names(&["a", "a.copy"]));
    assert_eq!(env.groups(), expected(&[]));
    assert_eq!(env.report("")["totals"]["unchecked"], 2);
}

#[test]
fn mode_files_hashes_what_is_listed_without_listing_again() {
    let env = TestEnv::new();
    pairs(&env, &["a"]);
    env.run("scan tree --mode folders").ok();
    pairs(&env, &["a", "b"]);
    env.run("scan tree --mode files");
    assert_eq!(
        listed(&env),
        names(&["a", "a.copy"]),
        "b came after the listing"
    );
    env.run("scan tree --mode folders").ok();
    env.run("scan tree --mode files").ok();
    assert_eq!(env.groups(), Groups::from([pair("a"), pair("b")]));
}

#[test]
fn follow_links_scans_what_links_lead_to_once() {
    let env = TestEnv::new();
    env.file("tree/a", "x")
        .file("other/b", "x")
        .file("other/c", "y");
    env.symlink("../other", "tree/one")
        .symlink("../other", "tree/two");
    env.symlink(".", "tree/loop")
        .symlink("..", "tree/one/up")
        .symlink("a", "tree/alias");
    env.symlink("nowhere", "tree/dangling");
    env.run("scan tree --follow-links").ok();
    let groups = env.groups();
    assert_eq!(groups.len(), 1, "{groups:?}");
    let group = groups.first().unwrap();
    assert_eq!(group.len(), 2, "a link is no copy: {group:?}");
    let copies = env.copies();
    let all: BTreeSet<_> = copies.iter().flatten().flatten().collect();
    assert!(all.iter().any(|path| path.ends_with("a")), "{all:?}");
    assert!(all.iter().any(|path| path.ends_with("b")), "{all:?}");
    assert!(!all.iter().any(|path| path.ends_with("c")), "{all:?}");
}

#[test]
fn a_link_to_a_folder_outside_is_followed_when_asked() {
    let env = TestEnv::new();
    env.file("tree/a", "x")
        .file("other/b", "x")
        .symlink("../other", "tree/link");
    env.run("scan tree --follow-links").ok();
    assert_eq!(env.groups(), expected(&[&["tree/a", "tree/link/b"]]));
    env.run("scan tree --follow-links=false").ok();
    assert_eq!(env.groups(), expected(&[]));
}

#[test]
fn one_file_system_stays_on_the_filesystem_of_the_root() {
    for (option, found) in [("", 3), ("--one-file-system", 2)] {
        let env = TestEnv::new();
        env.file("tree/a", "x\n")
            .file("tree/b", "x\n")
            .folder("tree/disk");
        let script = format!(
            "mount -t tmpfs none tree/disk; echo x > tree/disk/c; $DUPESCAN scan tree {option}; \
             $DUPESCAN report --format fdupes > groups"
        );
        let Some(run) = env.run_with_mounts(&script) else {
            skip!("mounting is not permitted");
        };
        run.ok();
        let groups = fs::read_to_string(env.path("groups")).unwrap();
        assert_eq!(groups.lines().count(), found, "{option}: {groups}");
    }
}

#[test]
fn sizes_limit_what_is_hashed() {
    let env = TestEnv::new();
    for (name, size) in [
        ("tiny", 1_023),
        ("small", 1_024),
        ("large", 10_240),
        ("huge", 10_241),
    ] {
        env.random(format!("tree/{name}"), size, size as usize);
        env.copy(format!("tree/{name}"), format!("tree/{name}.copy"));
    }
    for (number, (option, found)) in [
        ("--min-size 1k", &["small", "large", "huge"][..]),
        ("--max-size 10k", &["tiny", "small", "large"][..]),
        ("--min-size 1k --max-size 10KiB", &["small", "large"][..]),
        ("--min-size 1025 --max-size 10.24kB", &["large"][..]),
    ]
    .into_iter()
    .enumerate()
    {
        env.use_db(&format!("data/{number}.db"));
        env.run(&format!("scan tree {option}")).ok();
        let groups: Groups = found.iter().map(|name| pair(name)).collect();
        assert_eq!(env.groups(), groups, "{option}");
        assert_eq!(
            listed(&env).len(),
            8,
            "size filters do not limit the catalogue"
        );
    }
}

#[test]
fn a_glob_with_the_whole_path_gets_a_warning() {
    let env = TestEnv::new();
    env.file("tree/old/a", "x").file("tree/b", "x");
    let old = env.path("tree/old").display().to_string();
    let warning = format!(": use '/old' instead of '{old}'");
    let scan = env.run(&format!("scan tree --exclude {old}")).ok();
    scan.complains(&warning);
    env.run(&format!("report --exclude {old}"))
        .ok()
        .complains(&warning);
    let rest = env.run("scan tree --exclude /old").ok().err();
    assert!(!rest.contains("instead"), "{rest}");
}

#[test]
fn include_and_exclude_choose_names() {
    let env = TestEnv::new();
    env.file("tree/a.jpg", "x")
        .file("tree/b.png", "x")
        .file("tree/sub/c.jpg", "x");
    env.file("tree/cache/d.jpg", "x")
        .file("tree/sub/cache/e.txt", "x");
    let cases = [
        (
            "--include *.jpg",
            &["a.jpg", "sub/c.jpg", "cache/d.jpg"][..],
        ),
        (
            "--include *.jpg --include *.png",
            &["a.jpg", "b.png", "sub/c.jpg", "cache/d.jpg"],
        ),
        ("--exclude cache", &["a.jpg", "b.png", "sub/c.jpg"]),
        ("--exclude cache --exclude *.png", &["a.jpg", "sub/c.jpg"]),
        (
            "--exclude sub/cache",
            &["a.jpg", "b.png", "sub/c.jpg", "cache/d.jpg"],
        ),
        ("--exclude **/*.jpg", &["b.png", "sub/cache/e.txt"]),
        ("--include *.jpg --exclude sub", &["a.jpg", "cache/d.jpg"]),
    ];
    for (number, (option, found)) in cases.into_iter().enumerate() {
        env.use_db(&format!("data/{number}.db"));
        env.run(&format!("scan tree {option}")).ok();
        assert_eq!(listed(&env), names(found), "{option}");
        let group: BTreeSet<_> = found
            .iter()
            .map(|name| format!("tree/{name}").into())
            .collect();
        assert_eq!(env.groups(), Groups::from([group]), "{option}");
    }
}

#[test]
fn what_filters_skip_is_not_deleted() {
    let env = TestEnv::new();
    env.file("tree/a", "x")
        .file("tree/b.tmp", "x")
        .file("tree/sub/c", "x");
    env.run("scan tree").ok();
    env.run("scan tree --exclude *.tmp --exclude sub").ok();
    let deleted: i64 = env.sql("SELECT count(*) FROM files WHERE removed_in IS NOT NULL");
    assert_eq!(deleted, 0);
    assert_eq!(listed(&env), names(&["a", "b.tmp", "sub/c"]));
}

#[test]
fn gitignore_skips_what_git_would() {
    let env = TestEnv::new();
    env.file("tree/.gitignore", "*.log\n/build/\n!keep.log\n");
    env.file("tree/a.log", "x")
        .file("tree/keep.log", "x")
        .file("tree/build/b", "x");
    env.file("tree/sub/build/c", "x")
        .file("tree/sub/.gitignore", "d\n")
        .file("tree/sub/d", "x");
    env.run("scan tree").ok();
    assert_eq!(env.groups().first().unwrap().len(), 5, "not unless asked");
    env.use_db("data/other.db")
        .run("scan tree --gitignore")
        .ok();
    assert_eq!(
        env.groups(),
        expected(&[&["tree/keep.log", "tree/sub/build/c"]])
    );
}

#[test]
fn no_hidden_skips_dots() {
    let env = TestEnv::new();
    env.file("tree/a", "x")
        .file("tree/b", "x")
        .file("tree/.c", "x")
        .file("tree/.d/e", "x");
    env.run("scan tree").ok();
    assert_eq!(
        env.groups().first().unwrap().len(),
        4,
        "hidden files are scanned by default"
    );
    env.use_db("data/other.db")
        .run("scan tree --no-hidden")
        .ok();
    assert_eq!(env.groups(), expected(&[&["tree/a", "tree/b"]]));
    // A root that is hidden itself was asked for.
    env.use_db("data/third.db")
        .run("scan tree/.d --no-hidden")
        .ok();
    assert_eq!(env.sql::<i64>("SELECT count(*) FROM live_files"), 1);
}

#[test]
fn max_depth_counts_levels_below_the_root() {
    let env = TestEnv::new();
    env.file("tree/a", "x")
        .file("tree/1/b", "x")
        .file("tree/1/2/c", "x");
    for (depth, found) in [
        (0, &["a"][..]),
        (1, &["1/b", "a"][..]),
        (2, &["1/2/c", "1/b", "a"][..]),
        (9, &["1/2/c", "1/b", "a"][..]),
    ] {
        env.use_db(&format!("data/{depth}.db"));
        env.run(&format!("scan tree --max-depth {depth}")).ok();
        assert_eq!(listed(&env), names(found), "{depth}");
    }
}

#[test]
fn nice_lowers_the_priority_of_the_workers() {
    let env = TestEnv::new();
    env.random("tree/a", 1, 300_000).copy("tree/a", "tree/b");
    let niceness = |option: &str| {
        env.use_db(&format!("data/{}.db", option.len()));
        let mut scan = env.start(&format!("scan tree --bwlimit 200k --threads 1 {option}"));
        let tasks = Path::new("/proc").join(scan.id().to_string()).join("task");
        let mut found = None;
        scan.wait_until(|| {
            found = fs::read_dir(&tasks)
                .into_iter()
                .flatten()
                .flatten()
                .find_map(|task| {
                    let stat = fs::read_to_string(task.path().join("stat")).ok()?;
                    let (name, fields) = stat.rsplit_once(") ")?;
                    let nice = fields.split(' ').nth(16)?.parse::<i64>().ok()?;
                    (name.contains("worker") && (nice > 0 || option.is_empty())).then_some(nice)
                });
            found.is_some()
        });
        scan.signal(rustix::process::Signal::INT);
        scan.wait().code(130);
        found
    };
    assert_eq!(niceness("--nice"), Some(19));
    let own = rustix::process::getpriority_process(None).unwrap();
    assert_eq!(niceness(""), Some(i64::from(own)));
}

#[test]
fn bwlimit_holds_reading_back() {
    let env = TestEnv::new();
    env.random("tree/a", 1, 1_000_000).copy("tree/a", "tree/b");
    let free = env.run("scan tree --bwlimit 0").ok().elapsed;
    let limited = env
        .use_db("data/other.db")
        .run("scan tree --bwlimit 1M/s")
        .ok()
        .elapsed;
    assert!(
        limited > Duration::from_millis(1_200),
        "2 MB at 1 MiB/s in {limited:?}"
    );
    assert!(limited < Duration::from_secs(8), "{limited:?}");
    assert!(
        free < limited,
        "{free:?} without a limit, {limited:?} with one"
    );
    assert_eq!(env.groups(), expected(&[&["tree/a", "tree/b"]]));
}

#[test]
fn quiet_shows_no_progress_and_log_files_are_written() {
    let env = TestEnv::new();
    pairs(&env, &["a"]);
    env.run("scan tree -q").ok().without_complaint();
    env.run("scan tree --rehash -vv --log-format json --log-file data/log")
        .ok();
    let log = fs::read_to_string(env.path("data/log")).unwrap();
    assert!(log.lines().count() > 1, "{log}");
    for line in log.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(line["level"].is_string(), "{line}");
    }
}

#[test]
fn colour_is_used_only_when_asked_for_or_on_a_terminal() {
    let env = TestEnv::new();
    pairs(&env, &["a"]);
    env.run("scan tree").ok();
    assert!(!env.run("report").ok().out().contains('\u{1b}'));
    assert!(
        env.run("report --color always")
            .ok()
            .out()
            .contains('\u{1b}')
    );
    assert!(
        !env.run("report --color never")
            .ok()
            .out()
            .contains('\u{1b}')
    );
}

#[test]
fn however_disks_are_read_the_groups_are_the_same() {
    let env = TestEnv::new();
    env.random("tree/a", 1, 100_000).copy("tree/a", "tree/b");
    env.copy("tree/a", "tree/near").flip("tree/near", 50_000);
    // Large ones that differ early, late or not at all, and with holes at the end.
    env.random("tree/large", 3, 3_000_000);
    for (name, at) in [("end", 2_999_999), ("middle", 2_000_000), ("same", 0)] {
        let name = format!("tree/large-{name}");
        env.copy("tree/large", &name);
        if at > 0 {
            env.flip(&name, at);
        }
    }
    for (name, seed) in [("one", 4), ("same", 4), ("other", 5)] {
        let name = format!("tree/holes-{name}");
        env.random(&name, seed, 200_000).lengthen(&name, 5_000_000);
    }
    env.random("tree/c", 2, 5_000).copy("tree/c", "tree/d/e");
    env.hard_link("tree/c", "tree/c2");
    let mut seen = Vec::new();
    for io in ["auto", "ssd", "hdd"] {
        env.use_db(&format!("{io}.db"));
        env.run(&format!("scan tree --io {io} --threads 4")).ok();
        seen.push(env.groups());
    }
    assert_eq!(seen[0].len(), 4);
    assert_eq!(seen[0], oracle::groups(&env.path(""), &["tree"]));
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[0], seen[2]);
    let refusal = env.run("scan tree --io tape").code(2).err();
    assert!(refusal.contains("'tape'"), "{refusal}");
}

#[test]
fn a_glob_that_matches_nothing_is_named() {
    let env = TestEnv::new();
    env.file("tree/old/a.txt", "x")
        .file("tree/b.txt", "x")
        .file("tree/new/a.txt", "x")
        .file("tree/c.iso", "y");
    let nothing = env.run("scan tree --include *.jpg").ok();
    nothing.complains("--include '*.jpg' matches nothing");
    let some = env.run("scan tree --include *.txt --include *.png").ok();
    let told = some.err();
    assert!(told.contains("--include '*.png' matches nothing"), "{told}");
    assert!(!told.contains("*.txt"), "{told}");
    let line = "scan tree --exclude old --exclude *.tmp --exclude *.iso";
    let told = env.run(line).ok().err();
    assert_eq!(told, "dupescan: --exclude '*.tmp' matches nothing\n");
    env.run("scan tree --no-excludes").ok();
    for command in ["report", "folders", "diff tree/old tree/new"] {
        let line = format!("{command} --exclude *.tmp --exclude *.txt");
        let told = env.run(&line).err();
        let expected = "dupescan: --exclude '*.tmp' skips nothing here\n";
        assert_eq!(told, expected, "{line}");
    }
}

#[test]
fn an_absolute_glob_outside_the_roots_gets_a_warning() {
    let env = TestEnv::new();
    env.file("tree/old/a", "x")
        .file("tree/b", "x")
        .folder("other");
    let other = env.path("other").display().to_string();
    let warning = ": globs match paths below a root, not absolute paths";
    env.run(&format!("scan tree --exclude {other}"))
        .ok()
        .complains(warning);
    env.run(&format!("report --exclude {other}"))
        .ok()
        .complains(warning);
    env.run("report --exclude /old").ok().without_complaint();
}
