use jiff::tz::TimeZone;
use unicode_width::UnicodeWidthStr;

use super::*;

use super::answer::per_mille;
use crate::folders::*;
use crate::model::Filters;
use crate::report::groups::{header, nothing_scanned, path};

fn group() -> FolderGroup {
    FolderGroup {
        files: 1234,
        bytes: 7 << 20,
        reclaimable: 14 << 20,
        paths: vec![
            "/home/ann/photos".into(),
            "/backup/ann/photos".into(),
            "/usb/\u{1b}[2Jodd\nname".into(),
        ],
        aliases: Vec::new(),
    }
}

fn identical(groups: Vec<FolderGroup>) -> FolderReport {
    FolderReport {
        header: header(),
        answer: FolderAnswer::Identical(Identical {
            same_names: false,
            totals: FolderTotals {
                groups: groups.len() as u64,
                folders: groups.iter().map(|group| group.paths.len() as u64).sum(),
                reclaimable: groups.iter().map(|group| group.reclaimable).sum(),
                ..FolderTotals::default()
            },
            groups,
        }),
    }
}

fn overlap(contents: u64, bytes: u64) -> Overlap {
    Overlap { contents, bytes }
}

/// Two of three contents in both; the left side has unresolved.
fn pair() -> FolderPair {
    let mut unknown = Unknown::UNREADABLE;
    unknown |= Unknown::FILTERED;
    FolderPair {
        both: overlap(2, 3000),
        either: overlap(3, 3100),
        sides: [
            (
                "/home/ann/photos".into(),
                PairSide {
                    all: overlap(3, 3100),
                    only: overlap(1, 100),
                    files: 4,
                    bytes: 5100,
                    only_files: 1,
                    only_bytes: 100,
                    unchecked: 1,
                    unknown,
                },
            ),
            (
                path(b"/backup/caf\xe9"),
                PairSide {
                    all: overlap(2, 3000),
                    files: 2,
                    bytes: 3000,
                    ..PairSide::default()
                },
            ),
        ],
        differences: None,
    }
}

fn similar(pairs: Vec<FolderPair>, measure: Measure) -> FolderReport {
    FolderReport {
        header: header(),
        answer: FolderAnswer::Similar(Similar {
            percent: 50,
            measure,
            detail: pairs.iter().any(|pair| pair.differences.is_some()),
            all: pairs.len() as u64,
            pairs,
            is_complete: true,
            crowded: 0,
            unchecked: UncheckedFolders::default(),
        }),
    }
}

