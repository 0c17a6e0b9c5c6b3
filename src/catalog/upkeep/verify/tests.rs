//! Every kind of damage is planted, found, and mended where it is said to be.

use super::*;
use crate::catalog::runs::NameRange;
use crate::catalog::store::Exclusive;
use crate::catalog::testing::{Bed, file};
use crate::model::{FaultClass, Mode, ScanState, Stage, Step};

/// A sound catalog with a removed folder and one of everything.
fn sound() -> Bed {
    let bed = Bed::new();
    bed.scan(
        "/r",
        &[
            file("small", 10, 1),
            file("a/large", 100_000, 2),
            file("a/b/large", 100_000, 3),
            file("empty", 0, 4),
            file("gone/c/x", 10, 5),
        ],
    );
    bed.scan_on("dev:1", "/usb", &[file("u", 30, 9).without_inode()]);
    bed.remove("/r", &["gone"], &[]);
    bed
}

fn sentences(bed: &Bed) -> Vec<String> {
    let problems = bed.reader().verify().unwrap();
    problems
        .into_iter()
        .map(|problem| problem.sentence)
        .collect()
}

#[test]
fn a_sound_catalog_has_no_problems() {
    assert_eq!(sentences(&Bed::new()), [""; 0]);
    let bed = sound();
    assert_eq!(sentences(&bed), [""; 0]);
    assert_eq!(bed.open().repair().unwrap(), [""; 0]);
}

/// SQL that plants damage, and a part of the sentence it must lead to.
const MENDABLE: &[(&str, &str)] = &[
    ("UPDATE roots SET files = files + 1", "claims"),
    ("UPDATE roots SET bytes = 0", "0 bytes"),
    ("UPDATE roots SET files = -1", "-1 files"),
    (
        "UPDATE files SET size = -5 WHERE size = 10",
        "files with a value out of range",
    ),
    ("UPDATE roots SET folders = 7", "7 folders"),
    (
        "UPDATE folders SET signature = zeroblob(16)",
        "a signature of other files",
    ),
    (
        "UPDATE folders SET removed_in = NULL WHERE name = x'63'",
        "live folders inside",
    ),
    (
        "UPDATE files SET removed_in = NULL WHERE name = x'78'",
        "live files inside a deleted",
    ),
    (
        "UPDATE files SET digest = zeroblob(64) WHERE name = CAST('small' AS BLOB)",
        "hashes of the wrong length",
    ),
    (
        "UPDATE catalog SET algorithm = 'sha512'",
        "hashes of the wrong length",
    ),
    (
        "UPDATE files SET digest = zeroblob(32) WHERE size = 0",
        "empty files",
    ),
    ("UPDATE files SET probe = 1 WHERE size = 0", "empty files"),
    ("UPDATE files SET probe = 1 WHERE size = 10", "too small"),
    (
        "UPDATE files SET probe = NULL WHERE size = 100000",
        "hashes without the probe",
    ),
    (
        "UPDATE files SET settled_in = 1 WHERE size = 100000",
        "marked as compared",
    ),
    (
        "UPDATE files SET settled_in = 1, digest = NULL WHERE size = 10",
        "marked as compared",
    ),
    (
        "UPDATE files SET ino = 5 WHERE size = 30",
        "without stable inodes",
    ),
    (
        "UPDATE folders SET volume = NULL WHERE name = x'61'",
        "without a volume",
    ),
    (
        "UPDATE files SET name = x'2e2e' WHERE size = 10",
        "files with an invalid name",
    ),
    (
        "UPDATE files SET name = x'612f62' WHERE size = 0",
        "files with an invalid name",
    ),
    (
        "UPDATE files SET name = x'6100' WHERE size = 0",
        "files with an invalid name",
    ),
    (
        "UPDATE files SET probe = NULL, digest = NULL WHERE size = 100000",
        "unchecked files in",
    ),
    (
        "UPDATE scans SET stage = 'hash' WHERE id = 1",
        "complete that did not finish",
    ),
    (
        "UPDATE scans SET finished_at = NULL WHERE id = 1",
        "complete that did not finish",
    ),
    (
        "INSERT INTO faults VALUES (9, 1, (SELECT id FROM folders WHERE name = x'63'), x'78', 1,
             'read', 'permanent', 5, 1, 0, 0, 'm', 'h')",
        "errors of folders",
    ),
    (
        "INSERT INTO faults VALUES (9, 2, (SELECT id FROM folders WHERE name = x'61'), x'78', 1,
             'read', 'permanent', 5, 1, 0, 0, 'm', 'h')",
        "errors of folders",
    ),
    (
        "INSERT INTO faults VALUES (9, 1, 99, x'78', 1, 'read', 'permanent', 5, 1, 0, 0, 'm', 'h')",
        "rows of `faults` that point to a missing row of `folders`: 1",
    ),
    (
        "DELETE FROM folders WHERE name = x'61'",
        "rows of `folders` that point to a missing row of `folders`: 1",
    ),
    (
        "INSERT INTO absences SELECT folder, name, 5, 4 FROM files WHERE size = 10",
        "files restored before they were deleted",
    ),
    (
        "INSERT INTO corrupted SELECT folder, name, 0, 0, 0, x'00' FROM files WHERE size = 10",
        "corrupted files with an invalid hash",
    ),
    (
        "INSERT INTO absences VALUES (1, CAST('nobody' AS BLOB), 1, 2)",
        "rows of `absences` that point to a missing row of `files`: 1",
    ),
    (
        "INSERT INTO corrupted VALUES (1, CAST('nobody' AS BLOB), 0, 0, 0, zeroblob(32))",
        "rows of `corrupted` that point to a missing row of `files`: 1",
    ),
    (
        "INSERT INTO audits SELECT folder, name, 1, 0, 0, 0 FROM files WHERE size = 10;
         UPDATE files SET allocated = -1 WHERE size = 10",
        "files with a value out of range",
    ),
    ("DELETE FROM roots WHERE id = 2", "missing row of `roots`"),
    ("DELETE FROM volumes", "missing row of `volumes`"),
    (
        "DELETE FROM files WHERE folder IN (SELECT id FROM folders WHERE root = 2);
         DELETE FROM folders WHERE root = 2",
        "the root /usb has no top folder",
    ),
];

