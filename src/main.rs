//! The `dupescan` binary.

fn main() {}
