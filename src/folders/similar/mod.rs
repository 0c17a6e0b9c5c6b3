//! Pairs of similar folders. Exact: candidates come from
//! [`prefix`](crate::folders::prefix), which misses none, and every candidate is
//! counted.
//!
//! Folders are processed from the top down, so a pair is found before those
//! below it, which then need not be counted at all.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::folders::contents::EMPTY;
use crate::folders::forest::{Forest, Node};
use crate::folders::keys::RandomKeys;
use crate::folders::narrow;
pub(super) use crate::folders::prefix::Measure;
use crate::folders::prefix::{Prefixes, Profile};
use crate::folders::unknown::UncheckedFolders;
use crate::folders::workers::{Marks, for_each};

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Similarity {
    /// Lowest similarity, in percent.
    pub percent: u8,
    /// The similarity measure.
    pub measure: Measure,
    /// Limits on the work.
    pub tuning: Tuning,
}

/// Limits that ordinary catalogs do not reach.
#[derive(Debug, Clone, Copy)]
pub struct Tuning {
    /// If more folders than this have exactly the same contents, each is paired
    /// only with the first: 10,000 of them would make 50 million pairs that all
    /// say the same.
    pub crowd: usize,
    /// Pairs after which the search stops.
    pub most_pairs: usize,
    /// Steps (of about a nanosecond) after which it stops.
    pub most_steps: u64,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            crowd: 50,
            most_pairs: 200_000,
            most_steps: 20_000_000_000,
        }
    }
}

/// Two similar folders; neither is inside the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// The folder whose path comes first.
    pub left: Node,
    /// The other.
    pub right: Node,
    /// What is in both.
    pub both: Overlap,
    /// What is in one or the other.
    pub either: Overlap,
}

/// A set of contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Overlap {
    /// How many.
    pub contents: u64,
    /// Their bytes, each content once.
    pub bytes: u64,
}

impl Overlap {
    /// Its weight.
    pub fn weight(self, measure: Measure) -> u64 {
        measure.of(self.contents, self.bytes)
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            contents: self.contents + other.contents,
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }

    fn minus(self, other: Self) -> Self {
        Self {
            contents: self.contents - other.contents,
            bytes: self.bytes.saturating_sub(other.bytes),
        }
    }
}

/// The pairs, and whether the search was complete.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SimilarPairs {
    /// The pairs, those with most bytes in both first.
    pub pairs: Vec<Pair>,
    /// Whether the search was complete.
    pub is_complete: bool,
    /// Folders that are paired only with the first of many identical ones.
    pub crowded: u64,
    /// Folders that may have more in common with others than is known.
    pub unchecked: UncheckedFolders,
}

/// Finds the pairs with at least one folder that is `wanted`. A pair stands for
/// the pairs below it, whose folders are inside its own.
pub fn similar(
    forest: &Forest,
    wanted: impl Fn(Node) -> bool + Sync,
    similarity: &Similarity,
) -> SimilarPairs {
    let mut search = Search::prepare(forest, &wanted, similarity);
    search.run();
    let Search {
        mut pairs,
        steps,
        members,
        ..
    } = search;
    pairs.sort_by(|a, b| {
        // By bytes in both, then by the share, without dividing.
        let share = |x: &Pair, y: &Pair| {
            let weigh = |part: Overlap| u128::from(part.weight(similarity.measure));
            weigh(x.both) * weigh(y.either)
        };
        (b.both.bytes.cmp(&a.both.bytes))
            .then(share(b, a).cmp(&share(a, b)))
            .then((a.left, a.right).cmp(&(b.left, b.right)))
    });
    SimilarPairs {
        unchecked: unchecked_folders(forest, wanted),
        is_complete: steps.into_inner() <= similarity.tuning.most_steps
            && pairs.len() < similarity.tuning.most_pairs,
        crowded: members.iter().filter(|m| m.crowd.is_some()).count() as u64,
        pairs,
    }
}

/// The wanted folders that may have more in common with others than is known.
fn unchecked_folders(forest: &Forest, wanted: impl Fn(Node) -> bool) -> UncheckedFolders {
    let mut unchecked = UncheckedFolders::default();
    for node in (0..narrow(forest.len())).filter(|&node| wanted(node)) {
        let unresolved = forest.unresolved(node);
        if !unresolved.is_none() {
            unchecked.add(unresolved);
        }
    }
    unchecked
}

/// Folders per round, where pairs are dense and where they are not.
const FEW: usize = 64;
const MANY: usize = 4096;

