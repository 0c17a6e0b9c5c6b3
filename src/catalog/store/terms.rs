//! What statements mean by the words they share: a copy, an unread or
//! unresolved file, its state, what is known of its content, and the order of
//! reading. A statement that spells one of these out again will drift from it.

use super::rows::signed;
use crate::model::{FileMeta, FileState};

/// The sum of a column of sizes, or the largest integer where it is more than
/// that: SQLite's own would fail. Anybody can make sparse files that add up to it.
pub(crate) fn sum_of_sizes(size: &str) -> String {
    let (high, low) = (
        format!("sum({size} >> 32)"),
        format!("sum({size} & 0xffffffff)"),
    );
    format!(
        "iif({high} + ({low} >> 32) >> 31, {}, coalesce(({high} << 32) + {low}, 0))",
        i64::MAX
    )
}

/// Bytes that deleting a row's file gives back; `model::occupied` says the same in
/// Rust.
pub(crate) const OCCUPIED: &str = "min(files.size, files.allocated)";

/// True of a file of which only the metadata is known.
pub(crate) const UNREAD: &str = "(files.digest IS NULL AND files.probe IS NULL)";

/// True of a file that may equal another one of its size and probe.
pub(crate) const UNRESOLVED: &str = "(files.digest IS NULL AND files.settled_in IS NULL)";

/// True of a row of `files`, joined with its folder, that can stand for a copy:
/// no symbolic link, and not below one where no inode tells which file that
/// is. `Reach` says the same in Rust.
pub(crate) const REAL: &str = "(files.link = 0 AND (folders.linked = 0 OR files.ino IS NOT NULL))";

/// True of a row of `files` that an exclude of its root matches. `model::Standing`
/// says what the column holds.
pub(crate) const EXCLUDED: &str = "(files.scope = 1)";

/// The same of a row of `folders`: everything below it is excluded, too.
pub(crate) const EXCLUDED_FOLDER: &str = "(folders.scope = 1)";

/// True of a row of `files` that is not compared because of its size. One that an
/// earlier scan compared has a digest.
pub(crate) const NOT_COMPARED: &str = "(files.scope = 2 AND files.digest IS NULL)";

/// True of a row of `files` that is compared with others: neither excluded nor
/// skipped because of its size. Every list of duplicates and every count of copies
/// asks this, and so must whatever decides that a copy can go.
pub(crate) const COMPARED: &str =
    "(files.scope = 0 OR files.scope = 2 AND files.digest IS NOT NULL)";

/// True of a row of `files` that scans may read.
pub(crate) const IN_SCOPE: &str = "(files.scope = 0)";

/// How a row of `files` that no exclude matches stands to the limits of its root,
/// of which there is a row beside it. `SizeLimits::standing` says the same in Rust.
pub(crate) const STANDING_BY_SIZE: &str = "iif(files.size > 0
    AND (files.size < ifnull(roots.min_size, 0) OR files.size > ifnull(roots.max_size, files.size)),
    2, 0)";

/// True of a row of `files` that is known to be corrupted.
pub(crate) const CORRUPTED: &str = "EXISTS (
    SELECT 1 FROM corrupted
     WHERE corrupted.folder = files.folder AND corrupted.name = files.name
       AND corrupted.mtime_ns = files.mtime_ns AND corrupted.ctime_ns = files.ctime_ns
       AND corrupted.digest = files.digest)";

/// The order in which the files of a volume are read: by inode, which comes
/// close to their order on a disk. `WorkCopy::read_order` says the same in Rust.
pub(crate) const READ_ORDER: &str = "folders.volume, files.ino, files.folder, files.name";

/// The columns of a file's state, in the order in which they are read and bound.
pub(crate) const STATE: [&str; 4] = ["size", "mtime_ns", "ctime_ns", "ino"];

/// A file's state as it is bound, in the order of [`STATE`].
pub(crate) fn state_values(state: &FileState) -> [Option<i64>; STATE.len()] {
    let ino = state.ino.map(u64::cast_signed);
    let (mtime, ctime) = (state.mtime_ns, state.ctime_ns);
    [Some(signed(state.size)), Some(mtime), Some(ctime), ino]
}

/// The columns of `files` that hold what a listing says of a file: its state,
/// and what else `stat` tells.
pub(crate) const METADATA: [&str; 6] =
    ["size", "mtime_ns", "ctime_ns", "ino", "allocated", "nlink"];

/// A file's metadata as it is bound, in the order of [`METADATA`]. `ino` is `None`
/// where inode numbers are not stable.
pub(crate) fn metadata_values(meta: &FileMeta, ino: Option<u64>) -> [Option<i64>; METADATA.len()] {
    [
        Some(signed(meta.size)),
        Some(meta.mtime_ns),
        Some(meta.ctime_ns),
        ino.map(u64::cast_signed),
        Some(signed(meta.allocated)),
        Some(signed(meta.nlink)),
    ]
}

