//! Progress for programs: one JSON object a line, with the names that
//! docs/EVENTS.md lists.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::view::View;
use crate::model::Timestamp;
use crate::report::rfc3339;
use crate::scan::{LogPath, Notice};

#[derive(Serialize)]
struct ProgressJson {
    timestamp: String,
    event: &'static str,
    stage: &'static str,
    stopping: bool,
    elapsed_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    eta_ms: Option<u64>,
    #[serde(flatten)]
    counters: BTreeMap<&'static str, u64>,
    bytes_read: u64,
    bytes_per_second: u64,
    threads: u64,
    threads_active: u64,
    #[serde(flatten)]
    path: PathJson,
}

#[derive(Serialize)]
struct NoticeJson {
    timestamp: String,
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// A path as the events of the log have it.
#[derive(Serialize, Default)]
pub(crate) struct PathJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_b64: Option<String>,
}

impl PathJson {
    pub(crate) fn new(path: &Path) -> Self {
        if path.as_os_str().is_empty() {
            return Self::default();
        }
        let path = LogPath::new(path);
        Self {
            path: Some(path.text),
            path_b64: path.base64,
        }
    }
}

/// The current counts, or the last ones of a run.
pub(crate) fn progress(view: &View, is_end: bool) -> String {
    let now = &view.now;
    let counters = now.counters().into_iter();
    line(&ProgressJson {
        timestamp: rfc3339(Timestamp::now()),
        event: if is_end { "progress.end" } else { "progress" },
        stage: now.stage.name(),
        stopping: view.stopping,
        elapsed_ms: millis(now.elapsed),
        eta_ms: view.eta.map(millis),
        counters: counters.map(|one| (one.json, one.value)).collect(),
        bytes_read: now.bytes_read,
        bytes_per_second: view.bytes_per_second,
        threads: now.workers,
        threads_active: now.active,
        path: PathJson::new(&view.path),
    })
}

/// What a user would have seen.
pub(crate) fn notice(notice: &Notice) -> String {
    let (event, files, bytes, message) = match notice {
        Notice::ToRead(files, bytes) => ("progress.to_read", Some(*files), Some(*bytes), None),
        other => ("progress.notice", None, None, Some(other.to_string())),
    };
    line(&NoticeJson {
        timestamp: rfc3339(Timestamp::now()),
        event,
        files,
        bytes,
        message,
    })
}

fn line(event: &impl Serialize) -> String {
    serde_json::to_string(event).expect("numbers and strings always become JSON")
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use serde_json::Value;

    use super::*;
    use crate::cli::progress::view::testing::reading;

    fn parsed(line: &str) -> Value {
        assert!(!line.contains('\n'));
        serde_json::from_str(line).unwrap()
    }

    #[test]
    fn every_documented_field_is_there_and_no_other() {
        let mut view = reading();
        view.path = Path::new(OsStr::from_bytes(b"/caf\xe9")).into();
        let event = parsed(&progress(&view, false));
        let docs = include_str!("../../../docs/EVENTS.md");
        let table = docs.split("\n## Progress\n").nth(1).unwrap();
        let table = table.split("\n## ").next().unwrap();
        let mut listed: Vec<_> = table
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
            .filter(|name| !name.starts_with("progress"))
            .collect();
        let mut names: Vec<_> = event.as_object().unwrap().keys().collect();
        listed.sort_unstable();
        names.sort_unstable();
        assert_eq!(names, listed);
        assert_eq!(event["event"], "progress");
        assert_eq!(event["path"], r"/caf\xe9");
        assert_eq!(event["eta_ms"], 135_000);
        for name in [
            "progress",
            "progress.end",
            "progress.to_read",
            "progress.notice",
        ] {
            assert!(table.contains(&format!("| `{name}`")), "{name}");
        }
    }

    #[test]
    fn what_is_unknown_is_absent() {
        let mut view = reading();
        (view.eta, view.path) = (None, "".into());
        let event = parsed(&progress(&view, true));
        assert_eq!(event["event"], "progress.end");
        for name in ["eta_ms", "path", "path_b64"] {
            assert!(event.get(name).is_none(), "{name}");
        }
    }

    #[test]
    fn the_amount_to_read_is_an_event_of_its_own() {
        let event = parsed(&notice(&Notice::ToRead(3, 4_096)));
        assert_eq!(event["event"], "progress.to_read");
        assert_eq!(
            (&event["files"], &event["bytes"]),
            (&3.into(), &4_096.into())
        );
        assert!(event.get("message").is_none());
    }
}
