//! Catalogs of earlier versions: a scan brings them up to date and reads no more
//! again than it must.

use crate::env::TestEnv;
use crate::env::report_json::expected;
use crate::interface::stats::json_stats;

/// Makes of a catalog of today what schema 7 had: files of 16 to 48 KiB with a
/// probe, and a digest only where the probe had an equal.
fn make_old(env: &TestEnv) {
    let connection = rusqlite::Connection::open(env.db()).unwrap();
    connection
        .execute_batch(
            "UPDATE files SET probe = 5 WHERE size IN (20000, 40000);
             UPDATE files SET probe = 6, digest = NULL, compared = NULL, hashed_in = NULL
              WHERE name = CAST('other' AS BLOB);
             UPDATE files SET probe = 5, digest = NULL, compared = NULL, hashed_in = NULL,
                              settled_in = 1
              WHERE name = CAST('settled' AS BLOB);
             UPDATE catalog SET probe_version = 2;
             PRAGMA user_version = 7;",
        )
        .unwrap();
}

#[test]
fn files_that_have_no_probe_any_more_keep_their_digests() {
    let env = TestEnv::new();
    env.random("tree/a", 1, 20_000).copy("tree/a", "tree/b");
    env.random("tree/other", 2, 20_000)
        .random("tree/settled", 3, 20_000);
    env.random("tree/alone", 4, 30_000);
    env.random("tree/c", 5, 40_000).copy("tree/c", "tree/d");
    env.random("tree/f", 6, 60_000).copy("tree/f", "tree/g");
    env.settle_clock();
    env.run("scan tree").ok();
    make_old(&env);
    let hint = env.run("report").code(3).err();
    assert!(hint.contains("upgrade it with"), "{hint}");
    let rescan = json_stats(&env, "scan tree --stats json");
    assert_eq!(rescan["bytes_read"], 40_000, "those without a digest");
    assert_eq!(
        env.groups(),
        expected(&[
            &["tree/a", "tree/b"],
            &["tree/c", "tree/d"],
            &["tree/f", "tree/g"]
        ])
    );
    // A newcomer finds what had a digest all along.
    env.copy("tree/b", "tree/e").settle_clock();
    env.run("scan tree").ok();
    assert_eq!(
        env.groups(),
        expected(&[
            &["tree/a", "tree/b", "tree/e"],
            &["tree/c", "tree/d"],
            &["tree/f", "tree/g"]
        ])
    );
}
