//! The disks and filesystems below a scan: how they are read, how fast, and
//! when one is given up.

mod admission;
mod breaker;
mod disks;
mod pace;
mod throttle;

pub(crate) use admission::Admission;
pub(crate) use breaker::{Breakers, Verdict};
pub(crate) use disks::{Disks, Manner, Turn};
pub(crate) use pace::{Pace, Share};
pub(crate) use throttle::Throttle;
