//! What can go wrong with one path, and what kind of fault it is. Pure:
//! retrying, recording and giving up are decided elsewhere.

#[cfg(test)]
mod tests;

use std::fmt;
use std::io;

use rustix::io::Errno;

/// What was being done when a fault occurred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// Opening a folder.
    OpenFolder,
    /// Reading a folder's entries.
    ReadFolder,
    /// Asking for an entry's metadata.
    Stat,
    /// Opening a file.
    Open,
    /// Reading a file.
    Read,
    /// Running the item itself: a bug in dupescan.
    Internal,
}

impl Step {
    /// Every step.
    pub const ALL: [Self; 6] = [
        Self::OpenFolder,
        Self::ReadFolder,
        Self::Stat,
        Self::Open,
        Self::Read,
        Self::Internal,
    ];

    /// The word used in the catalog and in `dupescan errors`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenFolder => "open folder",
            Self::ReadFolder => "read folder",
            Self::Stat => "stat",
            Self::Open => "open",
            Self::Read => "read",
            Self::Internal => "internal",
        }
    }
}

/// What kind of fault it is, and so what happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaultClass {
    /// May go away by itself: retried after a pause.
    Transient,
    /// The file changed while being read: retried.
    Changed,
    /// The path no longer exists: counted, not an error.
    Vanished,
    /// Will not go away by itself: recorded, and the scan continues.
    Permanent,
    /// The scan cannot continue and stops cleanly.
    Fatal,
}

impl FaultClass {
    /// Every class.
    pub const ALL: [Self; 5] = [
        Self::Transient,
        Self::Changed,
        Self::Vanished,
        Self::Permanent,
        Self::Fatal,
    ];

    /// The word used in the catalog and in `dupescan errors`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Changed => "changed",
            Self::Vanished => "vanished",
            Self::Permanent => "permanent",
            Self::Fatal => "fatal",
        }
    }

    /// Whether another attempt may succeed.
    pub const fn is_retried(self) -> bool {
        matches!(self, Self::Transient | Self::Changed)
    }
}

/// Something that went wrong with one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What was being done.
    pub step: Step,
    /// What kind of fault it is.
    pub class: FaultClass,
    /// The operating system's error number, where there is one.
    pub errno: Option<i32>,
    /// The operating system's words, or ours.
    pub message: String,
}

impl Fault {
    /// A fault reported by the operating system.
    pub fn from_io(step: Step, error: &io::Error) -> Self {
        Self {
            step,
            class: classify(error),
            errno: error.raw_os_error(),
            message: describe(error),
        }
    }

    /// A file that was not the same before and after it was read.
    pub fn changed(step: Step) -> Self {
        Self {
            step,
            class: FaultClass::Changed,
            errno: None,
            message: "the file changed while being read".to_owned(),
        }
    }

    /// A path that is no longer a regular file.
    pub fn not_a_file(step: Step) -> Self {
        Self {
            step,
            class: FaultClass::Permanent,
            errno: None,
            message: "no longer a regular file".to_owned(),
        }
    }

    /// An item that panicked.
    pub fn internal(message: impl Into<String>) -> Self {
        Self {
            step: Step::Internal,
            class: FaultClass::Permanent,
            errno: None,
            message: message.into(),
        }
    }

    /// An item that made no progress for too long.
    pub fn timed_out(step: Step, seconds: u64) -> Self {
        Self {
            step,
            class: FaultClass::Transient,
            errno: Some(Errno::TIMEDOUT.raw_os_error()),
            message: format!("no progress for {seconds} s"),
        }
    }

    /// Whether the device or the way to it failed, rather than this one path.
    ///
    /// A run of such faults on one device says that the device is gone; a
    /// single one may be a bad sector.
    pub fn is_device_like(&self) -> bool {
        self.errno
            .is_some_and(|raw| is_device_like(Errno::from_raw_os_error(raw)))
    }

    /// What the user can do about it.
    pub fn hint(&self) -> &'static str {
        hint(self)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.step.name(), self.message)
    }
}

