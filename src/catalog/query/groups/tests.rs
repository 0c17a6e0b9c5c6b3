//! Which groups a filter lets through, how names fold into copies, and in
//! which order everything comes.

use super::*;
use crate::catalog::testing::{Bed, TestFile, file};
use crate::model::{Digest, Globs};

fn list(bed: &Bed, filter: GroupFilter) -> GroupList {
    GroupList::build(bed.reader(), filter).unwrap()
}

/// The paths of each group, in order, with other names in brackets.
fn groups(bed: &Bed, filter: GroupFilter) -> Vec<Vec<String>> {
    let mut list = list(bed, filter);
    let mut groups = Vec::new();
    while let Some(group) = list.next_group().unwrap() {
        let copies = group.copies.iter().map(|copy| {
            let links: Vec<_> = copy.links.iter().map(|link| format!("{link:?}")).collect();
            if links.is_empty() {
                copy.path.display().to_string()
            } else {
                format!("{} [{}]", copy.path.display(), links.join(" "))
            }
        });
        groups.push(copies.collect());
    }
    groups
}

/// Two of 100 bytes, three of 60, and four of 10, in two roots; and a loner.
fn bed() -> Bed {
    let bed = Bed::new();
    bed.scan(
        "/r",
        &[
            file("b/100.jpg", 100, 1).content(1),
            file("a/100.JPG", 100, 2).content(1),
            file("60", 60, 3).content(2),
            file("b/60.txt", 60, 4).content(2),
            file("10", 10, 5).content(3),
            file("b/10", 10, 6).content(3),
            file("b/c/10.txt", 10, 7).content(3),
            file("alone", 77, 8).content(4),
        ],
    );
    bed.scan(
        "/s",
        &[file("60", 60, 9).content(2), file("10", 10, 10).content(3)],
    );
    bed
}

const HUNDRED: [&str; 2] = ["/r/a/100.JPG", "/r/b/100.jpg"];
const SIXTY: [&str; 3] = ["/r/60", "/r/b/60.txt", "/s/60"];
const TEN: [&str; 4] = ["/r/10", "/r/b/10", "/r/b/c/10.txt", "/s/10"];

#[test]
fn groups_of_given_contents_come_in_the_order_they_were_asked_for() {
    let bed = bed();
    let content = |byte: u8, size: u64| (Digest::from_bytes(&[byte; 32]).unwrap(), size);
    let wanted = [
        content(3, 10),
        content(4, 77),
        content(9, 10),
        content(1, 100),
        content(2, 61),
    ];
    let given = |filter| {
        let mut list = GroupList::of_contents(bed.reader(), filter, &wanted).unwrap();
        let mut first = Vec::new();
        while let Some(group) = list.next_group().unwrap() {
            first.push(group.copies[0].path.display().to_string());
        }
        first
    };
    // The loner, and those that nothing has, are no groups.
    assert_eq!(given(GroupFilter::default()), ["/r/10", "/r/a/100.JPG"]);
    let small = GroupFilter {
        max_size: Some(10),
        ..GroupFilter::default()
    };
    assert_eq!(given(small), ["/r/10"]);
}

fn assert_groups(bed: &Bed, filter: GroupFilter, expected: &[&[&str]]) {
    assert_eq!(groups(bed, filter), expected);
}

#[test]
fn groups_come_in_the_order_that_was_asked_for() {
    let bed = bed();
    for (order, expected) in [
        (Order::Reclaimable, [&SIXTY[..], &HUNDRED, &TEN]),
        (Order::Size, [&HUNDRED[..], &SIXTY, &TEN]),
        (Order::Count, [&TEN[..], &SIXTY, &HUNDRED]),
        (Order::Path, [&TEN[..], &SIXTY, &HUNDRED]),
    ] {
        let filter = GroupFilter {
            order,
            ..GroupFilter::default()
        };
        assert_groups(&bed, filter, &expected);
    }
}

#[test]
fn equal_ranks_come_in_the_order_of_their_digests() {
    let bed = Bed::new();
    let pair = |byte: u8, a, b| {
        [file(a, 10, byte.into()), file(b, 10, u64::from(byte) + 100)]
            .map(|file| file.content(byte))
    };
    let files: Vec<_> = [pair(9, "a", "b"), pair(2, "c", "d"), pair(5, "e", "f")].concat();
    bed.scan("/r", &files);
    let expected: [&[&str]; 3] = [&["/r/c", "/r/d"], &["/r/e", "/r/f"], &["/r/a", "/r/b"]];
    assert_groups(&bed, GroupFilter::default(), &expected);
}

