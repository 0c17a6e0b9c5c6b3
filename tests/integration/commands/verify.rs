//! `dupescan verify`, and what every command does with a broken catalog. That
//! sound catalogs pass is checked after every test of this suite.

use std::fs;

use crate::env::report_json::expected;
use crate::env::{TestEnv, skip};

fn spoil(env: &TestEnv, sql: &str) {
    let connection = rusqlite::Connection::open(env.db()).unwrap();
    connection
        .pragma_update(None, "foreign_keys", false)
        .unwrap();
    connection
        .pragma_update(None, "ignore_check_constraints", true)
        .unwrap();
    connection.execute_batch(sql).unwrap();
}

fn scanned() -> TestEnv {
    let env = TestEnv::new();
    env.file("tree/a", "x")
        .file("tree/sub/b", "x")
        .file("tree/sub/c", "y");
    env.run("scan tree").ok();
    env
}

#[test]
fn the_documented_schema_is_that_of_new_catalogs() {
    let env = TestEnv::new();
    env.file("tree/a", "x").run("scan tree").ok();
    let version: i64 = env.sql("PRAGMA user_version");
    let text = include_str!("../../../docs/CATALOG.md");
    assert!(text.contains(&format!("{version} today.")), "{version}");
}

#[test]
fn a_sound_catalog_is_called_so() {
    let env = scanned();
    env.run("verify").ok();
    env.run("verify --repair").ok();
    assert_eq!(env.groups(), expected(&[&["tree/a", "tree/sub/b"]]));
}

#[test]
fn problems_are_named_and_repaired() {
    for (what, sql) in [
        (
            "counter",
            "UPDATE roots SET files = files + 7, bytes = bytes + 1",
        ),
        (
            "orphan file",
            "INSERT INTO files (folder, name, size, allocated, mtime_ns, ctime_ns, nlink, first_scan) VALUES (4711, x'61', 1, 1, 0, 0, 1, 1)",
        ),
        (
            "orphan folder",
            "INSERT INTO folders (id, root, parent, name, first_scan) VALUES (4711, 99, 4712, x'61', 1)",
        ),
    ] {
        let env = scanned();
        spoil(&env, sql);
        let run = env.run("verify").code(1);
        assert!(
            run.out().lines().count() + run.err().lines().count() > 0,
            "{what}"
        );
        let repair = env.run("verify --repair");
        assert!(
            matches!(repair.exit, Some(0 | 1)),
            "{what}: {}",
            repair.describe()
        );
        env.run("verify").ok();
        assert_eq!(
            env.groups(),
            expected(&[&["tree/a", "tree/sub/b"]]),
            "{what}"
        );
    }
}

#[test]
fn verify_does_not_change_what_it_is_not_asked_to() {
    let env = scanned();
    spoil(&env, "UPDATE roots SET files = files + 7");
    for _ in 0..2 {
        env.run("verify").code(1);
    }
    env.run("verify --repair");
}

#[test]
fn broken_catalogs_are_refused_and_stay_as_they_are() {
    for name in [
        "not-a-database",
        "foreign",
        "newer",
        "unreleased",
        "truncated",
    ] {
        for line in [
            "scan tree",
            "report",
            "status",
            "errors",
            "verify --repair",
            "purge",
            "resume",
        ] {
            let env = TestEnv::new();
            env.fixture("catalogs", "data")
                .file("tree/a", "x")
                .use_db(&format!("data/{name}.db"));
            env.catalog_is_broken_on_purpose();
            let before = fs::read(env.db()).unwrap();
            let run = env.run(line);
            let allowed = if line.starts_with("verify") {
                [1, 3]
            } else {
                [3, 3]
            };
            assert!(
                run.exit.is_some_and(|code| allowed.contains(&code)),
                "{}",
                run.describe()
            );
            if line != "verify --repair" {
                run.complains(&format!("{name}.db"));
            }
            assert_eq!(fs::read(env.db()).unwrap(), before, "{line} changed {name}");
        }
    }
}

#[test]
fn a_damaged_page_is_found_before_anything_is_changed() {
    let env = TestEnv::new();
    for number in 0..400 {
        env.file(format!("tree/{}/{number}", number % 40), "x");
    }
    env.run("scan tree").ok();
    let pages = fs::metadata(env.db()).unwrap().len() / 8192;
    let mut bytes = fs::read(env.db()).unwrap();
    let last = usize::try_from(pages - 1).unwrap() * 8192;
    bytes[last..last + 64].fill(0xff);
    fs::write(env.db(), &bytes).unwrap();
    env.catalog_is_broken_on_purpose();
    env.run("verify").code(1);
    env.file("tree/new", "x");
    for line in ["scan tree", "purge", "verify --repair"] {
        let run = env.run(line);
        assert!(matches!(run.exit, Some(1 | 3)), "{}", run.describe());
        assert!(
            fs::read(env.db()).unwrap() == bytes,
            "{line} changed a damaged catalog"
        );
    }
}

