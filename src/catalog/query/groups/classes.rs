//! Whether any file can be unchecked, found out while copies are counted. Mostly
//! none is, and then the queries for the exact number are not needed.

use std::hash::{BuildHasher, RandomState};

use crate::catalog::query::sweep::Key;

/// How much a row says about the content of its file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct State {
    pub(crate) size: i64,
    pub(crate) probe: Option<i64>,
    pub(crate) is_unread: bool,
    pub(crate) is_unresolved: bool,
}

/// One name in a class of files that may be equal. The lowest bit of its
/// number says that this name leaves the class open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Class {
    number: u64,
    copy: u64,
}

impl Class {
    /// The key by which classes are divided into parts, like digests: one for
    /// all names of a class.
    pub(crate) fn key(&self) -> Key {
        Key(self.number | 1)
    }
}

/// Numbers classes. Two classes with one number can look open, never closed; the
/// exact count then finds nothing.
#[derive(Default)]
pub(crate) struct Classes(RandomState);

impl Classes {
    /// The classes of a name: the files of its size, open while one of them is
    /// unread, and those of its size and probe, open while one is unresolved.
    pub(crate) fn of(&self, state: State, copy: u64) -> impl Iterator<Item = Class> {
        let by_size = (None, state.is_unread);
        let by_probe = (state.probe, state.is_unresolved);
        let classes = [Some(by_size), state.probe.map(|_| by_probe)];
        classes
            .into_iter()
            .flatten()
            .map(move |(probe, is_open)| Class {
                number: self.0.hash_one((state.size, probe)) & !1 | u64::from(is_open),
                copy,
            })
    }
}

/// The names gathered last: what a class has been told twice, it need not be told
/// again. Sizes are mostly few, and so are their classes then.
#[derive(Default)]
pub(crate) struct Recent(Vec<Option<(Class, bool)>>);

impl Recent {
    const SLOTS: usize = 1024;

    /// Whether two other copies, or the same one, were gathered with this number.
    pub(crate) fn knows(&mut self, class: Class) -> bool {
        self.0.resize(Self::SLOTS, None);
        let slot = class.number >> 1 & (Self::SLOTS as u64 - 1);
        let slot = &mut self.0[usize::try_from(slot).unwrap_or(0)];
        match slot {
            Some((known, _)) if *known == class => true,
            Some((known, are_two)) if known.number == class.number => {
                std::mem::replace(are_two, true)
            }
            _ => {
                *slot = Some((class, false));
                false
            }
        }
    }
}

/// Whether a class has more than one copy and an open one among them.
pub(crate) fn is_some_open(classes: &mut [Class]) -> bool {
    use rayon::slice::ParallelSliceMut;
    classes.par_sort_unstable();
    classes
        .chunk_by(|a, b| a.number | 1 == b.number | 1)
        .any(|class| {
            // An open number is the larger one, so it comes last.
            let is_open = class.last().is_some_and(|last| last.number & 1 == 1);
            is_open && class.iter().any(|name| name.copy != class[0].copy)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNREAD: State = State {
        size: 10,
        probe: None,
        is_unread: true,
        is_unresolved: true,
    };
    const READ: State = State {
        is_unread: false,
        is_unresolved: false,
        ..UNREAD
    };
    const PROBED: State = State {
        probe: Some(7),
        is_unread: false,
        ..UNREAD
    };
    const SETTLED: State = State {
        is_unresolved: false,
        ..PROBED
    };

    fn is_open(names: &[(State, u64)]) -> bool {
        let (classes, mut recent) = (Classes::default(), Recent::default());
        let names = names
            .iter()
            .flat_map(|(state, copy)| classes.of(*state, *copy));
        let mut all: Vec<Class> = names.collect();
        let mut news = all.clone();
        news.retain(|class| !recent.knows(*class));
        let is_open = is_some_open(&mut all);
        assert_eq!(is_some_open(&mut news), is_open);
        is_open
    }

    #[test]
    fn a_class_is_open_while_a_copy_beside_others_is_unknown() {
        assert!(is_open(&[(UNREAD, 1), (READ, 2)]));
        assert!(is_open(&[(PROBED, 1), (PROBED, 2)]));
        assert!(is_open(&[(PROBED, 1), (SETTLED, 2)]));
        assert!(is_open(&[(UNREAD, 1), (SETTLED, 2)]));
        assert!(!is_open(&[(SETTLED, 1), (SETTLED, 2)]));
        assert!(!is_open(&[(READ, 1), (READ, 2)]));
        let other = State {
            probe: Some(8),
            ..PROBED
        };
        assert!(!is_open(&[(PROBED, 1), (other, 2), (READ, 3)]));
        let larger = State { size: 11, ..READ };
        assert!(!is_open(&[(UNREAD, 1), (larger, 2)]));
    }

    #[test]
    fn a_class_is_told_of_two_copies() {
        let (classes, mut recent) = (Classes::default(), Recent::default());
        let mut told = |state, copy| {
            let news = classes
                .of(state, copy)
                .filter(|class| !recent.knows(*class));
            news.count()
        };
        assert_eq!(
            [1, 1, 2, 2, 3, 1].map(|copy| told(READ, copy)),
            [1, 0, 1, 0, 0, 0]
        );
        assert_eq!([3, 4, 5].map(|copy| told(UNREAD, copy)), [1, 1, 0]);
    }

    #[test]
    fn names_of_one_copy_leave_nothing_open() {
        assert!(!is_open(&[(UNREAD, 1)]));
        assert!(!is_open(&[(UNREAD, 1), (READ, 1), (PROBED, 1)]));
    }
}
