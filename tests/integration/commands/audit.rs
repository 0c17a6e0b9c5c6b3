//! `dupescan audit`: corruption, change, coverage, and resuming after a stop.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use super::diff::times_hidden;
use crate::env::{TestEnv, skip};

fn listed(document: &Value, answer: &str) -> BTreeSet<PathBuf> {
    let rows = document["files"].as_array().unwrap().iter();
    rows.filter(|row| row["status"] == answer)
        .map(|row| PathBuf::from(row["path"].as_str().unwrap()))
        .collect()
}

fn paths(env: &TestEnv, names: &[&str]) -> BTreeSet<PathBuf> {
    names.iter().map(|name| env.path(name)).collect()
}

/// Three files with digests, one without, and an empty one.
fn scanned() -> TestEnv {
    let env = TestEnv::new();
    env.random("tree/a", 1, 55_000).copy("tree/a", "tree/sub/b");
    env.file("tree/c", "like d").file("tree/d", "like c");
    env.random("tree/alone", 2, 60_000).file("tree/empty", "");
    env.hard_link("tree/c", "tree/c-link");
    env.settle_clock().run("scan tree").ok();
    env
}

/// Makes the catalog expect another digest of a file than it has.
fn expect_otherwise(env: &TestEnv, name: &str) {
    let db = rusqlite::Connection::open(env.db()).unwrap();
    let sql = "UPDATE files SET digest = zeroblob(32) WHERE name = CAST(?1 AS BLOB)";
    assert_eq!(db.execute(sql, [name]).unwrap(), 1);
}

/// Changes a byte of a file behind the catalog's back: the row gets the times
/// that the file has now, as if no program had touched it.
fn corrupt(env: &TestEnv, path: &str) {
    use std::os::unix::fs::MetadataExt;
    env.flip(path, 1);
    let stat = std::fs::metadata(env.path(path)).unwrap();
    let (mtime, ctime) = (
        stat.mtime() * 1_000_000_000 + stat.mtime_nsec(),
        stat.ctime() * 1_000_000_000 + stat.ctime_nsec(),
    );
    let db = rusqlite::Connection::open(env.db()).unwrap();
    let sql = "UPDATE files SET mtime_ns = ?2, ctime_ns = ?3 WHERE ino = ?1";
    let ino = stat.ino().cast_signed();
    assert!(db.execute(sql, [ino, mtime, ctime]).unwrap() > 0);
    // They cover the times that were there before.
    db.execute("UPDATE folders SET signature = NULL", [])
        .unwrap();
}

/// A and B with two files each, scanned; the one in B that equals `a/x` rots.
fn corrupted_copy() -> TestEnv {
    let env = TestEnv::new();
    env.random("a/x", 1, 55_000).copy("a/x", "b/y");
    env.file("a/small", "small").file("b/small", "small");
    env.settle_clock().run("scan a b").ok();
    env.run("audit").ok();
    corrupt(&env, "b/y");
    env
}

#[test]
fn corruption_is_reported_however_lately_the_file_was_sound() {
    let env = corrupted_copy();
    env.run("audit").code(1).says("1 file corrupted");
    env.run("status")
        .ok()
        .says("1 file corrupted (bit rot): see");
    assert_eq!(env.run("status --format json").ok().json()["corrupted"], 1);
    for _ in 0..2 {
        let run = env.run("audit --older-than 1d --format json").code(1);
        assert_eq!(listed(&run.json(), "corrupted"), paths(&env, &["b/y"]));
    }
    // Changed and deleted ones are reported every time as well.
    env.remove("a/small")
        .flip_secretly("a/x", 3)
        .run("audit")
        .code(1);
    for _ in 0..2 {
        let document = env
            .run("audit --older-than 1d --format json")
            .code(1)
            .json();
        assert_eq!(listed(&document, "missing"), paths(&env, &["a/small"]));
        assert_eq!(listed(&document, "changed"), paths(&env, &["a/x"]));
    }
}

#[test]
fn a_file_that_became_unreadable_is_reported_every_time() {
    let env = scanned();
    env.run("audit").ok();
    env.chmod("tree/sub", 0o000);
    for line in ["audit", "audit --older-than 1d", "audit --older-than 1d"] {
        let Some(run) = env.run_unprivileged(line) else {
            skip!("cannot give up the right to read everything");
        };
        run.code(1).says("1 file failed; see `");
    }
    env.chmod("tree/sub", 0o755);
}

