//! Files that somebody planted where the program keeps its own: links that lead
//! elsewhere, pipes, second names. Nothing behind them may be touched.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::env::TestEnv;

/// A tree with a pair of duplicates, and a file that nobody may touch.
fn tree() -> TestEnv {
    let env = TestEnv::new();
    env.file("tree/a", "same").file("tree/b", "same");
    env.file("precious", "ten years of work");
    env
}

fn assert_untouched(env: &TestEnv) {
    let precious = fs::read_to_string(env.path("precious")).unwrap();
    assert_eq!(precious, "ten years of work");
}

/// A file beside the catalog, by the end of its name.
fn beside_catalog(env: &TestEnv, suffix: &str) -> std::path::PathBuf {
    let mut path = env.db().into_os_string();
    path.push(suffix);
    path.into()
}

#[test]
fn a_planted_link_in_place_of_a_file_of_the_catalog_is_refused() {
    for suffix in [".lock", "-wal", "-shm", "-journal"] {
        let env = tree();
        let planted = beside_catalog(&env, suffix);
        symlink(env.path("precious"), &planted).unwrap();
        env.run("scan tree").code(3).complains("symbolic link");
        assert_untouched(&env);
        assert!(!env.db().exists(), "{suffix}: no catalog was made");
        fs::remove_file(planted).unwrap();
        env.run("scan tree").ok();
    }
}

#[test]
fn a_second_name_of_a_file_of_the_catalog_is_refused() {
    for suffix in [".lock", "-wal", "-shm"] {
        let env = tree();
        let planted = beside_catalog(&env, suffix);
        fs::hard_link(env.path("precious"), &planted).unwrap();
        env.run("scan tree").code(3).complains("another name");
        assert_untouched(&env);
        fs::remove_file(planted).unwrap();
        env.run("scan tree").ok();
    }
}

#[test]
fn one_catalog_under_two_names_is_refused() {
    let env = tree();
    env.run("scan tree").ok();
    fs::hard_link(env.db(), env.path("data/other.db")).unwrap();
    env.run("scan tree").code(3).complains("another name");
    env.run("report").code(3).complains("another name");
    fs::remove_file(env.path("data/other.db")).unwrap();
    env.run("scan tree").ok();
}

#[test]
fn a_link_to_a_catalog_is_the_catalog() {
    let env = tree();
    env.run("scan tree").ok();
    symlink("catalog.db", env.path("data/link.db")).unwrap();
    let mut holder = fs::OpenOptions::new();
    let lock = holder.write(true).open(beside_catalog(&env, ".lock"));
    let lock = lock.unwrap();
    lock.lock().unwrap();
    env.use_db("data/link.db");
    env.run("scan tree").code(3).complains("is in use");
    lock.unlock().unwrap();
    env.run("scan tree").ok();
    assert!(!env.path("data/link.db.lock").exists());
}

#[test]
fn pipes_in_place_of_files_end_a_command_at_once() {
    let env = tree();
    env.run("scan tree").ok();
    let lock = beside_catalog(&env, ".lock");
    fs::remove_file(&lock).unwrap();
    env.fifo("data/catalog.db.lock");
    env.run("scan tree").code(3).complains("not a regular file");
    env.run("status").code(3).complains("not a regular file");
    fs::remove_file(&lock).unwrap();
    env.fifo("pipe");
    env.use_db("pipe").catalog_is_broken_on_purpose();
    env.run("status").code(3).complains("not a regular file");
    env.run("scan tree").code(3).complains("not a regular file");
    env.use_db("data/catalog.db");
    env.run("--config pipe status")
        .code(2)
        .complains("not a regular file");
    env.run("--log-file pipe status")
        .code(2)
        .complains("not a regular file");
}

#[test]
fn a_replaced_output_keeps_its_mode() {
    let env = tree();
    env.run("scan tree").ok();
    env.file("out.json", "before");
    let private = fs::Permissions::from_mode(0o600);
    fs::set_permissions(env.path("out.json"), private).unwrap();
    env.run("report --format json --output out.json").ok();
    let mode = fs::metadata(env.path("out.json"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_link_of_another_user_is_not_written_through() {
    let env = tree();
    env.run("scan tree").ok();
    symlink(env.path("precious"), env.path("out.json")).unwrap();
    if std::os::unix::fs::lchown(env.path("out.json"), Some(12345), None).is_err() {
        eprintln!("skipped: only root can make a link of another user");
        return;
    }
    for line in [
        "report --format json --output out.json",
        "scan tree --metrics-file out.json",
    ] {
        let refused = env.run(line);
        assert_ne!(refused.exit, Some(0));
        refused.complains("symbolic link of another user");
        assert_untouched(&env);
    }
}

#[test]
fn the_log_never_goes_into_a_file_of_the_catalog() {
    let env = tree();
    env.run("scan tree").ok();
    for suffix in ["", "-wal", "-shm", ".lock"] {
        let log = beside_catalog(&env, suffix);
        let log = log.to_str().unwrap();
        env.run_args(["scan", "tree", "--log-file", log])
            .code(2)
            .complains("belongs to the catalog");
    }
    env.run("report").ok();
}

#[test]
fn an_output_never_takes_the_place_of_a_file_of_the_catalog() {
    let env = tree();
    env.run("scan tree").ok();
    // Also where there is none at the moment.
    fs::remove_file(beside_catalog(&env, ".lock")).unwrap();
    for suffix in ["", "-wal", "-journal", ".lock"] {
        let output = beside_catalog(&env, suffix);
        let output = output.to_str().unwrap();
        env.run_args(["report", "-o", output])
            .code(2)
            .complains("belongs to the catalog");
        env.run_args(["backup", output])
            .code(2)
            .complains("belongs to the catalog");
    }
    env.run("scan tree").ok();
}
