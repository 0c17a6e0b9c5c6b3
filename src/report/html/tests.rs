//! Tests of the page as text: that it is whole, and that no name gets out of
//! its string. What it does in a browser is tested in tests/browser.

use std::path::Path;

use serde_json::Value;

use super::*;
use crate::model::escape;
use crate::report::groups::{
    copy, every_byte, group_named, header, marked_photos, marking, nothing_scanned, odd_group,
    path, photos, totals,
};

fn page(header: &Header, groups: &[Group]) -> String {
    let mut out = Vec::new();
    let mut report = Html::in_zone(TimeZone::UTC, &mut out);
    report.begin(header).unwrap();
    for group in groups {
        report.group(group).unwrap();
    }
    report.end(&totals(groups)).unwrap();
    String::from_utf8(out).unwrap()
}

/// What follows the part that is the same in every report.
fn data(groups: &[Group]) -> String {
    let page = page(&header(), groups);
    page.strip_prefix(FRONT.as_str()).unwrap().to_owned()
}

/// The groups of every block, read as the script reads them.
fn blocks(page: &str) -> Vec<Vec<Value>> {
    let start = "class=\"groups-data\">";
    let texts = page.split(start).skip(1);
    texts
        .map(|text| serde_json::from_str(text.split("</script>").next().unwrap()).unwrap())
        .collect()
}

/// The escaped paths of every group, put together again: copies, then links.
fn paths(page: &str) -> Vec<Vec<String>> {
    let mut folders = vec![String::new()];
    let mut found = Vec::new();
    for group in blocks(page).concat() {
        let list = |field: usize| group[field].as_array().cloned().unwrap_or_default();
        for folder in list(5).chunks(2) {
            let parent = &folders[number(&folder[0])];
            folders.push(format!("{parent}/{}", folder[1].as_str().unwrap()));
        }
        let whole = |folder: &Value, name: &Value| {
            format!("{}/{}", folders[number(folder)], name.as_str().unwrap())
        };
        let mut names: Vec<_> = list(4).chunks(3).map(|c| whole(&c[0], &c[1])).collect();
        names.extend(list(6).chunks(3).map(|link| whole(&link[1], &link[2])));
        found.push(names);
    }
    found
}

fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

/// The escaped paths as they are in the groups.
fn expected(groups: &[Group]) -> Vec<Vec<String>> {
    let names = |group: &Group| {
        let copies = group.copies.iter().map(|copy| &copy.path);
        let links = group.copies.iter().flat_map(|copy| &copy.links);
        copies.chain(links).map(escape).collect()
    };
    groups.iter().map(names).collect()
}

