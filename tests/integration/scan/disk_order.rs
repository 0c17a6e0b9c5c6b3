//! Scans as on a disk with a moving head: each file at one visit, in the order of
//! the disk. They find what any other scan finds.

use std::fs;

use sha2::{Digest, Sha256};

use crate::env::oracle;
use crate::env::{TestEnv, noise};

const MIB: usize = 1 << 20;
/// Around what is sampled, what is read whole at its first visit and what is not.
const SIZES: [usize; 9] = [
    100,
    48 << 10,
    (48 << 10) + 1,
    65_536,
    65_537,
    300_000,
    4 * MIB - 1,
    4 * MIB,
    5 * MIB + 3,
];

/// Of each size a pair, one that differs in the middle, and one that nothing equals.
fn tree(env: &TestEnv) {
    for (seed, size) in (0..).zip(SIZES) {
        let mut content = noise(seed, size);
        env.file(format!("tree/one/{size}"), &content);
        env.file(format!("tree/other/{size}"), &content);
        content[size / 2] ^= 1;
        env.file(format!("tree/near/{size}"), &content);
        env.file(format!("tree/alone/{size}"), noise(100 + seed, size - 7));
    }
}

/// Checks every digest in the catalog against the content, and that long files with
/// one have a probe too; returns how many there are.
fn check_digests(env: &TestEnv) -> usize {
    let rows: String = env.sql(
        "SELECT json_group_array(json_array(
                CAST(folders.name AS TEXT) || '/' || CAST(files.name AS TEXT),
                lower(hex(digest)), probe IS NOT NULL))
           FROM files JOIN folders ON folders.id = files.folder WHERE digest IS NOT NULL",
    );
    let rows: Vec<(String, String, u8)> = serde_json::from_str(&rows).unwrap();
    for (path, digest, is_probed) in &rows {
        let content = fs::read(env.path("tree").join(path)).unwrap();
        assert_eq!(hex(&Sha256::digest(&content)), *digest, "{path}");
        assert_eq!(*is_probed == 1, content.len() > 48 << 10, "{path}");
    }
    rows.len()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn one_visit_per_file_finds_the_oracles_groups() {
    let env = TestEnv::new();
    tree(&env);
    env.run("scan tree --io hdd --threads 4").ok();
    let expected = oracle::groups(&env.path(""), &["tree"]);
    assert_eq!(env.groups(), expected);
    // Those read whole at once, and of the longer ones those that agree at their ends.
    assert_eq!(check_digests(&env), 9 * 3);
    // A newcomer meets the digests of the others.
    env.copy("tree/one/4194303", "tree/new/4194303");
    env.copy("tree/one/4194304", "tree/new/4194304");
    env.run("scan tree --io hdd").ok();
    assert_eq!(env.groups(), oracle::groups(&env.path(""), &["tree"]));
    assert_eq!(check_digests(&env), 9 * 3 + 2);
}

#[test]
fn all_digests_are_made_at_one_visit_too() {
    let env = TestEnv::new();
    tree(&env);
    env.run("scan tree --io hdd --hash-all").ok();
    assert_eq!(env.groups(), oracle::groups(&env.path(""), &["tree"]));
    assert_eq!(check_digests(&env), 9 * 4);
    let bytes: i64 = env.sql("SELECT sum(size) FROM files");
    assert!(
        env.last_scan("bytes_read") < bytes + 50 * 65_536,
        "read once"
    );
}

#[test]
fn what_is_gone_or_cannot_be_read_holds_up_no_other() {
    let env = TestEnv::new();
    tree(&env);
    env.run("scan tree --mode folders").ok();
    env.remove("tree/one/300000");
    env.remove("tree/one/4194304");
    env.flip("tree/other/65537", 5);
    env.run("scan tree --mode files --io hdd").ok();
    assert_eq!(env.groups(), oracle::groups(&env.path(""), &["tree"]));
}