/// The class of an operating-system error met on a path below a root.
///
/// The errors of a failing device are all transient: if it recovers, the next
/// attempt succeeds, and if not, the paths stay pending instead of becoming
/// dead letters one by one.
pub(crate) fn classify(error: &io::Error) -> FaultClass {
    let Some(raw) = error.raw_os_error() else {
        return FaultClass::Permanent;
    };
    match Errno::from_raw_os_error(raw) {
        Errno::NOENT => FaultClass::Vanished,
        Errno::INTR
        | Errno::AGAIN
        | Errno::BUSY
        | Errno::TXTBSY
        | Errno::DEADLK
        | Errno::NOLCK
        | Errno::NFILE
        | Errno::MFILE
        | Errno::NOMEM
        | Errno::NOBUFS
        | Errno::CANCELED => FaultClass::Transient,
        errno if is_device_like(errno) => FaultClass::Transient,
        _ => FaultClass::Permanent,
    }
}

/// The errors of a device, a server or a connection that is failing.
///
/// A damaged filesystem (EUCLEAN, EBADMSG) is not among them: the device
/// responds, and other paths may well be readable.
fn is_device_like(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::IO
            | Errno::NODEV
            | Errno::NXIO
            | Errno::SHUTDOWN
            | Errno::STALE
            | Errno::TIMEDOUT
            | Errno::NOTCONN
            | Errno::CONNABORTED
            | Errno::CONNREFUSED
            | Errno::CONNRESET
            | Errno::HOSTDOWN
            | Errno::HOSTUNREACH
            | Errno::NETDOWN
            | Errno::NETUNREACH
            | Errno::NETRESET
    ) || LINUX_DEVICE_LIKE.contains(&errno)
}

/// Errors of the block layer and network filesystems that only Linux has.
#[cfg(target_os = "linux")]
const LINUX_DEVICE_LIKE: &[Errno] = &[
    Errno::COMM,
    Errno::PROTO,
    Errno::NOMEDIUM,
    Errno::REMOTEIO,
    Errno::NODATA,
    Errno::NOLINK,
    Errno::TIME,
];
#[cfg(not(target_os = "linux"))]
const LINUX_DEVICE_LIKE: &[Errno] = &[];

/// The system's sentence without Rust's "(os error N)".
fn describe(error: &io::Error) -> String {
    let text = error.to_string();
    match text.rfind(" (os error") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

fn hint(fault: &Fault) -> &'static str {
    match fault.errno.map(Errno::from_raw_os_error) {
        Some(Errno::ACCESS | Errno::PERM) => {
            "check the permissions, or scan as a user who can read it"
        }
        Some(Errno::IO) => "the device failed to read it: check the disk (dmesg, smartctl)",
        Some(Errno::NODEV | Errno::NXIO) => "the device is gone: reconnect it and scan again",
        Some(Errno::SHUTDOWN) => {
            "the filesystem shut itself down: check dmesg, run fsck, and mount it again"
        }
        Some(errno) if is_damage(errno) => "the filesystem is damaged: check dmesg and run fsck",
        Some(errno) if is_locked_away(errno) => {
            "it is locked (encrypted, or its ticket expired): unlock it and scan again"
        }
        Some(errno) if is_device_like(errno) => {
            "the filesystem did not respond: check the mount, the device or the network"
        }
        Some(Errno::LOOP) => "it was replaced by a symbolic link: scan again",
        Some(Errno::NAMETOOLONG) => "the name is too long for this filesystem",
        Some(Errno::MFILE | Errno::NFILE) => "too many open files: raise the limit (ulimit -n)",
        _ => match fault.class {
            FaultClass::Changed => "it was being written: scan again when it no longer changes",
            _ if fault.step == Step::Internal => "this is a bug in dupescan: please report it",
            _ => "retry with `dupescan retry`",
        },
    }
}

/// Checksums or structures on the disk are wrong.
#[cfg(target_os = "linux")]
fn is_damage(errno: Errno) -> bool {
    matches!(errno, Errno::UCLEAN | Errno::BADMSG | Errno::ILSEQ)
}

/// The key or ticket that unlocks it is missing.
#[cfg(target_os = "linux")]
fn is_locked_away(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::NOKEY | Errno::KEYEXPIRED | Errno::KEYREVOKED | Errno::KEYREJECTED
    )
}

#[cfg(not(target_os = "linux"))]
fn is_damage(errno: Errno) -> bool {
    matches!(errno, Errno::BADMSG | Errno::ILSEQ)
}

#[cfg(not(target_os = "linux"))]
fn is_locked_away(_errno: Errno) -> bool {
    false
}
