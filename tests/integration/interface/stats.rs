//! `scan --stats`: the figures are those of the tree.

use crate::env::TestEnv;

pub(crate) fn json_stats(env: &TestEnv, line: &str) -> serde_json::Value {
    let errors = env.run(line).ok().err();
    let object = errors.lines().find(|line| line.starts_with('{'));
    serde_json::from_str(object.expect("a line of JSON")).unwrap()
}

#[test]
fn the_figures_are_those_of_the_tree() {
    let env = TestEnv::new();
    env.random("tree/a", 1, 100_000).copy("tree/a", "tree/b");
    env.random("tree/alone", 3, 50_000).file("tree/empty", "");
    env.settle_clock();
    let first = json_stats(&env, "scan tree --stats json");
    assert_eq!(first["files"], 4);
    assert_eq!(first["files_unchanged"], 0);
    assert_eq!(first["bytes_on_disk"], 250_000);
    // Both are read whole after 16 KiB of each were probed.
    assert_eq!(first["bytes_read"], 2 * (100_000 + 16_384));
    let stages: Vec<&str> = first["stages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|stage| stage["stage"].as_str().unwrap())
        .collect();
    assert_eq!(stages, ["list", "probe", "hash", "settle"]);
    assert_eq!(first["stages"][2]["bytes"], 200_000);
    let total = first["seconds"].as_f64().unwrap();
    for stage in first["stages"].as_array().unwrap() {
        let seconds = stage["seconds"].as_f64().unwrap();
        assert!(seconds > 0.0 && seconds < total, "{first}");
    }
    let second = json_stats(&env, "scan tree --stats json");
    assert_eq!(second["files_unchanged"], 4);
    assert_eq!(second["bytes_read"], 0);
}

#[test]
fn the_table_goes_to_standard_error() {
    let env = TestEnv::new();
    env.file("tree/a", "same").file("tree/b", "same");
    let run = env.run("scan tree --stats").ok();
    assert!(run.err().contains("STAGE") && run.err().contains("SQLite: writer"));
    assert!(!run.out().contains("STAGE"));
    let refusal = env.run("scan tree --stats=xml").code(2).err();
    assert!(
        refusal.contains("'xml'") && refusal.contains("table or json"),
        "{refusal}"
    );
}
