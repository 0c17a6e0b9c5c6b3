//! A set of bytes on a disk, kept as ranges that neither touch nor overlap.

use std::collections::BTreeMap;
use std::ops::Range;

/// Which bytes of a disk were seen.
#[derive(Debug, Default)]
pub(crate) struct Ranges {
    /// The end of each range, by its beginning.
    ends: BTreeMap<u64, u64>,
}

impl Ranges {
    /// Adds a range; returns how many of its bytes are new.
    pub(crate) fn add(&mut self, range: Range<u64>) -> u64 {
        if range.is_empty() {
            return 0;
        }
        let mut new = range.end - range.start;
        let mut joined = range.clone();
        // Ranges are apart, so that their ends are in the order of their beginnings.
        while let Some((&start, &end)) = self.ends.range(..=joined.end).next_back()
            && end >= joined.start
        {
            let overlap = end.min(range.end).saturating_sub(start.max(range.start));
            new -= overlap;
            joined = joined.start.min(start)..joined.end.max(end);
            self.ends.remove(&start);
        }
        self.ends.insert(joined.start, joined.end);
        new
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::testing::proptest_config;

    proptest! {
        #![proptest_config(proptest_config())]

        #[test]
        fn new_bytes_are_those_that_no_range_before_had(
            ranges in vec((0..60_u64, 0..20_u64), 0..30)
        ) {
            let (mut ranges_seen, mut seen) = (Ranges::default(), BTreeSet::new());
            for (start, length) in ranges {
                let range = start..start + length;
                let new = range.clone().filter(|byte| seen.insert(*byte)).count();
                prop_assert_eq!(ranges_seen.add(range), new as u64);
            }
            let apart = ranges_seen.ends.iter().zip(ranges_seen.ends.keys().skip(1));
            prop_assert!(apart.into_iter().all(|((_, end), next)| end < next));
        }
    }
}