#[test]
fn a_corrupted_copy_proves_nothing() {
    let env = corrupted_copy();
    env.run("diff a b").ok();
    env.run("audit").code(1);
    let document = env.run("diff a b --format json").code(1).json();
    assert_eq!(listed(&document, "unchecked"), paths(&env, &["a/x"]));
    assert_eq!(
        document["files"][0]["reason"],
        "its copy in B is corrupted (bit rot, see `dupescan audit`)"
    );
    let document = env.run("diff b a --format json").code(1).json();
    assert_eq!(listed(&document, "unchecked"), paths(&env, &["b/y"]));
    let run = env.run("find a/x").ok();
    run.says("a/x (this file)").says("b/y (corrupted)");
    let found = env.run("find a/x --format json").ok().json();
    assert_eq!(found["files"][1]["status"], "unchecked");
    assert_eq!(found["files"][1]["state"], "corrupted");
    let few = env.run("unique --format json").ok().json();
    assert_eq!(
        listed(&few, "unchecked"),
        paths(&env, &["a/x", "b/y"]),
        "{few}"
    );
    let run = env.run("folders").ok();
    run.says("no duplicate folders found")
        .says("2 folders unchecked");
}

#[test]
fn a_corrupted_file_is_no_copy_in_a_report() {
    let env = corrupted_copy();
    assert_eq!(env.report("")["groups"].as_array().unwrap().len(), 2);
    env.run("audit").code(1);
    let report = env.report("");
    assert_eq!(report["groups"].as_array().unwrap().len(), 1);
    assert_eq!(report["totals"]["reclaimable"], 5);
    env.run("report")
        .ok()
        .complains("1 corrupted file skipped (bit rot");
}

#[test]
fn corruption_is_forgotten_when_the_file_is_sound_or_changed() {
    // It can be read as it was: a cable, not the disk.
    let env = corrupted_copy();
    env.run("audit").code(1);
    corrupt(&env, "b/y");
    let db = rusqlite::Connection::open(env.db()).unwrap();
    let times = "UPDATE corrupted SET (mtime_ns, ctime_ns) = (
        SELECT mtime_ns, ctime_ns FROM files WHERE files.folder = corrupted.folder
           AND files.name = corrupted.name)";
    assert_eq!(db.execute(times, []).unwrap(), 1);
    env.run("diff a b").code(1);
    env.run("audit").ok();
    env.run("diff a b").ok();
    // Somebody put a good copy in its place.
    let env = corrupted_copy();
    env.run("audit").code(1);
    env.copy("a/x", "b/y").settle_clock().run("scan a b").ok();
    env.run("diff a b").ok();
    // It was read again: its digest is that of its content.
    let env = corrupted_copy();
    env.run("audit").code(1);
    let rehash = env.run("scan --rehash a b").ok();
    rehash.complains("1 corrupted file in");
    let document = env.run("diff a b --format json").code(1).json();
    assert_eq!(document["totals"]["a"]["unchecked_files"], 0);
}

/// Corruption under another name is the same corruption.
#[test]
fn other_names_of_a_corrupted_copy_are_corrupted() {
    let env = TestEnv::new();
    env.random("a/x", 1, 55_000).copy("a/x", "b/y");
    env.hard_link("b/y", "c/link").settle_clock();
    env.run("scan a b c").ok();
    corrupt(&env, "b/y");
    env.run("audit b").code(1);
    env.run("diff a c").code(1).says("is corrupted");
    // Moved away, it takes the mark along.
    env.rename("b", "a/moved").run("scan a --allow-empty").ok();
    env.run("diff c a/moved").code(1).says("corrupted");
}

#[test]
fn sound_files_are_sound() {
    let env = scanned();
    let document = env.run("audit --format json").ok().json();
    assert_eq!(document["files"], Value::Array(vec![]));
    let totals = &document["totals"];
    // Copies, so that the hard link counts once; the lone one has no digest.
    assert_eq!(totals["ok_files"], 4);
    assert_eq!(totals["ok_bytes"], 110_012);
    assert_eq!(
        (&totals["files"], &totals["hashed_files"]),
        (&7.into(), &6.into())
    );
    let run = env.run("audit").ok();
    run.says("hashes for 6 of 7 files")
        .says("audit --baseline` computes the rest");
}

