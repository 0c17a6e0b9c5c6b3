//! Everything that is written during a scan: records, and the one thread that
//! turns them into rows.

mod apply;
mod backlog;
mod claims;
pub(crate) mod hash_states;
mod records;
mod scan_rows;
pub(crate) mod signature;
mod writer;

pub(crate) use apply::{Applier, RootDelta, subtree};
pub(crate) use claims::{forget_summary, unsettle};
pub use records::{
    FaultRecord, FileChange, FileOutcome, FileResult, FolderListing, HashState, NewFolder,
    PartListing, Record, Sample, SampleHash, WorkName,
};
pub(crate) use scan_rows::set_state;
pub use signature::{Signature, Signer};
pub use writer::{Writer, WriterHandle};
