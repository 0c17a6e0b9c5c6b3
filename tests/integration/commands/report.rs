//! `dupescan report`: every format and every option by its effect.

use std::fs;

use serde_json::Value;

use crate::env::report_json::expected;
use crate::env::{TestEnv, odd, words};

/// Three groups: `big` (2 × 50,000), `many` (4 × 20) and `mid` (2 × 9,000, one
/// of them in another root), a hard link, empty files, and a unique file.
fn scanned() -> TestEnv {
    let env = TestEnv::new();
    env.random("tree/big.iso", 1, 50_000)
        .copy("tree/big.iso", "tree/sub/big.img");
    for name in ["1.txt", "2.txt", "3.txt", "sub/4.md"] {
        env.file(
            format!("tree/many-{}", name.replace('/', "-")),
            "twenty bytes of text",
        );
    }
    env.random("tree/mid.bin", 2, 9_000)
        .copy("tree/mid.bin", "other/mid.bin");
    env.hard_link("tree/mid.bin", "tree/sub/mid-link.bin");
    env.file("tree/empty-1", "")
        .file("tree/empty-2", "")
        .random("tree/unique", 3, 777);
    env.run("scan tree other").ok();
    env
}

const BIG: &[&str] = &["tree/big.iso", "tree/sub/big.img"];
const MANY: &[&str] = &[
    "tree/many-1.txt",
    "tree/many-2.txt",
    "tree/many-3.txt",
    "tree/many-sub-4.md",
];
const MID: &[&str] = &["other/mid.bin", "tree/mid.bin"];

fn sizes(report: &Value) -> Vec<u64> {
    let groups = report["groups"].as_array().unwrap();
    groups
        .iter()
        .map(|group| group["size"].as_u64().unwrap())
        .collect()
}

#[test]
fn json_follows_its_schema() {
    let env = scanned();
    let report = env.report("");
    assert_eq!(report["schema"], 1);
    assert!(report["generated_at"].as_str().unwrap().ends_with('Z'));
    assert!(report["as_of"]["scan"].as_i64() >= Some(1));
    assert!(report["as_of"]["finished_at"].is_string());
    assert_eq!(
        sizes(&report),
        [50_000, 9_000, 20],
        "what saves most comes first"
    );
    let group = &report["groups"][1];
    assert_eq!(group["algorithm"], "sha256");
    assert_eq!(group["digest"].as_str().unwrap().len(), 64);
    assert_eq!(
        (&group["copies"], &group["reclaimable"]),
        (&2.into(), &9_000.into())
    );
    assert!(group["comparison"].is_string());
    let file = &group["files"][1];
    assert_eq!(file["path"], env.path("tree/mid.bin").to_str().unwrap());
    assert_eq!(file["root"], env.path("tree").to_str().unwrap());
    assert_eq!(
        file["links"][0],
        env.path("tree/sub/mid-link.bin").to_str().unwrap()
    );
    assert!(file["inode"].is_u64() && file["volume"].is_string() && file["mtime"].is_string());
    assert!(file.get("path_b64").is_none());
    let totals = &report["totals"];
    assert_eq!(totals["groups"], 3);
    assert_eq!(totals["copies"], 8);
    assert_eq!(totals["reclaimable"], 50_000 + 9_000 + 60);
    assert_eq!(totals["unchecked"], 0);
}

#[test]
fn jsonl_is_a_group_a_line() {
    let env = scanned();
    let out = env.run("report --format jsonl").ok().out();
    let lines: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0]["size"], 50_000);
    assert!(
        lines.iter().all(|line| line["as_of_scan"].is_i64()),
        "{out}"
    );
}

#[test]
fn csv_is_a_copy_a_line() {
    let env = scanned();
    let run = env.run("report --format csv").ok();
    let mut reader = csv::Reader::from_reader(run.stdout.as_slice());
    let column = |name: &str, headers: &csv::StringRecord| {
        headers.iter().position(|header| header == name).unwrap()
    };
    let headers = reader.headers().unwrap().clone();
    let (path, scan) = (column("path", &headers), column("as_of_scan", &headers));
    let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 8);
    assert_eq!(&rows[0][path], env.path("tree/big.iso").to_str().unwrap());
    assert!(rows.iter().all(|row| row[scan].parse::<u64>().is_ok()));
    let links = env.run("report --format csv --links").ok().out();
    assert_eq!(links.lines().count(), 1 + 9, "{links}");
}

