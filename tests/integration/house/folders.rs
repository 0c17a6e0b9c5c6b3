//! A folder of the sources shows what is inside at a glance.

use std::collections::BTreeSet;
use std::fs;

use walkdir::WalkDir;

use super::module_tree::src;

/// The most entries a folder has.
const MOST_ENTRIES: usize = 15;

/// Folders with more entries: the rooms themselves beside `main.rs` and `lib.rs`,
/// and one file a command. One that is no longer crowded has to leave this list.
const CROWDED: &[&str] = &["src", "src/cli/commands"];

#[test]
fn folders_have_few_entries() {
    let src = src();
    let mut crowded = BTreeSet::new();
    for entry in WalkDir::new(&src).sort_by_file_name() {
        let folder = entry.unwrap().into_path();
        if folder.is_dir() && fs::read_dir(&folder).unwrap().count() > MOST_ENTRIES {
            let name = folder.strip_prefix(src.parent().unwrap()).unwrap();
            crowded.insert(name.to_str().unwrap().to_owned());
        }
    }
    let known: BTreeSet<_> = CROWDED.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(
        crowded, known,
        "left: the folders of more than {MOST_ENTRIES} entries, right: CROWDED"
    );
}
