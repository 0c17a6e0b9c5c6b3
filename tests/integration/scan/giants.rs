//! Sparse files whose sizes add up to more than any number of 64 bits holds. Any
//! user can make them; they must not keep others from being scanned.

use std::fs::File;

use crate::env::{TestEnv, skip};

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
