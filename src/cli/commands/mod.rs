//! One thin file a command.

pub(crate) mod audit;
pub(crate) mod backup;
pub(crate) mod diff;
pub(crate) mod errors;
pub(crate) mod export;
pub(crate) mod find;
pub(crate) mod folders;
pub(crate) mod forget;
pub(crate) mod generate;
pub(crate) mod history;
pub(crate) mod purge;
pub(crate) mod report;
pub(crate) mod resume;
pub(crate) mod retry;
pub(crate) mod roots;
pub(crate) mod scan;
pub(crate) mod status;
pub(crate) mod unique;
pub(crate) mod verify;