#[test]
fn fdupes_is_paths_and_blank_lines_and_nothing_else() {
    let env = scanned();
    let group = |paths: &[&str]| -> String {
        let line = |path: &&str| format!("{}\n", env.path(path).display());
        paths.iter().map(line).collect()
    };
    let text = [group(BIG), group(MID), group(MANY)].join("\n");
    // Which scan that is goes elsewhere, and can be silenced.
    let run = env
        .run("report --format fdupes")
        .ok()
        .complains("as of scan");
    assert_eq!(run.out(), text);
    let run = env
        .run("report --format fdupes -q")
        .ok()
        .without_complaint();
    assert_eq!(run.out(), text);
}

#[test]
fn null_ends_paths_with_nul() {
    let env = scanned();
    let plain = env.run("report --format fdupes").ok().stdout;
    let expected: Vec<u8> = plain
        .iter()
        .map(|&b| if b == b'\n' { 0 } else { b })
        .collect();
    assert_eq!(env.run("report --format fdupes -0").ok().stdout, expected);
    assert_eq!(
        env.run("report --format fdupes --null").ok().stdout,
        expected
    );
}

#[test]
fn the_table_shows_groups_paths_sums_and_the_scan() {
    let env = scanned();
    let mut run = env.run("report").ok();
    for path in [BIG, MANY, MID].concat() {
        run = run.says(env.path(path).to_str().unwrap());
    }
    run.says("as of scan")
        .keeps_quiet_about("mid-link")
        .keeps_quiet_about("unique");
}

#[test]
fn a_path_keeps_groups_with_a_copy_below_it_and_shows_all_copies() {
    let env = scanned();
    assert_eq!(env.groups_of("other"), expected(&[MID]));
    assert_eq!(
        env.groups_of("tree/sub"),
        expected(&[BIG, MID]),
        "a link counts as a name"
    );
    assert_eq!(env.groups_of("tree/big.iso"), expected(&[BIG]));
    assert_eq!(env.groups_of("other tree/big.iso"), expected(&[BIG, MID]));
    assert_eq!(env.groups_of("tree"), expected(&[BIG, MID, MANY]));
    // Not a prefix of the text: `tree/su` is no folder of theirs.
    env.folder("tree/su");
    env.run("scan tree").ok();
    assert_eq!(env.groups_of("tree/su"), expected(&[]));
}

#[test]
fn sort_orders_the_groups() {
    let env = scanned();
    let order = |sort: &str| sizes(&env.report(&format!("--sort {sort}")));
    assert_eq!(order("reclaimable"), [50_000, 9_000, 20]);
    assert_eq!(order("size"), [50_000, 9_000, 20]);
    assert_eq!(order("count")[0], 20);
    assert_eq!(order("path"), [9_000, 50_000, 20]);
}

