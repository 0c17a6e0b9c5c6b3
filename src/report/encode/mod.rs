//! How the machine-readable formats spell paths, times and text.

mod csv;
mod json;
mod values;

pub(crate) use csv::{exact_bytes, io_error, neutral, path_cell};
pub(crate) use json::{
    AsOfJson, FiltersJson, NotComparedJson, PathJson, SCHEMA, begin_list, end_list, write_escaping,
    write_value,
};
pub(crate) use values::{base64, from_rfc3339, instant, rfc3339, rfc3339_nanos};
