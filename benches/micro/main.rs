//! Micro-benchmarks: what one part of dupescan does in a second.
//!
//! Through the library where it has a public way, through the program where
//! only a whole stage is public (probing): a bench is no reason to open the
//! crate's inside. `cargo bench --bench micro [-- FILTER]`.

mod catalog;
mod files;
mod setup;
#[path = "../trees/mod.rs"]
mod trees;

use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};

fn measured() -> Criterion {
    Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3))
}

criterion_group! {
    name = all;
    config = measured();
    targets = files::hash, files::listing, files::probe,
        catalog::writer, catalog::grouping, catalog::streaming
}
criterion_main!(all);
