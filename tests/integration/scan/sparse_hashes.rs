//! Contents with many zeros against the oracle: random layouts of holes, zeros that
//! were written, and data. What a file holds decides which hash it has, not how it
//! lies on the disk.
//!
//! Cases are seeded, like those of `properties`.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Stdio;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::env::TestEnv;
use crate::env::oracle;

/// Zeros are counted in blocks of this.
const BLOCK: usize = 64 << 10;
/// What has more zeros than these has a sparse hash.
const MOST: u64 = 3 * BLOCK as u64;

/// A block of a file.
#[derive(Debug, Clone, Copy)]
enum Block {
    Hole,
    Zeros,
    /// One byte in a hole.
    Speck(u8),
    Data(u8),
}

fn block() -> impl Strategy<Value = Block> {
    prop_oneof![
        4 => Just(Block::Hole),
        2 => Just(Block::Zeros),
        1 => (1_u8..3).prop_map(Block::Speck),
        1 => (1_u8..3).prop_map(Block::Data),
    ]
}

/// A file: its blocks, and how it lies on the disk: which of the holes are written.
#[derive(Debug, Clone)]
struct Layout {
    content: usize,
    written: Vec<bool>,
    /// Bytes after the last whole block.
    tail: usize,
}

fn layout() -> impl Strategy<Value = Layout> {
    let parts = (0_usize..4, vec(any::<bool>(), 10), 0_usize..3);
    parts.prop_map(|(content, written, tail)| Layout {
        content,
        written,
        tail: [0, 1, 40_000][tail],
    })
}

/// Writes a file with just the blocks that are no holes.
fn write(env: &TestEnv, name: &str, blocks: &[Block], layout: &Layout) {
    let size = blocks.len() * BLOCK + layout.tail;
    env.sparse(name, size as u64);
    let file = File::options().write(true).open(env.path(name)).unwrap();
    for ((at, block), is_written) in blocks.iter().enumerate().zip(&layout.written) {
        let at = (at * BLOCK) as u64;
        match block {
            Block::Hole if !is_written => {}
            Block::Hole | Block::Zeros => file.write_all_at(&[0; BLOCK], at).unwrap(),
            Block::Speck(byte) => file.write_all_at(&[*byte], at + 50_000).unwrap(),
            Block::Data(byte) => file.write_all_at(&[*byte; BLOCK], at).unwrap(),
        }
    }
}

/// Zeros in whole blocks, and at the end in a part of one.
fn zeros(content: &[u8]) -> u64 {
    let blocks = content.chunks(BLOCK);
    let zero = blocks.filter(|block| block.iter().all(|byte| *byte == 0));
    zero.map(|block| block.len() as u64).sum()
}

/// Exported hashes are those of `sha256sum`, and the hashes of all files with many
/// zeros, and of no others, are sparse ones.
fn check_hashes(env: &TestEnv, names: &[String]) {
    env.run("audit --baseline").ok();
    let sums = env.run("export").ok().out();
    std::fs::write(env.path("data/sums"), &sums).unwrap();
    let mut check = env.bare_command("sha256sum");
    let check = check
        .args(["--check", "--quiet", "data/sums"])
        .stdout(Stdio::null());
    let check = sums.is_empty() || check.status().unwrap().success();
    assert!(check, "{sums}");
    let ordinary: BTreeSet<PathBuf> = sums.lines().map(|line| line[66..].into()).collect();
    for name in names {
        let path = env.path(name);
        let has_many = zeros(&std::fs::read(&path).unwrap()) > MOST;
        assert_eq!(has_many, !ordinary.contains(&path), "{name}: {sums}");
    }
}

fn config() -> ProptestConfig {
    let mut config = ProptestConfig::with_cases(12);
    if std::env::var_os("PROPTEST_CASES").is_some() {
        config.cases = ProptestConfig::default().cases;
    }
    if std::env::var_os("PROPTEST_RNG_SEED").is_none() {
        config.rng_seed = RngSeed::Fixed(20_261_118);
    }
    config.failure_persistence = None;
    config.max_shrink_iters = 100;
    config
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn only_what_a_file_holds_decides_what_it_equals(
        contents in vec(vec(block(), 2..10), 4),
        layouts in vec(layout(), 3..10),
        later in vec(layout(), 1..4),
    ) {
        let env = TestEnv::new();
        env.with_most_zeros(MOST);
        let mut names = Vec::new();
        for (round, layouts) in [layouts, later].iter().enumerate() {
            for (at, layout) in layouts.iter().enumerate() {
                let name = format!("tree/{round}-{at}");
                write(&env, &name, &contents[layout.content], layout);
                names.push(name);
            }
            env.settle_clock().run("scan tree").ok();
            prop_assert_eq!(env.groups(), oracle::groups(&env.path(""), &["tree"]));
            env.run("verify").ok();
        }
        check_hashes(&env, &names);
        let groups = env.groups();
        env.run("scan tree --rehash").ok();
        prop_assert_eq!(env.groups(), groups);
    }
}
