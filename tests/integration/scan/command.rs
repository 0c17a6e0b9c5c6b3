//! `dupescan scan`: what it finds, what it prints, and what it stores.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::env::oracle;
use crate::env::report_json::expected;
use crate::env::{TestEnv, fixtures, skip};

#[test]
fn the_fixtures_give_the_groups_their_readme_lists() {
    let env = TestEnv::new();
    env.fixture("", "tree");
    env.run("scan tree").ok();
    let prefix = format!("{}/", env.path("tree").display());
    let printed = env
        .run("report --format fdupes")
        .ok()
        .out()
        .replace(&prefix, "");
    let readme = std::fs::read_to_string(fixtures().join("README.md")).unwrap();
    let (_, block) = readme.split_once("```text\n").unwrap();
    let (listed, _) = block.split_once("```").unwrap();
    assert_eq!(printed, listed);
    assert_eq!(env.groups(), oracle::groups(&env.path(""), &["tree"]));
    assert_eq!(env.report("")["totals"]["reclaimable"], 276_180);
    assert!(readme.contains("276,180"));
}

#[test]
fn the_summary_names_the_groups_that_save_most() {
    let env = TestEnv::new();
    env.random("tree/large", 1, 500_000)
        .copy("tree/large", "tree/sub/large-too")
        .file("tree/little", "few bytes")
        .copy("tree/little", "tree/sub/little-too");
    let run = env
        .run("scan tree")
        .ok()
        .says("4 files")
        .says("2 duplicate groups")
        .says("report");
    let place = |name| run.out().find(env.path(name).to_str().unwrap());
    let (large, little) = (place("tree/large"), place("tree/little"));
    assert!(large.is_some() && large < little, "{}", run.describe());
}

/// The folders in a summary, with bytes and copies as they are shown.
fn shown_folders(summary: &str) -> Vec<[String; 3]> {
    let lines = summary.lines().skip_while(|line| !line.contains("FOLDER"));
    let rows = lines.skip(2).take_while(|line| !line.is_empty());
    let row = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        [
            words[..2].join(" "),
            words[2].to_owned(),
            words[3].to_owned(),
        ]
    };
    rows.map(row).collect()
}

#[test]
fn the_summary_names_the_folders_that_save_most() {
    let env = TestEnv::new();
    // `a-b` comes before `a/b` in byte order, but not component by component.
    let folders = ["tree/a", "tree/a-b", "tree/a/b", "tree/c"];
    let sizes = [100, 200, 300, 50_000, 700];
    for (number, size) in (0..).zip(sizes) {
        for folder in &folders[..=(number as usize % 3) + 1] {
            env.random(format!("{folder}/{number}"), number, size);
        }
    }
    env.copy("tree/c/2", "tree/c/2 again");
    let mut expected: HashMap<PathBuf, (u64, u64)> = HashMap::new();
    for group in oracle::groups(&env.path(""), &["tree"]) {
        let mut names: Vec<_> = group.into_iter().map(|name| env.path(name)).collect();
        names.sort_by(|a, b| {
            a.as_os_str()
                .as_encoded_bytes()
                .cmp(b.as_os_str().as_encoded_bytes())
        });
        for name in &names[1..] {
            let sums = expected.entry(name.parent().unwrap().into()).or_default();
            sums.0 += name.metadata().unwrap().len();
            sums.1 += 1;
        }
    }
    let mut expected: Vec<_> = expected.into_iter().collect();
    expected.sort_by_key(|(_, (bytes, _))| std::cmp::Reverse(*bytes));
    assert!(expected.len() >= 3);
    let run = env.run("scan tree").ok();
    let shown = shown_folders(&run.out());
    assert_eq!(shown.len(), expected.len(), "{}", run.describe());
    for ([bytes, copies, path], (folder, sums)) in shown.iter().zip(&expected) {
        assert_eq!(Path::new(path), folder);
        assert_eq!(*copies, sums.1.to_string());
        let exact = sums.0 as f64 / if sums.0 < 1024 { 1.0 } else { 1024.0 };
        let number: f64 = bytes.split(' ').next().unwrap().parse().unwrap();
        assert!((number - exact).abs() <= 0.05, "{bytes} for {}", sums.0);
    }
    // Kept, and shown again without looking at the files.
    env.settle_clock();
    env.run("scan tree").ok();
    assert_eq!(shown_folders(&env.run("scan tree").ok().out()), shown);
}

