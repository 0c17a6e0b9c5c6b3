//! Events: what a program that reads the log can rely on.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use base64::Engine;
use serde_json::Value;
use walkdir::WalkDir;

use crate::env::{TestEnv, odd, skip};

/// The events of a JSON log, every line of which must be an object.
fn events(env: &TestEnv, log: &str) -> Vec<Value> {
    let text = fs::read_to_string(env.path(log)).unwrap();
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    for line in &lines {
        for field in ["timestamp", "level", "message", "target"] {
            assert!(line[field].is_string(), "no {field} in {line}");
        }
    }
    lines
        .into_iter()
        .filter(|line| !line["event"].is_null())
        .collect()
}

fn named<'a>(events: &'a [Value], name: &str) -> Vec<&'a Value> {
    events
        .iter()
        .filter(|event| event["event"] == name)
        .collect()
}

#[test]
fn a_scan_tells_its_story_in_json() {
    let env = TestEnv::new();
    env.random("tree/a", 1, 100_000)
        .copy("tree/a", "tree/sub/b")
        .file("tree/c", "x");
    env.run("scan tree -vvv --log-format json --log-file data/log")
        .ok();
    let events = events(&env, "data/log");
    let begin = named(&events, "scan.begin");
    assert_eq!(begin.len(), 1);
    assert_eq!(begin[0]["path"], env.path("tree").to_str().unwrap());
    assert_eq!(begin[0]["path_b64"], Value::Null);
    assert_eq!(
        (&begin[0]["mode"], &begin[0]["resumed"]),
        (&"all".into(), &false.into())
    );
    let stages = |name: &str| -> Vec<Value> {
        let found = named(&events, name);
        found.iter().map(|event| event["stage"].clone()).collect()
    };
    assert_eq!(stages("stage.begin"), ["list", "probe", "hash", "settle"]);
    assert_eq!(stages("stage.end"), ["list", "probe", "hash", "settle"]);
    for end in named(&events, "stage.end") {
        assert_eq!(end["finished"], true, "{end}");
    }
    let end = named(&events, "scan.end");
    assert_eq!(end.len(), 1);
    assert_eq!(
        (&end[0]["state"], &end[0]["files"]),
        (&"complete".into(), &3.into())
    );
    assert_eq!(end[0]["scan"], begin[0]["scan"]);
    assert!(end[0]["elapsed_ms"].is_u64() && end[0]["error"].is_null());
}

#[test]
fn a_failure_names_its_path_exactly() {
    let env = TestEnv::new();
    let name = odd(b"tree/new\nline\xff");
    env.file(&name, "same").file("tree/plain", "same");
    env.chmod(&name, 0).chmod("tree/plain", 0);
    let Some(run) = env.run_unprivileged("scan tree --log-format json --log-file data/log") else {
        skip!("cannot drop the right to read everything");
    };
    run.code(1);
    let events = events(&env, "data/log");
    let failed = named(&events, "item.failed");
    let paths: BTreeSet<Vec<u8>> = failed.iter().map(|event| exact(event)).collect();
    let bytes = |path: &Path| env.path(path).into_os_string().into_encoded_bytes();
    let expected = [bytes(&name), bytes(Path::new("tree/plain"))];
    assert_eq!(paths, BTreeSet::from(expected));
    for event in failed {
        assert_eq!(event["level"], "WARN");
        assert_eq!(event["step"], "open");
        assert_eq!(event["class"], "permanent");
        assert_eq!(event["errno"], 13);
        assert_eq!(event["attempts"], 1);
    }
}

fn exact(event: &Value) -> Vec<u8> {
    match event["path_b64"].as_str() {
        Some(text) => base64::engine::general_purpose::STANDARD
            .decode(text)
            .unwrap(),
        None => event["path"].as_str().unwrap().as_bytes().to_vec(),
    }
}

#[test]
fn a_stopped_scan_says_who_asked_and_when_it_was_done() {
    let env = TestEnv::new();
    env.random("tree/a", 1, 300_000).copy("tree/a", "tree/b");
    let mut scan = env.start("scan tree --bwlimit 100k -v --log-format json --log-file data/log");
    let log = env.path("data/log");
    let is_reading =
        || fs::read_to_string(&log).is_ok_and(|text| text.contains(r#""stage":"hash""#));
    assert!(scan.wait_until(is_reading));
    scan.signal(rustix::process::Signal::TERM);
    scan.wait().code(130);
    let events = events(&env, "data/log");
    assert_eq!(named(&events, "shutdown.requested")[0]["signal"], "SIGTERM");
    assert_eq!(named(&events, "shutdown.done")[0]["abandoned"], 0);
    let end = named(&events, "scan.end");
    assert_eq!(
        (&end[0]["state"], &end[0]["stage"]),
        (&"interrupted".into(), &"hash".into())
    );
    env.run("resume -v --log-format json --log-file data/resumed")
        .ok();
    let again = self::events(&env, "data/resumed");
    assert_eq!(named(&again, "scan.begin")[0]["resumed"], true);
    assert_eq!(named(&again, "scan.end")[0]["state"], "complete");
}

/// The events that the tables of a section of the documentation list.
fn documented(section: &str) -> BTreeMap<String, String> {
    let text = include_str!("../../../docs/EVENTS.md");
    let start = text.find(&format!("\n## {section}\n")).unwrap() + 4;
    let end = text[start..]
        .find("\n## ")
        .map_or(text.len(), |end| start + end);
    let rows = text[start..end].lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| `")?.split(" | ");
        let name = cells.next()?.trim_end_matches('`');
        Some((name.to_owned(), cells.next()?.to_owned()))
    });
    rows.collect()
}

/// The events that the sources raise, with their levels.
fn raised() -> BTreeMap<String, String> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = BTreeMap::new();
    for entry in WalkDir::new(src) {
        let path = entry.unwrap().into_path();
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for (at, _) in text.match_indices("event = \"") {
            let name = text[at..].split('"').nth(1).unwrap();
            let call = text[..at].rsplit("tracing::").next().unwrap();
            let level = call.split('!').next().unwrap();
            let before = found.insert(name.to_owned(), level.to_owned());
            assert!(
                before.is_none_or(|before| before == level),
                "{name} has two levels"
            );
        }
    }
    found
}

#[test]
fn every_event_is_documented_and_every_documented_event_exists() {
    let (listed, raised) = (documented("Events"), raised());
    for (name, level) in &raised {
        let known = listed.get(name);
        assert_eq!(known, Some(level), "{name} in docs/EVENTS.md");
    }
    for name in listed.keys() {
        assert!(raised.contains_key(name), "{name} is raised nowhere");
    }
    assert!(raised.len() > 10);
}
