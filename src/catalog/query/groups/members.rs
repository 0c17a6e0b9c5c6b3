//! The second pass: reads the members of the next groups, as many as there is
//! room for, and folds their names into copies. Whole digests are compared
//! here, so that a group is never more than files of one digest.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::iter::Peekable;
use std::path::Path;

use rayon::slice::ParallelSliceMut;
use rusqlite::Row;

use super::filter::GroupFilter;
use super::ranking::Ranked;
use crate::catalog::query::paths::RootPaths;
use crate::catalog::query::sweep::{Key, Keyed, Part, Pass, Position, Readers, Sink};
use crate::catalog::store::terms::COMPARED;
use crate::catalog::store::{CatalogError, path_blob, rows, unsigned};
use crate::model::{
    Algorithm, CopyEntry, CopyId, Digest, Group, Reach, RootId, VolumeId, occupied,
};

/// Up to this many groups, the query skips rows of other sizes.
pub(crate) const FEW_GROUPS: usize = 1024;
/// Bytes that a name is expected to take; if it takes more, fewer groups are read.
const BYTES_EACH: usize = 200;

/// What is the same for all groups.
pub(crate) struct Context {
    pub(crate) algorithm: Algorithm,
    pub(crate) roots: RootPaths,
    pub(crate) volumes: Vec<(VolumeId, String)>,
    pub(crate) filter: GroupFilter,
}

/// One name of a file in a group.
struct Member {
    /// The number of its group among those that are read.
    slot: u32,
    digest: Digest,
    path: Box<Path>,
    size: u64,
    reach: Reach,
    root: RootId,
    volume: Option<VolumeId>,
    ino: Option<u64>,
    occupied: u64,
    mtime_ns: i64,
    ctime_ns: i64,
    compared: Option<i64>,
}

/// How many of the first groups have room for their members; at least one if
/// there is any.
pub(crate) fn fitting(groups: &[Ranked], room: usize) -> usize {
    let mut bytes = 0_usize;
    let fit = groups.iter().take_while(|group| {
        bytes = bytes.saturating_add((group.names as usize).saturating_mul(BYTES_EACH));
        bytes <= room
    });
    fit.count().max(1).min(groups.len())
}

/// Groups whose members are in memory, in order.
pub(crate) struct Chunk {
    members: Peekable<std::vec::IntoIter<Member>>,
    /// Groups whose digests start with the same bytes.
    split: VecDeque<Group>,
}

impl Chunk {
    /// A chunk without groups.
    pub(crate) fn empty() -> Self {
        Self::of(Vec::new())
    }

    fn of(members: Vec<Member>) -> Self {
        Self {
            members: members.into_iter().peekable(),
            split: VecDeque::new(),
        }
    }

    /// Reads the members of `groups`, or of the first of them if there is no
    /// room for all; says how many.
    pub(crate) fn load(
        readers: &mut Readers,
        context: &Context,
        groups: &[Ranked],
        room: usize,
    ) -> Result<(Self, usize), CatalogError> {
        let Some(last) = (groups.len() as u64).checked_sub(1) else {
            return Ok((Self::empty(), 0));
        };
        let part = Part {
            first: Key(0),
            last: Key(last),
        };
        let loading = Loading {
            context,
            slots: (0..)
                .zip(groups)
                .map(|(slot, group)| (group.id(), slot))
                .collect(),
            sql: sql(groups),
            sink: Sink::new(part, room, Members::reserved(groups, room)),
        };
        readers.sweep(&loading)?;
        let (members, done) = loading.sink.finish();
        let mut members = members.list;
        members.par_sort_unstable_by_key(|member| member.slot);
        let loaded = usize::try_from(done.last.0).unwrap_or(usize::MAX);
        Ok((Self::of(members), loaded.saturating_add(1)))
    }

    /// The next group that still exists.
    pub(crate) fn next(&mut self, context: &Context) -> Option<Group> {
        loop {
            if let Some(group) = self.split.pop_front() {
                return Some(group);
            }
            let slot = self.members.peek()?.slot;
            let mut members = Vec::new();
            while let Some(member) = self.members.next_if(|member| member.slot == slot) {
                members.push(member);
            }
            members.sort_unstable_by(|a, b| a.order().cmp(&b.order()));
            let groups = members.chunk_by(|a, b| a.digest == b.digest);
            self.split = groups.filter_map(|names| context.fold(names)).collect();
        }
    }
}

