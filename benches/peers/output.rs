//! Reading what the programs print: groups of paths, one parser per format.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use serde_json::Value;

/// Paths that a program takes for equal.
pub(crate) type PathGroup = Vec<PathBuf>;

/// The output formats that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// A path a line, an empty line after a group.
    LineBlocks,
    /// The same with NUL instead of the line's end.
    NulBlocks,
    /// `{"groups": [{"files": [path, …]}]}`.
    FclonesJson,
    /// `[[path, …], …]`.
    YadfJson,
    /// `{size: [[{"path": …}, …], …]}`.
    CzkawkaJson,
    /// `[{"type": "duplicate_file", "checksum": …, "path": …}, …]`.
    RmlintJson,
    /// Lines of type, id, depth, size, device, inode, priority and name; the
    /// first of a group has a positive id, the others its negative.
    RdfindResults,
}

impl Format {
    /// The groups in this output.
    pub(crate) fn parse(self, output: &[u8]) -> Result<Vec<PathGroup>, String> {
        match self {
            Self::LineBlocks => Ok(blocks(output, b'\n')),
            Self::NulBlocks => Ok(blocks(output, 0)),
            Self::FclonesJson => fclones(&json(output)?),
            Self::YadfJson => yadf(&json(output)?),
            Self::CzkawkaJson => czkawka(&json(output)?),
            Self::RmlintJson => rmlint(&json(output)?),
            Self::RdfindResults => rdfind(output),
        }
    }
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes.to_vec()))
}

fn blocks(output: &[u8], end: u8) -> Vec<PathGroup> {
    let mut groups = vec![Vec::new()];
    for line in output.split(|&byte| byte == end) {
        if line.is_empty() {
            groups.push(Vec::new());
        } else if let Some(group) = groups.last_mut() {
            group.push(path(line));
        }
    }
    groups.retain(|group| !group.is_empty());
    groups
}

fn json(output: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(output).map_err(|error| format!("not JSON: {error}"))
}

fn array<'v>(value: &'v Value, what: &str) -> Result<&'v Vec<Value>, String> {
    value.as_array().ok_or_else(|| format!("{what} is no list"))
}

fn text(value: &Value) -> Result<PathBuf, String> {
    let text = value.as_str().ok_or("a path is no text")?;
    Ok(PathBuf::from(text))
}

fn paths(value: &Value) -> Result<PathGroup, String> {
    array(value, "a group")?.iter().map(text).collect()
}

fn fclones(value: &Value) -> Result<Vec<PathGroup>, String> {
    array(&value["groups"], "groups")?
        .iter()
        .map(|group| paths(&group["files"]))
        .collect()
}

fn yadf(value: &Value) -> Result<Vec<PathGroup>, String> {
    array(value, "the output")?.iter().map(paths).collect()
}

fn czkawka(value: &Value) -> Result<Vec<PathGroup>, String> {
    let sizes = value.as_object().ok_or("the output is no object")?;
    let mut groups = Vec::new();
    for of_size in sizes.values() {
        for group in array(of_size, "a size")? {
            let files = array(group, "a group")?.iter();
            let paths = files.map(|file| text(&file["path"]));
            groups.push(paths.collect::<Result<_, _>>()?);
        }
    }
    Ok(groups)
}

fn rmlint(value: &Value) -> Result<Vec<PathGroup>, String> {
    let mut groups: BTreeMap<(String, u64), PathGroup> = BTreeMap::new();
    for entry in array(value, "the output")? {
        if entry["type"] == "duplicate_file" {
            let key = (
                entry["checksum"].to_string(),
                entry["size"].as_u64().unwrap_or(0),
            );
            groups.entry(key).or_default().push(text(&entry["path"])?);
        }
    }
    Ok(groups.into_values().collect())
}

fn rdfind(output: &[u8]) -> Result<Vec<PathGroup>, String> {
    let mut groups: BTreeMap<u64, PathGroup> = BTreeMap::new();
    for line in output.split(|&byte| byte == b'\n') {
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        let mut fields = line.splitn(8, |&byte| byte == b' ');
        let id = fields
            .nth(1)
            .and_then(|id| std::str::from_utf8(id).ok()?.parse().ok());
        let (Some(id), Some(name)) = (id, fields.last()) else {
            return Err(format!(
                "unexpected line {:?}",
                String::from_utf8_lossy(line)
            ));
        };
        groups
            .entry(i64::unsigned_abs(id))
            .or_default()
            .push(path(name));
    }
    Ok(groups.into_values().collect())
}

#[cfg(test)]
#[allow(unused, reason = "benches are built with cfg(test), but run no tests")]
mod tests {
    use super::*;

    /// Every example has the groups {/a b, /c} and {/d, /e}.
    fn check(format: Format, output: &str) {
        let mut groups = format.parse(output.as_bytes()).unwrap();
        groups.sort();
        let expected = [["/a b", "/c"], ["/d", "/e"]];
        let expected: Vec<PathGroup> = expected
            .iter()
            .map(|group| group.iter().map(PathBuf::from).collect())
            .collect();
        assert_eq!(groups, expected, "{format:?}");
    }

    #[test]
    fn every_format_is_read() {
        check(Format::LineBlocks, "/a b\n/c\n\n/d\n/e\n\n");
        check(Format::LineBlocks, "/a b\n/c\n\n/d\n/e\n");
        check(Format::NulBlocks, "/a b\0/c\0\0/d\0/e\0\0");
        check(
            Format::FclonesJson,
            r#"{"header": {}, "groups": [
                {"file_len": 3, "file_hash": "x", "files": ["/a b", "/c"]},
                {"file_len": 4, "file_hash": "y", "files": ["/d", "/e"]}]}"#,
        );
        check(Format::YadfJson, r#"[["/a b", "/c"], ["/d", "/e"]]"#);
        check(
            Format::CzkawkaJson,
            r#"{"3": [[{"path": "/a b", "size": 3}, {"path": "/c", "size": 3}],
                      [{"path": "/d", "size": 3}, {"path": "/e", "size": 3}]]}"#,
        );
        check(
            Format::RmlintJson,
            r#"[{"description": "x"},
                {"type": "duplicate_file", "checksum": "1", "size": 3, "path": "/a b"},
                {"type": "duplicate_file", "checksum": "2", "size": 3, "path": "/d"},
                {"type": "duplicate_file", "checksum": "1", "size": 3, "path": "/c"},
                {"type": "duplicate_file", "checksum": "2", "size": 3, "path": "/e"},
                {"aborted": false}]"#,
        );
        check(
            Format::RdfindResults,
            "# duptype id depth size device inode priority name\n\
             DUPTYPE_FIRST_OCCURRENCE 7 1 3 65024 11 1 /a b\n\
             DUPTYPE_WITHIN_SAME_TREE -7 1 3 65024 12 1 /c\n\
             DUPTYPE_FIRST_OCCURRENCE 9 1 3 65024 13 1 /d\n\
             DUPTYPE_WITHIN_SAME_TREE -9 1 3 65024 14 1 /e\n\
             # end of file\n",
        );
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        assert!(Format::FclonesJson.parse(b"oops").is_err());
        assert!(Format::YadfJson.parse(b"{}").is_err());
        assert!(Format::RdfindResults.parse(b"oops").is_err());
        assert_eq!(Format::LineBlocks.parse(b""), Ok(Vec::new()));
    }
}
