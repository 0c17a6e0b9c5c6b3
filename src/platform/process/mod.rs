//! This process as the system sees it: descriptors, memory, priority, threads.

mod descriptors;
mod memory;
mod priority;
mod threads;

pub use descriptors::{make_room_for_files, most_open_files};
pub use memory::{Allocator, give_back_memory};
pub use priority::lower_priority;
pub use threads::share_work_with_those_there_are;
