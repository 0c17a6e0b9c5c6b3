//! The JSON report as sets, so that it can be compared with what a test
//! expects and with the oracle.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// Groups with one path per copy, relative to the environment.
pub(crate) type Groups = BTreeSet<BTreeSet<PathBuf>>;

/// Groups with all names of each copy.
pub(crate) type Copies = BTreeSet<BTreeSet<BTreeSet<PathBuf>>>;

/// The groups in a document, each as the set of its copies' first names.
pub(crate) fn groups(report: &Value, base: &Path) -> Groups {
    per_group(report, |file| relative(file, base))
}

/// The groups in a document, each as the set of its copies.
pub(crate) fn copies(report: &Value, base: &Path) -> Copies {
    per_group(report, |file| {
        let links = file["links"].as_array().unwrap().iter();
        let others = links.map(|link| relative(link, base));
        others.chain([relative(file, base)]).collect()
    })
}

/// What a test expects: groups of paths relative to the environment.
pub(crate) fn expected(groups: &[&[&str]]) -> Groups {
    let group = |paths: &&[&str]| paths.iter().map(PathBuf::from).collect();
    groups.iter().map(group).collect()
}

/// The exact path of an entry of `files` or `links`.
pub(crate) fn exact_path(entry: &Value) -> PathBuf {
    let bytes = match (entry.as_str(), entry["path_b64"].as_str()) {
        (Some(text), _) => text.into(),
        (None, Some(code)) => STANDARD.decode(code).unwrap(),
        (None, None) => entry["path"].as_str().unwrap().into(),
    };
    std::ffi::OsString::from_vec(bytes).into()
}

fn relative(entry: &Value, base: &Path) -> PathBuf {
    let path = exact_path(entry);
    assert!(path.is_absolute(), "{path:?} is not absolute");
    path.strip_prefix(base).unwrap_or(&path).to_owned()
}

fn per_group<T: Ord>(report: &Value, copy: impl Fn(&Value) -> T) -> BTreeSet<BTreeSet<T>> {
    let groups = report["groups"].as_array().unwrap();
    let sets: BTreeSet<BTreeSet<T>> = groups
        .iter()
        .map(|group| {
            let files = group["files"].as_array().unwrap();
            let set: BTreeSet<T> = files.iter().map(&copy).collect();
            assert_eq!(
                set.len(),
                files.len(),
                "a copy is in its group twice: {group}"
            );
            assert_eq!(group["copies"], files.len(), "{group}");
            set
        })
        .collect();
    assert_eq!(
        sets.len(),
        groups.len(),
        "a group is reported twice: {report}"
    );
    sets
}