#[test]
fn sizes_counts_roots_and_places_narrow_the_list() {
    let bed = bed();
    let filter = |change: fn(&mut GroupFilter)| {
        let mut filter = GroupFilter::default();
        change(&mut filter);
        filter
    };
    for (filter, expected) in [
        (filter(|f| f.min_count = 4), &[&TEN[..]][..]),
        (filter(|f| f.min_size = Some(61)), &[&HUNDRED[..]]),
        (filter(|f| f.min_size = Some(60)), &[&SIXTY[..], &HUNDRED]),
        (filter(|f| f.max_size = Some(59)), &[&TEN[..]]),
        (filter(|f| f.across = true), &[&SIXTY[..], &TEN]),
        (filter(|f| f.below = vec!["/s".into()]), &[&SIXTY[..], &TEN]),
        (filter(|f| f.below = vec!["/r/b/c".into()]), &[&TEN[..]]),
        (
            filter(|f| f.below = vec!["/r/b/c/10.txt".into()]),
            &[&TEN[..]],
        ),
        (filter(|f| f.below = vec!["/r/b/1".into()]), &[]),
        (
            filter(|f| f.extensions = vec!["jpg".into()]),
            &[&HUNDRED[..]],
        ),
    ] {
        assert_groups(&bed, filter, expected);
    }
}

#[test]
fn excluded_files_are_left_out_before_copies_are_counted() {
    let bed = bed();
    let globs = Globs::new(&["b".to_owned()]).unwrap();
    let filter = GroupFilter {
        exclude: Some(Box::new(move |path| globs.matches_file(path))),
        ..GroupFilter::default()
    };
    assert_groups(&bed, filter, &[&["/r/60", "/s/60"], &["/r/10", "/s/10"]]);
}

#[test]
fn a_limit_shortens_the_list_and_not_the_totals() {
    let bed = bed();
    let filter = GroupFilter {
        limit: Some(1),
        ..GroupFilter::default()
    };
    assert_eq!(
        list(&bed, filter).totals(),
        Totals {
            groups: 3,
            copies: 9,
            reclaimable: 100 + 120 + 30,
            unchecked: 0,
        }
    );
    let filter = GroupFilter {
        limit: Some(1),
        ..GroupFilter::default()
    };
    assert_groups(&bed, filter, &[&SIXTY]);
}

#[test]
fn hard_links_are_names_of_one_copy() {
    let bed = Bed::new();
    bed.scan(
        "/r",
        &[
            file("z", 10, 1),
            file("b/link", 10, 1),
            file("c", 10, 2),
            file("only/x", 20, 3).content(2),
            file("only/y", 20, 3).content(2),
        ],
    );
    assert_groups(
        &bed,
        GroupFilter::default(),
        &[&["/r/b/link [\"/r/z\"]", "/r/c"]],
    );
    let totals = list(&bed, GroupFilter::default()).totals();
    assert_eq!((totals.copies, totals.reclaimable), (2, 10));
}

#[test]
fn one_inode_number_on_two_volumes_is_two_copies() {
    let bed = Bed::new();
    bed.scan_on("uuid:1", "/r", &[file("a", 10, 1)]);
    bed.scan_on("uuid:2", "/s", &[file("a", 10, 1)]);
    assert_groups(&bed, GroupFilter::default(), &[&["/r/a", "/s/a"]]);
}

#[test]
fn without_stable_inodes_each_path_is_a_copy() {
    let bed = Bed::new();
    let files = ["a", "b", "c"].map(|name| file(name, 10, 0).without_inode());
    bed.scan_on("dev:1", "/usb", &files);
    assert_groups(
        &bed,
        GroupFilter::default(),
        &[&["/usb/a", "/usb/b", "/usb/c"]],
    );
}

#[test]
fn empty_files_come_only_when_asked_for() {
    let bed = Bed::new();
    bed.scan("/r", &[file("a", 0, 1), file("b", 0, 2)]);
    assert_groups(&bed, GroupFilter::default(), &[]);
    let filter = GroupFilter {
        empty: Digest::from_bytes(&[7; 32]),
        ..GroupFilter::default()
    };
    let mut list = list(&bed, filter);
    let group = list.next_group().unwrap().unwrap();
    assert_eq!((group.size, group.copies.len()), (0, 2));
    assert_eq!(group.digest.as_bytes(), [7; 32]);
}

