//! Whether two programs found the same groups: sets of sets of (device,
//! inode). Names of one file count once, and empty files not at all, since
//! programs list hard links and empty files each in their own way.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;

use serde::{Deserialize, Serialize};

use super::output::PathGroup;

/// The copies of one content, sorted.
type Copies = Vec<(u64, u64)>;

/// Everything that a program found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found(BTreeSet<Copies>);

/// What comparing with the groups of dupescan showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Agreement {
    /// The same groups.
    Same { groups: usize },
    /// Groups that only dupescan has, and that only this program has.
    Differs { lacks: usize, adds: usize },
    /// It prints no groups of whole files, or failed.
    Unknown { why: String },
}

impl Found {
    /// The copies behind the paths. Paths that are gone have no part in it:
    /// then the group differs, and that is the answer.
    pub(crate) fn new(groups: &[PathGroup]) -> Self {
        let copies = |group: &PathGroup| -> Copies {
            let states = group
                .iter()
                .filter_map(|path| fs::symlink_metadata(path).ok());
            let filled = states.filter(|state| state.len() > 0);
            let copies: BTreeSet<_> = filled.map(|state| (state.dev(), state.ino())).collect();
            copies.into_iter().collect()
        };
        Self(
            groups
                .iter()
                .map(copies)
                .filter(|copies| copies.len() > 1)
                .collect(),
        )
    }

    /// How these groups compare with those of dupescan.
    pub(crate) fn agreement(&self, dupescan: &Self) -> Agreement {
        let lacks = dupescan.0.difference(&self.0).count();
        let adds = self.0.difference(&dupescan.0).count();
        if lacks + adds == 0 {
            Agreement::Same {
                groups: self.0.len(),
            }
        } else {
            Agreement::Differs { lacks, adds }
        }
    }
}

#[cfg(test)]
#[allow(unused, reason = "benches are built with cfg(test), but run no tests")]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn links_and_empty_files_do_not_count_and_order_does_not_matter() {
        let top = tempfile::tempdir().unwrap();
        let path = |name: &str| top.path().join(name);
        for (name, content) in [("a", "1"), ("b", "1"), ("c", "2"), ("e", ""), ("f", "")] {
            fs::write(path(name), content).unwrap();
        }
        fs::hard_link(path("a"), path("linked")).unwrap();
        let found = |groups: &[&[&str]]| {
            let paths = |group: &&[&str]| group.iter().map(|name| path(name)).collect();
            Found::new(&groups.iter().map(paths).collect::<Vec<Vec<PathBuf>>>())
        };

        let plain = found(&[&["a", "b"]]);
        assert_eq!(found(&[&["e", "f"], &["b", "linked", "a"]]), plain);
        assert_eq!(plain.agreement(&plain), Agreement::Same { groups: 1 });
        assert_eq!(found(&[&["a", "linked"]]), found(&[]));
        let other = found(&[&["a", "b", "c"]]);
        assert_eq!(
            other.agreement(&plain),
            Agreement::Differs { lacks: 1, adds: 1 }
        );
        assert_eq!(found(&[&["a", "gone"]]), found(&[]));
    }
}
