//! Copies of one item that agree in size and probe.

use crate::catalog::WorkCopy;
use crate::scan::context::ItemContext;
use crate::scan::engine::ClassSpan;

/// One class of an item.
#[derive(Clone, Copy)]
pub(crate) struct Class<'c> {
    /// The common size.
    pub(super) size: u64,
    /// Whether a copy that equals no other one here needs a digest all the same.
    pub(super) must_digest: bool,
    /// Whether its copies are still to be probed, too.
    pub(super) is_unprobed: bool,
    pub(super) copies: &'c [WorkCopy],
}

impl<'c> Class<'c> {
    /// The classes of an item, which follow each other in its copies.
    pub(crate) fn all(mut copies: &'c [WorkCopy], spans: &[ClassSpan]) -> Vec<Self> {
        let mut classes = Vec::with_capacity(spans.len());
        for span in spans {
            let (of_class, rest) = copies.split_at(span.copies);
            copies = rest;
            classes.extend(of_class.first().map(|first| Self {
                size: first.state.size,
                must_digest: span.must_digest,
                is_unprobed: false,
                copies: of_class,
            }));
        }
        classes
    }

    /// One copy of which nothing was read yet.
    pub(super) fn unprobed(copy: &'c WorkCopy) -> Self {
        Self {
            size: copy.state.size,
            must_digest: true,
            is_unprobed: true,
            copies: std::slice::from_ref(copy),
        }
    }

    /// Whether it is read where a head moves: then it is one copy.
    pub(super) fn seeks(&self, item: &ItemContext<'_>) -> bool {
        let mut copies = self.copies.iter();
        copies.len() == 1 && copies.any(|copy| item.run.disks.seeks(copy.volume))
    }
}
