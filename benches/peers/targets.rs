//! The targets for dupescan, as data, and what it reached.

use super::race::FLOOR;
use super::results::{Results, Workload};

/// One thing to reach.
pub(crate) struct Target {
    /// What it is about, for people.
    pub(crate) work: &'static str,
    tree: &'static str,
    workload: &'static str,
    own: &'static str,
    figure: Figure,
    pub(crate) at_most: f64,
}

/// What is put in relation to what.
enum Figure {
    /// Median time over that of the fastest peer whose label starts so.
    OverPeer(&'static str),
    /// Median time over that of the bare listing.
    OverFloor,
    /// Peak memory in MB.
    PeakMemory,
    /// Median time a file over that on this other tree.
    PerFileOver(&'static str),
    /// Bytes of the catalog a file.
    CatalogPerFile,
}

/// What was reached.
pub(crate) struct Reached {
    pub(crate) value: f64,
    /// What it was compared with, for people.
    pub(crate) against: String,
}

const SHA256: &str = "dupescan sha256";
const BLAKE3: &str = "dupescan blake3";
const ANY: Figure = Figure::OverPeer("");

const fn target(
    work: &'static str,
    (tree, workload, own): (&'static str, &'static str, &'static str),
    figure: Figure,
    at_most: f64,
) -> Target {
    Target {
        work,
        tree,
        workload,
        own,
        figure,
        at_most,
    }
}

/// All of them; the report over ten million files has a bench of its own.
pub(crate) const TARGETS: &[Target] = &[
    target(
        "`small`, first scan, warm",
        ("small", "first-warm", SHA256),
        ANY,
        0.60,
    ),
    target(
        "a real tree, first scan, warm",
        ("real", "first-warm", SHA256),
        ANY,
        0.70,
    ),
    target(
        "`mixed`, first scan, warm",
        ("mixed", "first-warm", SHA256),
        ANY,
        0.90,
    ),
    target(
        "`media`, first scan, warm, sha256",
        ("media", "first-warm", SHA256),
        ANY,
        1.20,
    ),
    target(
        "the same against fclones with sha256",
        ("media", "first-warm", SHA256),
        Figure::OverPeer("fclones sha256"),
        0.30,
    ),
    target(
        "`media`, first scan, warm, blake3",
        ("media", "first-warm", BLAKE3),
        ANY,
        1.00,
    ),
    target(
        "`twins`, first scan, warm",
        ("twins", "first-warm", SHA256),
        ANY,
        0.80,
    ),
    target(
        "`small`, first scan, cold",
        ("small", "first-cold", SHA256),
        ANY,
        1.05,
    ),
    target(
        "`mixed`, first scan, cold",
        ("mixed", "first-cold", SHA256),
        ANY,
        1.05,
    ),
    target(
        "`media`, first scan, cold",
        ("media", "first-cold", SHA256),
        ANY,
        1.05,
    ),
    target(
        "`small`, rescan unchanged",
        ("small", "rescan", SHA256),
        ANY,
        0.15,
    ),
    target(
        "the same against a bare list and stat",
        ("small", "rescan", SHA256),
        Figure::OverFloor,
        1.7,
    ),
    target(
        "`media`, rescan unchanged",
        ("media", "rescan", SHA256),
        ANY,
        1.00,
    ),
    target(
        "`mixed`, rescan unchanged",
        ("mixed", "rescan", SHA256),
        ANY,
        1.00,
    ),
    target(
        "`small`, peak memory (MB)",
        ("small", "first-warm", SHA256),
        Figure::PeakMemory,
        48.0,
    ),
    target(
        "`million`, peak memory (MB)",
        ("million", "first-warm", SHA256),
        Figure::PeakMemory,
        100.0,
    ),
    target(
        "`million`, time a file over that on `small`",
        ("million", "first-warm", SHA256),
        Figure::PerFileOver("small"),
        1.2,
    ),
    target(
        "`small`, catalog (bytes a file)",
        ("small", "first-warm", SHA256),
        Figure::CatalogPerFile,
        120.0,
    ),
];

impl Target {
    /// What was reached, if it was measured.
    pub(crate) fn reached(&self, all: &[Results]) -> Option<Reached> {
        let results = find(all, self.tree)?;
        let workload = results.workload(self.workload)?;
        let median = wall(workload, self.own)?;
        Some(match self.figure {
            Figure::OverPeer(start) => {
                let (peer, time) = workload.fastest_peer(start)?;
                let cached = if peer.cached { ", with its cache" } else { "" };
                Reached {
                    value: median / time,
                    against: format!("{}{cached}, {time:.3} s", peer.label),
                }
            }
            Figure::OverFloor => {
                let time = wall(workload, FLOOR)?;
                Reached {
                    value: median / time,
                    against: format!("{time:.3} s"),
                }
            }
            Figure::PeakMemory => alone(workload.row(self.own)?.peak()? as f64 / 1e6),
            Figure::PerFileOver(other) => {
                let other = find(all, other)?;
                let time = wall(other.workload(self.workload)?, self.own)?;
                let per_file = |time: f64, files: u64| time / files as f64;
                alone(per_file(median, results.files) / per_file(time, other.files))
            }
            Figure::CatalogPerFile => alone(results.catalog? as f64 / results.files as f64),
        })
    }
}

fn alone(value: f64) -> Reached {
    Reached {
        value,
        against: String::new(),
    }
}

fn find<'r>(all: &'r [Results], tree: &str) -> Option<&'r Results> {
    all.iter().find(|results| results.tree == tree)
}

fn wall(workload: &Workload, label: &str) -> Option<f64> {
    workload.row(label)?.median(|sample| sample.wall)
}
