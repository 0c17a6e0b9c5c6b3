//! Duplicate folders: folders whose whole subtrees have the same files.
//!
//! Every folder gets a key: the sum of a random 128-bit number for each file
//! below it, which depends only on the file's content (and, with `--same-names`,
//! on its name and the names of the folders above it). Equal subtrees have
//! equal keys, and different ones do not.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::folders::contents::EMPTY;
use crate::folders::forest::{Forest, Node};
use crate::folders::keys::RandomKeys;
use crate::folders::unknown::UncheckedFolders;

/// A group of duplicate folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdenticalGroup {
    /// The folders, the one to keep first, the others by path.
    pub folders: Vec<Node>,
    /// Folders with the same files as the one to keep, by path: hard links to
    /// all of them, or the same folder by another path. Deleting those saves
    /// nothing, or deletes what was to be kept.
    pub aliases: Vec<Node>,
    /// Files in each.
    pub files: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Bytes saved by deleting all folders but the first.
    pub reclaimable: u64,
}

/// All groups, and counts of the folders not in one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IdenticalGroups {
    /// The groups, most reclaimable first.
    pub groups: Vec<IdenticalGroup>,
    /// Groups that are not shown, since deleting them saves nothing: their files
    /// are hard links to each other, or have hard links elsewhere.
    pub linked: u64,
    /// Groups of folders with nothing but empty files, which are not shown either.
    pub empty: u64,
    /// Folders that cannot be compared.
    pub unchecked: UncheckedFolders,
}

/// Sums over the subtree of each folder.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    key: u128,
    bytes: u64,
    /// Folders with a file below them.
    folders: u32,
    /// Whether it has a file that no other file is equal to.
    is_unique: bool,
}

/// What deleting folders saves: the copies that have all their names in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Freed {
    bytes: u64,
    copies: u64,
}

impl Forest {
    /// The groups of identical folders with at least one that is `wanted`.
    ///
    /// A folder that would be deleted along with one above it is not in a group
    /// itself, so that the bytes of all groups add up.
    pub fn identical(&self, wanted: impl Fn(Node) -> bool) -> IdenticalGroups {
        let sums = self.sums();
        let (groups, has_equal) = self.equal_folders(&sums, &wanted);
        let mut result = IdenticalGroups {
            unchecked: self.unchecked(&sums, &has_equal, &wanted),
            ..IdenticalGroups::default()
        };
        let keys = RandomKeys::default();
        let mut gone = vec![false; self.len()];
        for mut group in groups {
            group.retain(|&node| !gone[node as usize]);
            if group.len() < 2 {
                continue;
            }
            let freed = self.choose(&mut group);
            if freed.copies == 0 {
                match sums[group[0] as usize].bytes {
                    0 => result.empty += 1,
                    _ => result.linked += 1,
                }
                continue;
            }
            let aliases = self.take_aliases(&mut group, &keys);
            for &copy in group[1..].iter().chain(&aliases) {
                let below = self.subtree(copy);
                gone[below.start as usize..below.end as usize].fill(true);
            }
            result.groups.push(IdenticalGroup {
                files: self.files(group[0]).len() as u64,
                bytes: sums[group[0] as usize].bytes,
                folders: group,
                aliases,
                reclaimable: freed.bytes,
            });
        }
        let rank = |group: &IdenticalGroup| (Reverse(group.reclaimable), group.folders[0]);
        result.groups.sort_by_key(rank);
        result
    }

    /// Incomplete folders, and folders that may equal one of them, except those
    /// that have a known duplicate or a file that is certainly unique.
    fn unchecked(
        &self,
        sums: &[Sum],
        has_equal: &[bool],
        wanted: impl Fn(Node) -> bool,
    ) -> UncheckedFolders {
        let mut unchecked = UncheckedFolders::default();
        for (node, sum) in (0..).zip(sums) {
            let unresolved = self.unresolved(node);
            let is_known = sum.is_unique || has_equal[node as usize];
            if !unresolved.is_none() && !is_known && wanted(node) {
                unchecked.add(unresolved);
            }
        }
        unchecked
    }

