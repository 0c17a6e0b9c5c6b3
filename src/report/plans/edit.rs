//! A plan as lines for an editor, written and read: `keep PATH` or `remove PATH`.
//! Paths are escaped, so that every name is one line and leads back to its bytes.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::model::{PlannedGroup, Role, escape, unescape};
use crate::report::text::{counted, human_size};

/// A line that says what happens to a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedLine {
    /// Its number, from 1.
    pub number: usize,
    /// What is to happen.
    pub role: Role,
    /// A name of the copy.
    pub path: PathBuf,
}

/// Writes the lines of a group. A copy has one line, with its first name: it stays
/// or goes under all its names.
pub fn write_group_to_edit(group: &PlannedGroup, out: &mut impl Write) -> io::Result<()> {
    let copies = counted(group.copies.len() as u64, "copy", "copies");
    let size = human_size(group.size);
    writeln!(out, "\n# Group {}: {copies} of {size}", group.number)?;
    for planned in &group.copies {
        let word = word(planned.role);
        writeln!(out, "{word} {}", line_of(&planned.copy.path))?;
        for link in &planned.copy.links {
            writeln!(out, "#      = {} (hard link)", line_of(link))?;
        }
    }
    Ok(())
}

/// The lines of an edited text, or what is wrong with one of them.
pub fn edited_lines(text: &[u8]) -> Result<Vec<EditedLine>, String> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
        let wrong = |why: &str| format!("line {number}: {why}");
        let line = std::str::from_utf8(line).map_err(|_| wrong("it is not UTF-8 text"))?;
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (word, path) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let role = role(word).ok_or_else(|| {
            wrong(&format!(
                "expected `keep PATH` or `remove PATH`, not '{word}'"
            ))
        })?;
        let path = unescape(path.trim_start()).filter(|path| !path.is_empty());
        let path = path.ok_or_else(|| wrong("expected a path as it was written here"))?;
        lines.push(EditedLine {
            number,
            role,
            path: path.into(),
        });
    }
    Ok(lines)
}

fn word(role: Role) -> &'static str {
    match role {
        Role::Keep => "keep  ",
        Role::Act => "remove",
    }
}

fn role(word: &str) -> Option<Role> {
    match word {
        "keep" | "k" => Some(Role::Keep),
        "remove" | "r" => Some(Role::Act),
        _ => None,
    }
}

/// A path as the end of a line. An editor may delete white space there.
fn line_of(path: &Path) -> String {
    let mut text = escape(path);
    if let Some(last) = text.pop() {
        match last.is_whitespace() {
            true => text.push_str(&format!("\\u{{{:x}}}", u32::from(last))),
            false => text.push(last),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    use proptest::prelude::*;

    use super::*;
    use crate::model::{CopyEntry, Digest, PlannedCopy};
    use crate::testing::proptest_config;

    fn group(paths: Vec<PathBuf>) -> PlannedGroup {
        let copies = paths.into_iter().enumerate().map(|(at, path)| PlannedCopy {
            role: if at == 0 { Role::Keep } else { Role::Act },
            copy: CopyEntry {
                links: vec![path.join("link")],
                path,
                ..CopyEntry::default()
            },
        });
        PlannedGroup {
            number: 3,
            digest: Digest::from_bytes(&[7; 32]).unwrap(),
            size: 2_048,
            copies: copies.collect(),
        }
    }

    fn written(group: &PlannedGroup) -> Vec<u8> {
        let mut text = Vec::new();
        write_group_to_edit(group, &mut text).unwrap();
        text
    }

    #[test]
    fn a_line_is_a_copy_and_comments_explain() {
        let group = group(["/a b", "/new\nline "].map(PathBuf::from).to_vec());
        insta::assert_snapshot!(String::from_utf8(written(&group)).unwrap(), @r"

        # Group 3: 2 copies of 2.0 KiB
        keep   /a b
        #      = /a b/link (hard link)
        remove /new\nline\u{20}
        #      = /new\nline /link (hard link)
        ");
    }

    #[test]
    fn what_an_editor_does_to_white_space_does_not_matter() {
        let read = |text: &str| edited_lines(text.as_bytes());
        let lines = read("\u{feff}\r\n  r \t /a b \r\nk /c\n# keep /d\n").unwrap();
        let lines = lines
            .iter()
            .map(|line| (line.number, line.role, line.path.as_path()));
        assert_eq!(
            lines.collect::<Vec<_>>(),
            [
                (2, Role::Act, Path::new("/a b")),
                (3, Role::Keep, Path::new("/c"))
            ]
        );
        assert!(
            read("drop /a")
                .unwrap_err()
                .contains("line 1: expected `keep PATH`")
        );
        assert!(
            read("\nkeep")
                .unwrap_err()
                .contains("line 2: expected a path")
        );
        assert!(read(r"keep /\q").unwrap_err().contains("expected a path"));
        assert!(
            edited_lines(b"keep /\xff")
                .unwrap_err()
                .contains("not UTF-8")
        );
    }

    proptest! {
        #![proptest_config(proptest_config())]

        #[test]
        fn any_names_come_back_exactly(
            names in proptest::collection::vec(proptest::collection::vec(1..=255_u8, 1..12), 2..5),
        ) {
            let path = |name: &Vec<u8>| PathBuf::from("/").join(OsString::from_vec(name.clone()));
            let group = group(names.iter().map(path).collect());
            let text = written(&group);
            let plain = String::from_utf8(text.clone()).unwrap();
            prop_assert!(plain.chars().all(|c| c == '\n' || !c.is_control()));
            // An editor that deletes white space at the ends of lines.
            let trimmed: Vec<&str> = plain.lines().map(str::trim_end).collect();
            let read = edited_lines(trimmed.join("\r\n").as_bytes()).unwrap();
            let wanted = group.copies.iter().map(|one| (one.role, one.copy.path.clone()));
            let got = read.into_iter().map(|line| (line.role, line.path));
            prop_assert_eq!(got.collect::<Vec<_>>(), wanted.collect::<Vec<_>>());
        }
    }
}
