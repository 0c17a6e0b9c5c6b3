//! The order in which files are read where a head moves: that of their places on the
//! disk, window by window, so that memory is bounded. One item of a disk is under
//! way at a time; several disks are read side by side.
//!
//! A window is gathered, then its files are asked where they begin, then they are
//! read. What is not on such a disk never comes here.

use std::collections::VecDeque;
use std::sync::Arc;

use super::item::Item;
use crate::catalog::WorkCopy;
use crate::model::VolumeId;
use crate::scan::devices::Disks;

/// Copies in a window, about 300 bytes each.
const WINDOW: usize = 50_000;
/// Files that are asked for their place in one item.
const LOCATED_AT_ONCE: usize = 512;
/// Files and bytes that are read in one item.
const READ_AT_ONCE: (usize, u64) = (256, 64 << 20);

/// Copies to be read, each with what is to be known about it then.
pub(crate) struct DiskOrder<T> {
    disks: Arc<Disks>,
    make: fn(Vec<(T, WorkCopy)>) -> Item,
    most: usize,
    window: Vec<Located<T>>,
    /// How many of the window were asked for their place.
    asked: usize,
    /// Whether the window is complete, so that its files may be asked.
    is_complete: bool,
    /// Items that ask, under way.
    asking: usize,
    lanes: Vec<Lane<T>>,
}

struct Located<T> {
    what: T,
    copy: WorkCopy,
    place: Place,
}

/// What is known of where a file begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// No answer: what failed there was noted, and it is not read.
    Unknown,
    /// What the filesystem said, if it says such things.
    Told(Option<u64>),
}

/// What is read in turn, since one head has to move for all of it.
struct Lane<T> {
    volume: VolumeId,
    files: VecDeque<(T, WorkCopy)>,
    under_way: usize,
}

impl<T> DiskOrder<T> {
    /// An order of files that are read by the items that `make` makes.
    pub(crate) fn new(disks: &Arc<Disks>, make: fn(Vec<(T, WorkCopy)>) -> Item) -> Self {
        Self {
            disks: Arc::clone(disks),
            make,
            most: WINDOW,
            window: Vec::new(),
            asked: 0,
            is_complete: false,
            asking: 0,
            lanes: Vec::new(),
        }
    }

    /// Whether more may be added: not while a window is asked about or read.
    pub(crate) fn is_gathering(&self) -> bool {
        !self.is_complete && self.lanes.is_empty()
    }

    /// Adds a file to the window.
    pub(crate) fn add(&mut self, what: T, copy: WorkCopy) {
        let place = Place::Unknown;
        self.window.push(Located { what, copy, place });
        self.is_complete = self.window.len() >= self.most;
    }

    /// Says that no more files come for now; whether that made a window complete.
    pub(crate) fn complete(&mut self) -> bool {
        let was_complete = self.is_complete;
        self.is_complete |= !self.window.is_empty();
        self.is_complete && !was_complete
    }

    /// The next item that may be under way now.
    pub(crate) fn next(&mut self) -> Option<Item> {
        if self.is_complete
            && let Some(item) = self.ask()
        {
            return Some(item);
        }
        if self.is_complete && self.asking == 0 {
            self.sort();
        }
        self.read()
    }

    fn ask(&mut self) -> Option<Item> {
        let to_ask = self.asked..self.window.len().min(self.asked + LOCATED_AT_ONCE);
        if to_ask.is_empty() {
            return None;
        }
        self.asked = to_ask.end;
        self.asking += 1;
        let copies = self.window[to_ask.clone()].iter();
        let copies = copies.map(|located| located.copy.clone());
        Some(Item::locate(to_ask.zip(copies)))
    }

    /// Takes in where files begin, by their numbers in the window.
    pub(crate) fn located(&mut self, places: Vec<(usize, Option<u64>)>) {
        for (number, place) in places {
            if let Some(located) = self.window.get_mut(number) {
                located.place = Place::Told(place);
            }
        }
    }

    /// Notes that an item, of those that it made or another one, ended.
    pub(crate) fn ended(&mut self, item: &Item) {
        if item.is_locating() {
            self.asking = self.asking.saturating_sub(1);
            return;
        }
        for volume in item.volumes() {
            let disks = &self.disks;
            let mut lanes = self.lanes.iter_mut();
            if let Some(lane) = lanes.find(|lane| disks.share_a_head(lane.volume, volume)) {
                lane.under_way = lane.under_way.saturating_sub(1);
            }
        }
        self.drop_empty_lanes();
    }

    /// Notes that nothing is under way any more; whether there is more to do.
    pub(crate) fn is_left(&mut self) -> bool {
        self.asking = 0;
        self.lanes.iter_mut().for_each(|lane| lane.under_way = 0);
        self.drop_empty_lanes();
        !self.window.is_empty() || !self.lanes.is_empty()
    }

    fn drop_empty_lanes(&mut self) {
        (self.lanes).retain(|lane| lane.under_way > 0 || !lane.files.is_empty());
    }