    /// Folders with equal keys, upper ones first; and for every folder whether
    /// it has an equal that is neither inside nor above it.
    fn equal_folders(
        &self,
        sums: &[Sum],
        wanted: impl Fn(Node) -> bool,
    ) -> (Vec<Vec<Node>>, Vec<bool>) {
        let mut has_equal = vec![false; self.len()];
        let mut keyed: Vec<(u128, Node)> = (0..)
            .zip(sums)
            .filter(|&(node, sum)| self.unknown(node).is_none() && sum.folders > 0)
            .map(|(node, sum)| (sum.key, node))
            .collect();
        keyed.sort_unstable();
        let mut groups: Vec<Vec<Node>> = keyed
            .chunk_by(|a, b| a.0 == b.0)
            .map(|same| (same, self.topmost(same)))
            .filter(|(_, group)| group.len() > 1)
            .inspect(|(same, _)| {
                for &(_, node) in *same {
                    has_equal[node as usize] = true;
                }
            })
            .map(|(_, group)| group)
            .filter(|group| group.iter().any(|&node| wanted(node)))
            .collect();
        // A folder above has more files, or as many in more folders.
        groups.sort_by_key(|group| {
            let files = self.files(group[0]).len();
            let folders = sums[group[0] as usize].folders;
            (Reverse((files, folders)), group[0])
        });
        (groups, has_equal)
    }

    /// The folders of one key, without those inside another of them: a folder
    /// whose files are all in one subfolder.
    fn topmost(&self, same: &[(u128, Node)]) -> Vec<Node> {
        let mut tops: Vec<Node> = Vec::new();
        for &(_, node) in same {
            if !tops.last().is_some_and(|&top| self.are_related(top, node)) {
                tops.push(node);
            }
        }
        tops
    }

    fn sums(&self) -> Vec<Sum> {
        let keys = RandomKeys::default();
        let has_names = self.has_names();
        let mut sums = vec![Sum::default(); self.len()];
        for node in (0..self.len()).rev() {
            let at = crate::folders::narrow(node);
            let own = self.own_contents(at);
            let mut sum = sums[node];
            for (nth, &content) in own.iter().enumerate() {
                let key = match has_names {
                    true => keys.of((self.own_names(at)[nth], content)),
                    false => keys.of(content),
                };
                sum.key = sum.key.wrapping_add(key);
                sum.bytes = sum.bytes.saturating_add(self.catalogue().size(content));
                sum.is_unique |= content != EMPTY && self.catalogue().is_unique(content);
            }
            sum.folders += u32::from(!self.files(at).is_empty());
            sums[node] = sum;
            if let Some(parent) = self.parent(at).filter(|_| sum.folders > 0) {
                let above = &mut sums[parent as usize];
                above.key = above.key.wrapping_add(match has_names {
                    true => keys.of((self.folder_name(at), sum.key)),
                    false => sum.key,
                });
                above.bytes = above.bytes.saturating_add(sum.bytes);
                above.folders += sum.folders;
                above.is_unique |= sum.is_unique;
            }
        }
        sums
    }

    /// Puts the folder to keep first: the one with the fewest bytes of its own,
    /// so that a folder of hard links to elsewhere is kept. Returns what is saved
    /// by deleting the others.
    fn choose(&self, group: &mut [Node]) -> Freed {
        let own = |node: &Node| self.freed(std::slice::from_ref(node));
        let least = (0..group.len()).min_by_key(|&at| (own(&group[at]), at));
        group[..=least.unwrap_or(0)].rotate_right(1);
        self.freed(&group[1..])
    }

    /// Removes the folders that have the same copies as the first.
    fn take_aliases(&self, group: &mut Vec<Node>, keys: &RandomKeys) -> Vec<Node> {
        let key = |node: Node| {
            let copies = self.copies(node).iter();
            copies.fold(0_u128, |sum, copy| sum.wrapping_add(keys.of(copy)))
        };
        let kept = key(group[0]);
        let is_alias = |&node: &Node| key(node) == kept;
        let (aliases, others) = group[1..].iter().partition(|node| is_alias(node));
        group.truncate(1);
        let others: Vec<Node> = others;
        group.extend(others);
        aliases
    }

    /// The copies that have all their names below `folders`.
    fn freed(&self, folders: &[Node]) -> Freed {
        let mut names: HashMap<u32, u32> = HashMap::new();
        let mut freed = Freed::default();
        for &node in folders {
            let files = self.contents(node).iter().zip(self.copies(node));
            for (&content, &copy) in files {
                let all = self.copy_names(copy);
                // Most files have one name, and need no counting.
                let seen = if all == 1 {
                    1
                } else {
                    let seen = names.entry(copy).or_default();
                    *seen += 1;
                    *seen
                };
                if seen == all && content != EMPTY {
                    let bytes = self.occupied(copy, content);
                    freed.bytes = freed.bytes.saturating_add(bytes);
                    freed.copies += 1;
                }
            }
        }
        freed
    }
}
