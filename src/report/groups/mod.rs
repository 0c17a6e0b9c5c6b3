//! Duplicate groups in every output format.

pub(crate) mod csv;
pub(crate) mod fdupes;
pub(crate) mod json;
pub(crate) mod jsonl;
mod render;
pub(crate) mod table;
#[cfg(test)]
mod testing;

pub use render::Render;
#[cfg(test)]
pub(crate) use testing::{
    CountingWriter, Pipe, copy, every_byte, group_named, header, marked_photos, marking,
    nothing_scanned, odd_group, path, photos, render, totals,
};