#[test]
fn the_order_is_stable() {
    let env = TestEnv::new();
    for number in 0..40 {
        let content = format!("content {number:02}");
        env.file(format!("tree/{number}"), &content)
            .file(format!("tree/{number}.copy"), &content);
    }
    env.run("scan tree --threads 2").ok();
    let first = env.run("report --format fdupes").ok().out();
    env.use_db("data/other.db")
        .run("scan tree --threads 7")
        .ok();
    assert_eq!(env.run("report --format fdupes").ok().out(), first);
    let digests: Vec<String> = env.report("")["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| group["digest"].as_str().unwrap().to_owned())
        .collect();
    assert!(
        digests.is_sorted(),
        "equal sizes come in the order of their digests: {digests:?}"
    );
}

#[test]
fn limit_stops_after_so_many_groups() {
    let env = scanned();
    assert_eq!(env.groups_of("--limit 1"), expected(&[BIG]));
    assert_eq!(env.groups_of("--limit 2"), expected(&[BIG, MID]));
    assert_eq!(env.groups_of("--limit 99"), expected(&[BIG, MID, MANY]));
}

#[test]
fn links_prints_every_name() {
    let env = scanned();
    let all = env.run("report --format fdupes --links").ok().out();
    assert!(all.contains("mid-link.bin"), "{all}");
    let one = env.run("report --format fdupes").ok().out();
    assert!(!one.contains("mid-link.bin"), "{one}");
    env.run("report --links").ok().says("mid-link.bin");
}

#[test]
fn min_count_asks_for_more_copies() {
    let env = scanned();
    assert_eq!(env.groups_of("--min-count 3"), expected(&[MANY]));
    assert_eq!(env.groups_of("--min-count 4"), expected(&[MANY]));
    assert_eq!(env.groups_of("--min-count 5"), expected(&[]));
}

#[test]
fn sizes_choose_groups() {
    let env = scanned();
    assert_eq!(env.groups_of("--min-size 9000"), expected(&[BIG, MID]));
    assert_eq!(env.groups_of("--min-size 9001"), expected(&[BIG]));
    assert_eq!(env.groups_of("--max-size 9000"), expected(&[MID, MANY]));
    assert_eq!(
        env.groups_of("--min-size 1k --max-size 10k"),
        expected(&[MID])
    );
}

#[test]
fn exclude_skips_files() {
    let env = scanned();
    assert_eq!(env.groups_of("--exclude *.img"), expected(&[MID, MANY]));
    let three = &["tree/many-1.txt", "tree/many-2.txt", "tree/many-3.txt"];
    assert_eq!(
        env.groups_of("--exclude *.md"),
        expected(&[BIG, MID, three])
    );
    assert_eq!(
        env.groups_of("--exclude sub --exclude *.txt"),
        expected(&[MID])
    );
}

#[test]
fn ext_keeps_extensions() {
    let env = scanned();
    let texts: &[&str] = &["tree/many-1.txt", "tree/many-2.txt", "tree/many-3.txt"];
    assert_eq!(env.groups_of("--ext txt"), expected(&[texts]));
    assert_eq!(env.groups_of("--ext .txt,md"), expected(&[MANY]));
    assert_eq!(env.groups_of("--ext iso --ext img"), expected(&[BIG]));
    assert_eq!(
        env.groups_of("--ext iso"),
        expected(&[]),
        "one copy is no group"
    );
}

#[test]
fn empty_shows_empty_files_too() {
    let env = scanned();
    let empty: &[&str] = &["tree/empty-1", "tree/empty-2"];
    assert_eq!(env.groups_of("--empty"), expected(&[BIG, MID, MANY, empty]));
}

#[test]
fn across_wants_more_than_one_root() {
    let env = scanned();
    assert_eq!(env.groups_of("--across"), expected(&[MID]));
}

#[test]
fn check_skips_what_changed() {
    let env = scanned();
    env.remove("tree/many-1.txt")
        .append("tree/many-2.txt", "!")
        .file("tree/sub/big.img", "short");
    assert_eq!(env.groups(), expected(&[BIG, MID, MANY]), "as of the scan");
    let left: &[&str] = &["tree/many-3.txt", "tree/many-sub-4.md"];
    assert_eq!(env.groups_of("--check"), expected(&[MID, left]));
    // It says what was skipped, and how far it looked.
    let check = env.run("report --check --format csv").ok();
    let check = check.complains("--check skipped 3 copies: missing or changed since the scan");
    assert!(!check.err().contains("--limit"), "{}", check.err());
    env.run("report --check --limit 1 --format json")
        .ok()
        .complains("--limit reached: further groups were neither checked nor counted");
    env.rename("other", "away");
    env.run("report --check")
        .ok()
        .complains("--check skipped 1 copy: offline");
}

#[test]
fn a_limit_is_mentioned_where_the_format_has_no_totals() {
    let env = scanned();
    for format in ["csv", "fdupes"] {
        env.run(&format!("report --limit 2 --format {format}"))
            .ok()
            .complains("showing 2 of 3 groups");
        let whole = env.run(&format!("report --format {format}")).ok().err();
        assert!(!whole.contains("showing"), "{whole}");
    }
    env.run("export --limit 1")
        .ok()
        .complains("showing 1 of 11 hashes");
}

#[test]
fn a_path_that_the_catalog_does_not_know_is_refused() {
    let env = scanned();
    let nowhere = env.path("tree/no where").display().to_string();
    for line in [
        &["report"][..],
        &["report", "tree"],
        &["history"],
        &["unique"],
    ] {
        let message = env
            .run_args(line.iter().chain(&["tree/no where"]))
            .refused(2);
        let expected = format!("{nowhere} has not been scanned: scan it with `dupescan");
        assert!(message.contains(&expected), "{line:?}: {message}");
        // To be pasted: with the catalog that was asked, and quoted.
        assert!(message.contains("--db "), "{message}");
        assert!(
            message.ends_with(&format!("scan '{nowhere}'`")),
            "{message}"
        );
    }
    for place in ["tree/sub", "tree/mid.bin", "other"] {
        let report = env.report(place);
        assert_eq!(sizes(&report).last(), Some(&9_000), "{place}");
    }
    // It was there once.
    env.remove("tree/sub");
    env.run("scan tree").ok();
    env.run("history tree/sub").ok().says("2 scans");
}

#[test]
fn output_goes_to_the_file_whole_or_not_at_all() {
    let env = scanned();
    let printed = env.run("report --format fdupes").ok().out();
    let run = env
        .run("report --format fdupes --output data/report.txt")
        .ok();
    assert_eq!(run.out(), "");
    assert_eq!(
        fs::read_to_string(env.path("data/report.txt")).unwrap(),
        printed
    );
    // Written over, never half.
    env.run("report --format fdupes -o data/report.txt --limit 1")
        .ok();
    let lines = fs::read_to_string(env.path("data/report.txt")).unwrap();
    assert_eq!(lines.lines().count(), 2);
    let left: Vec<_> = fs::read_dir(env.path("data")).unwrap().flatten().collect();
    let strays: Vec<_> = left
        .iter()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| !name.starts_with("catalog.db") && name != "report.txt")
        .collect();
    assert!(strays.is_empty(), "{strays:?}");
    let message = env
        .run("report --output data/no/such/folder/report.txt")
        .refused(3);
    assert!(message.contains("data/no/such/folder"), "{message}");
}

