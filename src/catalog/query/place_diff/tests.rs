use std::collections::BTreeMap;
use std::path::Path;

use super::*;
use crate::catalog::query::count_unchecked;
use crate::catalog::testing::{Bed, file};

/// What is known of a file of 60,000 bytes, as SQL that makes it so.
const KNOWLEDGE: [(&str, &str); 6] = [
    ("unread", "probe = NULL, digest = NULL, settled_in = NULL"),
    ("probe 1", "probe = 1, digest = NULL, settled_in = NULL"),
    ("probe 2", "probe = 2, digest = NULL, settled_in = NULL"),
    ("settled 1", "probe = 1, digest = NULL, settled_in = 1"),
    (
        "digest 1",
        "probe = 1, digest = zeroblob(32), settled_in = NULL",
    ),
    (
        "digest 2",
        "probe = 1, digest = randomblob(32), settled_in = NULL",
    ),
];

fn place_diff(bed: &Bed, ours: &str, theirs: &str) -> PlaceDiff {
    let reader = bed.reader();
    let tops = |path: &str| bed.reader().tops_of(Path::new(path)).unwrap();
    PlaceDiff::build(reader, &tops(ours), &tops(theirs), FileFilter::default()).unwrap()
}

/// Each file of `ours`, why it is unresolved, and its matches.
fn compare(
    bed: &Bed,
    ours: &str,
    theirs: &str,
) -> BTreeMap<String, (Option<Unresolved>, Vec<String>)> {
    let mut diff = place_diff(bed, ours, theirs);
    let mut found = BTreeMap::new();
    loop {
        let page = diff.next_files().unwrap();
        if page.is_empty() {
            return found;
        }
        for file in page {
            let matches = diff.matches(&file, None, 10).unwrap();
            let names = matches.iter().map(|found| found.path.display().to_string());
            let path = file.path.display().to_string();
            found.insert(path, (file.unresolved, names.collect()));
        }
    }
}

/// Two files alone in a catalog are unresolved exactly when the catalog counts
/// them as unchecked.
#[test]
fn unresolved_is_what_the_catalog_calls_unchecked() {
    for (mine, ours) in KNOWLEDGE {
        for (other, theirs) in KNOWLEDGE {
            let bed = Bed::new();
            bed.scan("/a", &[file("x", 60_000, 1)]);
            bed.scan("/b", &[file("y", 60_000, 2)]);
            for (name, knowledge) in [("x", ours), ("y", theirs)] {
                bed.sql(&format!(
                    "UPDATE files SET {knowledge} WHERE name = CAST('{name}' AS BLOB);
                     UPDATE catalog SET unsettled = 1"
                ));
            }
            let whole = count_unchecked(&bed.reader().connection).unwrap();
            let (unresolved, matches) = &compare(&bed, "/a", "/b")["/a/x"];
            let is_match = mine == "digest 1" && other == "digest 1";
            assert_eq!(unresolved.is_some(), whole > 0, "{mine} beside {other}");
            assert_eq!(!matches.is_empty(), is_match, "{mine} beside {other}");
        }
    }
}

#[test]
fn only_the_other_side_counts() {
    let bed = Bed::new();
    bed.scan("/a", &[file("x", 10, 1), file("unread", 20, 2).unread()]);
    bed.scan("/b", &[file("x", 10, 3), file("d/x", 10, 4)]);
    bed.scan("/c", &[file("unread", 20, 5).unread()]);
    let found = compare(&bed, "/a", "/b");
    assert_eq!(found["/a/x"], (None, vec!["/b/x".into(), "/b/d/x".into()]));
    assert_eq!(found["/a/unread"], (None, vec![]));
    let found = compare(&bed, "/a", "/c");
    assert_eq!(found["/a/x"], (None, vec![]));
    assert_eq!(found["/a/unread"], (Some(Unresolved::NotRead), vec![]));
}

#[test]
fn what_lies_below_both_sides_is_no_match() {
    let bed = Bed::new();
    bed.scan(
        "/r",
        &[file("a/x", 10, 1), file("a/y", 10, 2), file("z", 10, 3)],
    );
    let found = compare(&bed, "/r/a", "/r");
    assert_eq!(found["/r/a/x"].1, ["/r/z"]);
    assert!(compare(&bed, "/r", "/r/a")["/r/z"].1.is_empty());
    assert!(compare(&bed, "/r", "/r")["/r/z"].1.is_empty());
}

#[test]
fn another_name_of_a_copy_is_a_match_without_a_digest() {
    let bed = Bed::new();
    bed.scan("/a", &[file("x", 10, 1).unread()]);
    bed.scan("/b", &[file("y", 10, 1).unread()]);
    assert_eq!(
        compare(&bed, "/a", "/b")["/a/x"],
        (None, vec!["/b/y".into()])
    );
    bed.scan("/b", &[file("z", 10, 2)]);
    let unresolved = compare(&bed, "/a", "/b")["/a/x"].0;
    assert_eq!(unresolved, Some(Unresolved::NotRead));
}

#[test]
fn a_side_knows_how_it_was_listed() {
    let bed = Bed::new();
    let first = bed.scan("/a", &[file("d/x", 10, 1), file("empty", 0, 2)]);
    bed.scan("/b", &[file("x", 10, 3)]);
    let listing = place_diff(&bed, "/a", "/b").our_listing().unwrap();
    let expected = Completeness {
        folders: 2,
        unlisted: 0,
        failed: 0,
        scans: vec![first],
        empty: 1,
    };
    assert_eq!(listing, expected);
    bed.sql(
        "UPDATE folders SET listed_in = NULL WHERE name = CAST('d' AS BLOB);
         INSERT INTO faults (root, folder, name, scan, step, class, attempts, first_at, last_at,
                             message, hint)
         SELECT root, id, x'', 1, 'open folder', 'permanent', 1, 0, 0, '', '' FROM folders
          WHERE name = CAST('d' AS BLOB);
         INSERT INTO faults (root, folder, name, scan, step, class, attempts, first_at, last_at,
                             message, hint)
         SELECT root, id, CAST('x' AS BLOB), 1, 'open', 'permanent', 1, 0, 0, '', '' FROM folders
          WHERE name = CAST('d' AS BLOB)",
    );
    let listing = place_diff(&bed, "/a", "/b").our_listing().unwrap();
    assert_eq!((listing.unlisted, listing.failed), (1, 1));
}
