//! How a name is opened: what becomes of links, which names are let through,
//! and preserving access times.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, OFlags};
use rustix::io::retry_on_intr;

/// What to do about symbolic links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Go where they lead.
    Follow,
    /// Fail on one, wherever in the path it is.
    Refuse,
}

impl Links {
    pub(crate) fn stat_flags(self) -> AtFlags {
        match self {
            Self::Follow => AtFlags::empty(),
            Self::Refuse => AtFlags::SYMLINK_NOFOLLOW,
        }
    }

    pub(crate) fn open_flags(self) -> OFlags {
        match self {
            Self::Follow => OFlags::empty(),
            Self::Refuse => OFlags::NOFOLLOW,
        }
    }
}

/// Lets through one plain name. A name out of a catalog that somebody tampered
/// with must not lead out of its folder.
pub(crate) fn plain_name(name: &OsStr) -> io::Result<&OsStr> {
    let bytes = name.as_bytes();
    let plain = !matches!(bytes, b"" | b"." | b"..") && !bytes.contains(&b'/');
    plain.then_some(name).ok_or_else(|| {
        let reason = "a name in a path is empty, made of dots or contains a slash";
        io::Error::new(io::ErrorKind::InvalidInput, reason)
    })
}

/// Opens without a trace in the access time where that is allowed.
///
/// Only a file's owner and root may ask for that, so the answer differs from
/// file to file and cannot be remembered; a refusal costs one more call.
#[cfg(target_os = "linux")]
pub(crate) fn open_quietly(
    flags: OFlags,
    open: impl Fn(OFlags) -> rustix::io::Result<OwnedFd>,
) -> io::Result<OwnedFd> {
    let opened = match retry_on_intr(|| open(flags | OFlags::NOATIME)) {
        Err(rustix::io::Errno::PERM) => retry_on_intr(|| open(flags)),
        opened => opened,
    };
    opened.map_err(Into::into)
}

/// Opens; other systems keep access times on their own terms.
#[cfg(not(target_os = "linux"))]
pub(crate) fn open_quietly(
    flags: OFlags,
    open: impl Fn(OFlags) -> rustix::io::Result<OwnedFd>,
) -> io::Result<OwnedFd> {
    retry_on_intr(|| open(flags)).map_err(Into::into)
}