#[test]
fn damage_between_rows_is_found_and_mended() {
    for (damage, expected) in MENDABLE {
        let bed = sound();
        bed.sql(damage);
        let problems = bed.reader().verify().unwrap();
        let found = problems.iter().find(|p| p.sentence.contains(expected));
        assert!(found.is_some_and(|p| p.mendable), "{damage}: {problems:?}");
        let done = bed.open().repair().unwrap();
        assert!(!done.is_empty(), "{damage}");
        assert_eq!(sentences(&bed), [""; 0], "{damage}: {done:?}");
    }
}

#[test]
fn what_would_be_a_guess_is_left_alone() {
    for (damage, expected) in [
        (
            "UPDATE scans SET state = 'odd' WHERE id = 1",
            "scans with a value out of range",
        ),
        (
            "UPDATE folders SET parent = NULL WHERE name = x'62'",
            "folders with a value out of range",
        ),
        ("DELETE FROM catalog", "has 0 rows"),
        ("UPDATE catalog SET probe_version = 99", "version 99"),
        (
            "UPDATE folders SET parent = id WHERE name = x'62'",
            "folders outside all roots",
        ),
        (
            "UPDATE folders SET root = 2 WHERE name = x'62'",
            "another root than their parent",
        ),
        (
            "UPDATE folders SET name = x'2e2e' WHERE name = x'62'",
            "folders with an invalid name",
        ),
        (
            "INSERT INTO folders (root, name, first_scan) VALUES (1, x'', 1)",
            "the root /r has 2 top folders",
        ),
        (
            "UPDATE roots SET path = CAST('/r/../etc' AS BLOB) WHERE id = 1",
            "not a plain",
        ),
        (
            "UPDATE roots SET path = CAST('r' AS BLOB) WHERE id = 1",
            "not a plain",
        ),
        (
            "UPDATE roots SET path = CAST('/r/in' AS BLOB) WHERE id = 2",
            "/r/in is inside",
        ),
    ] {
        let bed = sound();
        bed.sql(damage);
        let problems = bed.reader().verify().unwrap();
        let found = problems.iter().find(|p| p.sentence.contains(expected));
        assert!(found.is_some_and(|p| !p.mendable), "{damage}: {problems:?}");
    }
}