/// A catalog too large to be checked as a whole before it is changed, by rows
/// of files that are long gone.
fn scanned_large() -> TestEnv {
    let env = scanned();
    spoil(
        &env,
        "INSERT INTO folders (id, root, parent, name, volume, first_scan, removed_in)
         VALUES (4711, 1, 1, x'61', 1, 1, 1);
         WITH RECURSIVE n (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM n WHERE n < 40000)
         INSERT INTO files (folder, name, size, allocated, mtime_ns, ctime_ns, nlink, first_scan, removed_in)
         SELECT 4711, CAST(printf('%0250d', n) AS BLOB), 1, 1, 0, 0, 1, 1, 1 FROM n;
         PRAGMA wal_checkpoint(TRUNCATE)",
    );
    env.run("verify").ok();
    assert!(fs::metadata(env.db()).unwrap().len() > 9 << 20);
    env
}

/// Makes a page unreadable; returns the whole catalog.
fn damage(env: &TestEnv, page: usize) -> Vec<u8> {
    let mut bytes = fs::read(env.db()).unwrap();
    let start = (page - 1) * 8192;
    bytes[start..start + 64].fill(0xff);
    fs::write(env.db(), &bytes).unwrap();
    env.catalog_is_broken_on_purpose();
    bytes
}

#[test]
fn a_large_catalog_is_checked_beside_its_files_before_it_is_changed() {
    let env = scanned_large();
    let page: i64 = env.sql("SELECT rootpage FROM sqlite_schema WHERE name = 'folders'");
    let bytes = damage(&env, usize::try_from(page).unwrap());
    for line in ["scan tree", "purge", "forget tree"] {
        let message = env.run(line).refused(3);
        assert!(message.contains("damaged"), "{message}");
        assert!(fs::read(env.db()).unwrap() == bytes, "{line} changed it");
    }
    fs::write(env.db(), &bytes[..9 << 20]).unwrap();
    let message = env.run("scan tree").refused(3);
    assert!(message.contains("damaged"), "{message}");
    assert_eq!(fs::metadata(env.db()).unwrap().len(), 9 << 20);
}

#[test]
fn damage_met_on_the_way_is_one_sentence_that_names_the_catalog() {
    let env = scanned_large();
    damage(&env, 600);
    env.file("tree/new", "x");
    for line in ["scan tree", "report", "purge", "verify --repair"] {
        let run = env.run(line);
        if line.starts_with("verify") {
            assert!(matches!(run.exit, Some(1 | 3)), "{}", run.describe());
            continue;
        }
        let run = run.code(3);
        let (name, err) = (env.db().display().to_string(), run.err());
        let about = |line: &&str| line.contains(&name) && line.contains("damaged and cannot");
        assert_eq!(err.lines().filter(about).count(), 1, "{}", run.describe());
    }
}

#[test]
fn messages_about_a_broken_catalog_say_what_it_is() {
    let env = TestEnv::new();
    env.fixture("catalogs", "data");
    for (name, words) in [
        ("not-a-database", "not a database"),
        ("foreign", "not a dupescan catalog"),
        ("newer", "newer dupescan"),
        ("unreleased", "scan again into a new catalog"),
        (
            "truncated",
            "damaged and cannot be repaired: restore a backup",
        ),
    ] {
        env.use_db(&format!("data/{name}.db"))
            .catalog_is_broken_on_purpose();
        let message = env.run("report").refused(3);
        assert!(message.contains(words), "{message}");
        assert!(message.contains(&format!("{name}.db")), "{message}");
    }
}

#[test]
fn damage_that_only_a_query_meets_is_found_too() {
    let env = TestEnv::new();
    env.fixture("catalogs", "data")
        .use_db("data/flipped.db")
        .catalog_is_broken_on_purpose();
    let run = env.run("verify");
    assert!(matches!(run.exit, Some(1 | 3)), "{}", run.describe());
    run.mentions("malformed");
    let run = env.run("report --format json");
    assert_eq!(run.exit, Some(3), "{}", run.describe());
}

#[test]
fn verify_without_a_catalog_says_so() {
    let env = TestEnv::new();
    let message = env.run("verify").refused(3);
    assert!(message.contains("no catalog"), "{message}");
}

/// All commands but `scan` that need a catalog, by what they do first with it.
const NEED_A_CATALOG: [&str; 8] = [
    "report",
    "status",
    "verify",
    "verify --repair",
    "resume",
    "retry",
    "errors",
    "purge",
];

