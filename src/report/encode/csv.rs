//! Cells of comma-separated values: paths with their exact bytes, and nothing
//! that a spreadsheet takes for a formula.

use std::borrow::Cow;
use std::io;
use std::path::Path;

use super::values::base64;
use crate::model::escape;
use crate::report::style::Style;

/// A path, or other foreign text, as it is written in a cell.
pub(crate) fn path_cell(path: &Path, style: Style) -> Cow<'_, str> {
    neutral(if style.terminal {
        escape(path).into()
    } else {
        path.to_string_lossy()
    })
}

/// The exact bytes of a path whose cell is something else; else nothing.
pub(crate) fn exact_bytes(path: &Path, cell: &str) -> String {
    match path.to_str() {
        Some(text) if text == cell => String::new(),
        _ => base64(path),
    }
}

/// Text that no spreadsheet takes for a formula.
pub(crate) fn neutral(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        format!("'{text}").into()
    } else {
        text
    }
}

/// The I/O error inside; the crate's own conversion would hide its kind, and a
/// closed pipe must stay one.
pub(crate) fn io_error(error: ::csv::Error) -> io::Error {
    match error.into_kind() {
        ::csv::ErrorKind::Io(error) => error,
        kind => io::Error::other(format!("{kind:?}")),
    }
}
