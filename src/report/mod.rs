//! Renders answers for people and for programs. No SQL and no printing: a
//! renderer writes to whatever it is given, and what it renders comes from the
//! caller.

mod encode;
mod folders;
mod groups;
mod html;
mod renderer;
mod rows;
pub(crate) mod run;
mod style;
pub mod text;

pub(crate) use encode::{PathJson, rfc3339, write_value};
pub use folders::{
    FolderAnswer, FolderFormat, FolderGroup, FolderPair, FolderReport, FolderScope, FolderTotals,
    Identical, Similar, write_folders,
};
pub use groups::Render;
pub use renderer::{Format, renderer};
pub use rows::{Align, Answer, AnswerFormat, Cell, Column, files_and_bytes, sum_line, table};
pub(crate) use run::StatsForm;
pub use style::{Header, Style};