#[test]
fn a_tree_without_duplicates_says_so_and_ends_well() {
    let env = TestEnv::new();
    env.file("tree/a", "one").file("tree/b", "other");
    env.run("scan tree").ok();
    assert_eq!(env.groups(), expected(&[]));
}

#[test]
fn an_empty_folder_can_be_scanned() {
    let env = TestEnv::new();
    env.run("scan tree").ok();
    assert_eq!(env.groups(), expected(&[]));
}

#[test]
fn relative_paths_are_stored_absolute() {
    let env = TestEnv::new();
    env.file("tree/sub/a", "x").file("tree/sub/b", "x");
    let mut command = env.command(["scan", "../tree/./sub/../sub"]);
    command.current_dir(env.path("tree"));
    env.finish(command).ok();
    assert_eq!(env.groups(), expected(&[&["tree/sub/a", "tree/sub/b"]]));
    env.run("status")
        .ok()
        .says(env.path("tree/sub").to_str().unwrap());
}

#[test]
fn near_duplicates_are_told_apart_wherever_they_differ() {
    for size in [
        1_usize, 4_096, 16_384, 32_767, 32_768, 32_769, 65_536, 65_537, 200_000,
    ] {
        let env = TestEnv::new();
        env.random("tree/base", 1, size)
            .copy("tree/base", "tree/copy");
        for (name, at) in [("head", 0), ("middle", size / 2), ("tail", size - 1)] {
            let name = format!("tree/{name}");
            env.copy("tree/base", &name).flip(&name, at as u64);
        }
        env.run("scan tree").ok();
        assert_eq!(
            env.groups(),
            oracle::groups(&env.path(""), &["tree"]),
            "size {size}"
        );
        assert!(
            env.groups()
                .contains(&["tree/base", "tree/copy"].map(Into::into).into())
        );
    }
}

#[test]
fn classes_that_split_late_stay_apart() {
    // Two pairs and a single that agree in size, head and tail.
    let env = TestEnv::new();
    env.random("tree/a1", 1, 300_000).copy("tree/a1", "tree/a2");
    env.copy("tree/a1", "tree/b1")
        .flip("tree/b1", 150_000)
        .copy("tree/b1", "tree/b2");
    env.copy("tree/a1", "tree/c").flip("tree/c", 200_000);
    env.run("scan tree").ok();
    let groups = expected(&[&["tree/a1", "tree/a2"], &["tree/b1", "tree/b2"]]);
    assert_eq!(env.groups(), groups);
}

#[test]
fn hard_links_are_one_copy() {
    let env = TestEnv::new();
    env.file("tree/a", "linked").hard_link("tree/a", "tree/b");
    env.file("tree/c", "copied")
        .hard_link("tree/c", "tree/c2")
        .copy("tree/c", "tree/d");
    env.run("scan tree").ok();
    assert_eq!(env.groups(), expected(&[&["tree/c", "tree/d"]]));
    assert_eq!(env.report("")["totals"]["reclaimable"], 6);
    assert_eq!(env.copies(), oracle::copies(&env.path(""), &["tree"]));
}

#[test]
fn symbolic_links_are_not_followed_by_default() {
    let env = TestEnv::new();
    env.file("tree/a", "x").file("other/b", "x");
    env.symlink("a", "tree/link-to-file")
        .symlink("../other", "tree/link-to-folder")
        .symlink(".", "tree/loop")
        .symlink("nowhere", "tree/dangling");
    env.run("scan tree").ok();
    assert_eq!(env.groups(), expected(&[]));
}

#[test]
fn special_files_are_never_opened() {
    let env = TestEnv::new();
    env.file("tree/a", "x")
        .file("tree/b", "x")
        .fifo("tree/fifo")
        .socket("tree/socket");
    let root = rustix::process::geteuid().is_root();
    if root {
        env.zero_device("tree/device");
    }
    // An open of the pipe would wait for ever, so ending is half the proof.
    let Some((run, opens)) = env.run_traced("scan tree --hash-all") else {
        env.run("scan tree --hash-all").ok();
        skip!("no strace to prove that special files are not opened");
    };
    run.ok();
    for name in ["fifo", "socket", "device"] {
        assert!(!opens.tried(name), "{name} was opened:\n{}", opens.log());
    }
    assert!(
        opens.tried("a"),
        "the log shows no open at all:\n{}",
        opens.log()
    );
    assert_eq!(env.groups(), expected(&[&["tree/a", "tree/b"]]));
}

