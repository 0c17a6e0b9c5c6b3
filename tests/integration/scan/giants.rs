//! Giant sparse files. Any user can make them; neither their sizes nor their holes
//! must keep others from being scanned.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::env::{TestEnv, noise, skip};

/// An exbibyte.
const EIB: u64 = 1 << 60;

#[test]
fn sizes_that_add_up_to_more_than_64_bits_stop_no_scan() {
    // Few filesystems have files this large; the one in memory does.
    let Ok(folder) = tempfile::tempdir_in("/dev/shm") else {
        skip!("no filesystem in memory");
    };
    let giant = |name: &str, eib: u64| {
        let file = File::create(folder.path().join(name))?;
        file.set_len(eib * EIB)
    };
    if giant("giant 5", 5).is_err() {
        skip!("no filesystem with files of 5 EiB");
    }
    let env = TestEnv::new();
    let tree = folder.path().to_str().unwrap();
    for name in ["a", "b"] {
        std::fs::write(folder.path().join(name), "the same").unwrap();
    }
    for eib in [3, 4, 6, 7] {
        giant(&format!("giant {eib}"), eib).unwrap();
    }
    env.run_args(["scan", tree]).ok();
    assert_eq!(env.groups().len(), 1);
    env.run("verify").ok();
    env.run("status").ok();
    env.run("status --format json").ok();
    env.run("folders").ok();
    env.run("unique").ok();
    env.run("history").ok();
    for eib in [3, 4, 5, 6, 7] {
        std::fs::remove_file(folder.path().join(format!("giant {eib}"))).unwrap();
        env.run_args(["scan", tree]).ok();
        env.run("verify").ok();
    }
    assert_eq!(env.sql::<i64>("SELECT bytes FROM roots"), 16);
}

/// A pebibyte.
const PIB: u64 = 1 << 50;
/// Hashing the zeros of one giant would take days, and in a debug build weeks.
const SOON: Duration = Duration::from_secs(60);

/// A giant with data at these places, and holes between them.
fn giant(folder: &Path, name: &str, data: &[(u64, Vec<u8>)]) -> std::io::Result<()> {
    let file = File::create(folder.join(name))?;
    file.set_len(PIB)?;
    data.iter()
        .try_for_each(|(at, bytes)| file.write_all_at(bytes, *at))
}

/// A folder in memory, where files may be as large, with two pairs of giants and
/// two that differ in one byte.
fn giants() -> Option<TempDir> {
    let folder = tempfile::tempdir_in("/dev/shm").ok()?;
    let data = |byte: u8| {
        [
            (PIB / 3, vec![byte; 100]),
            (PIB / 2 + 4096, noise(1, 200_000)),
        ]
    };
    for name in ["empty a", "empty b"] {
        giant(folder.path(), name, &[]).ok()?;
    }
    for (name, byte) in [("data a", 1), ("data b", 1), ("near a", 2), ("near b", 3)] {
        giant(folder.path(), name, &data(byte)).ok()?;
    }
    Some(folder)
}

/// The groups of a report, by file name.
fn groups(env: &TestEnv) -> BTreeSet<Vec<String>> {
    let report = env.report("");
    let name = |file: &serde_json::Value| {
        let path = PathBuf::from(file["path"].as_str().unwrap());
        path.file_name().unwrap().to_str().unwrap().to_owned()
    };
    let groups = report["groups"].as_array().unwrap().iter();
    let names = |group: &serde_json::Value| {
        let files = group["files"].as_array().unwrap();
        files.iter().map(name).collect()
    };
    groups.map(names).collect()
}

fn expected(groups: &[&[&str]]) -> BTreeSet<Vec<String>> {
    let names = |group: &&[&str]| group.iter().map(|name| (*name).to_owned()).collect();
    groups.iter().map(names).collect()
}

