//! Progress: what a terminal shows at several widths, what is left of it, and
//! the formats for logs and programs.

use std::fs::{self, File};

use serde_json::Value;

use crate::env::TestEnv;
use crate::env::pty::Terminal;

/// Duplicates that take more than a second to read at `SLOW`.
fn tree() -> TestEnv {
    let env = TestEnv::new();
    for name in ["one", "two"] {
        for number in 0..8 {
            let path = format!("tree/a folder with a long name, {name}/sub/IMG_000{number}.CR2");
            env.random(path, number, 200_000);
        }
    }
    env
}

const SLOW: &str = "--bwlimit 2M --threads 2";

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// What a user sees while files are read, and what is left in the end.
fn watched(columns: u16) -> (String, Vec<String>) {
    let env = tree();
    let command = env.command(words(&format!("scan tree {SLOW}")));
    let stdout = File::create(env.path("data/out")).unwrap();
    let mut terminal = Terminal::start(command, columns, Some(stdout));
    // The first frames have no path and no speed yet.
    let is_complete =
        |text: &str| text.contains("Reading") && text.contains("/IMG_000") && text.contains("iB/s");
    assert!(terminal.watch_until(|screen| is_complete(&screen.text())));
    let reading = terminal.screen.text();
    assert_eq!(terminal.finish(), Some(0));
    assert_eq!(terminal.screen.wrapped, Vec::<String>::new());
    let out = fs::read_to_string(env.path("data/out")).unwrap();
    assert!(out.starts_with("Scanned 16 files"), "{out}");
    assert!(!out.contains('\x1b'), "{out}");
    (reading, terminal.screen.lines())
}

#[test]
fn the_display_fits_and_vanishes_at_every_width() {
    for columns in [40, 80, 200] {
        let (reading, left) = watched(columns);
        for line in reading.lines() {
            assert!(line.chars().count() < columns.into(), "{line}");
        }
        assert!(
            reading.contains("Listed   5 folders  16 files"),
            "{reading}"
        );
        assert!(reading.contains(" %  "), "{reading}");
        assert_eq!(reading.contains(" of 3.1 MiB"), columns > 40, "{reading}");
        assert_eq!(reading.contains('…'), columns == 40, "{reading}");
        let left: Vec<_> = left.iter().filter(|line| !line.is_empty()).collect();
        assert_eq!(left, ["16 files to read: 3.1 MiB"], "{columns} columns");
    }
}

#[test]
fn an_audit_shows_what_it_reads() {
    let env = tree();
    env.run("scan tree").ok();
    for columns in [40, 80, 200] {
        let command = env.command(words(&format!("audit {SLOW}")));
        let stdout = File::create(env.path("data/out")).unwrap();
        let mut terminal = Terminal::start(command, columns, Some(stdout));
        let is_complete = |text: &str| text.contains("Auditing") && text.contains("/IMG_000");
        assert!(terminal.watch_until(|screen| is_complete(&screen.text())));
        let auditing = terminal.screen.text();
        assert_eq!(terminal.finish(), Some(0));
        assert_eq!(terminal.screen.wrapped, Vec::<String>::new());
        assert!(auditing.contains(" of 16 files"), "{auditing}");
        assert!(auditing.contains(" %"), "{auditing}");
        assert!(!auditing.contains("0 folders"), "{auditing}");
    }
    let line = format!("audit {SLOW} --progress plain --progress-interval 200ms");
    env.run(&line)
        .ok()
        .complains(": auditing, ")
        .complains(" of 16 files, 0 corrupted");
}