#[test]
fn pseudo_filesystems_are_skipped_and_named() {
    let env = TestEnv::new();
    env.file("tree/a", "x")
        .file("tree/b", "x")
        .folder("tree/proc");
    let script = "mount -t proc none tree/proc && exec $DUPESCAN scan tree";
    let Some(run) = env.run_with_mounts(script) else {
        skip!("mounting is not permitted");
    };
    run.ok().mentions(env.path("tree/proc").to_str().unwrap());
    assert_eq!(env.groups(), expected(&[&["tree/a", "tree/b"]]));
    assert_eq!(env.sql::<i64>("SELECT count(*) FROM live_files"), 2);
}

#[test]
fn duplicates_are_found_across_roots_scanned_together() {
    let env = TestEnv::new();
    env.file("tree/a", "x").file("other/b", "x");
    env.run("scan tree other").ok();
    assert_eq!(env.groups(), expected(&[&["other/b", "tree/a"]]));
}

#[test]
fn a_file_unique_at_first_finds_its_partner_later() {
    let env = TestEnv::new();
    env.random("tree/a", 1, 100_000).file("tree/other", "y");
    env.run("scan tree").ok();
    assert_eq!(env.groups(), expected(&[]));
    env.copy("tree/a", "other/b");
    env.run("scan other").ok();
    assert_eq!(env.groups(), expected(&[&["other/b", "tree/a"]]));
}

#[test]
fn a_partner_that_is_gone_without_a_scan_is_unchecked_or_skipped() {
    // The first root is offline when its partner appears: no claim about it.
    let env = TestEnv::new();
    env.random("tree/a", 1, 100_000);
    env.run("scan tree").ok();
    env.copy("tree/a", "other/b");
    env.rename("tree", "elsewhere");
    env.run("scan other");
    assert_eq!(env.groups(), expected(&[]));
    let report = env.report("");
    assert!(
        report["totals"]["unchecked"].as_u64().unwrap() >= 1,
        "{report}"
    );
    // It comes back, and the answer with it.
    env.rename("elsewhere", "tree");
    env.run("scan tree other").ok();
    assert_eq!(env.groups(), expected(&[&["other/b", "tree/a"]]));
    assert_eq!(env.report("")["totals"]["unchecked"], 0);
}

#[test]
fn repeated_and_nested_roots_never_make_a_file_its_own_duplicate() {
    for line in [
        "scan tree tree",
        "scan tree tree/sub",
        "scan tree/sub tree",
        "scan tree/sub tree tree/sub tree/. tree/sub/../",
    ] {
        let env = TestEnv::new();
        env.file("tree/a", "x")
            .file("tree/sub/b", "y")
            .file("tree/sub/c", "y");
        env.run(line).ok();
        let groups = expected(&[&["tree/sub/b", "tree/sub/c"]]);
        assert_eq!(env.groups(), groups, "{line}");
        assert_eq!(
            env.sql::<i64>("SELECT count(*) FROM live_files"),
            3,
            "{line}"
        );
    }
}

#[test]
fn a_scan_below_a_root_is_a_partial_scan_of_it() {
    let env = TestEnv::new();
    env.file("tree/a", "x").file("tree/sub/b", "x");
    env.run("scan tree").ok();
    env.file("tree/sub/c", "x").file("tree/new", "x");
    env.run("scan tree/sub").ok();
    let found = expected(&[&["tree/a", "tree/sub/b", "tree/sub/c"]]);
    assert_eq!(env.groups(), found, "tree/new was not asked for");
    assert_eq!(env.sql::<i64>("SELECT count(*) FROM roots"), 1);
    env.run("scan tree").ok();
    assert_eq!(env.groups(), oracle::groups(&env.path(""), &["tree"]));
}

