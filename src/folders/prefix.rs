//! Finds which folders can be similar at all, without comparing each with each.
//!
//! Contents are in one order, rare ones first. Two folders of similarity `t`
//! have a first common content in that order, and everything they have in
//! common comes from there on. So the rest of a folder from there on must weigh
//! at least `t` of the folder: only the contents up to that point, its *prefix*,
//! can be the first common one. It is enough to compare folders that share a
//! content of both their prefixes. Contents found everywhere come last and are
//! in hardly any prefix.
//!
//! More is known of the first common content: what follows it must weigh
//! `t / (1 + t)` of both folders together, so in the lighter folder at least
//! `2t / (1 + t)` of that folder. There its place is *strong*; in the other
//! it may be weak. So two weak places need not be compared.

use super::contents::EMPTY;
use super::forest::{Forest, Node};
use super::keys::RandomKeys;
use super::narrow;
use super::workers::{Marks, for_each};

/// The similarity measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Measure {
    /// Every content counts as one.
    #[default]
    Count,
    /// Every content counts as its bytes.
    Bytes,
}

/// The distinct contents of a folder's subtree, without empty files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Profile {
    pub(crate) contents: u64,
    pub(crate) bytes: u64,
    /// The part that is also in some other folder, by the chosen measure.
    pub(crate) shared: u64,
    /// Equal for equal sets of contents.
    pub(crate) key: u128,
}

/// Contents that are looked for in other folders, of many folders.
pub(crate) struct Prefixes {
    starts: Vec<usize>,
    entries: Vec<Place>,
    index: Index,
}

/// A content in a prefix, and whether its place is strong.
#[derive(Debug, Clone, Copy)]
struct Place(u32);

impl Place {
    fn new(shared: u32, is_strong: bool) -> Self {
        Self(shared * 2 + u32::from(is_strong))
    }

    fn is_strong(self) -> bool {
        self.0 % 2 == 1
    }

    fn strong(self) -> usize {
        self.0 as usize | 1
    }

    fn weak(self) -> usize {
        self.strong() - 1
    }
}

/// The folders that have a content in their prefix, by place.
struct Index {
    starts: Vec<u32>,
    folders: Vec<u32>,
}

impl Measure {
    pub(crate) fn of(self, contents: u64, bytes: u64) -> u64 {
        match self {
            Self::Count => contents,
            Self::Bytes => bytes,
        }
    }
}

impl Forest {
    /// The contents of a folder's subtree.
    pub(crate) fn profile(
        &self,
        node: Node,
        measure: Measure,
        marks: &mut Marks,
        keys: &RandomKeys,
    ) -> Profile {
        let mut profile = Profile::default();
        marks.clear();
        for &content in self.contents(node) {
            if content == EMPTY || !marks.mark(content) {
                continue;
            }
            let size = self.catalogue().size(content);
            profile.contents += 1;
            profile.bytes = profile.bytes.saturating_add(size);
            profile.key = profile.key.wrapping_add(keys.of(content));
            if self.catalogue().is_shared(content) {
                profile.shared = profile.shared.saturating_add(measure.of(1, size));
            }
        }
        profile
    }

    /// The prefix of a folder: where the first content that it shares with a
    /// folder of similarity `percent` can be.
    fn prefix(
        &self,
        node: Node,
        profile: &Profile,
        measure: Measure,
        percent: u8,
        marks: &mut Marks,
    ) -> Vec<Place> {
        let first_shared = self.catalogue().first_shared();
        marks.clear();
        let mut shared: Vec<u32> = self
            .contents(node)
            .iter()
            .copied()
            .filter(|&content| content >= first_shared && marks.mark(content))
            .collect();
        shared.sort_unstable();
        let percent = u128::from(percent);
        let whole = u128::from(measure.of(profile.contents, profile.bytes));
        let mut rest = u128::from(profile.shared);
        let mut prefix = Vec::new();
        for content in shared {
            if rest * 100 < percent * whole {
                break;
            }
            let is_strong = rest * (100 + percent) >= 2 * percent * whole;
            prefix.push(Place::new(content - first_shared, is_strong));
            let weight = measure.of(1, self.catalogue().size(content));
            rest = rest.saturating_sub(weight.into());
        }
        prefix
    }
}

impl Prefixes {
    /// The prefixes of `folders`, which have these profiles.
    pub(crate) fn build(
        forest: &Forest,
        folders: &[(Node, Profile, bool)],
        measure: Measure,
        percent: u8,
    ) -> Self {
        let lists = for_each(
            folders.len(),
            || Marks::new(forest.catalogue().len()),
            |marks, at| {
                let (node, profile, is_wanted) = &folders[at];
                match is_wanted {
                    true => forest.prefix(*node, profile, measure, percent, marks),
                    false => Vec::new(),
                }
            },
        );
        let mut starts = vec![0];
        starts.extend(lists.iter().scan(0, |end, list| {
            *end += list.len();
            Some(*end)
        }));
        let entries = lists.concat();
        let places = 2 * (forest.catalogue().len() - forest.catalogue().first_shared() as usize);
        let index = Index::build(places, &starts, &entries);
        Self {
            starts,
            entries,
            index,
        }
    }

    /// The folders before `at` that share a content of both prefixes, possibly
    /// with repeats.
    pub(crate) fn candidates(&self, at: u32) -> impl Iterator<Item = u32> + '_ {
        let own = self.starts[at as usize]..self.starts[at as usize + 1];
        self.entries[own].iter().flat_map(move |&place| {
            let weak = place.is_strong().then(|| self.index.folders(place.weak()));
            let strong = self.index.folders(place.strong());
            let both = [strong, weak.unwrap_or_default()];
            both.into_iter()
                .flat_map(move |list| list.iter().copied().take_while(move |&other| other < at))
        })
    }
}

impl Index {
    fn build(places: usize, starts: &[usize], entries: &[Place]) -> Self {
        let mut ends = vec![0_u32; places + 1];
        for place in entries {
            ends[place.0 as usize + 1] += 1;
        }
        for at in 1..ends.len() {
            ends[at] += ends[at - 1];
        }
        let starts_of_lists = ends.clone();
        let mut folders = vec![0; entries.len()];
        // In order of the folders, so that every list is sorted.
        for (folder, own) in starts.windows(2).enumerate() {
            for place in &entries[own[0]..own[1]] {
                let slot = &mut ends[place.0 as usize];
                folders[*slot as usize] = narrow(folder);
                *slot += 1;
            }
        }
        Self {
            starts: starts_of_lists,
            folders,
        }
    }

    fn folders(&self, place: usize) -> &[u32] {
        &self.folders[self.starts[place] as usize..self.starts[place + 1] as usize]
    }
}
