//! How much of a file is read, by its size. Every threshold is here, so that the
//! catalog, the probe function and the stages of a scan cannot disagree.

/// Version of the probe function that filled `files.probe`, and of the choice of
/// files that have a probe ([`SHORT`]). A migration raises it and forgets the
/// probes that no longer hold.
pub const PROBE_VERSION: i64 = 1;

/// Files up to this size get a digest at once and never a probe: hashing one
/// costs less than opening it a second time, which a copy would need.
pub const SHORT: u64 = 48 << 10;

/// Files up to this size are probed whole: opening them is what costs, and files
/// that share head and tail with another need not be read again.
pub const WHOLE: u64 = LONGEST_SAMPLE as u64;
/// Most bytes that a sample reads of one file.
pub const LONGEST_SAMPLE: usize = 64 << 10;

/// Bytes of the head that the probe of a longer file covers.
pub const HEAD: usize = 8 << 10;
/// Bytes of the tail that it covers.
pub const TAIL: usize = 8 << 10;

/// Files up to this size are read when they are listed, without waiting for a
/// second one of their size.
pub const AT_SIGHT: u64 = 8 << 10;

/// Files of at least this size are hashed in stretches that a resume need not
/// repeat. Shorter ones, dozens at a time, are read again in a fraction of a
/// second.
pub const LARGE: u64 = 4 << 20;

/// Files below this size are read whole at their first visit where a head moves:
/// coming back to one costs as much as reading 1.5 MB. Those that are not are saved
/// in stretches.
pub const ONE_VISIT: u64 = LARGE;

/// Contents with more zeros than this have a sparse digest: hashing so many of
/// them takes half a minute, and anybody can make files with a million times as
/// many. They are counted in whole blocks of [`ZERO_BLOCK`]. Fixed for all
/// catalogs: with another number, equal files would have different digests.
pub const MOST_ZEROS: u64 = 64 << 30;

/// The blocks in which zeros are counted and skipped: at multiples of it, the last
/// one cut off where the content ends. As fixed as [`MOST_ZEROS`].
pub const ZERO_BLOCK: u64 = 64 << 10;

// A probe never covers a byte twice, and short files are read whole.
const _: () = assert!(WHOLE >= SHORT && LONGEST_SAMPLE >= HEAD + TAIL && SHORT >= AT_SIGHT);

/// Whether a file has a digest and no probe.
pub fn is_short(size: u64) -> bool {
    size <= SHORT
}

/// The two stretches that a sample reads, each as offset and length: the head
/// and the tail, or everything and nothing.
pub fn stretches(size: u64) -> [(u64, usize); 2] {
    match usize::try_from(size) {
        Ok(length) if length <= LONGEST_SAMPLE => [(0, length), (size, 0)],
        _ => [(0, HEAD), (size - TAIL as u64, TAIL)],
    }
}

/// The bytes that a sample reads of a file of this size.
pub fn sample_length(size: u64) -> usize {
    stretches(size).iter().map(|stretch| stretch.1).sum()
}

#[cfg(not(debug_assertions))]
pub(crate) fn most_zeros() -> u64 {
    MOST_ZEROS
}

/// In debug builds only, `DUPESCAN_TEST_MOST_ZEROS` replaces [`MOST_ZEROS`], so that
/// tests need not write that much. Release builds do not contain this function.
#[cfg(debug_assertions)]
pub(crate) fn most_zeros() -> u64 {
    use std::sync::LazyLock;
    static MOST: LazyLock<u64> = LazyLock::new(|| {
        let value = std::env::var("DUPESCAN_TEST_MOST_ZEROS").ok();
        let most = value.and_then(|text| text.parse().ok());
        most.unwrap_or(MOST_ZEROS)
    });
    *MOST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_whole_up_to_a_size_and_at_their_ends_beyond_it() {
        for size in [0, 1, SHORT, WHOLE] {
            assert_eq!(sample_length(size) as u64, size);
            assert_eq!(stretches(size)[0].0, 0);
        }
        let long = WHOLE + 1;
        assert_eq!(stretches(long), [(0, HEAD), (long - TAIL as u64, TAIL)]);
        assert_eq!(sample_length(long), HEAD + TAIL);
    }
}