#[test]
fn a_root_above_absorbs_the_one_below_and_keeps_its_digests() {
    let env = TestEnv::new();
    env.random("tree/sub/a", 1, 100_000)
        .copy("tree/sub/a", "tree/sub/b")
        .file("tree/c", "x");
    env.settle_clock();
    env.run("scan tree/sub").ok();
    let Some((run, opens)) = env.run_traced("scan tree") else {
        env.run("scan tree").ok();
        skip!("no strace to prove that the digests were kept");
    };
    run.ok();
    assert_eq!(
        opens.files_below(&env.path("tree/sub")).len(),
        0,
        "{}",
        opens.log()
    );
    assert_eq!(env.groups(), expected(&[&["tree/sub/a", "tree/sub/b"]]));
    assert_eq!(env.sql::<i64>("SELECT count(*) FROM roots"), 1);
}

#[test]
fn a_bind_mount_shows_the_same_files_not_copies() {
    let env = TestEnv::new();
    env.file("tree/a", "x")
        .file("tree/real/b", "y")
        .folder("tree/bound")
        .folder("tree/loop");
    let script = "mount --bind tree/real tree/bound && mount --rbind tree tree/loop && \
                  $DUPESCAN scan tree && \
                  $DUPESCAN report --format fdupes > groups && $DUPESCAN scan tree";
    let Some(run) = env.run_with_mounts(script) else {
        skip!("mounting is not permitted");
    };
    run.ok();
    assert_eq!(std::fs::read_to_string(env.path("groups")).unwrap(), "");
}

#[test]
fn the_catalog_inside_the_tree_is_skipped() {
    let env = TestEnv::new();
    env.use_db("tree/catalog.db")
        .file("tree/a", "x")
        .file("tree/b", "x");
    for _ in 0..2 {
        env.run("scan tree --hash-all").ok();
        assert_eq!(env.groups(), expected(&[&["tree/a", "tree/b"]]));
        let stored: i64 = env.sql("SELECT count(*) FROM live_files WHERE path LIKE '%catalog%'");
        assert_eq!(stored, 0);
    }
}

#[test]
fn times_before_1970_and_far_ahead_are_kept() {
    let env = TestEnv::new();
    let year = Duration::from_secs(365 * 86_400);
    env.file("tree/old", "x")
        .mtime("tree/old", SystemTime::UNIX_EPOCH - 10 * year);
    env.file("tree/new", "x")
        .mtime("tree/new", SystemTime::UNIX_EPOCH + 200 * year);
    for _ in 0..2 {
        env.run("scan tree").ok();
        assert_eq!(env.groups(), expected(&[&["tree/new", "tree/old"]]));
    }
    let report = env.report("").to_string();
    assert!(
        report.contains("1960-01-04T") && report.contains("2169-11-1"),
        "{report}"
    );
}

#[test]
fn sparse_files_are_compared_like_any_other() {
    let env = TestEnv::new();
    env.sparse("tree/a", 30_000_000)
        .sparse("tree/b", 30_000_000)
        .sparse("tree/c", 30_000_000);
    env.flip("tree/c", 15_000_000);
    env.run("scan tree").ok();
    assert_eq!(env.groups(), expected(&[&["tree/a", "tree/b"]]));
}

#[test]
fn empty_files_are_catalogued_but_no_duplicates() {
    let env = TestEnv::new();
    env.file("tree/a", "").file("tree/b", "");
    env.run("scan tree").ok();
    assert_eq!(env.groups(), expected(&[]));
    assert_eq!(env.sql::<i64>("SELECT count(*) FROM live_files"), 2);
    assert_eq!(env.groups_of("--empty"), expected(&[&["tree/a", "tree/b"]]));
}

#[test]
fn deep_trees_and_many_files_are_found_whole() {
    let env = TestEnv::new();
    let mut deep = String::from("tree");
    for level in 0..120 {
        deep.push_str(&format!("/level-{level}"));
    }
    env.file(format!("{deep}/bottom"), "deep")
        .file("tree/top", "deep");
    for number in 0..3_000 {
        env.file(
            format!("tree/wide/{number}"),
            format!("content {}", number / 2),
        );
    }
    env.run("scan tree --threads 4 --queue-per-thread 1").ok();
    let groups = env.groups();
    assert_eq!(groups.len(), 1_501);
    assert_eq!(groups, oracle::groups(&env.path(""), &["tree"]));
}

