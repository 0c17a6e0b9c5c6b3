//! The exit codes that `--help` promises, one test each, and streams that are
//! closed under a command.

use std::process::Stdio;

use crate::env::TestEnv;

const BINARY: &str = env!("CARGO_BIN_EXE_dupescan");

#[test]
fn help_and_version_are_answers() {
    let env = TestEnv::new();
    for line in ["--help", "--version", "scan --help", "help report"] {
        env.run(line).ok().without_complaint();
    }
    env.run("--version").ok().says(env!("CARGO_PKG_VERSION"));
    for code in [
        "0  success",
        "1  completed with problems",
        "2  wrong usage",
        "3  failed",
        "130  interrupted",
    ] {
        env.run("--help").ok().says(code);
    }
}

#[test]
fn wrong_usage_is_2() {
    let env = TestEnv::new();
    for line in [
        "",
        "scna tree",
        "scan",
        "scan tree --wat",
        "forget",
        "roots",
        "roots move tree",
        "backup",
    ] {
        env.run(line).code(2);
    }
    env.run("scna tree").code(2).complains("scan");
    assert!(!env.db().exists());
}

#[test]
fn a_folder_is_no_catalog() {
    let env = TestEnv::new();
    env.file("tree/a", "x")
        .folder("data/folder")
        .use_db("data/folder");
    for line in ["status", "scan tree", "purge"] {
        let message = env.run(line).refused(3);
        assert!(message.contains("data/folder is a folder"), "{message}");
    }
    // No lock file was left beside it.
    let beside: Vec<_> = std::fs::read_dir(env.path("data")).unwrap().collect();
    assert_eq!(beside.len(), 1);
    env.catalog_is_broken_on_purpose();
}

#[test]
fn a_root_that_is_not_there_or_no_folder_is_2() {
    let env = TestEnv::new();
    env.file("tree/a", "x");
    for (path, line) in [
        ("nowhere", "scan nowhere"),
        ("tree/a", "scan tree/a"),
        ("nowhere", "scan tree nowhere"),
    ] {
        let message = env.run(line).refused(2);
        assert!(message.contains(path), "{message}");
    }
}

#[test]
fn a_locked_catalog_is_3_at_once_and_names_the_holder() {
    let env = TestEnv::new();
    env.random("tree/a", 1, 150_000).copy("tree/a", "tree/b");
    let mut first = env.start("scan tree --bwlimit 150k");
    let lock = env.path("data/catalog.db.lock");
    assert!(first.wait_until(|| std::fs::read_to_string(&lock).is_ok_and(|text| !text.is_empty())));
    for line in [
        "scan tree",
        "resume",
        "retry",
        "forget tree",
        "purge",
        "roots move tree tree2",
    ] {
        let run = env.run(line);
        assert!(
            run.elapsed < std::time::Duration::from_secs(1),
            "{}",
            run.describe()
        );
        let message = run.refused(3);
        assert!(
            message.contains(&format!("process {}", first.id())),
            "{line}: {message}"
        );
    }
    // Before its first commit there would be nothing to resume.
    assert!(first.wait_until(|| env.run("status").out().contains("running")));
    first.signal(rustix::process::Signal::KILL);
    assert_eq!(first.wait().exit, None);
    // The lock died with its holder.
    env.run("resume").ok();
}

#[test]
fn an_interrupted_scan_is_130_and_says_how_to_resume() {
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM] {
        let env = TestEnv::new();
        env.random("tree/a", 1, 150_000).copy("tree/a", "tree/b");
        let mut scan = env.start("scan tree --bwlimit 150k");
        assert!(
            scan.wait_until(|| env.db().exists() && env.run("status").out().contains("running"))
        );
        let asked = std::time::Instant::now();
        scan.signal(signal);
        let run = scan.wait().code(130).mentions("resume");
        let took = asked.elapsed();
        assert!(
            took < std::time::Duration::from_secs(5),
            "{took:?}: {}",
            run.describe()
        );
    }
}

#[test]
fn a_second_interrupt_leaves_at_once() {
    let env = TestEnv::new();
    env.random("tree/a", 1, 150_000).copy("tree/a", "tree/b");
    let mut scan = env.start("scan tree --bwlimit 150k");
    assert!(scan.wait_until(|| env.db().exists() && env.run("status").out().contains("running")));
    scan.signal(rustix::process::Signal::INT);
    std::thread::sleep(std::time::Duration::from_millis(20));
    scan.signal(rustix::process::Signal::INT);
    let asked = std::time::Instant::now();
    let run = scan.wait().code(130);
    assert!(
        asked.elapsed() < std::time::Duration::from_millis(500),
        "{}",
        run.describe()
    );
    env.run("verify").ok();
    env.run("resume").ok();
}

#[test]
fn a_reader_who_leaves_is_no_failure() {
    let env = TestEnv::new();
    for number in 0..3_000 {
        env.file(
            format!("tree/with-a-rather-long-name-to-fill-the-pipe-{number}"),
            (number / 2).to_string(),
        );
    }
    env.run("scan tree").ok();
    for format in ["table", "json", "jsonl", "csv", "fdupes"] {
        let script = format!(
            "{BINARY} --db {} report --format {format} | head -n 1; exit ${{PIPESTATUS[0]}}",
            env.db().display()
        );
        let mut command = env.bare_command("bash");
        command.args(["-c", &script]);
        env.finish(command).ok().without_complaint();
    }
}

#[test]
fn closed_streams_are_survived() {
    let env = TestEnv::new();
    env.file("tree/a", "x").file("tree/b", "x");
    for streams in [">&-", "2>&-", ">&- 2>&-", "<&-"] {
        for line in ["scan tree", "report", "status", "verify"] {
            let script = format!("exec {BINARY} --db {} {line} {streams}", env.db().display());
            let mut command = env.bare_command("sh");
            command.args(["-c", &script]).stdin(Stdio::null());
            let run = env.finish(command);
            assert!(
                matches!(run.exit, Some(0 | 3)),
                "{line} {streams}: {}",
                run.describe()
            );
        }
    }
    env.run("verify").ok();
}

#[test]
fn a_full_disk_under_the_output_is_reported() {
    let env = TestEnv::new();
    env.file("tree/a", "x").file("tree/b", "x");
    env.run("scan tree").ok();
    for line in ["report", "status", "completions bash", "man"] {
        let script = format!(
            "exec {BINARY} --db {} {line} > /dev/full",
            env.db().display()
        );
        let mut command = env.bare_command("sh");
        command.args(["-c", &script]);
        let message = env.finish(command).refused(3);
        assert!(message.contains("No space left"), "{line}: {message}");
    }
}
