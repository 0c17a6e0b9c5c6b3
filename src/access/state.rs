//! Whether a file stayed what it was, as far as its metadata can tell.

use std::io;
use std::time::Duration;

use crate::model::{FileState, is_too_young, is_within};
use crate::platform::{OpenFile, Stat};

/// Whether an open file is still in the state it was opened in.
pub(crate) fn is_unchanged(file: &OpenFile) -> io::Result<bool> {
    let (before, after) = (file.opened_as().meta, file.stat()?.meta);
    Ok(before.size == after.size
        && before.mtime_ns == after.mtime_ns
        && before.ctime_ns == after.ctime_ns)
}

/// Whether a file is in the state that the catalog holds.
pub(crate) fn is_in_state(file: &Stat, state: &FileState) -> bool {
    state.is_of(&file.meta, file.dev)
}

/// Whether the file was too fresh when reading began for its times to tell a
/// later change. Where inodes are not stable, ctime may not be kept either.
pub(crate) fn is_racy(state: &FileState, began_ns: i64) -> bool {
    is_too_young(last_change(state, began_ns), began_ns)
}

/// Whether an open file in this state can change without its times telling: it is
/// too fresh, or a program can write to it through a memory mapping. Ask before
/// reading: a program that opens the file later moves its times when it writes.
pub(crate) fn can_change_unseen(file: &OpenFile, state: &FileState, began_ns: i64) -> bool {
    is_racy(state, began_ns) || may_be_dirty(file, state, began_ns) && file.is_open_for_writing()
}

/// Longer than a page that was written through a mapping waits to be written to the
/// disk, after which its next change moves the times again: 35 s by the defaults of
/// Linux.
const WRITE_BACK: Duration = Duration::from_secs(60);

fn may_be_dirty(file: &OpenFile, state: &FileState, began_ns: i64) -> bool {
    is_within(WRITE_BACK, last_change(state, began_ns), began_ns) || !file.write_traces().in_times
}

/// When the file changed last. A modification time can be set to the future.
fn last_change(state: &FileState, began_ns: i64) -> i64 {
    match state.ino {
        Some(_) => state.ctime_ns,
        None => state.ctime_ns.max(state.mtime_ns.min(began_ns)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{FileMeta, layer_inode};

    const NOW: i64 = 1_000_000_000_000;
    const SPAN: i64 = 3_000_000_000;

    fn state(mtime_ns: i64, ctime_ns: i64, ino: Option<u64>) -> FileState {
        FileState {
            size: 1,
            mtime_ns,
            ctime_ns,
            ino,
        }
    }

    #[test]
    fn a_file_is_racy_for_three_seconds_after_its_change() {
        assert!(is_racy(&state(0, NOW, Some(1)), NOW));
        assert!(is_racy(&state(0, NOW - SPAN + 1, Some(1)), NOW));
        assert!(!is_racy(&state(0, NOW - SPAN, Some(1)), NOW));
        // A modification time in the future says nothing where ctime is kept,
        // and cannot be told from a fresh one where it is not.
        assert!(!is_racy(&state(NOW * 2, 0, Some(1)), NOW));
        assert!(is_racy(&state(NOW * 2, 0, None), NOW));
    }

    #[test]
    fn the_inode_counts_only_where_the_catalog_kept_it() {
        let meta = FileMeta {
            size: 1,
            mtime_ns: 2,
            ctime_ns: 3,
            ino: 4,
            ..FileMeta::default()
        };
        assert!(state(2, 3, Some(4)).is_of(&meta, 0));
        assert!(!state(2, 3, Some(5)).is_of(&meta, 0));
        assert!(state(2, 3, None).is_of(&meta, 0));
        assert!(!state(2, 4, None).is_of(&meta, 0));
        let in_layer = state(2, 3, Some(layer_inode(7, 4)));
        assert!(in_layer.is_of(&meta, 7) && !in_layer.is_of(&meta, 8));
    }
}
