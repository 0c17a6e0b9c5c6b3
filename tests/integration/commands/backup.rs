//! `dupescan backup`: a whole catalog, also while a scan writes.

use std::fs;

use crate::env::TestEnv;
use crate::env::report_json::expected;

#[test]
fn the_copy_is_a_catalog_with_the_same_answers() {
    let env = TestEnv::new();
    env.file("tree/a", "x").file("tree/b", "x");
    env.run("scan tree").ok();
    env.run("backup data/copy.db").ok();
    env.use_db("data/copy.db");
    assert_eq!(env.groups(), expected(&[&["tree/a", "tree/b"]]));
    env.file("tree/c", "x");
    env.run("scan tree").ok();
    assert_eq!(env.groups(), expected(&[&["tree/a", "tree/b", "tree/c"]]));
}

#[test]
fn the_copy_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let env = TestEnv::new();
    env.file("tree/a", "x");
    env.run("scan tree").ok();
    env.run("backup data/copy.db").ok();
    let mode = env
        .path("data/copy.db")
        .metadata()
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");
}

#[test]
fn a_backup_during_a_scan_is_sound() {
    let env = TestEnv::new();
    for number in 0..200 {
        env.random(format!("tree/{number}"), number / 2, 60_000);
    }
    let mut scan = env.start("scan tree --bwlimit 1M --batch-time 5ms");
    let listed = || env.db().exists() && env.run("status").exit == Some(0);
    assert!(scan.wait_until(listed));
    for number in 0..3 {
        env.run(&format!("backup data/copy-{number}.db")).ok();
    }
    scan.signal(rustix::process::Signal::INT);
    let code = scan.wait().exit;
    assert!(matches!(code, Some(0 | 130)), "{code:?}");
    for number in 0..3 {
        // Checked as a catalog at the end of the test, like any other.
        env.use_db(&format!("data/copy-{number}.db"))
            .run("verify")
            .ok();
    }
}

#[test]
fn what_cannot_be_written_is_named_and_nothing_is_lost() {
    let env = TestEnv::new();
    env.file("tree/a", "x");
    env.run("scan tree").ok();
    let message = env.run("backup data/no/such/folder/copy.db").refused(3);
    assert!(message.contains("no/such/folder"), "{message}");
    // Not onto itself.
    let before = env.groups();
    let run = env.run("backup data/catalog.db");
    assert!(matches!(run.exit, Some(2 | 3)), "{}", run.describe());
    assert_eq!(env.groups(), before);
}

#[test]
fn an_existing_file_is_kept_or_replaced_whole() {
    let env = TestEnv::new();
    env.file("tree/a", "x").file("data/copy.db", "precious");
    env.run("scan tree").ok();
    match env.run("backup data/copy.db").exit {
        Some(0) => {
            env.use_db("data/copy.db").run("verify").ok();
        }
        code => {
            assert!(matches!(code, Some(2 | 3)), "{code:?}");
            assert_eq!(fs::read(env.path("data/copy.db")).unwrap(), b"precious");
        }
    }
}