/// A folder that takes part.
struct Member {
    node: Node,
    profile: Profile,
    /// The first of the crowd of identical folders, as an index into the
    /// members.
    crowd: Option<u32>,
}

struct Search<'a, W> {
    forest: &'a Forest,
    wanted: &'a W,
    similarity: &'a Similarity,
    /// Those above before those below.
    members: Vec<Member>,
    prefixes: Prefixes,
    /// For every folder the folders it was paired with.
    partners: Vec<BTreeSet<Node>>,
    pairs: Vec<Pair>,
    steps: AtomicU64,
}

/// What one thread needs to count pairs.
struct Scratch {
    left: Marks,
    right: Marks,
}

impl Scratch {
    fn new(forest: &Forest) -> Self {
        Self {
            left: Marks::new(forest.catalogue().len()),
            right: Marks::new(forest.catalogue().len()),
        }
    }
}

impl<'a, W: Fn(Node) -> bool + Sync> Search<'a, W> {
    fn prepare(forest: &'a Forest, wanted: &'a W, similarity: &'a Similarity) -> Self {
        let steps = AtomicU64::new(0);
        let mut order: Vec<Node> = (0..narrow(forest.len()))
            .filter(|&node| !is_shadow(forest, wanted, node))
            .collect();
        order.sort_by_key(|&node| (forest.depth(node), node));
        let mut members = members(forest, &order, similarity, &steps);
        find_crowds(&mut members, similarity.tuning.crowd);
        let indexed: Vec<_> = members
            .iter()
            .map(|member| (member.node, member.profile, member.crowd.is_none()))
            .collect();
        let prefixes = Prefixes::build(forest, &indexed, similarity.measure, similarity.percent);
        Self {
            forest,
            wanted,
            similarity,
            members,
            prefixes,
            partners: vec![BTreeSet::new(); forest.len()],
            pairs: Vec::new(),
            steps,
        }
    }

    /// Processes the members in rounds. Each round runs in parallel and knows the
    /// pairs of the rounds before; it ends where the next level of folders
    /// begins.
    fn run(&mut self) {
        let (mut from, mut length) = (0, FEW);
        while from < self.members.len() && !self.has_enough() {
            let depth = |at: usize| self.forest.depth(self.members[at].node);
            let most = self.members.len().min(from + length);
            let level = depth(from);
            let to = (from..most).find(|&at| depth(at) != level).unwrap_or(most);
            let found = for_each(
                to - from,
                || Scratch::new(self.forest),
                |scratch, at| self.alike(narrow(from + at), scratch),
            );
            let before = self.pairs.len();
            for pair in found.into_iter().flatten() {
                self.keep(pair);
            }
            from = to;
            // If many pairs are found, a long round would keep them all in
            // memory, including those over the limit.
            let is_dense = self.pairs.len() - before > length;
            length = if is_dense { FEW } else { MANY.min(2 * length) };
        }
    }

    fn has_enough(&self) -> bool {
        self.pairs.len() >= self.similarity.tuning.most_pairs
            || !spend(&self.steps, 0, self.similarity)
    }

    /// The pairs of a member with those before it.
    fn alike(&self, at: u32, scratch: &mut Scratch) -> Vec<Pair> {
        let member = &self.members[at as usize];
        let mut others: Vec<u32> = match member.crowd {
            Some(first) => vec![first],
            None => self.candidates(at),
        };
        others.sort_unstable();
        others.dedup();
        others.retain(|&other| self.is_open(member.node, self.members[other as usize].node));
        if others.is_empty() {
            return Vec::new();
        }
        scratch.left.clear();
        for &content in self.forest.contents(member.node) {
            scratch.left.mark(content);
        }
        let pair = |other| self.count_out(member, &self.members[other as usize], scratch);
        others.into_iter().filter_map(pair).collect()
    }

    fn candidates(&self, at: u32) -> Vec<u32> {
        let measure = self.similarity.measure;
        let weight = |at: u32| {
            let profile = &self.members[at as usize].profile;
            u128::from(measure.of(profile.contents, profile.bytes))
        };
        let own = weight(at);
        let percent = u128::from(self.similarity.percent);
        let mut looked_at = 0;
        let others = self.prefixes.candidates(at).filter(|&other| {
            looked_at += 1;
            let (light, heavy) = (own.min(weight(other)), own.max(weight(other)));
            light * 100 >= percent * heavy
        });
        let others = others.collect();
        spend(&self.steps, looked_at, self.similarity);
        others
    }