/// Takes over the metadata that another row holds.
pub(crate) fn take_metadata(from: &str) -> String {
    METADATA
        .map(|column| format!("{column} = {from}.{column}"))
        .join(", ")
}

/// Sets the metadata to the parameters from number `first` on.
pub(crate) fn set_metadata(first: usize) -> String {
    let columns = (first..).zip(METADATA);
    let columns: Vec<_> = columns
        .map(|(at, column)| format!("{column} = ?{at}"))
        .collect();
    columns.join(", ")
}

/// The columns of a file's state in `table`.
pub(crate) fn state_of(table: &str) -> String {
    STATE.map(|column| format!("{table}.{column}")).join(", ")
}

/// True of two rows that describe a file in the same state.
pub(crate) fn same_state(one: &str, other: &str) -> String {
    STATE
        .map(|column| format!("{one}.{column} IS {other}.{column}"))
        .join(" AND ")
}

/// True of the row of the file with folder ?1 and name ?2 while it is in the
/// state ?3 to ?6.
pub(crate) const STILL_IN_STATE: &str =
    "folder = ?1 AND name = ?2 AND size = ?3 AND mtime_ns = ?4 AND ctime_ns = ?5 AND ino IS ?6";

/// The columns of `files` that say what is known of a content, and what they
/// hold when nothing is.
const CONTENT: [(&str, &str); 6] = [
    ("probe", "NULL"),
    ("digest", "NULL"),
    ("compared", "NULL"),
    ("settled_in", "NULL"),
    ("hashed_in", "NULL"),
    ("racy", "0"),
];

/// Forgets the digest, and what is known only with it.
pub(crate) const FORGET_DIGEST: &str = "digest = NULL, compared = NULL, hashed_in = NULL";

/// Forgets what is known of a content: assignments for an UPDATE of `files`.
pub(crate) fn forget_content() -> String {
    CONTENT
        .map(|(column, nothing)| format!("{column} = {nothing}"))
        .join(", ")
}

/// Takes over what another row knows of a content.
pub(crate) fn take_content(from: &str) -> String {
    CONTENT
        .map(|(column, _)| format!("{column} = {from}.{column}"))
        .join(", ")
}

/// What is known of a content, as columns of `files`.
pub(crate) fn content() -> String {
    CONTENT
        .map(|(column, _)| format!("files.{column} AS {column}"))
        .join(", ")
}

/// The columns that tell copies apart. A copy is one (volume, inode), and every
/// path where inode numbers are not stable (NULL).
#[derive(Debug, Clone, Copy)]
pub(crate) struct CopyColumns<'a> {
    volume: &'a str,
    ino: &'a str,
}

/// The copy of a row of `files` joined with its folder.
pub(crate) const COPY: CopyColumns<'_> = CopyColumns::of("folders.volume", "files.ino");

impl<'a> CopyColumns<'a> {
    pub(crate) const fn of(volume: &'a str, ino: &'a str) -> Self {
        Self { volume, ino }
    }

    /// True of a group that holds more than one copy. `rows` counts its rows.
    pub(crate) fn several(&self, rows: &str) -> String {
        let Self { volume, ino } = self;
        format!(
            "({rows} > 1 AND (count({ino}) < {rows} OR min({ino}) <> max({ino})
              OR min({volume}) <> max({volume})))"
        )
    }

    /// The volume and the inode of a group that is one copy; NULL otherwise.
    pub(crate) fn only(&self) -> String {
        let several = self.several("count(*)");
        let Self { volume, ino } = self;
        format!(
            "CASE WHEN NOT {several} THEN min({volume}) END,
             CASE WHEN NOT {several} THEN min({ino}) END"
        )
    }

    /// True of two rows that are names of one copy.
    pub(crate) fn is(&self, other: &CopyColumns<'_>) -> String {
        format!(
            "({} = {} AND {} = {})",
            self.ino, other.ino, self.volume, other.volume
        )
    }

    /// What to group rows by so that each group is a copy. `row` are the
    /// columns that tell rows apart.
    pub(crate) fn key(&self, row: &[&str]) -> String {
        let Self { volume, ino } = self;
        let own = row
            .iter()
            .map(|column| format!(", CASE WHEN {ino} IS NULL THEN {column} END"));
        format!("{volume}, {ino}{}", own.collect::<String>())
    }
}

/// True of a group of rows of `files`, joined with their folders, that are more
/// than one copy.
pub(crate) fn several_copies() -> String {
    COPY.several("count(*)")
}
