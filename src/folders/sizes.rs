//! A column of file sizes. Hardly any file is larger than 4 GiB, so four bytes
//! are enough for the others.

use std::collections::HashMap;

use super::narrow;

/// Stands for a size that does not fit.
const LARGE: u32 = u32::MAX;

/// Sizes, by row.
#[derive(Debug, Default)]
pub(crate) struct Sizes {
    small: Vec<u32>,
    large: HashMap<u32, u64>,
}

impl Sizes {
    pub(crate) fn reserve(&mut self, rows: usize) {
        self.small.reserve_exact(rows);
    }

    /// Adds a size; returns its row.
    pub(crate) fn push(&mut self, size: u64) -> u32 {
        let row = narrow(self.small.len());
        let small = u32::try_from(size).unwrap_or(LARGE);
        if small == LARGE {
            self.large.insert(row, size);
        }
        self.small.push(small);
        row
    }

    pub(crate) fn get(&self, row: u32) -> u64 {
        match self.small[row as usize] {
            LARGE => self.large[&row],
            small => small.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_comes_back() {
        let mut sizes = Sizes::default();
        let edge = u64::from(u32::MAX);
        let all = [0, 1, edge - 1, edge, edge + 1, u64::MAX];
        let rows = all.map(|size| sizes.push(size));
        assert_eq!(rows.map(|row| sizes.get(row)), all);
    }
}