    /// Whether to compare two folders: one is wanted, neither is inside the
    /// other, and no pair above them is known.
    fn is_open(&self, a: Node, b: Node) -> bool {
        ((self.wanted)(a) || (self.wanted)(b))
            && !self.forest.are_related(a, b)
            && !self.is_covered(a, b)
    }

    fn is_covered(&self, a: Node, b: Node) -> bool {
        let mut above = Some(a);
        while let Some(node) = above {
            // Partners of one folder are never inside each other.
            let before = self.partners[node as usize].range(..=b).next_back();
            if before.is_some_and(|&partner| self.forest.subtree(partner).contains(&b)) {
                return true;
            }
            above = self.forest.parent(node);
        }
        false
    }

    /// The pair, if it is similar enough; `scratch.left` has the contents of
    /// `member` marked.
    fn count_out(&self, member: &Member, other: &Member, scratch: &mut Scratch) -> Option<Pair> {
        let contents = self.forest.contents(other.node);
        if !spend(&self.steps, contents.len() as u64, self.similarity) {
            return None;
        }
        let mut both = Overlap::default();
        scratch.right.clear();
        for &content in contents {
            if content != EMPTY && scratch.left.is_marked(content) && scratch.right.mark(content) {
                both = both.plus(Overlap {
                    contents: 1,
                    bytes: self.forest.catalogue().size(content),
                });
            }
        }
        let either = member.all().plus(other.all()).minus(both);
        let measure = self.similarity.measure;
        let weigh = |part: Overlap| u128::from(part.weight(measure));
        let percent = u128::from(self.similarity.percent);
        let is_alike = both.contents > 0 && weigh(both) * 100 >= percent * weigh(either);
        is_alike.then(|| Pair {
            left: member.node.min(other.node),
            right: member.node.max(other.node),
            both,
            either,
        })
    }

    fn keep(&mut self, pair: Pair) {
        let has_room = self.pairs.len() < self.similarity.tuning.most_pairs;
        if has_room && !self.is_covered(pair.left, pair.right) {
            self.partners[pair.left as usize].insert(pair.right);
            self.partners[pair.right as usize].insert(pair.left);
            self.pairs.push(pair);
        }
    }
}

impl Member {
    fn all(&self) -> Overlap {
        Overlap {
            contents: self.profile.contents,
            bytes: self.profile.bytes,
        }
    }
}

/// Uses up steps; false if none are left.
fn spend(steps: &AtomicU64, cost: u64, similarity: &Similarity) -> bool {
    let before = steps.fetch_add(cost, Ordering::Relaxed);
    before + cost <= similarity.tuning.most_steps
}

/// Whether everything in the folder above is in this one: then what is true of
/// this one is true of that one.
fn is_shadow(forest: &Forest, wanted: &impl Fn(Node) -> bool, node: Node) -> bool {
    let files = forest.files(node);
    files.is_empty()
        || forest
            .parent(node)
            .is_some_and(|parent| forest.files(parent) == files && wanted(parent) == wanted(node))
}

/// The folders of `order` that can be similar to any: their contents that others
/// have too weigh enough.
fn members(
    forest: &Forest,
    order: &[Node],
    similarity: &Similarity,
    steps: &AtomicU64,
) -> Vec<Member> {
    let measure = similarity.measure;
    let keys = RandomKeys::default();
    let profiles = for_each(
        order.len(),
        || Marks::new(forest.catalogue().len()),
        |marks, at| {
            let cost = forest.files(order[at]).len() as u64;
            spend(steps, cost, similarity).then(|| forest.profile(order[at], measure, marks, &keys))
        },
    );
    let can_be_alike = |profile: &Profile| {
        let whole = u128::from(measure.of(profile.contents, profile.bytes));
        let percent = u128::from(similarity.percent);
        profile.shared > 0 && u128::from(profile.shared) * 100 >= percent * whole
    };
    let known = order.iter().zip(profiles);
    known
        .filter_map(|(&node, profile)| Some((node, profile.filter(can_be_alike)?)))
        .map(|(node, profile)| Member {
            node,
            profile,
            crowd: None,
        })
        .collect()
}

/// Marks the members of crowds, except their first.
fn find_crowds(members: &mut [Member], crowd: usize) {
    let mut by_key: Vec<(u128, u32)> = members
        .iter()
        .zip(0..)
        .map(|(member, at)| (member.profile.key, at))
        .collect();
    by_key.sort_unstable();
    for same in by_key.chunk_by(|a, b| a.0 == b.0) {
        if same.len() > crowd {
            for &(_, at) in &same[1..] {
                members[at as usize].crowd = Some(same[0].1);
            }
        }
    }
}
