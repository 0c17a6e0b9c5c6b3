//! What can go wrong with one path, and what kind of trouble it is. Pure:
//! retrying, recording and giving up are decided elsewhere.

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

/// What kind of trouble a fault is, and so what happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaultClass {
    /// May go away by itself: tried again after a pause.
    Transient,
    /// The file moved under the reader: tried again.
    Changed,
    /// The path is gone: counted, not an error.
    Vanished,
    /// Will not go away by itself: recorded, and the scan goes on.
    Permanent,
    /// Nothing can go on: the scan stops cleanly.
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
    /// What kind of trouble it is.
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
            message: "the file changed while it was read".to_owned(),
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

    /// An item that made no progress for so long that it was given up.
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
pub fn classify(error: &io::Error) -> FaultClass {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(
            Errno::INTR
            | Errno::AGAIN
            | Errno::BUSY
            | Errno::STALE
            | Errno::TIMEDOUT
            | Errno::IO
            | Errno::NFILE
            | Errno::MFILE
            | Errno::NOMEM
            | Errno::TXTBSY,
        ) => FaultClass::Transient,
        Some(Errno::NOENT) => FaultClass::Vanished,
        _ => FaultClass::Permanent,
    }
}

/// The errors of a device, a server or a connection that is failing.
///
/// A damaged filesystem (EUCLEAN, EBADMSG) is not among them: the device
/// answers, and what it says about other paths may well be good.
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

/// What Linux adds: the block layer's errors that other systems do not have.
#[cfg(target_os = "linux")]
const LINUX_DEVICE_LIKE: &[Errno] = &[
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
            "check the permissions, or scan as a user who may read it"
        }
        Some(Errno::IO) => "the device could not read it: check the disk (dmesg, smartctl)",
        Some(Errno::STALE | Errno::TIMEDOUT | Errno::HOSTDOWN | Errno::NOTCONN) => {
            "the filesystem did not answer: check the mount or the network"
        }
        Some(Errno::NODEV | Errno::NXIO) => "the device is gone: reconnect it and scan again",
        Some(Errno::LOOP) => "a symbolic link took its place: scan again",
        Some(Errno::NAMETOOLONG) => "the name is too long for this filesystem",
        Some(Errno::MFILE | Errno::NFILE) => "too many open files: raise the limit (ulimit -n)",
        _ => match fault.class {
            FaultClass::Changed => "it was being written: scan again when it is at rest",
            _ if fault.step == Step::Internal => "this is a bug in dupescan: please report it",
            _ => "try again with `dupescan retry`",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class_of(errno: Errno) -> FaultClass {
        classify(&io::Error::from(errno))
    }

    #[test]
    fn every_errno_of_the_table_has_its_class() {
        use FaultClass::{Permanent, Transient, Vanished};
        let table = [
            (Errno::INTR, Transient, "a signal came first"),
            (Errno::AGAIN, Transient, "the resource was busy"),
            (Errno::BUSY, Transient, "the resource was busy"),
            (Errno::STALE, Transient, "NFS handle: a new lookup may work"),
            (Errno::TIMEDOUT, Transient, "the network may come back"),
            (Errno::IO, Transient, "weak sectors and cables come back"),
            (Errno::MFILE, Transient, "other items will close theirs"),
            (Errno::NOMEM, Transient, "memory may be free again"),
            (Errno::NOENT, Vanished, "deleted since it was listed"),
            (Errno::ACCESS, Permanent, "permissions do not heal"),
            (Errno::PERM, Permanent, "permissions do not heal"),
            (Errno::LOOP, Permanent, "a link took the file's place"),
            (Errno::NAMETOOLONG, Permanent, "it stays too long"),
            (Errno::NODEV, Permanent, "the device is gone"),
            (Errno::NXIO, Permanent, "the device is gone"),
            (Errno::NOTDIR, Permanent, "a file took the folder's place"),
            (Errno::OVERFLOW, Permanent, "too large for this system"),
        ];
        for (errno, class, reason) in table {
            assert_eq!(class_of(errno), class, "{errno:?}: {reason}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_failing_device_is_told_from_a_failing_path() {
        let device = [
            (Errno::IO, "the device could not read"),
            (Errno::NODEV, "unplugged"),
            (Errno::NXIO, "unplugged"),
            (Errno::NOMEDIUM, "the tray is empty"),
            (Errno::REMOTEIO, "the target failed the command"),
            (Errno::NODATA, "the medium is unreadable"),
            (Errno::NOLINK, "the transport is gone"),
            (Errno::SHUTDOWN, "the filesystem shut itself down"),
            (Errno::STALE, "the server forgot its handles"),
            (Errno::TIMEDOUT, "no answer"),
            (Errno::TIME, "no answer from the device in time"),
            (Errno::NOTCONN, "the FUSE daemon died"),
            (Errno::CONNABORTED, "the FUSE connection was aborted"),
            (Errno::CONNREFUSED, "the server is down"),
            (Errno::CONNRESET, "the server went away"),
            (Errno::HOSTDOWN, "the server is down"),
            (Errno::HOSTUNREACH, "no way to the server"),
            (Errno::NETDOWN, "no network"),
            (Errno::NETUNREACH, "no way to the server"),
            (Errno::NETRESET, "the connection was dropped"),
        ];
        for (errno, reason) in device {
            let fault = Fault::from_io(Step::Read, &io::Error::from(errno));
            assert!(fault.is_device_like(), "{errno:?}: {reason}");
        }
        let path = [
            Errno::NOENT,
            Errno::ACCESS,
            Errno::PERM,
            Errno::BUSY,
            Errno::AGAIN,
            Errno::INTR,
            Errno::MFILE,
            Errno::NOMEM,
            Errno::UCLEAN,
            Errno::BADMSG,
        ];
        for errno in path {
            let fault = Fault::from_io(Step::Read, &io::Error::from(errno));
            assert!(!fault.is_device_like(), "{errno:?}");
        }
        assert!(Fault::timed_out(Step::Read, 60).is_device_like());
        assert!(!Fault::changed(Step::Read).is_device_like());
        assert!(!Fault::internal("a bug").is_device_like());
    }

    #[test]
    fn messages_are_the_systems_own_words() {
        let fault = Fault::from_io(Step::Open, &io::Error::from(Errno::ACCESS));
        assert_eq!(fault.to_string(), "open: Permission denied");
        assert!(fault.hint().contains("permissions"));
    }
}