#[test]
fn a_report_without_a_catalog_says_what_to_do() {
    let env = TestEnv::new();
    let message = env.run("report").refused(3);
    assert!(message.contains("dupescan scan"), "{message}");
    assert!(!env.db().exists(), "asking creates nothing");
}

#[test]
fn a_report_while_a_scan_runs_is_possible() {
    let env = scanned();
    env.random("tree/slow-1", 9, 150_000)
        .copy("tree/slow-1", "tree/slow-2");
    let mut scan = env.start("scan tree --bwlimit 150k");
    assert!(
        scan.wait_until(
            || env.sql::<i64>("SELECT count(*) FROM scans WHERE state = 'running'") == 1
        )
    );
    env.run("report --format fdupes").ok();
    env.run("status").ok();
    scan.signal(rustix::process::Signal::INT);
    scan.wait().code(130);
}

#[test]
fn paths_with_any_byte_can_be_asked_for() {
    let env = TestEnv::new();
    let folder = crate::env::odd(b"tree/caf\xe9 \x01");
    env.file(folder.join("a"), "x")
        .file(folder.join("b"), "x")
        .file("tree/c", "y")
        .file("tree/d", "y");
    env.run("scan tree").ok();
    let run = env
        .run_args(words(&[&"report", &"--format", &"json", &folder]))
        .ok();
    assert_eq!(run.json()["totals"]["groups"], 1);
}

#[test]
fn paths_are_a_flat_list() {
    let env = scanned();
    let line = |path: &&str| format!("{}\n", env.path(path).display());
    let lines = |paths: &[&str]| paths.iter().map(line).collect::<String>();
    let all = [lines(BIG), lines(MID), lines(MANY)].concat();
    assert_eq!(env.run("report --paths").ok().out(), all);
    let rest = [lines(&BIG[1..]), lines(&MID[1..]), lines(&MANY[1..])].concat();
    assert_eq!(env.run("report --paths --keep first").ok().out(), rest);
    let links = env.run("report --paths --keep first --links").ok().out();
    assert!(links.contains("/tree/sub/mid-link.bin\n"), "{links}");
    let nul = env.run("report --paths --keep first -0").ok().out();
    assert_eq!(nul, rest.replace('\n', "\0"));
    env.run("report --paths --format csv")
        .code(2)
        .complains("--paths cannot be used with --format");
}

#[test]
fn any_name_survives_the_pipe_to_xargs() {
    let env = TestEnv::new();
    for name in [
        &b"new\nline"[..],
        b"latin-\xe9",
        b" two  words",
        b"-f",
        b"'\"",
    ] {
        for folder in [&b"a/"[..], b"b/"] {
            env.file(odd(&[folder, name].concat()), name);
        }
    }
    env.run("scan a b").ok();
    let script = "$0 --db $1 report --paths -0 --keep first | xargs -0 rm --";
    let mut command = env.bare_command("sh");
    command.args(["-euc", script, env!("CARGO_BIN_EXE_dupescan")]);
    command.arg(env.db());
    env.finish(command).ok();
    assert_eq!(fs::read_dir(env.path("a")).unwrap().count(), 5);
    assert_eq!(fs::read_dir(env.path("b")).unwrap().count(), 0);
}

#[test]
fn across_folders_means_these_whatever_the_roots_are() {
    let env = TestEnv::new();
    env.file("top/a/1", "in both").file("top/b/1", "in both");
    env.file("top/a/2", "twice in a")
        .file("top/a/3", "twice in a");
    env.file("top/a/4", "in a and c")
        .file("top/c/4", "in a and c");
    env.run("scan top").ok();
    assert_eq!(env.groups_of("--across"), expected(&[]));
    let both = expected(&[&["top/a/1", "top/b/1"]]);
    for check in ["", "--check"] {
        assert_eq!(
            env.groups_of(&format!("--across top/a top/b {check}")),
            both
        );
        assert_eq!(
            env.groups_of(&format!("--isolate top/a top/b {check}")),
            both
        );
    }
    assert_eq!(env.groups_of("--across top/a top/b top/c").len(), 2);
    // A folder in another one is a place of its own.
    env.file("top/a/sub/2", "twice in a").run("scan top").ok();
    let inner = expected(&[&["top/a/2", "top/a/3", "top/a/sub/2"]]);
    assert_eq!(env.groups_of("--across top/a top/a/sub"), inner);
}
