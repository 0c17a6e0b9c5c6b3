//! Catching a panic together with the stack it came from. A backtrace taken
//! after `catch_unwind` shows only the catcher, so it is captured in the panic
//! hook, which is chained and changes nothing but panics inside [`catch`].

use std::any::Any;
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::fmt;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// An item panicked.
#[derive(Debug, Clone)]
pub struct Panicked {
    /// What the panic said and, where known, the source line it came from.
    pub message: String,
    /// The stack at the panic; empty where capturing it failed.
    pub backtrace: String,
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "panicked: {}", self.message)
    }
}

/// Where a panic happened.
struct Origin {
    location: Option<String>,
    backtrace: Backtrace,
}

/// What the hook does with a panic on this thread.
#[derive(Default)]
enum Trap {
    /// Passes it to the previous hook.
    #[default]
    Off,
    /// Notes its origin and prints nothing.
    Armed,
    Sprung(Origin),
}

thread_local! {
    static TRAP: Cell<Trap> = const { Cell::new(Trap::Off) };
}

/// Runs `work`; a panic in it becomes an error. Whatever `work` borrowed
/// mutably must be thrown away after an error.
pub(crate) fn catch<R>(work: impl FnOnce() -> R) -> Result<R, Panicked> {
    install_hook();
    TRAP.set(Trap::Armed);
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    let trap = TRAP.take();
    result.map_err(|payload| describe(payload.as_ref(), trap))
}

/// Locks even after a panic: no code under the pool's locks leaves their data
/// half changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !spring_trap(info) {
                previous(info);
            }
        }));
    });
}

/// Notes the panic if this thread is inside [`catch`], and says whether that
/// was enough. A second panic may be about to abort the process, and only the
/// previous hook can still tell the user.
fn spring_trap(info: &PanicHookInfo<'_>) -> bool {
    TRAP.try_with(|trap| {
        let before = trap.take();
        if matches!(before, Trap::Off) {
            return false;
        }
        trap.set(Trap::Sprung(Origin {
            location: info.location().map(ToString::to_string),
            backtrace: Backtrace::force_capture(),
        }));
        matches!(before, Trap::Armed)
    })
    .unwrap_or(false)
}

fn describe(payload: &(dyn Any + Send), trap: Trap) -> Panicked {
    let text = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("(a payload that is not text)");
    let Trap::Sprung(origin) = trap else {
        // Another hook replaced ours, or the panic was resumed from elsewhere.
        return Panicked {
            message: text.to_owned(),
            backtrace: String::new(),
        };
    };
    Panicked {
        message: match origin.location {
            Some(location) => format!("{text} (at {location})"),
            None => text.to_owned(),
        },
        backtrace: origin.backtrace.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_caught_with_message_place_and_stack() {
        let caught = catch(|| panic!("number {}", 7)).unwrap_err();
        assert!(caught.message.starts_with("number 7 (at "), "{caught}");
        assert!(caught.message.contains("panics.rs:"), "{caught}");
        assert!(caught.backtrace.contains("panics"), "{}", caught.backtrace);
    }

    #[test]
    fn a_result_passes_through() {
        assert_eq!(catch(|| 5).unwrap(), 5);
    }

    #[test]
    fn a_resumed_panic_has_a_message_but_no_stack() {
        let caught = catch(|| panic::resume_unwind(Box::new("from elsewhere"))).unwrap_err();
        assert_eq!(caught.message, "from elsewhere");
        assert_eq!(caught.backtrace, "");
    }

    #[test]
    fn a_panic_caught_inside_does_not_change_the_result() {
        let caught = catch(|| panic::catch_unwind(|| panic!("inner")).is_err());
        assert!(caught.unwrap());
    }
}
