//! Duplicate groups for a report. A first pass over all files counts and
//! ranks the groups, a second one reads the members of the next of them, as
//! many as there is room for. Memory does not grow with the catalog, nothing
//! is written, and no snapshot is held while groups are printed.

mod by_path;
mod classes;
mod count;
mod filter;
mod members;
#[cfg(test)]
mod oracle;
mod ranking;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use by_path::PathWalk;
use count::Count;
use members::{Chunk, Context};
pub use ranking::Order;
use ranking::{Ranked, Ranking};

pub(crate) use filter::admits_name;
pub use filter::{Exclusion, GroupFilter, Whereabouts, folder_of, has_extension, wants_places};

use crate::catalog::query::paths::RootPaths;
use crate::catalog::query::sweep::{Key, Readers};
use crate::catalog::store::{CatalogError, ReadOnly, sql};
use crate::model::{Digest, Group, KeepOrder, Totals};

/// What may be in memory at once. Beyond that, files are read again.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// Bytes for counting copies, the ranks found by then included.
    count: usize,
    /// Groups whose rank is known.
    groups: usize,
    /// Bytes for the members of the next groups.
    members: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            count: 96 << 20,
            groups: 2 << 20,
            members: 40 << 20,
        }
    }
}

/// The groups that passed a filter. Each pass sees the catalog as it is then: a
/// group that no longer exists when its members are read is skipped, and one
/// that came up since the count does not appear.
pub struct GroupList {
    readers: Readers,
    context: Context,
    bounds: Bounds,
    totals: Totals,
    /// Groups still to be read, in order.
    upcoming: VecDeque<Ranked>,
    /// The last group that was ranked, if others follow it.
    cut_at: Option<Ranked>,
    walk: Option<PathWalk>,
    chunk: Chunk,
    handed_out: u64,
}

impl GroupList {
    /// Finds and ranks the groups.
    pub fn build(catalog: ReadOnly, filter: GroupFilter) -> Result<Self, CatalogError> {
        Self::bounded(Readers::open(catalog)?, filter, Bounds::default())
    }

    /// The same beside a scan, which takes memory of its own: a large catalog is
    /// counted in more parts.
    pub fn build_beside_scan(catalog: ReadOnly, filter: GroupFilter) -> Result<Self, CatalogError> {
        let bounds = Bounds {
            count: 44 << 20,
            ..Bounds::default()
        };
        Self::bounded(Readers::open(catalog)?, filter, bounds)
    }

    /// Only the groups of these contents, each once, in this order; one that is no
    /// group, or that the filter does not want, is skipped.
    pub fn of_contents(
        catalog: ReadOnly,
        filter: GroupFilter,
        contents: &[(Digest, u64)],
    ) -> Result<Self, CatalogError> {
        let mut list = Self::empty(Readers::open(catalog)?, filter, Bounds::default())?;
        let wanted = contents.iter().map(|(digest, size)| Ranked {
            key: Key::of(digest.as_bytes()),
            size: *size,
            reclaimable: 0,
            // A guess: where there are more, fewer groups are read at a time.
            copies: 2,
            names: 2,
        });
        list.upcoming = wanted.collect();
        Ok(list)
    }

    fn bounded(
        readers: Readers,
        filter: GroupFilter,
        bounds: Bounds,
    ) -> Result<Self, CatalogError> {
        let mut list = Self::empty(readers, filter, bounds)?;
        list.totals = list.rank(None)?;
        if list.context.filter.order == Order::Path {
            let groups = std::mem::take(&mut list.upcoming).into();
            list.walk = Some(PathWalk::new(groups, list.readers.first())?);
        }
        Ok(list)
    }

