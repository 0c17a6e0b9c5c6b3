//! A terminal for tests: a pseudo-terminal that the binary draws on, and just
//! enough of an emulator to tell what a user would see.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use unicode_width::UnicodeWidthChar;

/// A terminal with a program on it.
pub(crate) struct Terminal {
    master: File,
    child: Child,
    pub(crate) screen: Screen,
    /// Everything that was written, as it came.
    pub(crate) raw: Vec<u8>,
}

impl Terminal {
    /// Runs a command with standard error, and standard output unless it goes
    /// to a file, on a terminal of so many columns.
    pub(crate) fn start(mut command: Command, columns: u16, stdout: Option<File>) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize {
            ws_row: 24,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&master, size).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let path = Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
        let open = || {
            OpenOptions::new()
                .read(true)
                .write(true)
                .open(path)
                .unwrap()
        };
        let stdout = stdout.map_or_else(|| Stdio::from(open()), Stdio::from);
        command.env("TERM", "xterm-256color");
        let child = command
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(open())
            .spawn()
            .unwrap();
        // The command keeps its ends of the terminal open until it goes.
        drop(command);
        Self {
            master: File::from(master),
            child,
            screen: Screen::new(columns.into()),
            raw: Vec::new(),
        }
    }

    /// Takes in what the program writes until the screen is as wanted; `false`
    /// when the program ended first.
    pub(crate) fn watch_until(&mut self, mut wanted: impl FnMut(&Screen) -> bool) -> bool {
        let mut bytes = [0; 4096];
        // At the end of the program the terminal answers with an I/O error.
        while let Ok(count @ 1..) = self.master.read(&mut bytes) {
            self.raw.extend(&bytes[..count]);
            self.screen.take(&bytes[..count]);
            if wanted(&self.screen) {
                return true;
            }
        }
        false
    }

    /// Presses Ctrl-C: the terminal shows it, and the program gets the signal.
    pub(crate) fn press_ctrl_c(&mut self) {
        self.master.write_all(b"\x03").unwrap();
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    }

    /// Watches until the program ends; returns its exit code.
    pub(crate) fn finish(&mut self) -> Option<i32> {
        self.watch_until(|_| false);
        self.child.wait().unwrap().code()
    }
}

/// What a user sees: rows of characters, and where the cursor is.
#[derive(Debug, Default)]
pub(crate) struct Screen {
    columns: usize,
    rows: Vec<Vec<char>>,
    row: usize,
    column: usize,
    pending: Vec<u8>,
    /// Lines that did not fit and wrapped to the next row.
    pub(crate) wrapped: Vec<String>,
    /// Whether anything but the default colour was used.
    pub(crate) has_color: bool,
}

impl Screen {
    fn new(columns: usize) -> Self {
        Self {
            columns,
            ..Self::default()
        }
    }

    /// The rows as text, without blanks at their ends.
    pub(crate) fn lines(&self) -> Vec<String> {
        let text = |row: &Vec<char>| row.iter().collect::<String>().trim_end().to_owned();
        self.rows.iter().map(text).collect()
    }

    /// All rows in one.
    pub(crate) fn text(&self) -> String {
        self.lines().join("\n")
    }

    fn take(&mut self, bytes: &[u8]) {
        self.pending.extend(bytes);
        let bytes = std::mem::take(&mut self.pending);
        let mut rest = &bytes[..];
        while let Some(used) = self.take_one(rest) {
            rest = &rest[used..];
        }
        self.pending = rest.to_vec();
    }

    /// One character or sequence; `None` when it is not all there yet.
    fn take_one(&mut self, bytes: &[u8]) -> Option<usize> {
        match *bytes.first()? {
            b'\r' => self.column = 0,
            b'\n' => self.row += 1,
            0x1b => return self.take_sequence(bytes),
            first => {
                let length = match first {
                    0..0x80 => 1,
                    0x80..0xe0 => 2,
                    0xe0..0xf0 => 3,
                    _ => 4,
                };
                let text = std::str::from_utf8(bytes.get(..length)?).unwrap();
                self.put(text.chars().next().unwrap());
                return Some(length);
            }
        }
        Some(1)
    }

    fn take_sequence(&mut self, bytes: &[u8]) -> Option<usize> {
        assert_eq!(*bytes.get(1)?, b'[', "only CSI sequences are known");
        let end = bytes[2..]
            .iter()
            .position(|byte| (0x40..0x7f).contains(byte))?
            + 2;
        let parameter = std::str::from_utf8(&bytes[2..end]).unwrap();
        let count = parameter.parse().unwrap_or(1);
        match bytes[end] {
            b'A' => self.row = self.row.saturating_sub(count),
            b'B' => self.row += count,
            b'C' => self.column += count,
            b'D' => self.column = self.column.saturating_sub(count),
            b'K' if parameter == "2" => self.current().clear(),
            b'K' => {
                let column = self.column;
                self.current().truncate(column);
            }
            b'm' => self.has_color = true,
            other => panic!("unknown sequence {parameter}{}", char::from(other)),
        }
        Some(end + 1)
    }

    fn current(&mut self) -> &mut Vec<char> {
        let row = self.row;
        if self.rows.len() <= row {
            self.rows.resize(row + 1, Vec::new());
        }
        &mut self.rows[row]
    }

    fn put(&mut self, character: char) {
        let width = character.width().unwrap_or(0);
        if self.column + width > self.columns {
            let line = self.current().iter().collect();
            self.wrapped.push(line);
            self.row += 1;
            self.column = 0;
        }
        let column = self.column;
        let row = self.current();
        if row.len() <= column {
            row.resize(column + 1, ' ');
        }
        row[column] = character;
        self.column += width;
    }
}
