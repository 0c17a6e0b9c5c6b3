//! The probe: a quick hash of what a sample reads of a file
//! ([`crate::model::sampling`]).

use super::fingerprint::fingerprint;
use crate::model::Probe;
use crate::model::sampling::WHOLE;

/// The probe of a file of this size, of which `sample` was read: all of it up to
/// [`WHOLE`], and the head and the tail in one piece beyond. Fixed for all
/// catalogs: a different value means a new `PROBE_VERSION`.
pub(crate) fn probe(size: u64, sample: &[u8]) -> Probe {
    if size <= WHOLE {
        // Several times as fast as any digest.
        return Probe(fingerprint(0, sample).cast_signed());
    }
    // In one piece, BLAKE3 computes sixteen of its chunks at once instead of
    // eight.
    let mut first = [0; 8];
    first.copy_from_slice(&blake3::hash(sample).as_bytes()[..8]);
    Probe(i64::from_le_bytes(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probe_never_changes() {
        let of_ends = probe(WHOLE + 1, b"headtail");
        assert_eq!(of_ends, Probe(-7604758601981788546));
        assert_eq!(probe(WHOLE, b"content"), Probe(945681899674452792));
    }
}