fn table(report: &FolderReport, style: Style) -> String {
    let mut out = Vec::new();
    table::write_in(TimeZone::UTC, report, style, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn text(report: &FolderReport, format: Format) -> String {
    let mut out = Vec::new();
    write_folders(report, format, Style::default(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn groups_are_listed_with_their_sums() {
    insta::assert_snapshot!(table(&identical(vec![group()]), Style::default()), @r"
    14.0 MiB reclaimable    3 folders    1,234 files, 7.0 MiB each
        /home/ann/photos
        /backup/ann/photos
        /usb/\x1b[2Jodd\nname

    1 duplicate group, 3 folders, 14.0 MiB reclaimable
    as of scan 12, 2026-11-16 09:30
    ");
}

#[test]
fn what_is_unknown_or_not_shown_is_mentioned() {
    let mut report = identical(vec![group()]);
    let FolderAnswer::Identical(answer) = &mut report.answer else {
        unreachable!()
    };
    answer.totals.groups = 9;
    answer.totals.linked_groups = 2;
    answer.totals.unchecked = crate::folders::UncheckedFolders {
        folders: 8,
        with_unchecked_files: 1,
        with_unreadable_paths: 2,
        not_listed: 3,
        filtered: 4,
    };
    report.header.filters = Filters {
        min_size: Some(1024),
        exclude: vec!["*.tmp".into()],
        as_scanned: true,
        ..Filters::default()
    };
    insta::assert_snapshot!(table(&report, Style::default()), @r"
    14.0 MiB reclaimable    3 folders    1,234 files, 7.0 MiB each
        /home/ann/photos
        /backup/ann/photos
        /usb/\x1b[2Jodd\nname

    9 duplicate groups, 3 folders, 14.0 MiB reclaimable
    showing 1 of 9 groups
    2 more groups of hard links: nothing to reclaim
    8 folders unchecked (could be duplicates; not fully read yet)
        1 with unchecked files (see dupescan scan, audit)
        2 with unreadable paths (see dupescan errors)
        3 not fully listed (see dupescan errors, resume)
        4 scanned with filters that may hide files (--as-scanned compares them)
    filters: size at least 1.0 KiB, excluding *.tmp, whatever the scans skipped
    as of scan 12, 2026-11-16 09:30
    ");
}

#[test]
fn pairs_say_what_each_side_has() {
    insta::assert_snapshot!(table(&similar(vec![pair()], Measure::Count), Style::default()), @r"
    66.7 % similar     2.9 KiB in both     2 of 3 distinct files
        /home/ann/photos
            66.7 % of it is also in the other; 1 file only here, 100 B
            1 file unchecked, counted as different
            some paths in it are unreadable
            it was scanned with filters
        /backup/caf\xe9
            100 % of it is also in the other; nothing only here

    1 pair at least 50 % similar, by number of distinct files
    as of scan 12, 2026-11-16 09:30
    ");
    let by_bytes = table(&similar(vec![pair()], Measure::Bytes), Style::default());
    assert!(by_bytes.starts_with("96.8 % similar"), "{by_bytes}");
    assert!(by_bytes.contains("similar, by bytes"), "{by_bytes}");
}

/// A pair with a difference of every kind.
fn detailed() -> FolderPair {
    let file = |path: &str, is_certain| NamedFile {
        path: path.into(),
        content: 1,
        is_certain,
        is_unresolved: !is_certain,
        size: 100,
        mtime_ns: 1_714_564_800_000_000_042,
    };
    let mut pair = pair();
    pair.differences = Some(Differences {
        only: [vec![file("sub/new.jpg", true)], vec![file("locked", false)]],
        changed: vec![ChangedFile {
            path: "notes.txt".into(),
            sizes: [10, 2048],
            mtimes_ns: [1_714_564_800_000_000_042, 0],
        }],
    });
    pair
}

#[test]
fn differences_are_listed_by_kind() {
    let text = table(&similar(vec![detailed()], Measure::Count), Style::default());
    let (_, differences) = text.split_once("nothing only here\n").unwrap();
    insta::assert_snapshot!(differences, @"
        only in the first:
                   100 B  sub/new.jpg
        only in the second:
                   100 B  unchecked: locked
        same name, different content:
            notes.txt
                2024-05-01 12:00, 10 B  |  1970-01-01 00:00, 2.0 KiB

    1 pair at least 50 % similar, by number of distinct files
    as of scan 12, 2026-11-16 09:30
    ");
}

#[test]
fn a_search_that_stopped_says_so() {
    let mut report = similar(vec![], Measure::Count);
    let FolderAnswer::Similar(answer) = &mut report.answer else {
        unreachable!()
    };
    answer.is_complete = false;
    answer.crowded = 1;
    insta::assert_snapshot!(table(&report, Style::default()), @"
    no folders are at least 50 % similar
    1 folder is identical to many others and paired only with the first
    too many pairs: the search stopped early, and some are missing
        narrow it down with a higher threshold, --min-size or --exclude
    as of scan 12, 2026-11-16 09:30
    ");
}

#[test]
fn every_line_fits_the_terminal() {
    let long = "x".repeat(200);
    let mut wide = detailed();
    wide.sides[0].0 = format!("/{long}/end").into();
    let differences = wide.differences.as_mut().unwrap();
    differences.only[1][0].path = long.clone().into();
    differences.changed[0].path = long.clone().into();
    let mut group = group();
    group.paths.push(format!("/{long}/写真").into());
    for report in [similar(vec![wide], Measure::Bytes), identical(vec![group])] {
        let style = Style {
            width: Some(80),
            color: true,
            ..Style::default()
        };
        let coloured = table(&report, style);
        let plain = anstream::adapter::strip_str(&coloured).to_string();
        assert!(plain.lines().all(|line| line.width() <= 80), "{plain}");
        assert!(plain.contains('…'), "{plain}");
        assert!(
            table(&report, Style::default()).contains(&long),
            "piped paths stay whole"
        );
    }
}

#[test]
fn shares_are_rounded_but_never_to_all_or_nothing() {
    for (part, whole, tenths) in [
        (0, 7, 0),
        (7, 7, 1000),
        (2, 3, 667),
        (1, 3, 333),
        (1, 2, 500),
        (9_999, 10_000, 999),
        (1, 10_000, 1),
        (0, 0, 1000),
        (u64::MAX - 1, u64::MAX, 999),
    ] {
        assert_eq!(per_mille(part, whole), tenths, "{part} of {whole}");
    }
}

#[test]
fn exact_bytes_replace_rounded_sizes() {
    let style = Style {
        exact_bytes: true,
        ..Style::default()
    };
    let text = table(&identical(vec![group()]), style);
    assert!(text.contains("14,680,064 B reclaimable"), "{text}");
}

#[test]
fn json_has_every_number_and_exact_names() {
    let document = text(&similar(vec![detailed()], Measure::Count), Format::Json);
    let value: serde_json::Value = serde_json::from_str(&document).unwrap();
    let pair = &value["pairs"][0];
    assert_eq!(pair["similarity"], 66.7);
    assert_eq!(
        pair["left"]["incomplete"],
        serde_json::json!(["unreadable", "filtered"])
    );
    assert_eq!(pair["right"]["path_b64"], "L2JhY2t1cC9jYWbp");
    assert_eq!(pair["right"]["contained"], 100.0);
    assert_eq!(pair["differences"]["only_right"][0]["unchecked"], true);
    let changed = &pair["differences"]["changed"][0];
    assert_eq!(changed["left"]["mtime"], "2024-05-01T12:00:00.000000042Z");
    assert_eq!(value["as_of"]["scan"], 12);
}

#[test]
fn csv_has_a_row_per_folder_or_pair() {
    insta::assert_snapshot!(text(&identical(vec![group()]), Format::Csv).replace('\n', "⏎\n"), @"
    group,folders,files,bytes,reclaimable,keep,path,path_b64,as_of_scan⏎
    1,3,1234,7340032,14680064,true,/home/ann/photos,,12⏎
    1,3,1234,7340032,14680064,false,/backup/ann/photos,,12⏎
    1,3,1234,7340032,14680064,false,\"/usb/\x1b[2Jodd⏎
    name\",,12⏎
    ");
    let pairs = text(&similar(vec![pair()], Measure::Count), Format::Csv);
    let row = pairs.lines().nth(1).unwrap();
    assert_eq!(
        row,
        "1,66.7,2,3,3000,3100,/home/ann/photos,,66.7,4,1,100,1,/backup/caf\u{fffd},L2JhY2t1cC9jYWbp,\
         100.0,2,0,0,0,12"
    );
}

#[test]
fn an_empty_catalog_says_so() {
    let mut report = identical(vec![]);
    report.header = nothing_scanned();
    let text = table(&report, Style::default());
    assert!(text.starts_with("nothing has been scanned yet"), "{text}");
}