#[test]
fn removed_files_are_left_out() {
    let bed = bed();
    bed.remove("/s", &[], &["60", "10"]);
    bed.remove("/r", &["b"], &[]);
    assert_groups(&bed, GroupFilter::default(), &[]);
}

#[test]
fn only_what_was_compared_together_is_byte_for_byte() {
    let is_byte_for_byte = |files: &[TestFile<'_>]| {
        let bed = Bed::new();
        bed.scan("/r", files);
        let group = list(&bed, GroupFilter::default()).next_group().unwrap();
        group.unwrap().byte_for_byte
    };
    assert!(is_byte_for_byte(&[
        file("a", 10, 1).compared(7),
        file("b", 10, 2).compared(7)
    ]));
    assert!(!is_byte_for_byte(&[
        file("a", 10, 1).compared(7),
        file("b", 10, 2).compared(8)
    ]));
    assert!(!is_byte_for_byte(&[
        file("a", 10, 1).compared(7),
        file("b", 10, 2)
    ]));
    assert!(!is_byte_for_byte(&[file("a", 10, 1), file("b", 10, 2)]));
}

#[test]
fn what_is_not_known_is_counted() {
    let bed = Bed::new();
    bed.scan(
        "/r",
        &[file("a", 10, 1).unread(), file("b", 10, 2).unread()],
    );
    bed.scan("/r", &[file("c", 11, 3).unread()]);
    assert_eq!(list(&bed, GroupFilter::default()).totals().unchecked, 2);
}

/// Stores a digest that begins like that of content 1.
fn begin_alike(bed: &Bed, names: &str) {
    bed.sql(&format!(
        "UPDATE files SET digest = unhex('{}{}') WHERE name IN ({names})",
        "01".repeat(8),
        "02".repeat(24)
    ));
}

#[test]
fn digests_that_only_begin_alike_are_two_groups() {
    let bed = Bed::new();
    let files = [("a", 1), ("b", 2), ("c", 3), ("d", 4)].map(|(name, ino)| file(name, 10, ino));
    bed.scan("/r", &files);
    begin_alike(&bed, "x'63', x'64'");
    assert_groups(
        &bed,
        GroupFilter::default(),
        &[&["/r/a", "/r/b"], &["/r/c", "/r/d"]],
    );
}

#[test]
fn files_whose_digests_only_begin_alike_are_no_group() {
    let bed = Bed::new();
    bed.scan("/r", &[file("a", 10, 1), file("b", 10, 2)]);
    begin_alike(&bed, "x'62'");
    assert_groups(&bed, GroupFilter::default(), &[]);
}

#[test]
fn a_group_that_dissolved_since_the_count_is_left_out() {
    let bed = bed();
    let mut list = list(&bed, GroupFilter::default());
    bed.remove("/s", &[], &["60"]);
    bed.remove("/r", &[], &["60"]);
    let sizes: Vec<u64> = std::iter::from_fn(|| list.next_group().unwrap())
        .map(|group| group.size)
        .collect();
    assert_eq!(sizes, [100, 10]);
}

#[test]
fn no_snapshot_is_held_between_groups() {
    let bed = bed();
    let mut list = list(&bed, GroupFilter::default());
    assert!(list.next_group().unwrap().is_some());
    assert!(list.readers.first().catalog.connection.is_autocommit());
}

#[test]
fn counting_ends_when_it_is_interrupted() {
    let bed = bed();
    bed.sql(
        "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers LIMIT 20000)
         INSERT INTO files (folder, name, size, allocated, mtime_ns, ctime_ns, nlink, digest,
             first_scan)
         SELECT (SELECT min(id) FROM folders), CAST('many ' || n AS BLOB), 5, 0, 0, 0, 1,
             zeroblob(32), 1
           FROM numbers",
    );
    for connections in [1, 2] {
        let mut reader = bed.reader();
        reader.interrupt_when(|| true).unwrap();
        let readers = Readers::of(reader, connections).unwrap();
        let built = GroupList::bounded(readers, GroupFilter::default(), Bounds::default());
        assert!(built.err().unwrap().is_interrupted());
    }
}
