//! Everything that is written during a scan: records, and the one thread that
//! turns them into rows.

pub(crate) mod apply;
mod backlog;
pub(crate) mod hash_states;
mod records;
pub(crate) mod signature;
mod writer;

pub(crate) use apply::Applier;
pub use records::{
    FaultRecord, FileChange, FileOutcome, FileResult, FolderListing, HashState, ListingCounts,
    NewFolder, PartListing, Record, Sample, SampleHash,
};
pub use signature::{Signature, Signer};
pub use writer::{Writer, WriterHandle};
