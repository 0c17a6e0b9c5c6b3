//! What happens when memory runs out: by default Rust aborts with a core dump
//! and no message for the user. Also returns free memory to the system.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};

/// Returns free memory to the system, where the allocator keeps it
/// otherwise for as long as the program runs.
pub fn give_back_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        unsafe extern "C" {
            safe fn malloc_trim(pad: usize) -> std::ffi::c_int;
        }
        malloc_trim(0);
    }
}

/// The system's allocator, with a last word of the program's own.
#[derive(Debug)]
pub struct Allocator {
    exhausted: fn() -> !,
}

impl Allocator {
    /// An allocator that calls `exhausted` when nothing is left; that function
    /// must do without memory.
    pub const fn new(exhausted: fn() -> !) -> Self {
        Self { exhausted }
    }

    fn checked(&self, block: *mut u8) -> *mut u8 {
        if block.is_null() {
            (self.exhausted)();
        }
        block
    }
}

// SAFETY: every call is passed on to the system's allocator as it came, and
// what that returns is passed back.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the rules of this very function.
        self.checked(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the rules of this very function.
        self.checked(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the rules of this very function.
        self.checked(unsafe { System.realloc(block, layout, size) })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the rules of this very function.
        unsafe { System.dealloc(block, layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_those_of_the_system_until_none_is_left() {
        let allocator = Allocator::new(|| panic!("exhausted"));
        let layout = Layout::from_size_align(64, 16).unwrap();
        // SAFETY: the block is given back with the layout it has by then.
        unsafe {
            let block = allocator.alloc_zeroed(layout);
            *block = 7;
            let block = allocator.realloc(block, layout, 128);
            assert_eq!(*block, 7);
            allocator.dealloc(block, Layout::from_size_align(128, 16).unwrap());
        }
        let none = std::panic::catch_unwind(|| allocator.checked(std::ptr::null_mut()));
        assert!(none.is_err());
    }
}
