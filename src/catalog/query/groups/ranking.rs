//! The groups in the order in which they are reported, at 32 bytes each, and
//! only as many at once as there is room for.

use std::cmp::Ordering;

use rayon::slice::ParallelSliceMut;

use crate::catalog::query::sweep::Key;

/// Most groups that memory is reserved for: the number of names is only what the
/// catalog claims.
const MOST_RESERVED: usize = 4 << 20;

/// In which order groups come; ties are broken by digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Most reclaimable bytes first.
    #[default]
    Reclaimable,
    /// Largest files first.
    Size,
    /// Most copies first.
    Count,
    /// By the first path in each group.
    Path,
}

/// One group, as far as its rank and the room for its members need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ranked {
    pub(crate) key: Key,
    pub(crate) size: u64,
    pub(crate) reclaimable: u64,
    pub(crate) copies: u32,
    pub(crate) names: u32,
}

impl Ranked {
    /// What tells groups apart.
    pub(crate) fn id(&self) -> (Key, u64) {
        (self.key, self.size)
    }

    fn compare(&self, other: &Self, order: Order) -> Ordering {
        let by_rank = match order {
            Order::Reclaimable => other.reclaimable.cmp(&self.reclaimable),
            Order::Size => other.size.cmp(&self.size),
            Order::Count => other.copies.cmp(&self.copies),
            // A walk over the folders puts them into order.
            Order::Path => Ordering::Equal,
        };
        by_rank.then(self.id().cmp(&other.id()))
    }
}

/// The first groups of an order, or the first after a group reported before.
pub(crate) struct Ranking {
    order: Order,
    after: Option<Ranked>,
    most: usize,
    groups: Vec<Ranked>,
    is_cut: bool,
}

impl Ranking {
    /// An empty ranking of at most `most` groups after `after`.
    pub(crate) fn new(order: Order, after: Option<Ranked>, most: usize) -> Self {
        Self {
            order,
            after,
            most: most.max(1),
            groups: Vec::new(),
            is_cut: false,
        }
    }

    /// Reserves memory for the groups of this many names. It is used only as it is
    /// filled, while growing would need it twice for a moment.
    pub(crate) fn reserve(&mut self, names: usize) {
        let groups = (names / 2).min(MOST_RESERVED);
        self.groups.reserve(groups.min(self.most_before_cut()));
    }

    /// A quarter more than wanted, so that cutting is rare.
    fn most_before_cut(&self) -> usize {
        self.most.saturating_add(self.most / 4).saturating_add(1)
    }

    /// Adds a group, unless enough groups come before it.
    pub(crate) fn push(&mut self, group: Ranked) {
        if let Some(after) = &self.after
            && group.compare(after, self.order) != Ordering::Greater
        {
            return;
        }
        self.groups.push(group);
        if self.groups.len() >= self.most_before_cut() {
            self.cut();
        }
    }

    /// Bytes in use.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.groups)
    }

    fn cut(&mut self) {
        if self.groups.len() > self.most {
            let order = self.order;
            self.groups
                .select_nth_unstable_by(self.most - 1, |a, b| a.compare(b, order));
            self.groups.truncate(self.most);
            self.is_cut = true;
        }
    }

    /// The groups in order, and whether others follow them.
    pub(crate) fn finish(mut self) -> (Vec<Ranked>, bool) {
        self.cut();
        let order = self.order;
        self.groups.par_sort_unstable_by(|a, b| a.compare(b, order));
        (self.groups, self.is_cut)
    }
}
