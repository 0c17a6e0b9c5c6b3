//! The files that a first scan probed: once all are, the classes to read whole
//! are known without asking the catalog.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::catalog::{HashClass, WorkCopy};
use crate::model::Probe;

/// Most copies that are remembered, about 200 bytes each.
const MOST_COPIES: usize = 50_000;

/// What all workers probed.
pub(super) struct Probed {
    /// `None` once there were too many.
    copies: Mutex<Option<Vec<(Probe, WorkCopy)>>>,
    most: usize,
}

impl Probed {
    /// Nothing yet.
    pub(super) fn new() -> Self {
        Self::bounded(MOST_COPIES)
    }

    fn bounded(most: usize) -> Self {
        Self {
            copies: Mutex::new(Some(Vec::new())),
            most,
        }
    }

    /// Whether there is room for more.
    pub(super) fn is_open(&self) -> bool {
        self.lock().is_some()
    }

    /// Notes copies whose probes were sent to the writer. One that is noted
    /// twice, because its folder was listed twice, counts once.
    pub(super) fn note_all(&self, mut probed: Vec<(Probe, WorkCopy)>) {
        let mut copies = self.lock();
        *copies = copies.take().and_then(|mut copies| {
            copies.append(&mut probed);
            (copies.len() <= self.most).then_some(copies)
        });
    }

    /// The classes of what was noted, those first that would save most; `None`
    /// when there was more than could be remembered, or when this was asked
    /// before.
    pub(super) fn take_classes(&self) -> Option<Vec<HashClass>> {
        self.lock().take().map(classes)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Vec<(Probe, WorkCopy)>>> {
        self.copies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn classes(mut copies: Vec<(Probe, WorkCopy)>) -> Vec<HashClass> {
    copies.sort_unstable_by(|(one, a), (other, b)| {
        let key = |probe: &Probe, copy: &WorkCopy| {
            (copy.state.size, probe.0, copy.volume, copy.state.ino)
        };
        key(one, a)
            .cmp(&key(other, b))
            .then_with(|| a.names.cmp(&b.names))
    });
    let mut classes: Vec<(Probe, HashClass)> = Vec::new();
    for (probe, copy) in copies {
        match classes.last_mut() {
            Some((last, class)) if *last == probe && class.size == copy.state.size => {
                join(class, copy);
            }
            _ => classes.push((
                probe,
                HashClass {
                    size: copy.state.size,
                    must_digest: false,
                    copies: vec![copy],
                },
            )),
        }
    }
    let classes = classes.into_iter().map(|(_, class)| class);
    let mut classes: Vec<HashClass> = classes.filter(|class| class.copies.len() > 1).collect();
    classes.sort_by_key(HashClass::order);
    classes
}

/// Adds a copy to its class, or its names to those of the same file.
fn join(class: &mut HashClass, copy: WorkCopy) {
    match class.copies.last_mut() {
        Some(last) if last.is_same_file(&copy) => {
            last.names.extend(copy.names);
            last.names.sort_unstable();
            last.names.dedup();
        }
        Some(last) if last.names == copy.names => {}
        _ => class.copies.push(copy),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::first_scan::sizes::tests::copy;

    /// The names of each copy of each class.
    fn names(classes: Option<Vec<HashClass>>) -> Option<Vec<Vec<String>>> {
        let of_copy = |copy: &WorkCopy| {
            let names = copy.names.iter();
            let names: Vec<_> = names.map(|name| name.1.to_string_lossy()).collect();
            names.join("=")
        };
        classes.map(|classes| {
            classes
                .iter()
                .map(|class| class.copies.iter().map(of_copy).collect())
                .collect()
        })
    }

    #[test]
    fn copies_of_equal_size_and_probe_are_a_class() {
        let probed = Probed::new();
        for (name, size, probe, ino) in [
            ("small1", 10, 7, 1),
            ("other probe", 10, 8, 2),
            ("large1", 99, 7, 3),
            ("alone", 50, 7, 4),
            ("small2", 10, 7, 5),
            ("large2", 99, 7, 6),
        ] {
            probed.note_all(vec![(Probe(probe), copy(name, size, Some(ino)))]);
        }
        let expected = [["large1", "large2"], ["small1", "small2"]];
        let expected = expected.map(|class| class.map(str::to_owned).to_vec());
        assert_eq!(names(probed.take_classes()), Some(expected.to_vec()));
        assert_eq!(names(probed.take_classes()), None, "only once");
    }

    #[test]
    fn names_of_one_file_are_one_copy() {
        let probed = Probed::new();
        for (name, ino) in [("b1", 2), ("a1", 1), ("a2", 1), ("b1", 2)] {
            probed.note_all(vec![(Probe(7), copy(name, 10, Some(ino)))]);
        }
        let expected = vec![vec!["a1=a2".to_owned(), "b1".to_owned()]];
        assert_eq!(names(probed.take_classes()), Some(expected));
    }

    #[test]
    fn a_file_noted_twice_is_no_pair() {
        for ino in [Some(1), None] {
            let probed = Probed::new();
            probed.note_all(vec![(Probe(7), copy("a", 10, ino))]);
            probed.note_all(vec![(Probe(7), copy("a", 10, ino))]);
            assert_eq!(names(probed.take_classes()), Some(Vec::new()));
        }
    }

    #[test]
    fn beyond_the_bound_nothing_is_claimed() {
        let probed = Probed::bounded(2);
        for name in ["a", "b", "c", "d"] {
            probed.note_all(vec![(Probe(7), copy(name, 10, None))]);
        }
        assert!(!probed.is_open());
        assert_eq!(names(probed.take_classes()), None);
    }
}