#[test]
fn ctrl_c_leaves_nothing_of_the_display() {
    for columns in [40, 80] {
        let env = tree();
        let command = env.command(words(&format!("scan tree {SLOW}")));
        let mut terminal = Terminal::start(command, columns, None);
        assert!(terminal.watch_until(|screen| screen.text().contains("/IMG_000")));
        terminal.press_ctrl_c();
        assert_eq!(terminal.finish(), Some(130));
        let text = terminal.screen.text();
        for gone in ["Reading", "Listed", "busy", "^C", "…"] {
            assert!(!text.contains(gone), "{gone} in {text}");
        }
        assert!(text.contains("Interrupted; progress"), "{text}");
    }
}

#[test]
fn colour_is_used_only_where_it_is_wanted() {
    for (variable, expected) in [(None, true), (Some("NO_COLOR"), false)] {
        let env = tree();
        let mut command = env.command(words(&format!("scan tree {SLOW}")));
        command.envs(variable.map(|name| (name, "1")));
        let mut terminal = Terminal::start(command, 80, None);
        assert!(terminal.watch_until(|screen| screen.text().contains("Reading")));
        assert_eq!(terminal.screen.has_color, expected);
        terminal.press_ctrl_c();
        terminal.finish();
    }
}

#[test]
fn quiet_and_none_draw_nothing() {
    for flag in ["-q", "--progress none"] {
        let env = tree();
        let command = env.command(words(&format!("scan tree {flag}")));
        let mut terminal = Terminal::start(command, 80, None);
        assert_eq!(terminal.finish(), Some(0));
        assert!(!terminal.raw.contains(&0x1b));
    }
}

#[test]
fn off_a_terminal_there_is_nothing_unless_asked_for() {
    let env = tree();
    assert_eq!(env.run("scan tree").ok().err(), "");
    assert_eq!(env.run("audit").ok().err(), "");
    let none = tree().run("scan tree --progress none").ok();
    assert_eq!(none.err(), "");

    let env = tree();
    let line = format!("scan tree {SLOW} --progress plain --progress-interval 200ms");
    let run = env.run(&line).ok();
    let lines: Vec<_> = run.err().lines().map(str::to_owned).collect();
    let reading = lines.iter().filter(|line| line.contains(": reading, "));
    assert!(reading.count() >= 2, "{lines:?}");
    assert!(
        lines.contains(&"16 files to read: 3.1 MiB".to_owned()),
        "{lines:?}"
    );
    assert!(!run.err().contains('\x1b') && !run.out().contains("reading, "));
}

#[test]
fn programs_get_an_object_a_line() {
    let env = tree();
    env.file(
        "home/config/dupescan/config.toml",
        "progress = \"json\"\nprogress_interval = \"200ms\"\n",
    );
    let run = env.run(&format!("scan tree {SLOW}")).ok();
    let events: Vec<Value> = run
        .err()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}")))
        .collect();
    let named = |name: &str| -> Vec<&Value> {
        events
            .iter()
            .filter(|event| event["event"] == name)
            .collect()
    };
    let to_read = named("progress.to_read");
    assert_eq!((to_read.len(), &to_read[0]["files"]), (1, &16.into()));
    assert_eq!(to_read[0]["bytes"], 3_200_000);
    assert!(named("progress").len() >= 3, "{events:?}");
    for pair in named("progress").windows(2) {
        for field in [
            "elapsed_ms",
            "files",
            "bytes_hashed",
            "reclaimable_at_least",
        ] {
            assert!(
                pair[0][field].as_u64() <= pair[1][field].as_u64(),
                "{field}"
            );
        }
    }
    // From the first look on.
    for event in named("progress") {
        let is_reading = event["stage"] == "hash" && event["bytes_hashed"].as_u64() > Some(0);
        assert!(
            !is_reading || event["bytes_per_second"].as_u64() > Some(0),
            "{event}"
        );
    }
    let end = events.last().unwrap();
    assert_eq!(end["event"], "progress.end");
    assert_eq!(end["files"], 16);
    assert_eq!(end["bytes_hashed"], 3_200_000);
    // Eight pairs, each of which was read side by side.
    assert_eq!(end["reclaimable_at_least"], 1_600_000);
}