#[test]
fn groups_are_packed_a_line_each() {
    insta::assert_snapshot!(data(&[photos(), odd_group(), photos()]), @r#"
    <script type="application/json" id="header-data">{"generated_at":"2026-11-16T09:31:07Z","as_of":"as of scan 12, 2026-11-16 09:30","scanned":true,"unfinished":0,"filters":null}</script>
    <script type="application/json" class="groups-data">[
    [25270682,25270682,"byte-for-byte","a7a7a7a7a7a7",[2,"IMG_0001.CR2",1714564800,7,"IMG_0001.CR2",1714564800],[0,"backup",1,"2024",1,"by-date",0,"home",4,"ann",5,"photos",6,"2024"],[0,3,"2024-05-01.CR2"],[1,5]],
    [9,9,"same BLAKE3","0b0b0b0b0b0b",[8,"two\\nlines",1714564800,8,"\\x1b[2J\\u{9b}1m\\u{202e}gpj.exe",1714564800],[0,"usb"],[0,8,"latin-\\xe9"],[8]],
    [25270682,25270682,"byte-for-byte","a7a7a7a7a7a7",[2,"IMG_0001.CR2",1714564800,7,"IMG_0001.CR2",1714564800],[],[0,3,"2024-05-01.CR2"]]
    ]</script>
    <script type="application/json" id="totals-data">{"groups":3,"copies":6,"reclaimable":50541373,"unchecked":0}</script>
    </body>
    </html>
    "#);
}

#[test]
fn the_copy_to_keep_is_marked() {
    let page = page(&marking(), &[marked_photos()]);
    assert!(page.contains(r#""keep":"keep: under:/home/ann, oldest""#));
    assert_eq!(blocks(&page)[0][0][9], serde_json::json!([1]));
    assert!(!data(&[photos()]).contains("keep"));
}

#[test]
fn no_groups_make_no_block() {
    let data = data(&[]);
    assert!(!data.contains("groups-data"), "{data}");
    let page = page(&nothing_scanned(), &[]);
    assert!(page.contains("\"scanned\":false"), "{page}");
}

#[test]
fn what_is_unfinished_is_mentioned() {
    let mut open = header();
    open.unfinished = 2;
    let page = page(&open, &[]);
    assert!(page.contains("2 unfinished scans: groups may be missing"));
    assert!(page.contains("\"unfinished\":2"));
}

#[test]
fn nothing_in_a_name_means_anything_to_a_reader_of_html() {
    let names: [&[u8]; 6] = [
        b"</script><script>alert(1)</script>",
        b"<!--<script>",
        b"<img src=x onerror=alert(1)>",
        b"&lt;&quot;\"'`",
        "\u{2028}\u{2029}\u{202e}\x1b[2J".as_bytes(),
        b"]]>\xff\xfe",
    ];
    for name in names {
        let mut group = group_named(name, b"other");
        group.copies[0].links = vec![path(&[b"/r/", name].concat())];
        let hostile = data(std::slice::from_ref(&group));
        let plain = data(&[group_named(b"plain", b"other")]);
        for mark in ['<', '>', '&', '\u{2028}', '\u{202e}', '\x1b'] {
            let count = |text: &str| text.matches(mark).count();
            assert_eq!(count(&hostile), count(&plain), "{mark:?} in {hostile}");
        }
        assert_eq!(paths(&hostile), expected(&[group]));
    }
}

#[test]
fn every_byte_of_every_name_comes_back() {
    let all = every_byte();
    let mut groups: Vec<_> = all.iter().map(|&byte| group_named(&[byte], &all)).collect();
    groups.push(Group {
        copies: vec![
            copy("/at-the-top", "/", photos().size),
            copy("/r/below/it/too", "/r", photos().size),
        ],
        ..photos()
    });
    assert_eq!(paths(&data(&groups)), expected(&groups));
}

#[test]
fn more_folders_than_are_remembered_are_named_again() {
    let group = |number: u32| Group {
        copies: vec![
            copy(&format!("/a/{}/f", number % 30_000), "/a", 1),
            copy(&format!("/b/{number}/f"), "/b", 1),
        ],
        ..photos()
    };
    let groups: Vec<_> = (0..40_000).map(group).collect();
    let page = data(&groups);
    assert_eq!(paths(&page), expected(&groups));
    let again = page.matches("0,\"a\"").count();
    assert!((2..10).contains(&again), "named {again} times");
}

#[test]
fn blocks_have_a_limit() {
    let groups = vec![photos(); 4001];
    let sizes: Vec<_> = blocks(&data(&groups)).iter().map(Vec::len).collect();
    assert_eq!(sizes, [2000, 2000, 1]);
}

#[test]
fn the_page_keeps_its_own_rules() {
    assert!(!FRONT.contains("{{"), "a placeholder was not filled");
    let lower = SCRIPT.to_lowercase();
    let forbidden = [
        "</script",
        "<!--",
        "innerhtml",
        "outerhtml",
        "insertadjacenthtml",
        "eval(",
    ];
    for word in forbidden
        .into_iter()
        .chain(["document.write", "new function", "http:", "https:"])
    {
        assert!(!lower.contains(word), "{word} in the script");
    }
    assert!(!STYLE.contains("</style") && !STYLE.contains("url(") && !STYLE.contains("@import"));
    assert!(!PAGE.contains(" style=") && !PAGE.contains(" src=") && !PAGE.contains("onclick"));
}

/// A report of 100,000 groups for tests/browser, which says where to put it.
/// Written here because scanning that many files would take far longer.
#[test]
#[ignore = "writes a file for tests/browser"]
fn write_a_large_report() {
    let file =
        std::env::var_os("DUPESCAN_LARGE_REPORT").expect("DUPESCAN_LARGE_REPORT names a file");
    let out = std::io::BufWriter::new(std::fs::File::create(Path::new(&file)).unwrap());
    let mut report = Html::in_zone(TimeZone::UTC, out);
    report.begin(&header()).unwrap();
    let groups: Vec<_> = (0..100_000).map(large_group).collect();
    for group in &groups {
        report.group(group).unwrap();
    }
    report.end(&totals(&groups)).unwrap();
}

/// Group `number` has 2 to 4 copies in two roots and 4,000 folders; sizes fall
/// from 400 MB, and one group in 16 has each of the 16 endings.
fn large_group(number: u32) -> Group {
    const ENDINGS: [&str; 16] = [
        "jpg", "png", "cr2", "mp4", "mov", "mp3", "flac", "pdf", "txt", "zip", "iso", "c", "py",
        "so", "json", "xyz",
    ];
    let ending = ENDINGS[number as usize % 16];
    let folder = number * 7919 % 4000;
    let size = 400_000_000 / u64::from(number + 1) + 1;
    let place = |index: u32| {
        let root = if index.is_multiple_of(2) {
            "/home/you"
        } else {
            "/mnt/backup"
        };
        let path = format!(
            "{root}/part-{}/{}/{folder:04}/file-{number:06}-{index}.{ending}",
            folder / 400,
            folder / 20
        );
        copy(&path, root, size)
    };
    Group {
        digest: crate::model::Digest::from_bytes(&[&number.to_be_bytes()[..], &[7; 28]].concat())
            .unwrap(),
        size,
        copies: (0..2 + number % 3).map(place).collect(),
        ..photos()
    }
}
