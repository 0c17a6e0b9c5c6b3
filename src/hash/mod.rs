//! The hashing of contents: digests, probes and fingerprints. Nothing here
//! opens a file.

mod fingerprint;
pub mod hasher;
mod many;
mod sha256;

pub(crate) use fingerprint::fingerprint;
pub use hasher::{HEAD, Hasher, STATE_FORMAT, TAIL, WHOLE, probe, probe_whole};
pub(crate) use many::digest_all;
