//! Classes that are read in step, two at a time, and classes too large for
//! that: groups as the oracle finds them, and every digest as the crates make
//! it from the whole content.

use std::fs;

use blake3::Hasher as Blake3;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::env::oracle;
use crate::env::{TestEnv, noise};

/// Classes of some copies each, some of which differ in one byte between head
/// and tail, so that they fall apart chunk by chunk.
fn tree(env: &TestEnv, classes: &[(usize, usize)], seed: u64) {
    for (class, (size, copies)) in classes.iter().enumerate() {
        let content = noise(seed + class as u64, *size);
        let choices = noise(!seed + class as u64, *copies * 8);
        for (copy, choice) in choices.chunks_exact(8).enumerate() {
            let mut content = content.clone();
            if choice[0] % 3 > 0 {
                // One of a few places, so that near copies are copies too.
                let place = usize::from(choice[1] % 5) * (size - 16_384) / 5;
                content[8_192 + place] ^= 1;
            }
            env.file(format!("tree/{class}/{copy}"), content);
        }
    }
}

fn check(env: &TestEnv, digest: impl Fn(&[u8]) -> String) {
    assert_eq!(env.groups(), oracle::groups(&env.path(""), &["tree"]));
    let report = env.report("");
    for group in report["groups"].as_array().unwrap() {
        let path = group["files"][0]["path"].as_str().unwrap();
        let content = fs::read(path).unwrap();
        assert_eq!(group["digest"], Value::from(digest(&content)), "{path}");
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn classes_that_fall_apart_give_the_oracles_groups_and_the_crates_digests() {
    // Odd numbers of classes, sizes around blocks and chunks, and more copies
    // than one worker opens.
    let classes = [
        (65_535, 5),
        (65_536, 12),
        (65_537, 7),
        (70_001, 3),
        (131_071, 2),
        (200_000, 9),
        (262_144, 4),
        (1_000_003, 3),
        (66_000, 90),
    ];
    for (seed, workers) in [(1, 1), (2, 2), (3, 3)] {
        let env = TestEnv::new();
        tree(&env, &classes, seed * 1_000);
        env.run(&format!("scan tree --threads {workers}")).ok();
        check(&env, |content| hex(&Sha256::digest(content)));
        env.run("scan tree --hash blake3").ok();
        check(&env, |content| {
            Blake3::new()
                .update(content)
                .finalize()
                .to_hex()
                .to_string()
        });
    }
}