    /// Puts the files of the window into the order of their places.
    fn sort(&mut self) {
        self.is_complete = false;
        self.asked = 0;
        let mut window = std::mem::take(&mut self.window);
        window.retain(|located| located.place != Place::Unknown);
        window.sort_by_key(|Located { copy, place, .. }| {
            let place = match place {
                Place::Told(place) => *place,
                Place::Unknown => None,
            };
            (copy.volume, place, copy.state.ino)
        });
        for Located { what, copy, .. } in window {
            let disks = &self.disks;
            let is_lane = |lane: &Lane<T>| disks.share_a_head(lane.volume, copy.volume);
            let lane = match self.lanes.iter().position(is_lane) {
                Some(lane) => lane,
                None => {
                    self.lanes.push(Lane {
                        volume: copy.volume,
                        files: VecDeque::new(),
                        under_way: 0,
                    });
                    self.lanes.len() - 1
                }
            };
            self.lanes[lane].files.push_back((what, copy));
        }
    }

    /// The next files of a disk that nobody reads now.
    fn read(&mut self) -> Option<Item> {
        let disks = &self.disks;
        let is_free = |lane: &&mut Lane<T>| {
            !lane.files.is_empty() && lane.under_way < disks.most_readers(lane.volume)
        };
        let lane = self.lanes.iter_mut().find(is_free)?;
        let (most, most_bytes) = READ_AT_ONCE;
        let (mut files, mut bytes) = (Vec::new(), 0_u64);
        while files.len() < most && bytes < most_bytes {
            let Some((what, copy)) = lane.files.pop_front() else {
                break;
            };
            bytes = bytes.saturating_add(copy.to_read);
            files.push((what, copy));
        }
        lane.under_way += 1;
        Some((self.make)(files))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{FileState, FolderId, IoMode};

    fn copy(volume: i64, ino: u64) -> WorkCopy {
        WorkCopy {
            names: vec![(FolderId(1), ino.to_string().into())],
            state: FileState {
                size: 100,
                mtime_ns: 0,
                ctime_ns: 0,
                ino: Some(ino),
            },
            to_read: 100,
            volume: VolumeId(volume),
        }
    }

    fn order() -> DiskOrder<()> {
        let disks = Arc::new(Disks::new(IoMode::Hdd));
        let make = |files: Vec<((), WorkCopy)>| {
            Item::probe(files.into_iter().map(|(_, copy)| copy).collect())
        };
        DiskOrder::new(&disks, make)
    }

    fn inodes(item: &Item) -> Vec<u64> {
        let Item::Read(item) = item else {
            return Vec::new();
        };
        let copies = item.copies.iter();
        copies.map(|copy| copy.state.ino.unwrap()).collect()
    }

    #[test]
    fn files_are_read_in_the_order_of_their_places() {
        let mut order = order();
        for ino in 1..=5 {
            order.add((), copy(1, ino));
        }
        assert!(order.is_gathering() && order.next().is_none());
        assert!(order.complete() && !order.is_gathering());
        let asks = order.next().unwrap();
        assert!(asks.is_locating() && inodes(&asks) == [1, 2, 3, 4, 5]);
        assert!(
            order.next().is_none(),
            "nothing is read before all answered"
        );
        let places = [Some(30), None, Some(10), Some(20)];
        order.located(places.into_iter().enumerate().collect());
        assert!(!order.complete(), "it is already");
        assert!(!order.complete(), "it is already");
        order.ended(&asks);
        let reads = order.next().unwrap();
        assert_eq!(inodes(&reads), [2, 3, 4, 1], "5 failed");
        assert!(order.next().is_none() && !order.is_gathering());
        order.ended(&reads);
        assert!(order.is_gathering() && !order.complete() && !order.is_left());
    }

    #[test]
    fn one_item_of_each_disk_is_under_way() {
        let mut order = order();
        for ino in 0..READ_AT_ONCE.0 as u64 + 1 {
            for volume in [1, 2] {
                order.add((), copy(volume, ino));
            }
        }
        order.complete();
        let mut asks = Vec::new();
        while let Some(item) = order.next() {
            order.located((0..2_000).map(|number| (number, None)).collect());
            asks.push(item);
        }
        assert_eq!(asks.len(), 2);
        asks.iter().for_each(|item| order.ended(item));
        let (one, other) = (order.next().unwrap(), order.next().unwrap());
        assert_ne!(one.volumes(), other.volumes());
        assert!(order.next().is_none());
        order.ended(&one);
        let next = order.next().unwrap();
        assert_eq!((next.volumes(), inodes(&next).len()), (one.volumes(), 1));
        assert!(order.next().is_none());
        assert!(order.is_left(), "what was lost is not waited for");
        assert_eq!(order.next().unwrap().volumes(), other.volumes());
    }

    #[test]
    fn a_full_window_waits_for_no_more() {
        let mut order = order();
        order.most = 2;
        order.add((), copy(1, 1));
        assert!(order.next().is_none());
        order.add((), copy(1, 2));
        assert!(!order.is_gathering());
        assert!(order.next().is_some_and(|item| item.is_locating()));
    }
}