#[test]
fn content_that_differs_under_unchanged_metadata_is_corrupted() {
    let env = scanned();
    expect_otherwise(&env, "b");
    let document = env.run("audit --format json").code(1).json();
    assert_eq!(listed(&document, "corrupted"), paths(&env, &["tree/sub/b"]));
    let corrupted = &document["files"][0];
    assert_eq!(corrupted["expected"], "00".repeat(32));
    let real: Vec<u8> = env.sql("SELECT digest FROM files WHERE name = CAST('a' AS BLOB)");
    let real: String = real.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(corrupted["found"], real);
    assert_eq!(document["totals"]["corrupted_bytes"], 55_000);
    assert_eq!(document["files"].as_array().unwrap().len(), 1);
    // It stays corrupted until somebody does something about it.
    env.run("audit").code(1).says("1 file corrupted");
    env.run("audit tree/sub").code(1);
    env.run("audit --exclude sub").ok();
}

#[test]
fn what_was_changed_by_somebody_is_not_corrupted() {
    let env = scanned();
    env.flip_secretly("tree/a", 15_000)
        .append("tree/d", "!")
        .remove("tree/sub/b");
    let document = env.run("audit --format json").ok().json();
    assert_eq!(
        listed(&document, "changed"),
        paths(&env, &["tree/a", "tree/d"])
    );
    assert_eq!(listed(&document, "missing"), paths(&env, &["tree/sub/b"]));
    assert_eq!(document["totals"]["corrupted_files"], 0);
    assert_eq!(document["totals"]["ok_files"], 1);
    // Nothing of it is stored: that is for a scan.
    assert_eq!(
        env.sql::<i64>("SELECT count(*) FROM files WHERE removed_in IS NOT NULL"),
        0
    );
    env.run("scan tree").ok();
    env.run("audit").ok().keeps_quiet_about("changed");
}

/// Read while it was too fresh to tell a later change by its times.
#[test]
fn a_file_that_was_racy_is_never_called_corrupted() {
    let env = TestEnv::new();
    env.with_real_youth()
        .file("tree/a", "same")
        .file("tree/b", "same")
        .run("scan tree")
        .ok();
    expect_otherwise(&env, "a");
    let document = env.run("audit --format json").ok().json();
    assert_eq!(listed(&document, "changed"), paths(&env, &["tree/a"]));
}

#[test]
fn a_baseline_makes_the_missing_digests() {
    let env = scanned();
    let scans: i64 = env.sql("SELECT count(*) FROM scans");
    let before: i64 = env.sql("SELECT sum(hashed + probed + bytes_read) FROM scans");
    let document = env.run("audit --baseline --format json").ok().json();
    assert_eq!(document["totals"]["newly_hashed_files"], 1);
    assert_eq!(document["totals"]["hashed_files"], 7);
    env.run("export")
        .ok()
        .complains("hashes for 7 of 7 files\n");
    let sums = env.run("export").ok();
    let mut check = env.bare_command("sha256sum");
    std::fs::write(env.path("sums"), &sums.stdout).unwrap();
    check.args(["-c", "--quiet", "sums"]);
    env.finish(check).ok();
    // No scan was made, none was counted on, and a rescan reads nothing.
    assert_eq!(env.sql::<i64>("SELECT count(*) FROM scans"), scans);
    let after: i64 = env.sql("SELECT sum(hashed + probed + bytes_read) FROM scans");
    assert_eq!(after, before);
    env.run("scan tree").ok();
    assert_eq!(env.last_scan("bytes_read"), 0);
    expect_otherwise(&env, "alone");
    env.run("audit").code(1).says("tree/alone");
}

#[test]
fn what_was_audited_lately_is_skipped() {
    let env = scanned();
    env.run("audit tree/sub").ok();
    let document = env.run("audit --older-than 90d --format json").ok().json();
    assert_eq!(document["totals"]["skipped_files"], 1);
    assert_eq!(document["totals"]["ok_files"], 3);
    let document = env.run("audit --older-than 90d --format json").ok().json();
    assert_eq!(document["totals"]["ok_files"], 0);
    let db = rusqlite::Connection::open(env.db()).unwrap();
    let old = "UPDATE audits SET audited_at = audited_at - 91 * 86400";
    db.execute(old, []).unwrap();
    let document = env.run("audit --older-than 90d --format json").ok().json();
    assert_eq!(document["totals"]["ok_files"], 4);
    let line = env.run("audit --older-than soon").refused(2);
    assert!(line.contains("--older-than"), "{line}");
}