/// Only rows that can be members; of few groups, only rows of their sizes.
fn sql(groups: &[Ranked]) -> String {
    let wanted = match groups.len() > FEW_GROUPS {
        true => String::new(),
        false => {
            let sizes: BTreeSet<u64> = groups.iter().map(|group| group.size).collect();
            let span = sizes.first().zip(sizes.last());
            let (first, last) = span.map_or((0, 0), |(first, last)| (*first, *last));
            let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
            // Most rows are smaller, which is faster to check than membership.
            let sizes = sizes.join(", ");
            format!("AND size BETWEEN {first} AND {last} AND size IN ({sizes})")
        }
    };
    format!(
        "SELECT folder, size, digest, name, ino, mtime_ns, ctime_ns, compared, link,
                allocated
           FROM files
          WHERE folder BETWEEN ?1 AND ?2 {wanted} AND (digest IS NOT NULL OR size = 0)
            AND removed_in IS NULL AND {COMPARED}
          ORDER BY folder"
    )
}

/// Members being gathered, by several threads.
struct Loading<'a> {
    context: &'a Context,
    slots: HashMap<(Key, u64), u32>,
    sql: String,
    sink: Sink<Members>,
}

impl Pass for Loading<'_> {
    type Batch = Members;

    fn sql(&self) -> &str {
        &self.sql
    }

    fn sink(&self) -> &Sink<Members> {
        &self.sink
    }

    fn take(
        &self,
        row: &Row<'_>,
        at: &mut Position<'_>,
        batch: &mut Members,
    ) -> Result<(), CatalogError> {
        if let Some((slot, digest)) = self.slot_of(row)?
            && let Some(member) = self.member(row, slot, digest, at)?
        {
            batch.push(member);
        }
        Ok(())
    }
}

impl Loading<'_> {
    fn slot_of<'a>(&'a self, row: &'a Row<'_>) -> Result<Option<(u32, &'a [u8])>, CatalogError> {
        let filter = &self.context.filter;
        let size = row.get(1)?;
        let Some(digest) = filter.content(size, rows::digest_bytes(row, 2)?) else {
            return Ok(None);
        };
        let slot = self.slots.get(&(Key::of(digest), unsigned(size))).copied();
        let is_wanted =
            |slot: &u32| self.sink.takes(Key((*slot).into())) && filter.sizes().contains(&size);
        Ok(slot.filter(is_wanted).map(|slot| (slot, digest)))
    }

    fn member(
        &self,
        row: &Row<'_>,
        slot: u32,
        digest: &[u8],
        at: &mut Position<'_>,
    ) -> Result<Option<Member>, CatalogError> {
        let Some((place, digest)) = at.place(row)?.zip(Digest::from_bytes(digest)) else {
            return Ok(None);
        };
        let (folder, name) = (row.get(0)?, rows::name(row, 3)?);
        let Context { filter, roots, .. } = self.context;
        if !filter.admits(at.catalog, at.paths, folder, &name)? {
            return Ok(None);
        }
        let path = roots.absolute(at.catalog, at.paths, folder, &name)?;
        let size = unsigned(row.get(1)?);
        Ok(Some(Member {
            slot,
            digest,
            path: path.into(),
            size,
            occupied: occupied(size, unsigned(row.get(9)?)),
            reach: place.reach(row.get(8)?),
            root: place.root,
            volume: place.volume,
            ino: row.get::<_, Option<i64>>(4)?.map(i64::cast_unsigned),
            mtime_ns: row.get(5)?,
            ctime_ns: row.get(6)?,
            compared: row.get(7)?,
        }))
    }
}

impl Member {
    /// Names of one copy are together, the first in byte order in front, and
    /// links behind.
    fn order(&self) -> impl Ord + '_ {
        let path = path_blob(&self.path);
        (self.digest.as_bytes(), self.copy(), self.reach, path)
    }

    fn is_real(&self) -> bool {
        self.reach.is_real(self.ino.is_some())
    }

    fn copy(&self) -> Option<CopyId> {
        CopyId::of(self.volume, self.ino)
    }

    fn bytes(&self) -> usize {
        // Including the allocator's overhead.
        size_of::<Self>() + path_blob(&self.path).len() + 16
    }
}