    /// A list without groups.
    fn empty(
        mut readers: Readers,
        mut filter: GroupFilter,
        bounds: Bounds,
    ) -> Result<Self, CatalogError> {
        let catalog = &readers.first().catalog;
        filter.corrupted = catalog.corrupted()?;
        let context = Context {
            algorithm: catalog.algorithm()?,
            roots: RootPaths::of(catalog)?,
            volumes: sql::all(&catalog.connection, VOLUMES, [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?,
            filter,
        };
        Ok(Self {
            readers,
            context,
            bounds,
            totals: Totals::default(),
            upcoming: VecDeque::new(),
            cut_at: None,
            walk: None,
            chunk: Chunk::empty(),
            handed_out: 0,
        })
    }

    /// The sums over all groups, whatever the limit.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// The next group in order; `None` at the end.
    pub fn next_group(&mut self) -> Result<Option<Group>, CatalogError> {
        while self.left() > 0 {
            if let Some(group) = self.chunk.next(&self.context) {
                self.handed_out += 1;
                return Ok(Some(group));
            }
            self.refill()?;
            if self.upcoming.is_empty() {
                return Ok(None);
            }
            self.load()?;
        }
        Ok(None)
    }

    /// How many groups the limit still allows.
    fn left(&self) -> u64 {
        let limit = self.context.filter.limit.unwrap_or(u64::MAX);
        limit.saturating_sub(self.handed_out)
    }

    /// Counts all groups; those behind `after` are upcoming.
    fn rank(&mut self, after: Option<Ranked>) -> Result<Totals, CatalogError> {
        let filter = &self.context.filter;
        let left = usize::try_from(self.left()).unwrap_or(usize::MAX);
        let most = match filter.order {
            Order::Path => usize::MAX,
            _ => left.min(self.bounds.groups),
        };
        let mut ranking = Ranking::new(filter.order, after, most);
        let totals = self.readers.on_snapshot(|readers| {
            let is_settled = readers.first().catalog.is_settled()?;
            let count = Count {
                filter,
                roots: &self.context.roots,
                unresolved: after.is_none() && !is_settled,
                room: self.bounds.count,
            };
            let counted = count.run(readers, &mut ranking)?;
            let mut totals = counted.totals;
            if counted.has_unresolved {
                let catalog = &readers.first().catalog;
                totals.unchecked = filter.unchecked(catalog, &self.context.roots)?;
            }
            Ok(totals)
        })?;
        let (groups, is_cut) = ranking.finish();
        self.cut_at = groups.last().copied().filter(|_| is_cut);
        self.upcoming = groups.into();
        Ok(totals)
    }

    /// Sees to it that groups are upcoming, if there are any left.
    fn refill(&mut self) -> Result<(), CatalogError> {
        if !self.upcoming.is_empty() {
            return Ok(());
        }
        let Some(walk) = &mut self.walk else {
            return match self.cut_at.take() {
                Some(last) => self.rank(Some(last)).map(drop),
                None => Ok(()),
            };
        };
        let most = self.bounds.groups.min(WALK_AHEAD);
        while self.upcoming.len() < most
            && let Some(group) = walk.next(&self.context.filter, self.readers.first())?
        {
            self.upcoming.push_back(group);
        }
        Ok(())
    }

    /// Reads the members of the next groups.
    fn load(&mut self) -> Result<(), CatalogError> {
        let left = usize::try_from(self.left()).unwrap_or(usize::MAX);
        let room = self.bounds.members;
        let groups = self.upcoming.make_contiguous();
        let mut fitting = members::fitting(groups, room).min(left);
        if self.handed_out == 0 {
            // Nobody should wait for thousands of groups to see the first.
            fitting = fitting.min(members::FEW_GROUPS);
        }
        let groups = &groups[..fitting];
        let context = &self.context;
        // Read to its end, but it has its memory still.
        self.chunk = Chunk::empty();
        let (chunk, loaded) = self
            .readers
            .on_snapshot(|readers| Chunk::load(readers, context, groups, room))?;
        self.upcoming.drain(..loaded);
        self.chunk = chunk;
        Ok(())
    }
}

impl ReadOnly {
    /// Counts the duplicates in each folder for an order of copies that asks for
    /// them: those of the groups that a filter wants.
    pub fn count_for(
        &self,
        order: &mut KeepOrder,
        filter: impl FnOnce() -> GroupFilter,
    ) -> Result<(), CatalogError> {
        if order.wants_groups() {
            let mut groups = GroupList::build(self.sibling()?, filter())?;
            while let Some(group) = groups.next_group()? {
                order.count(&group.copies);
            }
        }
        Ok(())
    }

    /// The sums over all groups as they are now: those of the last scan, or
    /// counted again where something else changed groups since.
    pub fn totals(&self) -> Result<Totals, CatalogError> {
        if let Some(kept) = self.kept_summary()? {
            return Ok(kept.totals);
        }
        let none = GroupFilter {
            limit: Some(0),
            ..GroupFilter::default()
        };
        Ok(GroupList::build(self.sibling()?, none)?.totals())
    }
}

/// Groups that a walk by path meets before their members are read.
const WALK_AHEAD: usize = 100_000;

const VOLUMES: &str = "SELECT id, identity FROM volumes";
