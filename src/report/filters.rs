//! What an answer was narrowed down to, in words.

use std::fmt::Display;

use super::style::Header;
use super::text::{as_of, counted, size};
use crate::model::{Filters, escape};

/// The filters of an answer: `filters: size at least 10.0 MiB, extension jpg or
/// png, excluding *.tmp`; `None` if there are none.
pub(crate) fn filters_line(filters: &Filters, is_exact: bool) -> Option<String> {
    let parts = parts(filters, is_exact);
    (!parts.is_empty()).then(|| format!("filters: {}", parts.join(", ")))
}

/// The rules that mark the copy to keep: `keep: under:/albums, oldest`; `None` if
/// no copy is marked.
pub(crate) fn keep_line(rules: &[String]) -> Option<String> {
    let rules: Vec<String> = rules.iter().map(escape).collect();
    (!rules.is_empty()).then(|| format!("keep: {}", rules.join(", ")))
}

/// The last lines of an answer: what it was narrowed down to, what is marked, and
/// which scan it reflects.
pub fn closing_lines(header: &Header, is_exact: bool) -> Vec<String> {
    let mut lines = Vec::from_iter(filters_line(&header.filters, is_exact));
    lines.extend(keep_line(&header.keep));
    lines.push(as_of(header));
    lines
}

/// Destructured, so that a new filter does not compile until it is named.
fn parts(filters: &Filters, is_exact: bool) -> Vec<String> {
    let Filters {
        paths,
        min_size,
        max_size,
        extensions,
        exclude,
        min_count,
        across,
        check,
        as_scanned,
    } = filters;
    let of_size = |word: &str, limit: &Option<u64>| {
        limit.map(|limit| format!("size at {word} {}", size(limit, is_exact)))
    };
    let listed = |word: &str, last: &str, items: Vec<String>| {
        (!items.is_empty()).then(|| format!("{word} {}", joined(last, &items)))
    };
    let flag = |is_on: &bool, words: String| is_on.then_some(words);
    let across_what = match paths.len() {
        0 | 1 => "root",
        _ => "of these",
    };
    let parts = [
        listed("in", " or ", paths.iter().map(escape).collect()),
        of_size("least", min_size),
        of_size("most", max_size),
        listed("extension", " or ", extensions.iter().map(escape).collect()),
        listed("excluding", ", ", exclude.iter().map(escape).collect()),
        min_count.map(|copies| format!("at least {}", counted(copies, "copy", "copies"))),
        flag(across, format!("in more than one {across_what}")),
        flag(check, "unchanged since the scan".to_owned()),
        flag(as_scanned, "whatever the scans skipped".to_owned()),
    ];
    parts.into_iter().flatten().collect()
}

/// `a, b or c`, with `last` before the last of them.
fn joined(last: &str, items: &[impl Display + AsRef<str>]) -> String {
    match items {
        [first @ .., end] if !first.is_empty() => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{}{last}{end}", first.join(", "))
        }
        items => items.iter().map(ToString::to_string).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_filter_has_its_words() {
        assert_eq!(filters_line(&Filters::default(), false), None);
        let mut filters = Filters {
            paths: vec!["/a".into(), "/b\n".into(), "/c".into()],
            min_size: Some(1 << 20),
            max_size: Some(1 << 30),
            extensions: vec!["jpg".to_owned(), "png".to_owned()],
            exclude: vec!["*.tmp".to_owned(), "cache".to_owned()],
            min_count: Some(3),
            across: true,
            check: true,
            as_scanned: true,
        };
        insta::assert_snapshot!(filters_line(&filters, false).unwrap(), @r"filters: in /a, /b\n or /c, size at least 1.0 MiB, size at most 1.0 GiB, extension jpg or png, excluding *.tmp, cache, at least 3 copies, in more than one of these, unchanged since the scan, whatever the scans skipped");
        filters.paths.clear();
        let line = filters_line(&filters, true).unwrap();
        assert!(line.contains("least 1,048,576 B"), "{line}");
        assert!(line.contains("in more than one root"), "{line}");
    }
}