#[derive(Default)]
struct Members {
    list: Vec<Member>,
    bytes: usize,
}

impl Members {
    /// Reserved memory is used only as it is filled, while growing would need it
    /// twice for a moment.
    fn reserved(groups: &[Ranked], room: usize) -> Self {
        let names: usize = groups.iter().map(|group| group.names as usize).sum();
        Self {
            list: Vec::with_capacity(names.min(room / size_of::<Member>())),
            bytes: 0,
        }
    }

    fn push(&mut self, member: Member) {
        self.bytes += member.bytes();
        self.list.push(member);
    }
}

impl Keyed for Members {
    fn len(&self) -> usize {
        self.list.len()
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn append(&mut self, other: &mut Self) {
        self.list.append(&mut other.list);
        self.bytes += std::mem::take(&mut other.bytes);
    }

    fn keys(&self) -> impl Iterator<Item = Key> {
        self.list.iter().map(|member| Key(member.slot.into()))
    }

    fn keep_up_to(&mut self, last: Key) {
        self.list.retain(|member| u64::from(member.slot) <= last.0);
        self.bytes = self.list.iter().map(Member::bytes).sum();
    }
}

impl Context {
    /// Makes a group of names of one digest, if it is still wanted: catalogs
    /// change between the passes.
    fn fold(&self, names: &[Member]) -> Option<Group> {
        let first = names.first()?;
        let same_copy = |a: &Member, b: &Member| CopyId::is_shared(a.copy(), b.copy());
        let is_copy = |names: &&[Member]| names[0].is_real();
        let groups = || names.chunk_by(same_copy).filter(is_copy);
        let mut copies: Vec<CopyEntry> = groups().filter_map(|names| self.copy(names)).collect();
        copies.sort_by(|a, b| path_blob(&a.path).cmp(path_blob(&b.path)));
        let places = groups().flat_map(|names| best(names).0);
        let places = places.map(|name| self.filter.whereabouts(name.root, &name.path));
        let is_wanted =
            copies.len() as u64 >= self.filter.fewest() && self.filter.wants_places(places);
        is_wanted.then_some(Group {
            digest: first.digest,
            algorithm: self.algorithm,
            size: first.size,
            byte_for_byte: is_byte_for_byte(groups().flatten()),
            copies,
            kept: None,
        })
    }

    fn copy(&self, names: &[Member]) -> Option<CopyEntry> {
        let (best, others) = best(names);
        let (member, best) = best.split_first()?;
        let paths = |names: &[Member]| names.iter().map(|name| name.path.to_path_buf()).collect();
        // Two paths through linked folders may be the same name.
        let (links, symlinks) = match member.reach {
            Reach::Direct => (paths(best), paths(others)),
            _ => (Vec::new(), paths(&names[1..])),
        };
        Some(CopyEntry {
            path: member.path.to_path_buf(),
            root: self.roots.get(member.root).to_owned(),
            mtime_ns: member.mtime_ns,
            ctime_ns: member.ctime_ns,
            volume: self.volume_name(member.volume),
            inode: member.ino,
            occupied: occupied_by(names),
            links,
            symlinks,
        })
    }

    fn volume_name(&self, id: Option<VolumeId>) -> String {
        self.volumes
            .iter()
            .find(|(volume, _)| Some(*volume) == id)
            .map(|(_, identity)| identity.clone())
            .unwrap_or_default()
    }
}

/// What a copy occupies: where its names differ, because one was looked at
/// later, the least of it.
fn occupied_by(names: &[Member]) -> u64 {
    let real = names.iter().filter(|name| name.is_real());
    real.map(|name| name.occupied).min().unwrap_or(0)
}

/// All members took part in one comparison, byte for byte.
fn is_byte_for_byte<'m>(mut names: impl Iterator<Item = &'m Member>) -> bool {
    let first = names.next().and_then(|name| name.compared);
    first.is_some() && names.all(|name| name.compared == first)
}

/// The names of a copy that say where it is, and those that only lead there by
/// a link.
fn best(names: &[Member]) -> (&[Member], &[Member]) {
    let reach = names.first().map(|name| name.reach);
    names.split_at(names.partition_point(|name| Some(name.reach) == reach))
}
