//! The hashing of contents: digests, probes and fingerprints. Nothing here
//! opens a file.

mod content;
mod fingerprint;
mod hasher;
mod probe;
mod sha256;

pub(crate) use content::ContentHasher;
pub(crate) use fingerprint::fingerprint;
pub(crate) use hasher::digest_all;
pub use hasher::{Hasher, STATE_FORMAT};
pub(crate) use probe::probe;
