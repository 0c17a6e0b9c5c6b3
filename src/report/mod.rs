//! Renders answers for people and for programs. No SQL and no printing: a
//! renderer writes to whatever it is given, and what it renders comes from the
//! caller.

mod encode;
mod filters;
mod folders;
mod format;
mod groups;
mod html;
mod plans;
mod renderer;
mod rows;
pub(crate) mod run;
mod style;
pub mod text;

pub(crate) use encode::{PathJson, rfc3339, write_value};
pub use filters::closing_lines;
pub use folders::{FolderReport, write_folders};
pub use format::Format;
pub use groups::Render;
pub use html::PlanPage;
pub use plans::{
    EditedLine, PlanFileError, PlanReader, PlanSource, PlanWriter, edited_lines,
    write_group_to_edit,
};
pub use renderer::renderer;
pub use rows::{Align, Answer, Cell, Column, Layout, files_and_bytes, sum_line, table};
pub use style::{Header, Style};
