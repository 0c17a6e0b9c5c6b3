use super::*;

/// Whether the device, and not one path, is in trouble.
#[derive(Debug, PartialEq, Eq)]
enum Blame {
    Device,
    Path,
}

/// An error, its class, what is to blame, and the reason.
type Row = (Errno, FaultClass, Blame, &'static str);

/// Every error that Linux can return from openat, openat2, statx, getdents64
/// and read on a path below a root, the block layer's and the network
/// filesystems' included (man pages, `blk_errors[]`, FUSE, NFS, SMB).
#[cfg(target_os = "linux")]
fn table() -> Vec<Row> {
    use Blame::{Device, Path};
    use FaultClass::{Permanent, Transient, Vanished};
    vec![
        // The path is gone.
        (Errno::NOENT, Vanished, Path, "deleted since it was listed"),
        // The moment was bad.
        (Errno::INTR, Transient, Path, "a signal came first"),
        (
            Errno::AGAIN,
            Transient,
            Path,
            "busy, or openat2 met a rename",
        ),
        (Errno::BUSY, Transient, Path, "the resource was busy"),
        (Errno::TXTBSY, Transient, Path, "a program is being written"),
        (Errno::DEADLK, Transient, Path, "locks come free again"),
        (Errno::NOLCK, Transient, Path, "locks come free again"),
        (Errno::MFILE, Transient, Path, "other items close theirs"),
        (Errno::NFILE, Transient, Path, "other programs close theirs"),
        (Errno::NOMEM, Transient, Path, "memory may be free again"),
        (Errno::NOBUFS, Transient, Path, "memory may be free again"),
        (
            Errno::CANCELED,
            Transient,
            Path,
            "the request was called off",
        ),
        // The device, or the way to it.
        (
            Errno::IO,
            Transient,
            Device,
            "weak sectors and cables come back",
        ),
        (Errno::NODEV, Transient, Device, "unplugged"),
        (Errno::NXIO, Transient, Device, "unplugged"),
        (Errno::NOMEDIUM, Transient, Device, "the tray is empty"),
        (
            Errno::REMOTEIO,
            Transient,
            Device,
            "the target failed the command",
        ),
        (Errno::NODATA, Transient, Device, "the medium is unreadable"),
        (Errno::NOLINK, Transient, Device, "the transport is gone"),
        (
            Errno::TIME,
            Transient,
            Device,
            "no answer within the duration limit",
        ),
        (Errno::TIMEDOUT, Transient, Device, "no answer"),
        (
            Errno::SHUTDOWN,
            Transient,
            Device,
            "the filesystem shut itself down",
        ),
        (
            Errno::STALE,
            Transient,
            Device,
            "NFS handle: a new lookup may work",
        ),
        (Errno::NOTCONN, Transient, Device, "the FUSE daemon died"),
        (
            Errno::CONNABORTED,
            Transient,
            Device,
            "the FUSE connection was aborted",
        ),
        (Errno::CONNREFUSED, Transient, Device, "the server is down"),
        (Errno::CONNRESET, Transient, Device, "the server went away"),
        (Errno::HOSTDOWN, Transient, Device, "the server is down"),
        (
            Errno::HOSTUNREACH,
            Transient,
            Device,
            "no way to the server",
        ),
        (Errno::NETDOWN, Transient, Device, "no network"),
        (Errno::NETUNREACH, Transient, Device, "no way to the server"),
        (
            Errno::NETRESET,
            Transient,
            Device,
            "the connection was dropped",
        ),
        (Errno::COMM, Transient, Device, "sending failed"),
        (Errno::PROTO, Transient, Device, "the answer made no sense"),
        // The rest does not heal by waiting.
        (
            Errno::ACCESS,
            Permanent,
            Path,
            "permissions do not heal by waiting",
        ),
        (
            Errno::PERM,
            Permanent,
            Path,
            "permissions do not heal by waiting",
        ),
        (Errno::ROFS, Permanent, Path, "it stays read-only"),
        (Errno::LOOP, Permanent, Path, "a link took its place"),
        (
            Errno::XDEV,
            Permanent,
            Path,
            "openat2: it leads out of the root",
        ),
        (Errno::NOTDIR, Permanent, Path, "a file took its place"),
        (Errno::ISDIR, Permanent, Path, "a folder took its place"),
        (Errno::NAMETOOLONG, Permanent, Path, "it stays too long"),
        (
            Errno::OVERFLOW,
            Permanent,
            Path,
            "too large for this system",
        ),
        (Errno::FBIG, Permanent, Path, "too large for this system"),
        (Errno::UCLEAN, Permanent, Path, "damaged structures"),
        (Errno::BADMSG, Permanent, Path, "a checksum is wrong"),
        (
            Errno::ILSEQ,
            Permanent,
            Path,
            "integrity data is wrong, or a bad name",
        ),
        (Errno::HWPOISON, Permanent, Path, "the memory page is bad"),
        (Errno::BADE, Permanent, Path, "reserved by another host"),
        (Errno::NOKEY, Permanent, Path, "encrypted, and no key here"),
        (
            Errno::KEYEXPIRED,
            Permanent,
            Path,
            "somebody must renew the ticket",
        ),
        (
            Errno::KEYREVOKED,
            Permanent,
            Path,
            "somebody must renew the key",
        ),
        (
            Errno::KEYREJECTED,
            Permanent,
            Path,
            "signature or key is wrong",
        ),
        (Errno::NOPKG, Permanent, Path, "the cipher is not built in"),
        (Errno::NOTSUP, Permanent, Path, "not of this filesystem"),
        (Errno::NOSYS, Permanent, Path, "not of this kernel"),
        (Errno::NOTTY, Permanent, Path, "not of this kind of file"),
        (Errno::SPIPE, Permanent, Path, "not of this kind of file"),
        (
            Errno::INVAL,
            Permanent,
            Path,
            "the filesystem refuses the call",
        ),
        (
            Errno::TOOBIG,
            Permanent,
            Path,
            "openat2: an argument too new",
        ),
        (Errno::BADF, Permanent, Path, "a bug"),
        (Errno::FAULT, Permanent, Path, "a bug"),
        (Errno::EXIST, Permanent, Path, "only with O_CREAT"),
        (Errno::NOSPC, Permanent, Path, "nothing is written here"),
        (Errno::DQUOT, Permanent, Path, "nothing is written here"),
        (Errno::SRCH, Permanent, Path, "a process of /proc is gone"),
        (Errno::REMOTE, Permanent, Path, "an export of an export"),
        (Errno::MEDIUMTYPE, Permanent, Path, "the wrong medium"),
        (Errno::USERS, Permanent, Path, "the server is full of users"),
        (Errno::PIPE, Permanent, Path, "only from sockets and pipes"),
    ]
}

fn fault_of(errno: Errno) -> Fault {
    Fault::from_io(Step::Read, &io::Error::from(errno))
}

#[test]
#[cfg(target_os = "linux")]
fn every_errno_of_the_table_has_its_class_and_blame() {
    let mut seen = std::collections::BTreeSet::new();
    for (errno, class, blame, reason) in table() {
        let fault = fault_of(errno);
        assert_eq!(fault.class, class, "{errno:?}: {reason}");
        let device = blame == Blame::Device;
        assert_eq!(fault.is_device_like(), device, "{errno:?}: {reason}");
        assert!(!fault.hint().is_empty());
        assert!(seen.insert(errno.raw_os_error()), "{errno:?} twice");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn no_other_errno_is_retried_or_taken_for_vanished() {
    let listed: Vec<i32> = table().iter().map(|row| row.0.raw_os_error()).collect();
    for raw in (1..=133).filter(|raw| !listed.contains(raw)) {
        let fault = Fault::from_io(Step::Read, &io::Error::from_raw_os_error(raw));
        assert_eq!(fault.class, FaultClass::Permanent, "errno {raw}");
        assert!(!fault.is_device_like(), "errno {raw}");
    }
}

#[test]
fn what_a_device_says_is_tried_again() {
    for raw in 1..=133 {
        let fault = Fault::from_io(Step::Read, &io::Error::from_raw_os_error(raw));
        assert!(!fault.is_device_like() || fault.class == FaultClass::Transient);
    }
}

#[test]
fn a_stall_is_the_devices_and_a_changed_file_is_not() {
    assert!(Fault::timed_out(Step::Read, 60).is_device_like());
    assert!(!Fault::changed(Step::Read).is_device_like());
    assert!(!Fault::not_a_file(Step::Open).is_device_like());
    assert!(!Fault::internal("a bug").is_device_like());
}

#[test]
fn errors_without_a_number_are_permanent() {
    let error = io::Error::new(io::ErrorKind::UnexpectedEof, "cut short");
    let fault = Fault::from_io(Step::Read, &error);
    assert_eq!(fault.class, FaultClass::Permanent);
    assert_eq!(fault.to_string(), "read: cut short");
    assert!(!fault.is_device_like());
}

#[test]
fn messages_are_the_systems_own_words() {
    let fault = fault_of(Errno::ACCESS);
    assert_eq!(fault.to_string(), "read: Permission denied");
    assert!(fault.hint().contains("permissions"));
}

#[test]
fn hints_fit_their_cause() {
    let cases = [
        (Errno::IO, "smartctl"),
        (Errno::NODEV, "reconnect"),
        (Errno::STALE, "mount"),
        (Errno::HOSTDOWN, "network"),
        (Errno::BADMSG, "fsck"),
        (Errno::MFILE, "ulimit"),
        (Errno::INVAL, "dupescan retry"),
    ];
    for (errno, word) in cases {
        let hint = fault_of(errno).hint();
        assert!(hint.contains(word), "{errno:?}: {hint}");
    }
}
