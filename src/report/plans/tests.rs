use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use proptest::prelude::*;

use super::*;
use crate::model::Reclaimable;
use crate::model::{
    Action, CopyEntry, Digest, PlanHeader, PlanId, PlanOptions, PlanTotals, PlannedCopy,
    PlannedGroup, Role, ScanId, Timestamp,
};
use crate::testing::proptest_config;

fn header() -> PlanHeader {
    PlanHeader {
        reclaimable: Some(Reclaimable::between(1, 4_096)),
        id: PlanId(3),
        action: Action::Trash,
        options: PlanOptions::default(),
        scan: ScanId(9),
        created: Timestamp(1_700_000_000),
        totals: PlanTotals::default(),
    }
}

fn group(number: u64, names: &[&[u8]]) -> PlannedGroup {
    let mut paths = names
        .iter()
        .map(|name| PathBuf::from(OsStr::from_bytes(name)));
    let copy = |path, links| CopyEntry {
        path,
        links,
        volume: "uuid:1".to_owned(),
        inode: Some(u64::MAX),
        mtime_ns: 1_700_000_000_000_000_042,
        ctime_ns: -1,
        ..CopyEntry::default()
    };
    let keeper = copy(paths.next().unwrap(), Vec::new());
    let first = paths.next().unwrap();
    let victim = copy(first, paths.collect());
    PlannedGroup {
        number,
        digest: Digest::from_bytes(&[7; 32]).unwrap(),
        size: 12,
        copies: vec![
            PlannedCopy {
                role: Role::Keep,
                copy: keeper,
            },
            PlannedCopy {
                role: Role::Act,
                copy: victim,
            },
        ],
    }
}

fn write(groups: &[PlannedGroup]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = PlanWriter::begin(&header(), "00ff", &mut file).unwrap();
    groups.iter().for_each(|group| writer.group(group).unwrap());
    writer.end().unwrap();
    file
}

/// The groups of a file, and whether its seal is intact.
fn read(file: &[u8]) -> Result<(Vec<PlannedGroup>, bool), PlanFileError> {
    let mut reader = PlanReader::begin(file)?;
    let mut groups = Vec::new();
    while let Some(group) = reader.next_group()? {
        groups.push(group);
    }
    Ok((groups, reader.is_sealed()))
}

#[test]
fn a_plan_file_is_a_header_a_line_a_group_and_a_seal() {
    let file = String::from_utf8(write(&[group(1, &[b"/a", b"/b", b"/c\xff"])])).unwrap();
    insta::assert_snapshot!(file, @r#"
    {"schema":1,"document":"dupescan plan","catalog":"00ff","plan":3,"scan":9,"created":"2023-11-14T22:13:20Z","action":"trash","options":{"paths":[],"keep":[],"from":[],"match":[],"copies":0,"per_volume":0,"isolate":false,"skip_ties":false,"max_bytes":null,"protect":[],"include_guarded":false,"min_size":null,"max_size":null,"ext":[],"exclude":[],"across":false},"totals":{"groups":0,"files":0,"bytes":0},"reclaimable":{"at_least":1,"at_most":4096}}
    {"group":1,"size":12,"digest":"0707070707070707070707070707070707070707070707070707070707070707","keep":[{"names":[{"path":"/a"}],"volume":"uuid:1","inode":18446744073709551615,"mtime":"2023-11-14T22:13:20.000000042Z","ctime":"1969-12-31T23:59:59.999999999Z"}],"act":[{"names":[{"path":"/b"},{"path":"/c�","path_b64":"L2P/"}],"volume":"uuid:1","inode":18446744073709551615,"mtime":"2023-11-14T22:13:20.000000042Z","ctime":"1969-12-31T23:59:59.999999999Z"}]}
    {"groups":1,"files":2,"bytes":0,"blake3":"9c80caf3a4830655bd234fed051a137c91c1ad0d7065388337c6bbbd18f1eadf"}
    "#);
}

#[test]
fn what_is_no_plan_is_said_in_one_sentence() {
    let file = write(&[group(1, &[b"/a", b"/b"]), group(2, &[b"/c", b"/d"])]);
    let text = String::from_utf8(file).unwrap();
    let sentence = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
    let line = |at: usize| text.lines().nth(at).unwrap();
    assert!(sentence("").contains("ends before its last line"));
    assert!(sentence("{}\n").contains("not a plan file"));
    assert!(sentence(&text.replacen(":1,", ":2,", 1)).contains("newer version"));
    assert!(
        sentence(&text.replacen(r#""keep":[{"#, r#""kept":[{"#, 1))
            .contains("line 2: unknown field `kept`")
    );
    assert!(sentence(&text.replacen("/d", r"\ud800", 1)).contains("line 3"));
    assert!(sentence(&text.replacen("0707", "07", 1)).contains("line 2: 'digest'"));
    assert!(sentence(&text.replace(line(3), line(1))).contains("ends before its last line"));
    assert!(sentence(&format!("{text}{}\n", line(1))).contains("line 5: expected nothing"));
}

#[test]
fn a_file_that_was_cut_off_anywhere_is_not_sealed() {
    let file = write(&[group(1, &[b"/a", b"/b", b"/c"]), group(2, &[b"/d", b"/e"])]);
    assert!(read(&file).unwrap().1);
    for end in 0..file.len() {
        let sealed = read(&file[..end]).is_ok_and(|(_, is_sealed)| is_sealed);
        assert!(!sealed, "cut after {end} bytes");
    }
}

proptest! {
    #![proptest_config(proptest_config())]

    #[test]
    fn any_names_come_back_exactly(
        names in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..12), 2..5),
    ) {
        let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
        let groups = [group(1, &names)];
        let file = write(&groups);
        prop_assert!(!String::from_utf8(file.clone()).unwrap().contains('\x1b'));
        let (read, is_sealed) = read(&file).unwrap();
        prop_assert!(is_sealed);
        prop_assert_eq!(read, groups);
    }

    #[test]
    fn a_changed_byte_breaks_the_seal(at: prop::sample::Index, change in 1..=255_u8) {
        let mut file = write(&[group(1, &[b"/a", b"/b"]), group(2, &[b"/c", b"/d"])]);
        let footer = file[..file.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap();
        let at = at.index(footer);
        file[at] ^= change;
        prop_assert!(!read(&file).is_ok_and(|(_, is_sealed)| is_sealed));
    }
}