#[test]
fn flipped_bytes_are_problems_or_errors_and_never_a_panic() {
    let bed = sound();
    let whole = std::fs::read(bed.path()).unwrap();
    let mut found = 0;
    for at in (100..whole.len()).step_by(1777) {
        let mut bytes = whole.clone();
        let end = (at + 40).min(bytes.len());
        bytes[at..end].iter_mut().for_each(|byte| *byte ^= 0x5a);
        let path = bed.folder().join("damaged.db");
        std::fs::write(&path, &bytes).unwrap();
        let answer = ReadOnly::open(&path).and_then(|catalog| catalog.verify());
        found += usize::from(answer.is_err() || answer.is_ok_and(|list| !list.is_empty()));
        for side in crate::catalog::store::own_files(&path) {
            std::fs::remove_file(side).ok();
        }
    }
    assert!(found > 3, "only {found} were noticed");
}

#[test]
fn a_file_that_sqlite_finds_damaged_is_not_repaired() {
    let bed = sound();
    let page: u64 = bed
        .reader()
        .connection
        .query_row(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'folders_by_root'",
            [],
            |row| row.get::<_, i64>(0).map(rows::unsigned),
        )
        .unwrap();
    let file = std::fs::File::options()
        .write(true)
        .open(bed.path())
        .unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &[0xff; 64], (page - 1) * 8192).unwrap();
    let problems = bed.reader().verify().unwrap();
    assert!(problems.iter().any(|p| !p.mendable), "{problems:?}");
    let error = Exclusive::open(bed.path(), "test").and_then(|mut catalog| catalog.repair());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("restore a backup"), "{error}");
}

#[test]
fn a_ring_of_folders_is_an_error_and_not_an_endless_climb() {
    let bed = sound();
    bed.sql("UPDATE folders SET parent = id WHERE name = x'62'");
    let folder = bed
        .reader()
        .connection
        .query_row("SELECT id FROM folders WHERE name = x'62'", [], |row| {
            row.get(0)
        })
        .unwrap();
    let mut paths = crate::catalog::store::FolderPaths::default();
    let found = paths.get(&bed.reader(), crate::model::FolderId(folder));
    assert!(matches!(found, Err(CatalogError::Damaged)));
}

#[test]
fn names_that_lead_out_of_their_folder_are_refused() {
    for name in ["x'2e2e'", "CAST('/etc/passwd' AS BLOB)"] {
        let bed = sound();
        bed.sql(&format!(
            "UPDATE files SET name = {name} WHERE size = 10 AND name <> x'78'"
        ));
        let reader = bed.reader();
        let top = reader.roots().unwrap()[0].top;
        let error = reader.files_of(top, NameRange::default(), |_| {});
        let error = error.unwrap_err().to_string();
        assert!(error.contains("dupescan verify"), "{error}");
    }
}

/// Words come from enums alone: a class that somebody adds is never deleted.
#[test]
fn repair_deletes_no_word_that_the_program_writes() {
    let bed = sound();
    let count = |table| (table, bed.count(table));
    let steps = Step::ALL.map(Step::name);
    let classes = FaultClass::ALL.map(FaultClass::name);
    for (number, (step, class)) in steps.iter().cycle().zip(classes.iter().cycle()).enumerate() {
        if number == steps.len() * classes.len() {
            break;
        }
        bed.sql(&format!(
            "INSERT INTO faults VALUES (NULL, 1, (SELECT id FROM folders WHERE name = x'61'),
                 CAST('{number}' AS BLOB), 1, '{step}', '{class}', 5, 1, 0, 0, 'm', 'h')"
        ));
    }
    for state in ScanState::ALL {
        for stage in Stage::ALL {
            for mode in Mode::ALL.map(Mode::name).into_iter().chain([Mode::RETRY]) {
                bed.sql(&format!(
                    "INSERT INTO scans (root, state, stage, mode, algorithm, options, started_at,
                                        updated_at, finished_at)
                     VALUES (1, '{}', '{}', '{mode}', 'sha256', '', 0, 0, 0)",
                    state.name(),
                    stage.name()
                ));
            }
        }
    }
    let before = [count("faults"), count("scans")];
    assert_eq!(before[0].1, 30);
    bed.open().repair().unwrap();
    assert_eq!([count("faults"), count("scans")], before);
    assert_eq!(sentences(&bed), [""; 0]);
}