#[test]
fn petabytes_of_holes_keep_nobody_waiting() {
    let Some(folder) = giants() else {
        skip!("no filesystem in memory with files of a pebibyte");
    };
    let (env, tree) = (TestEnv::new(), folder.path());
    for pair in 0..20 {
        let content = noise(pair, 70_000);
        for copy in ["x", "y"] {
            std::fs::write(tree.join(format!("{copy} {pair}")), &content).unwrap();
        }
    }
    let tree = tree.to_str().unwrap();
    let run = env.run_args(["scan", tree]).ok();
    assert!(run.elapsed < SOON, "{:?}", run.elapsed);
    assert_eq!(env.report("")["totals"]["unchecked"], 0);
    let found = groups(&env);
    assert_eq!(found.len(), 22);
    for pair in [["data a", "data b"], ["empty a", "empty b"], ["x 7", "y 7"]] {
        assert!(
            found.contains(pair.map(str::to_owned).as_slice()),
            "{found:?}"
        );
    }

    // They were compared byte for byte, and have a hash that cannot be mistaken.
    let report = env.report("--min-size 1P");
    for group in report["groups"].as_array().unwrap() {
        assert_eq!(group["comparison"], "byte-for-byte", "{group}");
        assert_eq!(group["algorithm"], "sparse-sha256", "{group}");
        let digest = group["digest"].as_str().unwrap();
        assert!(digest.starts_with("sparse:"), "{digest}");
        env.run_args(["find", "--digest", digest]).ok();
        env.run_args(["find", "--digest", &digest[..20]]).ok();
    }
    let sums = env.run("export");
    assert_eq!(sums.out().lines().count(), 40);
    sums.ok()
        .complains("not listed: 4 files with more than 64.0 GiB of zeros");
    let rows = env.run("export --format csv").ok().out();
    let sparse = rows.lines().filter(|row| row.contains("sparse:"));
    assert_eq!(sparse.count(), 4, "{rows}");

    // A partner that comes later is compared by hash.
    giant(folder.path(), "empty c", &[]).unwrap();
    env.run_args(["scan", tree]).ok();
    let three = ["empty a", "empty b", "empty c"].map(str::to_owned);
    assert!(groups(&env).contains(three.as_slice()));
    let copy = folder.path().join("data b");
    let found = env.run_args(["find", "--elsewhere", copy.to_str().unwrap()]);
    assert!(found.ok().elapsed < SOON);

    // The audit reads them as well, and sees when their data is not what it was.
    assert!(env.run("audit --baseline").ok().elapsed < SOON);
    env.run("audit").ok();
    let sums = env
        .run("export")
        .ok()
        .complains("hashes for 47 of 47 files");
    assert!(!sums.err().contains("--baseline"), "{}", sums.err());
    let other = "UPDATE files SET digest = (
             SELECT digest FROM files WHERE name = CAST('empty a' AS BLOB))
         WHERE name = CAST('data a' AS BLOB)";
    let catalog = rusqlite::Connection::open(env.db()).unwrap();
    assert_eq!(catalog.execute(other, []).unwrap(), 1);
    env.run("audit").code(1).says("1 file corrupted");
}

#[test]
fn a_giant_is_resumed_from_where_it_was() {
    const MIB: u64 = 1 << 20;
    let Ok(folder) = tempfile::tempdir_in("/dev/shm") else {
        skip!("no filesystem in memory");
    };
    let data: Vec<_> = (0..6)
        .map(|at| (at * PIB / 7, noise(at, 1 << 20)))
        .collect();
    for name in ["a", "b", "c"] {
        if giant(folder.path(), name, &data).is_err() {
            skip!("no filesystem with files of a pebibyte");
        }
    }
    // Different near the end.
    giant(
        folder.path(),
        "c",
        &[&data[..], &[(PIB - MIB, vec![7])]].concat(),
    )
    .unwrap();
    for signal in [Signal::KILL, Signal::INT] {
        let env = TestEnv::new();
        let tree = folder.path().to_str().unwrap();
        // Of a file that is too young to trust nothing is kept.
        std::thread::sleep(Duration::from_millis(100));
        let mut scan = env.start(&format!("scan {tree} --bwlimit 4M"));
        let saved = "SELECT min(offset) FROM hash_states HAVING count(*) = 3";
        let far = i64::try_from(PIB / 4).unwrap();
        let came_far = scan.wait_until(|| env.peek::<i64>(saved).is_some_and(|least| least > far));
        assert!(came_far, "the scan was over before it could be stopped");
        scan.signal(signal);
        scan.wait();
        let before = env.last_scan("bytes_read");
        env.run("resume").ok();
        let read = u64::try_from(env.last_scan("bytes_read") - before).unwrap();
        assert!(read < 15 * MIB, "{read} bytes read again");
        assert_eq!(groups(&env), expected(&[&["a", "b"]]));
        assert_eq!(env.report("")["groups"][0]["comparison"], "byte-for-byte");
    }
}