#[test]
fn a_path_longer_than_the_system_takes_is_found() {
    let env = TestEnv::new();
    env.file("tree/top", "deep");
    // 5,000 bytes of path, made step by step.
    let script = "cd tree; n=$(printf '%0200d' 7); i=0; \
                  while [ $i -lt 25 ]; do mkdir $n; cd -P $n 2>/dev/null || cd $n; i=$((i+1)); done; \
                  printf deep > bottom";
    let made = std::process::Command::new("bash")
        .args(["-ec", script])
        .current_dir(env.path(""))
        .status();
    if !made.is_ok_and(|status| status.success()) {
        skip!("the shell cannot make a path longer than PATH_MAX");
    }
    env.run("scan tree").ok();
    let groups = env.groups();
    assert_eq!(groups.len(), 1);
    let longest = groups
        .first()
        .unwrap()
        .iter()
        .map(|path| path.as_os_str().len())
        .max();
    assert!(longest > Some(4_500), "{longest:?}");
    // The temporary folder cannot be removed by its whole path.
    std::process::Command::new("rm")
        .arg("-rf")
        .arg(env.path("tree"))
        .status()
        .unwrap();
    env.folder("tree");
}

#[test]
fn the_catalog_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let env = TestEnv::new();
    env.use_db("data/new/folder/catalog.db").file("tree/a", "x");
    env.run("scan tree").ok();
    let mode = env.db().metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn holes_are_hashed_without_being_read() {
    const SIZE: u64 = 300 << 20;
    let env = TestEnv::new();
    for name in ["tree/a", "tree/b", "tree/written", "tree/other"] {
        env.sparse(name, SIZE);
    }
    env.write_at("tree/written", SIZE / 3, "\0")
        .write_at("tree/other", SIZE / 2, "x");
    env.run("scan tree").ok();
    let same: &[&str] = &["tree/a", "tree/b", "tree/written"];
    assert_eq!(env.groups(), expected(&[same]));
    // sha256sum of 300 MiB of zeros.
    let digest = "17a88af83717f68b8bd97873ffcf022c8aed703416fe9b08e0fa9e3287692bf0";
    assert_eq!(env.report("")["groups"][0]["digest"], digest);
    let fstype: String = env.sql("SELECT fstype FROM volumes");
    if !["ext4", "xfs", "btrfs", "tmpfs", "overlay"].contains(&fstype.as_str()) {
        skip!("holes of {fstype} are not relied on");
    }
    let read = env.last_scan("bytes_read");
    assert!(read < 1 << 20, "{read} bytes read");
}

#[test]
fn the_summary_says_how_much_is_duplicate_and_what_to_look_at_next() {
    let env = TestEnv::new();
    env.file("tree/a/x", "12345678")
        .file("tree/b/y", "12345678");
    env.file("tree/b/alone", "a size of its own")
        .file("tree/a/alone", "another size of its own");
    // 8 of 8 + 8 + 17 + 23 bytes.
    env.run("scan tree")
        .ok()
        .says("8 B reclaimable\n  14 % of everything scanned\n")
        .says("All groups: dupescan --db ")
        .keeps_quiet_about("Duplicate folders");
    // A folder of nothing but copies.
    env.copy("tree/a/x", "tree/c/x")
        .copy("tree/a/alone", "tree/c/alone")
        .file("tree/c/empty", "");
    let run = env.run("scan tree").ok();
    let run = run.says("Duplicate folders: dupescan --db ");
    assert!(run.out().trim_end().ends_with("catalog.db folders"));
    env.file("more/z", "12345678").run("scan more").ok();
    // 24 + 23 of 56 + 31 + 8 bytes.
    env.run("scan more")
        .ok()
        .says("1 duplicate group, 4 copies, 24 B reclaimable\nWhole catalog: 2 duplicate groups, ")
        .says(", 49 % of the 95 B in the catalog\n");
    // An empty folder has none of the duplicates of others.
    env.folder("empty")
        .run("scan empty")
        .ok()
        .says("\nNo duplicates\nWhole catalog: 2 ");
    env.remove("tree").remove("more").file("tree/u", "u");
    env.run("scan --allow-empty tree")
        .ok()
        .keeps_quiet_about(" % of ")
        .keeps_quiet_about("dupescan");
}
