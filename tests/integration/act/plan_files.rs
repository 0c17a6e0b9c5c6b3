//! Plans outside the catalog: writing them, applying them, importing them.

use std::fs;

use super::pairs;
use crate::env::{TestEnv, odd};

/// Plan 1 of an environment as a file, `plan.jsonl`.
fn exported(env: &TestEnv) -> String {
    env.run("plans 1 --format jsonl -o plan.jsonl").ok();
    fs::read_to_string(env.path("plan.jsonl")).unwrap()
}

#[test]
fn a_plan_is_written_as_json_lines_and_sealed() {
    let env = pairs(2);
    let name = odd(b"tree/a/n\xff");
    env.copy("tree/a/1", &name).settle_clock();
    env.run("scan tree").ok();
    env.run("plan --keep under:tree/b").ok();
    let text = exported(&env);
    let lines: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[0]["document"], "dupescan plan");
    assert_eq!(lines[0]["plan"], 1);
    assert_eq!(lines[0]["options"]["keep"][0], "under:tree/b");
    let one = lines[1..3]
        .iter()
        .find(|line| line["act"].as_array().unwrap().len() == 2);
    let odd = &one.unwrap()["act"][1]["names"][0];
    assert!(odd["path"].as_str().unwrap().ends_with("n\u{fffd}"));
    assert!(odd["path_b64"].is_string());
    let sealed: usize = text.lines().take(3).map(|line| line.len() + 1).sum();
    let seal = blake3::hash(&text.as_bytes()[..sealed]).to_string();
    assert_eq!(lines[3]["blake3"], seal.as_str());
    assert_eq!(env.run("plans 1 --format jsonl").ok().out(), text);
    let error = env.run("plans 1 --format jsonl --limit 1").refused(2);
    assert!(error.contains("a plan file is whole"), "{error}");
}
