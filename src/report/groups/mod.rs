//! Duplicate groups in every output format.

pub(crate) mod csv;
pub(crate) mod fdupes;
pub(crate) mod json;
pub(crate) mod jsonl;
pub(crate) mod table;
#[cfg(test)]
mod testing;

pub(crate) use csv::{exact_bytes, io_error, neutral, path_cell};
pub(crate) use json::{AsOfJson, PathJson, TotalsJson, write_escaping, write_value};
#[cfg(test)]
pub(crate) use testing::{
    Counter, Pipe, copy, every_byte, group_named, header, nothing_scanned, odd_group, path, photos,
    render, totals,
};
