//! JSON without raw characters that a terminal or a line splitter would obey, and
//! the objects that several documents share.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::ser::{CompactFormatter, Formatter};

use super::values::{base64, from_base64, rfc3339};
use crate::model::{AsOf, Filters, NotCompared, is_hazardous};
use crate::report::style::Header;

/// Writes one value on one line, without a newline.
pub(crate) fn write_value<W: Write>(out: &mut W, value: &impl Serialize) -> io::Result<()> {
    write_escaping(out, value, is_hazardous)
}

/// Writes one value with certain characters of the basic plane as `\u…`.
pub(crate) fn write_escaping<W: Write>(
    out: &mut W,
    value: &impl Serialize,
    is_unwanted: fn(char) -> bool,
) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(out, Disarming { is_unwanted });
    Ok(value.serialize(&mut serializer)?)
}

/// Compact JSON in which no unwanted character is raw: readers get the same
/// string, and a terminal or a splitter at U+2028 sees nothing to obey.
struct Disarming {
    is_unwanted: fn(char) -> bool,
}

impl Formatter for Disarming {
    fn write_string_fragment<W: Write + ?Sized>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, hazard)) = rest.char_indices().find(|&(_, c)| (self.is_unwanted)(c)) {
            CompactFormatter.write_string_fragment(out, &rest[..at])?;
            write!(out, "\\u{:04x}", u32::from(hazard))?;
            rest = &rest[at + hazard.len_utf8()..];
        }
        CompactFormatter.write_string_fragment(out, rest)
    }
}

/// Version of the documents; raised when a field changes its meaning.
pub(crate) const SCHEMA: u32 = 1;

/// Writes what comes before the entries of a list, which are a line each.
pub(crate) fn begin_list<W: Write>(out: &mut W, header: &Header, list: &str) -> io::Result<()> {
    write!(out, r#"{{"schema":{SCHEMA},"generated_at":"#)?;
    write_value(out, &rfc3339(header.generated_at))?;
    out.write_all(br#","as_of":"#)?;
    write_value(out, &header.as_of.map(AsOfJson::new))?;
    out.write_all(br#","filters":"#)?;
    write_value(out, &FiltersJson::new(&header.filters))?;
    if !header.keep.is_empty() {
        out.write_all(br#","keep":"#)?;
        write_value(out, &header.keep)?;
    }
    if let Some(found) = header.not_compared {
        out.write_all(br#","not_compared":"#)?;
        write_value(out, &NotComparedJson::new(found))?;
    }
    write!(out, r#","{list}":["#)
}

/// Writes what comes after the entries of a list.
pub(crate) fn end_list<W: Write>(
    out: &mut W,
    is_empty: bool,
    totals: &impl Serialize,
) -> io::Result<()> {
    let close = if is_empty { "]" } else { "\n]" };
    write!(out, r#"{close},"totals":"#)?;
    write_value(out, totals)?;
    out.write_all(b"}\n")
}

/// Files that are not compared, and the limits of their roots where all have the
/// same.
#[derive(Serialize)]
pub(crate) struct NotComparedJson {
    files: u64,
    min_size: Option<u64>,
    max_size: Option<u64>,
}

impl NotComparedJson {
    pub(crate) fn new(found: NotCompared) -> Self {
        let limits = found.limits.unwrap_or_default();
        Self {
            files: found.files,
            min_size: limits.min,
            max_size: limits.max,
        }
    }
}

/// Which scan an answer reflects.
#[derive(Serialize)]
pub(crate) struct AsOfJson {
    scan: i64,
    finished_at: Option<String>,
}

impl AsOfJson {
    pub(crate) fn new(as_of: AsOf) -> Self {
        Self {
            scan: as_of.scan.0,
            finished_at: as_of.finished.map(rfc3339),
        }
    }
}

/// A path: its text, and its exact bytes where the text is not exact.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PathJson<'a> {
    path: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path_b64: Option<String>,
}

impl<'a> PathJson<'a> {
    pub(crate) fn new(path: &'a Path) -> Self {
        Self {
            path: path.to_string_lossy(),
            path_b64: path.to_str().is_none().then(|| base64(path)),
        }
    }

    /// The path that it was made of; `None` where text and bytes contradict each
    /// other.
    pub(crate) fn exact(&self) -> Option<PathBuf> {
        match &self.path_b64 {
            None => Some(PathBuf::from(self.path.as_ref())),
            Some(bytes) => from_base64(bytes).filter(|path| path.to_string_lossy() == self.path),
        }
    }
}

/// The filters as every JSON document has them. What only some commands offer is
/// there only where it was asked for.
#[derive(Serialize)]
pub(crate) struct FiltersJson<'a> {
    paths: Vec<PathJson<'a>>,
    min_size: Option<u64>,
    max_size: Option<u64>,
    extensions: &'a [String],
    exclude: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    min_count: Option<u64>,
    #[serde(skip_serializing_if = "is_off")]
    across: bool,
    #[serde(skip_serializing_if = "is_off")]
    check: bool,
    #[serde(skip_serializing_if = "is_off")]
    as_scanned: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_off(flag: &bool) -> bool {
    !*flag
}

impl<'a> FiltersJson<'a> {
    pub(crate) fn new(filters: &'a Filters) -> Self {
        Self {
            paths: filters
                .paths
                .iter()
                .map(|path| PathJson::new(path))
                .collect(),
            min_size: filters.min_size,
            max_size: filters.max_size,
            extensions: &filters.extensions,
            exclude: &filters.exclude,
            min_count: filters.min_count,
            across: filters.across,
            check: filters.check,
            as_scanned: filters.as_scanned,
        }
    }
}
