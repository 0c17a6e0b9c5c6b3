//! Options that several commands have.

mod answer;
mod choice;
mod format;
mod limits;
mod run;

pub(crate) use answer::{AnswerArgs, FilterArgs, OutputArgs, excluded};
pub(crate) use choice::{Choice, one_of};
pub(crate) use format::{PlainFormat, PlanFormat, ReportFormat, among};
pub(crate) use run::{PaceArgs, ProgressArgs, RunArgs};
