//! Groups, headers and writers that the renderers' tests share.

use std::cell::Cell;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::model::{Algorithm, AsOf, CopyEntry, Digest, Filters, Group, ScanId, Timestamp, Totals};
use crate::report::format::Format;
use crate::report::renderer::renderer;
use crate::report::style::{Header, Style};

/// A report of 2026-11-16 09:31:07 UTC, as of scan 12.
pub(crate) fn header() -> Header {
    Header {
        generated_at: Timestamp(1_794_821_467),
        as_of: Some(AsOf {
            scan: ScanId(12),
            finished: Some(Timestamp(1_794_821_400)),
        }),
        unfinished: 0,
        filters: Filters::default(),
        keep: Vec::new(),
        not_compared: None,
    }
}

/// The header of a report from an empty catalog.
pub(crate) fn nothing_scanned() -> Header {
    Header {
        as_of: None,
        ..header()
    }
}

/// The header of a report with marks.
pub(crate) fn marking() -> Header {
    Header {
        keep: vec!["under:/home/ann".to_owned(), "oldest".to_owned()],
        ..header()
    }
}

/// The photos, of which keep rules keep the second copy.
pub(crate) fn marked_photos() -> Group {
    Group {
        kept: Some(1),
        ..photos()
    }
}

/// Two copies of a raw photo, the second with a hard link.
pub(crate) fn photos() -> Group {
    let size = 25_270_682;
    let mut backup = copy("/backup/2024/IMG_0001.CR2", "/backup", size);
    backup.links = vec!["/backup/by-date/2024-05-01.CR2".into()];
    Group {
        digest: Digest::from_bytes(&[0xa7; 32]).unwrap(),
        algorithm: Algorithm::Sha256,
        size,
        byte_for_byte: true,
        kept: None,
        copies: vec![
            backup,
            copy("/home/ann/photos/2024/IMG_0001.CR2", "/home/ann", size),
        ],
    }
}

/// Names with a newline, an escape sequence, a C1 control, a bidi override and
/// a byte that is not UTF-8, on a volume without stable inodes.
pub(crate) fn odd_group() -> Group {
    let mut names = copy("/usb/two\nlines", "/usb", 9);
    names.inode = None;
    names.links = vec![path(b"/usb/latin-\xe9")];
    Group {
        digest: Digest::from_bytes(&[0x0b; 32]).unwrap(),
        algorithm: Algorithm::Blake3,
        size: 9,
        byte_for_byte: false,
        kept: None,
        copies: vec![
            names,
            copy("/usb/\u{1b}[2J\u{9b}1m\u{202e}gpj.exe", "/usb", 9),
        ],
    }
}

/// One copy, modified at 2024-05-01 12:00:00.000000042 UTC.
pub(crate) fn copy(path: &str, root: &str, occupied: u64) -> CopyEntry {
    CopyEntry {
        occupied,
        path: path.into(),
        root: root.into(),
        mtime_ns: 1_714_564_800_000_000_042,
        volume: "uuid:5e1f".into(),
        inode: Some(4711),
        ..CopyEntry::default()
    }
}

/// A path of exactly these bytes.
pub(crate) fn path(bytes: &[u8]) -> PathBuf {
    OsStr::from_bytes(bytes).into()
}

/// Two copies whose paths are exactly these bytes below `/r/`.
pub(crate) fn group_named(first: &[u8], second: &[u8]) -> Group {
    let named = |name: &[u8]| CopyEntry {
        path: path(&[b"/r/", name].concat()),
        ..copy("", "/r", photos().size)
    };
    Group {
        copies: vec![named(first), named(second)],
        ..photos()
    }
}

/// Every byte that a file name can hold, in one name.
pub(crate) fn every_byte() -> Vec<u8> {
    (1..=255).filter(|&byte| byte != b'/').collect()
}

/// The sums of these groups.
pub(crate) fn totals(groups: &[Group]) -> Totals {
    Totals {
        groups: groups.len() as u64,
        copies: groups.iter().map(|group| group.copies.len() as u64).sum(),
        reclaimable: groups.iter().map(Group::reclaimable).sum(),
        unchecked: 0,
    }
}

/// A whole report under the standard header.
pub(crate) fn render(format: Format, style: Style, groups: &[Group]) -> Vec<u8> {
    render_under(&header(), format, style, groups)
}

/// A whole report under `header`.
pub(crate) fn render_under(
    header: &Header,
    format: Format,
    style: Style,
    groups: &[Group],
) -> Vec<u8> {
    let mut out = Vec::new();
    let mut report = renderer(format, style, &mut out);
    report.begin(header).unwrap();
    for group in groups {
        report.group(group).unwrap();
    }
    report.end(&totals(groups)).unwrap();
    drop(report);
    out
}

/// A writer that fails after a number of bytes, or when it is flushed.
pub(crate) struct Pipe {
    room: usize,
    can_flush: bool,
}

impl Pipe {
    pub(crate) fn with_room(room: usize) -> Self {
        Self {
            room,
            can_flush: true,
        }
    }

    pub(crate) fn that_cannot_flush() -> Self {
        Self {
            room: usize::MAX,
            can_flush: false,
        }
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.room == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let taken = bytes.len().min(self.room);
        self.room -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.can_flush {
            Ok(())
        } else {
            Err(io::ErrorKind::StorageFull.into())
        }
    }
}

/// A writer that counts what reaches it.
pub(crate) struct CountingWriter<'a>(pub(crate) &'a Cell<usize>);

impl Write for CountingWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.set(self.0.get() + bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
