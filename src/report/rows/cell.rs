//! The values in the rows of an answer, and how each format writes them.

use std::borrow::Cow;
use std::path::PathBuf;

use serde_json::Value;

use crate::model::{Digest, Timestamp, escape};
use crate::report::encode::{neutral, rfc3339, rfc3339_nanos};
use crate::report::style::Style;
use crate::report::text;
use crate::report::text::{grouped, human_size, shorten_middle};

/// One value in a row.
#[derive(Debug, Clone)]
pub enum Cell {
    /// A path, any bytes.
    Path(PathBuf),
    /// A number of bytes.
    Size(u64),
    /// A number of things.
    Count(u64),
    /// A difference of bytes.
    Growth(i64),
    /// A moment.
    Moment(Timestamp),
    /// A file's time, in nanoseconds.
    FileTime(i64),
    /// A word or sentence of ours, or hexadecimal digits.
    Text(Cow<'static, str>),
    /// Yes or no.
    Flag(bool),
    /// Nothing to say.
    Nothing,
}

/// What a column is called.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Its name in JSON and CSV.
    pub key: &'static str,
    /// Its heading and width in a table; `None` if tables do not show it. The
    /// last column gets the rest of the line.
    pub table: Option<(&'static str, usize)>,
}

impl Column {
    /// A column that tables show.
    pub const fn new(key: &'static str, heading: &'static str, width: usize) -> Self {
        Self {
            key,
            table: Some((heading, width)),
        }
    }

    /// A column for programs only.
    pub const fn hidden(key: &'static str) -> Self {
        Self { key, table: None }
    }
}

impl Cell {
    /// A sentence or word of ours.
    pub fn text(text: impl Into<Cow<'static, str>>) -> Self {
        Self::Text(text.into())
    }

    /// A digest in hexadecimal digits, or nothing.
    pub fn digest(digest: Option<Digest>) -> Self {
        digest.map_or(Self::Nothing, |digest| Self::text(digest.to_hex()))
    }

    pub(crate) fn is_number(&self) -> bool {
        matches!(self, Self::Size(_) | Self::Count(_) | Self::Growth(_))
    }

    pub(crate) fn json(&self) -> Value {
        match self {
            Self::Path(path) => path.to_string_lossy().into(),
            Self::Size(number) | Self::Count(number) => (*number).into(),
            Self::Growth(number) => (*number).into(),
            Self::Moment(moment) => rfc3339(*moment).into(),
            Self::FileTime(ns) => rfc3339_nanos(*ns).into(),
            Self::Text(text) => text.as_ref().into(),
            Self::Flag(flag) => (*flag).into(),
            Self::Nothing => Value::Null,
        }
    }

    pub(crate) fn csv(&self) -> String {
        match self {
            Self::Text(text) => neutral(Cow::Borrowed(text)).into_owned(),
            Self::Nothing => String::new(),
            other => match other.json() {
                Value::String(text) => text,
                number => number.to_string(),
            },
        }
    }

    /// A cell as people read it; paths get the rest of the line.
    pub(crate) fn shown(&self, style: Style, used: usize) -> String {
        match self {
            Self::Path(path) => {
                let path = escape(path);
                match style.width {
                    Some(width) => {
                        let room = usize::from(width).saturating_sub(used);
                        shorten_middle(&path, room.max(8))
                    }
                    None => path,
                }
            }
            Self::Size(bytes) if style.exact_bytes => grouped(*bytes),
            Self::Size(bytes) => human_size(*bytes),
            Self::Count(count) => grouped(*count),
            Self::Growth(bytes) => {
                let size = match style.exact_bytes {
                    true => grouped(bytes.unsigned_abs()),
                    false => human_size(bytes.unsigned_abs()),
                };
                match bytes.signum() {
                    0 => "same".to_owned(),
                    1 => format!("+{size}"),
                    _ => format!("-{size}"),
                }
            }
            Self::Moment(moment) => text::timestamp(*moment),
            Self::FileTime(ns) => text::timestamp(Timestamp(ns.div_euclid(1_000_000_000))),
            Self::Text(text) => text.clone().into_owned(),
            Self::Flag(flag) => if *flag { "yes" } else { "no" }.to_owned(),
            Self::Nothing => String::new(),
        }
    }
}