fn is_called_empty_and_scanned_into(env: &TestEnv, lines: &[&str], what: &str) {
    for line in lines {
        let message = env.run(line).refused(3);
        let name = env.db().display().to_string();
        assert!(message.contains(&name), "{what}, {line}: {message}");
        assert!(message.contains("is empty"), "{what}, {line}: {message}");
        assert!(message.contains("dupescan scan"), "{what}: {message}");
    }
    env.run("scan tree").ok();
    assert_eq!(env.groups(), expected(&[&["tree/a", "tree/b"]]), "{what}");
}

#[test]
fn a_catalog_without_tables_is_called_empty_and_scanned_into() {
    for (what, sql) in [
        ("no byte", ""),
        ("only a header", "PRAGMA journal_mode = WAL"),
        ("no tables left", "CREATE TABLE t (x); DROP TABLE t"),
    ] {
        let env = TestEnv::new();
        env.file("tree/a", "x").file("tree/b", "x");
        env.file("data/catalog.db", "");
        rusqlite::Connection::open(env.db())
            .unwrap()
            .execute_batch(sql)
            .unwrap();
        let is_bare = fs::metadata(env.db()).unwrap().len() == 0;
        assert_eq!(is_bare, sql.is_empty(), "{what}");
        is_called_empty_and_scanned_into(&env, &NEED_A_CATALOG, what);
    }
}

#[test]
fn a_catalog_whose_first_page_is_cut_off_is_damaged_not_empty() {
    let env = TestEnv::new();
    env.file("tree/a", "x").catalog_is_broken_on_purpose();
    rusqlite::Connection::open(env.db())
        .unwrap()
        .execute_batch("PRAGMA journal_mode = WAL")
        .unwrap();
    // No kill leaves this, since a page is written at once.
    let header = fs::read(env.db()).unwrap()[..100].to_vec();
    fs::write(env.db(), &header).unwrap();
    for line in NEED_A_CATALOG.into_iter().chain(["scan tree"]) {
        let message = env.run(line).refused(3);
        assert!(message.contains("damaged"), "{line}: {message}");
        assert_eq!(fs::read(env.db()).unwrap(), header, "{line} changed it");
    }
}

#[test]
fn a_scan_killed_while_it_makes_its_catalog_leaves_an_empty_one_or_a_whole_one() {
    let mut empty = 0;
    for write in 1..100 {
        let env = TestEnv::new();
        env.file("tree/a", "x").file("tree/b", "x");
        let mut command = env.bare_command("strace");
        let calls = "pwrite64,ftruncate,fsync,fdatasync";
        command
            .args(["-f", "-qq", "-o", "/dev/null", "-e"])
            .arg(format!("trace={calls}"))
            .arg("-e")
            .arg(format!("inject={calls}:signal=KILL:when={write}"))
            .arg(env!("CARGO_BIN_EXE_dupescan"))
            .arg("--db")
            .arg(env.db())
            .args(["scan", "tree"]);
        let Ok(_) = command.output() else {
            skip!("no strace to kill a scan at a certain write");
        };
        if !env.db().exists() {
            continue;
        }
        if env.run("status").exit == Some(0) {
            env.run("scan tree").ok();
            break;
        }
        empty += 1;
        let what = format!("killed at write {write}");
        is_called_empty_and_scanned_into(&env, &["report", "resume"], &what);
    }
    assert!(empty > 2, "killed {empty} times before it was made");
}

#[test]
fn a_malformed_hash_is_reported_by_every_command_that_reads_it() {
    for digest in ["x'00'", "x'ff'", "zeroblob(31)", "zeroblob(100)"] {
        let env = TestEnv::new();
        env.file("tree/a", "same").file("tree/b", "same");
        env.file("other/c", "same").file("other/d", "unlike");
        env.run("scan tree other").ok();
        spoil(
            &env,
            &format!("UPDATE files SET digest = {digest} WHERE name = x'61'"),
        );
        env.catalog_is_broken_on_purpose();
        for line in [
            "report",
            "report --format json",
            "report --sort path",
            "unique --copies-under 9",
            "folders",
            "diff tree other",
            "diff other tree",
            "find other/c",
        ] {
            let sentence = env.run(line).refused(3);
            assert!(sentence.contains("damaged"), "{line}: {sentence}");
            assert!(sentence.contains("`dupescan verify"), "{line}: {sentence}");
        }
        env.run("verify").code(1);
        env.run("verify --repair");
        env.run("scan tree other").ok();
        let all = expected(&[&["other/c", "tree/a", "tree/b"]]);
        assert_eq!(env.groups(), all, "{digest}");
    }
}

#[test]
fn a_negative_version_is_no_catalog_of_ours() {
    let env = scanned();
    spoil(&env, "PRAGMA user_version = -1");
    env.catalog_is_broken_on_purpose();
    for line in ["report", "status", "scan tree", "verify", "verify --repair"] {
        let sentence = env.run(line).refused(3);
        assert!(sentence.contains("damaged"), "{line}: {sentence}");
    }
    spoil(&env, "PRAGMA user_version = 1");
    env.run("verify").ok();
}
