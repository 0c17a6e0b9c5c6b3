//! The terminal that progress is drawn on. It differs from what indicatif does
//! by itself: lines end with a real line end instead of blanks up to the last
//! column, so that a terminal that is made wider or narrower keeps them apart;
//! and the cursor rests in the first column, so that the `^C` that a terminal
//! shows for Ctrl-C does not begin another line, which would stay behind. A
//! terminal that was made narrower is assumed to have wrapped its lines again, as
//! nearly all do: the extra rows are cleared too.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anstream::adapter::strip_str;
use indicatif::TermLike;
use rustix::termios::tcgetwinsize;
use unicode_width::UnicodeWidthStr;

/// Assumed if the terminal does not say.
const DEFAULT_SIZE: (u16, u16) = (80, 24);

/// Standard error, drawn on frame by frame.
#[derive(Debug, Default)]
pub(crate) struct Screen(Mutex<Frame>);

/// What is to be written with the next flush.
#[derive(Debug, Default)]
struct Frame {
    bytes: String,
    /// Whether a line was filled up: what is written next begins a new one.
    is_line_full: bool,
    /// Whether something of this frame was written.
    is_begun: bool,
    /// The widths of this frame's lines.
    lines: Vec<usize>,
    /// Those of the frame on the screen, and the columns it was drawn for.
    shown: (Vec<usize>, u16),
}

/// Columns of the terminal that standard error is.
pub(crate) fn width() -> u16 {
    size().0
}

fn size() -> (u16, u16) {
    match tcgetwinsize(io::stderr()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col, size.ws_row),
        _ => DEFAULT_SIZE,
    }
}

impl Screen {
    fn frame(&self) -> MutexGuard<'_, Frame> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, count: usize, command: char) -> io::Result<()> {
        if count > 0 {
            self.frame().bytes += &format!("\x1b[{count}{command}");
        }
        Ok(())
    }
}

fn up_by(rows: usize) -> String {
    match rows {
        0 => String::new(),
        rows => format!("\x1b[{rows}A"),
    }
}

impl Frame {
    fn write(&mut self, text: &str) {
        // After each line indicatif writes the blanks, none or more, that
        // fill it up.
        if text.bytes().all(|byte| byte == b' ') {
            self.bytes += "\x1b[K";
            self.is_line_full = true;
        } else {
            if std::mem::take(&mut self.is_line_full) {
                self.bytes += "\r\n";
            }
            self.bytes += text;
            if text != "\r" {
                self.lines.push(strip_str(text).to_string().width());
            }
        }
    }

    /// Goes up from the last line of what is shown; in a terminal that was made
    /// narrower since, its lines have become more.
    fn begin(&mut self, columns: u16, up: usize) {
        let (lines, drawn_for) = &self.shown;
        let mut up = up;
        if !std::mem::replace(&mut self.is_begun, true) && columns < *drawn_for {
            let above = lines.split_last().map_or(&[][..], |(_, above)| above);
            let rows = |width: &usize| width.div_ceil(columns.max(1).into()).max(1);
            up += above.iter().map(|width| rows(width) - 1).sum::<usize>();
            self.bytes += &up_by(up);
            self.bytes += "\r\x1b[J";
        } else {
            self.bytes += &up_by(up);
        }
    }

    fn take(&mut self, columns: u16) -> String {
        self.is_line_full = false;
        self.is_begun = false;
        self.shown = (std::mem::take(&mut self.lines), columns);
        self.bytes.push('\r');
        std::mem::take(&mut self.bytes)
    }
}

impl TermLike for Screen {
    fn width(&self) -> u16 {
        size().0
    }

    fn height(&self) -> u16 {
        size().1
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.frame().begin(size().0, n);
        Ok(())
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.push(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.push(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.push(n, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        let mut frame = self.frame();
        frame.bytes += text;
        frame.bytes += "\r\n";
        Ok(())
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.frame().write(text);
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.frame().bytes += "\r\x1b[2K";
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        let bytes = self.frame().take(size().0);
        io::stderr().write_all(bytes.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filled_lines_end_with_a_line_end() {
        let screen = Screen::default();
        for text in ["\r", "one", "     ", "two", ""] {
            screen.write_str(text).unwrap();
        }
        let frame = screen.frame().take(80);
        assert_eq!(frame, "\rone\x1b[K\r\ntwo\x1b[K\r");
        let mut frame = screen.frame();
        assert_eq!(frame.shown, (vec![3, 3], 80));
        frame.begin(80, 1);
        frame.begin(80, 0);
        assert_eq!(frame.take(80), "\x1b[1A\r");
    }

    #[test]
    fn lines_that_a_narrower_terminal_broke_are_cleared() {
        let mut frame = Frame::default();
        for text in [
            &"x".repeat(70),
            "",
            "\x1b[1mshort\x1b[0m",
            "",
            &"y".repeat(70),
            "",
        ] {
            frame.write(text);
        }
        frame.take(80);
        assert_eq!(frame.shown, (vec![70, 5, 70], 80));
        // The first took three rows; the cursor stands in the first row of the
        // last.
        frame.begin(30, 2);
        frame.begin(30, 2);
        assert_eq!(frame.take(30), "\x1b[4A\r\x1b[J\x1b[2A\r");
        frame.begin(30, 2);
        assert_eq!(frame.take(30), "\x1b[2A\r", "nothing was shown");
        frame.write("z");
        frame.take(30);
        frame.begin(60, 0);
        assert_eq!(frame.take(60), "\r", "wider needs nothing");
    }
}