#[test]
fn an_audit_that_was_stopped_is_resumed() {
    let env = TestEnv::new();
    for number in 0..20 {
        env.random(format!("tree/a{number}"), number, 200_000);
        env.copy(format!("tree/a{number}"), format!("tree/b{number}"));
    }
    env.run("scan tree").ok();
    let mut audit = env.start("audit --bwlimit 2M --threads 1");
    let some = || {
        env.sql::<i64>("SELECT count(*) FROM sqlite_schema WHERE name = 'audits'") > 0
            && env.sql::<i64>("SELECT count(*) FROM audits") > 0
    };
    assert!(audit.wait_until(some), "it ended first");
    let asked = Instant::now();
    audit.signal(Signal::INT);
    let run = audit.wait().code(130);
    assert!(
        asked.elapsed() < Duration::from_secs(1),
        "{:?}",
        asked.elapsed()
    );
    run.says("left; run the same command to resume");
    let done: i64 = env.sql("SELECT count(*) FROM audits");
    assert!((1..40).contains(&done), "{done}");
    let document = env.run("audit --format json").ok();
    let totals = &document.json()["totals"];
    assert_eq!(totals["skipped_files"], done);
    assert_eq!(totals["ok_files"], 40 - done);
    document.complains("resuming the audit of");
    // That was the end of it: the next one begins at the beginning.
    let document = env.run("audit --format json").ok().json();
    assert_eq!(document["totals"]["ok_files"], 40);
}

#[test]
fn an_unreadable_file_is_an_error_until_it_can_be_read() {
    let env = scanned();
    env.chmod("tree/sub", 0o000);
    let Some(run) = env.run_unprivileged("audit --format json") else {
        skip!("cannot give up the right to read everything");
    };
    assert_eq!(run.code(1).json()["totals"]["unreadable_files"], 1);
    env.run("errors").ok().says("tree/sub/b");
    env.chmod("tree/sub", 0o755).run("audit").ok();
    env.run("errors").ok().says("no errors");
}

#[test]
fn an_offline_root_is_not_audited_and_says_so() {
    let env = TestEnv::new();
    env.file("one/x", "same")
        .file("two/y", "same")
        .settle_clock();
    env.run("scan one two").ok();
    env.rename("two", "away");
    let run = env.run("audit").code(3);
    run.says("1 file not audited: offline")
        .complains("two is offline");
    env.rename("away", "two")
        .run("audit")
        .ok()
        .says("skipped: audited recently");
    env.rename("two", "away");
    let run = env.run("audit one").ok();
    assert!(!run.err().contains("offline"), "{}", run.err());
}

