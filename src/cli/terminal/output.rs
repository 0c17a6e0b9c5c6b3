//! Standard output as results go there: buffered, exact bytes, and remembering
//! when the reader has closed it. Nothing here adds or strips colour, since names
//! may contain escape sequences of their own.

use std::io::{self, BufWriter, StdoutLock, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;

/// Set once the reader of standard output has left (`| head -1`). Kept here,
/// since renderers' errors do not all say which I/O error is behind them.
static READER_LEFT: AtomicBool = AtomicBool::new(false);

/// Locks standard output for a command's results. Call `flush` before it is
/// dropped: dropping flushes too, but cannot report an error.
pub(crate) fn stdout() -> Stdout {
    Stdout(BufWriter::with_capacity(
        64 * 1024,
        Raw(io::stdout().lock()),
    ))
}

/// Prints a whole result at once.
pub(crate) fn print(text: impl AsRef<[u8]>) -> anyhow::Result<()> {
    let mut stdout = stdout();
    stdout
        .write_all(text.as_ref())
        .and_then(|()| stdout.flush())
        .context("cannot write to standard output")
}

/// Whether a write found that the reader of standard output has left.
pub(crate) fn reader_left() -> bool {
    READER_LEFT.load(Ordering::Relaxed)
}

/// A writer of results; made by [`stdout`].
#[derive(Debug)]
pub(crate) struct Stdout(BufWriter<Raw>);

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[derive(Debug)]
struct Raw(StdoutLock<'static>);

impl Write for Raw {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).inspect_err(note_reader)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().inspect_err(note_reader)
    }
}

fn note_reader(error: &io::Error) {
    if error.kind() == io::ErrorKind::BrokenPipe {
        READER_LEFT.store(true, Ordering::Relaxed);
    }
}
