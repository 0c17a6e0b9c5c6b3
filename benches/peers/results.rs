//! What was measured on one tree, and keeping it: a table of several trees is
//! written from what was kept.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::groups::Agreement;

/// Where the results of a real tree are kept; it has only one size.
const REAL: &str = "real.json";

/// Everything measured on one tree.
#[derive(Serialize, Deserialize)]
pub(crate) struct Results {
    /// `small`, …, or `real` for a tree that was there before.
    pub(crate) tree: String,
    /// `quick`, `full`, or the path of a real tree.
    pub(crate) size: String,
    pub(crate) files: u64,
    /// By label: the version of each program.
    pub(crate) versions: BTreeMap<String, String>,
    pub(crate) workloads: Vec<Workload>,
    /// Bytes of the catalog after the first scan.
    pub(crate) catalog: Option<u64>,
}

/// The rows of one workload.
#[derive(Serialize, Deserialize)]
pub(crate) struct Workload {
    pub(crate) name: String,
    /// When it was measured.
    pub(crate) date: String,
    /// The load of the machine before the first run; the bench itself is not
    /// in it.
    pub(crate) load: f64,
    /// Why it was skipped, if it was.
    pub(crate) skipped: Option<String>,
    pub(crate) rows: Vec<Row>,
}

/// One contender in one workload.
#[derive(Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) label: String,
    /// Whether it is dupescan, a peer, or neither.
    pub(crate) role: Role,
    /// Whether it used what it remembered.
    pub(crate) cached: bool,
    pub(crate) samples: Vec<Sample>,
    /// Why it has no samples, or no more.
    pub(crate) trouble: Option<String>,
    pub(crate) agreement: Option<Agreement>,
}

/// What one run cost.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// Seconds from start to end.
    pub(crate) wall: f64,
    /// Seconds of processor time, user and system.
    pub(crate) cpu: f64,
    /// Peak resident memory, in bytes.
    pub(crate) rss: u64,
    /// Bytes that read calls returned, from the page cache or the disk. What
    /// is mapped does not show here.
    pub(crate) read: u64,
    /// Bytes that came from the disk.
    pub(crate) from_disk: u64,
}

/// What a row is compared as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Role {
    Own,
    Peer,
    /// The bare list-and-stat, and the report after a scan.
    Aside,
}

impl Row {
    pub(crate) fn new(label: &str, role: Role) -> Self {
        Self {
            label: label.to_owned(),
            role,
            cached: false,
            samples: Vec::new(),
            trouble: None,
            agreement: None,
        }
    }

    /// The middle of a figure over all rounds.
    pub(crate) fn median(&self, figure: impl Fn(&Sample) -> f64) -> Option<f64> {
        median(self.samples.iter().map(figure).collect())
    }

    /// The shortest time.
    pub(crate) fn best(&self) -> Option<f64> {
        self.samples
            .iter()
            .map(|sample| sample.wall)
            .min_by(f64::total_cmp)
    }

    /// The largest peak memory of any round.
    pub(crate) fn peak(&self) -> Option<u64> {
        self.samples.iter().map(|sample| sample.rss).max()
    }

    /// Whether it may be taken for the fastest: it found the right groups.
    fn counts_as_peer(&self) -> bool {
        let same = matches!(self.agreement, Some(Agreement::Same { .. }));
        self.role == Role::Peer && self.trouble.is_none() && same
    }
}

impl Workload {
    pub(crate) fn row(&self, label: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.label == label)
    }

    /// The peer with the smallest median that found the right groups, among
    /// those whose label starts so.
    pub(crate) fn fastest_peer(&self, starts_with: &str) -> Option<(&Row, f64)> {
        let peers = self.rows.iter().filter(|row| row.counts_as_peer());
        peers
            .filter(|row| row.label.starts_with(starts_with))
            .filter_map(|row| Some((row, row.median(|sample| sample.wall)?)))
            .min_by(|a, b| a.1.total_cmp(&b.1))
    }
}

impl Results {
    pub(crate) fn workload(&self, name: &str) -> Option<&Workload> {
        self.workloads.iter().find(|workload| workload.name == name)
    }

    /// Keeps it, in the place of what was kept for this tree and size.
    /// Workloads that were not measured now stay as they were.
    pub(crate) fn save(mut self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        let size = if self.tree == "real" {
            "full"
        } else {
            &self.size
        };
        let path = folder.join(format!("{}-{size}.json", self.tree));
        if let Ok(earlier) = load(&path) {
            let old = earlier.workloads.into_iter();
            let kept: Vec<_> = old
                .filter(|old| self.workload(&old.name).is_none())
                .collect();
            self.workloads.extend(kept);
            self.catalog = self.catalog.or(earlier.catalog);
        }
        fs::write(path, serde_json::to_vec_pretty(&self)?)
    }

    /// All that is kept of this size, and of a real tree, in the order of names.
    pub(crate) fn load_all(folder: &Path, size: &str) -> io::Result<Vec<Self>> {
        let of_size = format!("-{size}.json");
        let mut paths: Vec<_> = fs::read_dir(folder)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.ends_with(REAL) || path.to_string_lossy().ends_with(&of_size))
            .collect();
        paths.sort();
        paths.iter().map(|path| load(path)).collect()
    }
}

fn load(path: &Path) -> io::Result<Results> {
    Ok(serde_json::from_slice(&fs::read(path)?)?)
}

/// The middle value; of two middle ones their mean.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = *values.get(values.len().checked_sub(1)? / 2)?;
    Some(f64::midpoint(lower, upper))
}

#[cfg(test)]
#[allow(unused, reason = "benches are built with cfg(test), but run no tests")]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0, 1.0, 7.0]), Some(3.0));
        assert_eq!(median(vec![4.0, 1.0, 7.0, 2.0]), Some(3.0));
    }

    #[test]
    fn the_fastest_peer_is_one_that_is_right() {
        let row = |label, role, wall, agreement| {
            let sample = Sample {
                wall,
                cpu: 0.0,
                rss: 0,
                read: 0,
                from_disk: 0,
            };
            Row {
                samples: vec![sample; 3],
                agreement: Some(agreement),
                ..Row::new(label, role)
            }
        };
        let same = || Agreement::Same { groups: 1 };
        let wrong = Agreement::Differs { lacks: 1, adds: 0 };
        let rows = vec![
            row("dupescan", Role::Own, 1.0, same()),
            row("wrong", Role::Peer, 1.5, wrong),
            row("quick", Role::Peer, 2.0, same()),
            row("slow", Role::Peer, 3.0, same()),
        ];
        let workload = Workload {
            name: String::new(),
            date: String::new(),
            load: 0.0,
            skipped: None,
            rows,
        };
        let fastest = |start| {
            workload
                .fastest_peer(start)
                .map(|(row, _)| row.label.as_str())
        };
        assert_eq!(fastest(""), Some("quick"));
        assert_eq!(fastest("slow"), Some("slow"));
        assert_eq!(fastest("absent"), None);
    }
}
