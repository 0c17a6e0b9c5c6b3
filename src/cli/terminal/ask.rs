//! Questions on the terminal.

use std::io::{self, BufRead, IsTerminal, Write};

use super::{exit, output};

/// Whether the answer on the terminal is one of these.
pub(crate) fn ask(question: &str, expected: &[&str]) -> anyhow::Result<bool> {
    if !io::stdin().is_terminal() {
        return Err(exit::usage("no terminal to ask on: use --yes"));
    }
    let mut out = output::stdout();
    write!(out, "{question}")?;
    out.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(expected.contains(&answer.trim().to_lowercase().as_str()))
}