#[test]
fn the_answer_looks_like_this() {
    let env = TestEnv::new();
    env.file("tree/good", "same")
        .file("tree/corrupted", "same")
        .settle_clock();
    env.run("scan tree").ok();
    expect_otherwise(&env, "corrupted");
    let base = env.path("");
    let shown = |line: &str| {
        let out = env.run(line).code(1).out();
        let out = out.replace(base.to_str().unwrap(), "/");
        times_hidden(&out.replace(&format!(" --db {}", env.db().display()), ""))
    };
    insta::assert_snapshot!(shown("audit"), @"
    STATUS           SIZE  PATH
    ────────────────────────────────────────────────────────────
    corrupted         4 B  /tree/corrupted

    1 file, 4 B OK
    1 file corrupted (bit rot): content differs from what was read; no program is known to have changed it
    hashes for 2 of 2 files
    as of scan 1, TIME
    ");
    let digest = "0967115f2813a3541eaef77de9d9d5773f1c0c04314b0bbfe4ff3b3b1c55b5d5";
    insta::assert_snapshot!(shown("audit --format json").replace(digest, "FOUND").replace(&"0".repeat(64), "EXPECTED"), @r#"
    {"schema":1,"generated_at":"TIME","as_of":{"scan":1,"finished_at":"TIME"},"filters":{"paths":[],"min_size":null,"max_size":null,"extensions":[],"exclude":[]},"files":[
    {"status":"corrupted","size":4,"mtime":"TIME","path":"/tree/corrupted","expected":"EXPECTED","found":"FOUND"}
    ],"totals":{"ok_files":1,"ok_bytes":4,"corrupted_files":1,"corrupted_bytes":4,"changed_files":0,"missing_files":0,"newly_hashed_files":0,"unreadable_files":0,"skipped_files":0,"offline_files":0,"remaining_files":0,"interrupted":false,"files":2,"hashed_files":2}}
    "#);
}

/// A disk that loses a bit while it is not mounted, beside a file that
/// somebody rewrote and gave its old modification time.
#[test]
fn a_byte_flipped_on_the_disk_is_corruption() {
    let can = Command::new("mkfs.ext4").arg("-V").output();
    if !can.is_ok_and(|output| output.status.success()) {
        skip!("no mkfs.ext4");
    }
    let env = TestEnv::new();
    let script = r#"
        truncate -s 16M disk.img && mkfs.ext4 -q -F disk.img
        mount -o loop disk.img tree || exit 77
        for name in good corrupted rewritten; do
            { head -c 20000 /dev/zero; printf "needle-$name"; head -c 20000 /dev/zero; } > tree/$name
            cp tree/$name tree/$name.copy
        done
        sync; sleep 0.1
        $DUPESCAN scan tree > scan.out
        umount tree
        at=$(grep -abo needle-corrupted disk.img | head -n 1 | cut -d : -f 1)
        printf X | dd of=disk.img bs=1 seek="$at" conv=notrunc status=none
        mount -o loop disk.img tree
        cp -p tree/rewritten stamp
        printf X | dd of=tree/rewritten bs=1 seek=20003 conv=notrunc status=none
        touch -r stamp tree/rewritten
        $DUPESCAN audit tree --format json > audit.out || echo "code $?"
        umount tree
    "#;
    let Some(run) = env.run_with_mounts(script) else {
        skip!("mounting is not permitted");
    };
    if run.exit == Some(77) {
        skip!("no loop devices: {}", run.err());
    }
    run.ok().says("code 1\n");
    let audit = std::fs::read(env.path("audit.out")).unwrap();
    let document: Value = serde_json::from_slice(&audit).unwrap();
    let corrupted = listed(&document, "corrupted");
    assert_eq!(corrupted.len(), 1, "{document}");
    let name = corrupted.first().unwrap().file_name().unwrap().to_owned();
    assert!(name == "corrupted" || name == "corrupted.copy", "{name:?}");
    assert_eq!(
        listed(&document, "changed"),
        paths(&env, &["tree/rewritten"])
    );
    assert_eq!(document["files"].as_array().unwrap().len(), 2);
    assert_eq!(document["totals"]["ok_files"], 4);
}

/// Corruption under a warm page cache: the disk is read, not the memory.
#[test]
fn the_page_cache_does_not_hide_corruption() {
    let can = Command::new("mkfs.ext4").arg("-V").output();
    if !can.is_ok_and(|output| output.status.success()) {
        skip!("no mkfs.ext4");
    }
    let env = TestEnv::new();
    let script = r#"
        truncate -s 16M disk.img && mkfs.ext4 -q -F disk.img
        loop=$(losetup -f --show disk.img) || exit 77
        trap 'umount tree; losetup -d "$loop"' EXIT
        mount "$loop" tree || exit 77
        { head -c 20000 /dev/zero; printf needle; head -c 20000 /dev/zero; } > tree/a
        cp tree/a tree/b
        sync; sleep 0.1
        $DUPESCAN scan tree > scan.out
        for at in $(grep -abo needle disk.img | cut -d : -f 1); do
            printf X | dd of="$loop" bs=1 seek="$at" conv=notrunc status=none
        done
        sync
        cmp tree/a tree/b && grep -q needle tree/a && echo "memory still has it"
        $DUPESCAN audit tree || echo "code $?"
    "#;
    let Some(run) = env.run_with_mounts(script) else {
        skip!("mounting is not permitted");
    };
    if run.exit == Some(77) {
        skip!("no loop devices: {}", run.err());
    }
    if !run.out().contains("memory still has it") {
        skip!("the page cache was cold: {}", run.out());
    }
    run.says("2 files corrupted").says("code 1\n");
}
