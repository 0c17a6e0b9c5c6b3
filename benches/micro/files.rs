//! Reading the disk: hash throughput, listing, probing.

use std::fs;
use std::path::Path;

use criterion::{BatchSize, Criterion, Throughput};
use dupescan::hash::Hasher;
use dupescan::model::Algorithm;
use dupescan::platform::{Dir, Entries, EntryKind, Links};

use crate::setup::Setup;

/// Bytes a second on one core, for each algorithm.
pub(crate) fn hash(criterion: &mut Criterion) {
    let content = vec![7; 1 << 20];
    let mut group = criterion.benchmark_group("hash");
    group.throughput(Throughput::Bytes(content.len() as u64));
    for algorithm in Algorithm::ALL {
        group.bench_function(algorithm.to_string(), |bencher| {
            bencher.iter(|| Hasher::digest(algorithm, &content));
        });
    }
    group.finish();
}

/// Files a second: names and states through folder handles on one core, as
/// listing does it; and the whole stage with its rows, by the program.
pub(crate) fn listing(criterion: &mut Criterion) {
    let setup = Setup::new("small");
    let mut group = criterion.benchmark_group("listing");
    group.throughput(Throughput::Elements(setup.files));
    group.bench_function("names and states, one core", |bencher| {
        bencher.iter(|| {
            let mut top = Dir::open_root(&setup.tree()).expect("the tree is there");
            assert_eq!(list(&mut top), setup.files);
        });
    });
    group.bench_function("whole stage, scan --mode folders", |bencher| {
        let catalog = setup.beside("listing.db");
        bencher.iter_batched(
            || remove_catalog(&catalog),
            |()| setup.scan(&catalog, "folders"),
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

/// The number of files below a folder, each looked at.
fn list(folder: &mut Dir) -> u64 {
    let entries = Entries::of(folder).expect("folders can be read");
    let mut below = Vec::new();
    let mut files = 0;
    let names: Vec<_> = entries.map(|entry| entry.expect("a name")).collect();
    for entry in names {
        if entry.kind_hint == Some(EntryKind::Folder) {
            below.push(entry.name);
        } else {
            let stat = folder.stat_entry(&entry.name, Links::Refuse);
            files += u64::from(stat.expect("the file is there").is_file());
        }
    }
    let children = below.iter().map(|name| {
        let child = folder.open_beneath([&**name], Links::Refuse);
        list(&mut child.expect("the folder is there"))
    });
    files + children.sum::<u64>()
}

/// Files a second: opening, reading and hashing small files, with their rows.
/// The stage has no public way in, so this is the program on a listed catalog.
pub(crate) fn probe(criterion: &mut Criterion) {
    let setup = Setup::new("small");
    let (listed, catalog) = (setup.beside("listed.db"), setup.beside("probe.db"));
    setup.scan(&listed, "folders");
    let mut group = criterion.benchmark_group("probe");
    group.throughput(Throughput::Elements(setup.files));
    group.bench_function("whole stage, scan --mode files", |bencher| {
        bencher.iter_batched(
            || {
                remove_catalog(&catalog);
                fs::copy(&listed, &catalog).expect("room for a catalog");
            },
            |()| setup.scan(&catalog, "files"),
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

fn remove_catalog(catalog: &Path) {
    for path in dupescan::catalog::own_files(catalog) {
        // Most of them are not there.
        fs::remove_file(path).ok();
    }
}
