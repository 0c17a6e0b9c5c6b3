//! The manual page of a command. Options and commands come from clap_mangen.
//! The synopsis and the sections at the end of the help are written here:
//! clap_mangen omits option values in the one, and puts the others under one
//! heading as running text.

use std::fmt::Write as _;
use std::io;

use clap_mangen::Man;

/// The page of a command that was built, as roff.
pub(crate) fn page(command: &clap::Command) -> io::Result<Vec<u8>> {
    // A page has room for what `-h` and `--help` hide.
    let whole = command
        .clone()
        .mut_args(|arg| arg.hide_short_help(false).hide_long_help(false));
    let man = Man::new(whole).source(concat!("dupescan ", env!("CARGO_PKG_VERSION")));
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    page.extend(synopsis(command).into_bytes());
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.get_subcommands().next().is_some() {
        man.render_subcommands_section(&mut page)?;
    }
    let after = command.get_after_long_help();
    if let Some(text) = after.or_else(|| command.get_after_help()) {
        page.extend(sections(&text.to_string()).into_bytes());
    }
    Ok(page)
}

/// How the command is called, as its help says it.
fn synopsis(command: &clap::Command) -> String {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:");
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let mut section = heading("synopsis");
    for line in usage.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match line.strip_prefix(name) {
            Some(rest) => push_line(
                &mut section,
                &format!("\\fB{}\\fR{}", escaped(name), escaped(rest)),
            ),
            None => push_line(&mut section, &escaped(line)),
        }
        push_line(&mut section, ".br");
    }
    section
}

/// The sections of a text whose headings are lines that end with a colon, and
/// whose other lines are indented.
fn sections(text: &str) -> String {
    let mut written = String::new();
    let mut lines = text.lines().filter(|line| !line.is_empty()).peekable();
    while let Some(line) = lines.next() {
        let title = line.trim_end_matches(':');
        let mut body = Vec::new();
        while let Some(line) = lines.next_if(|line| line.starts_with(' ')) {
            body.push(line);
        }
        written += &heading(match title {
            "Exit codes" => "exit status",
            other => other,
        });
        written += &match title {
            "Examples" => as_it_is(&body),
            _ => paragraphs(&body),
        };
    }
    written
}

/// Lines that must not be filled.
fn as_it_is(lines: &[&str]) -> String {
    let mut text = String::from(".nf\n");
    for line in lines {
        push_line(&mut text, &escaped(line.strip_prefix("  ").unwrap_or(line)));
    }
    text + ".fi\n"
}

/// A paragraph for each line that begins with a word and a gap, and flowing
/// text otherwise.
fn paragraphs(lines: &[&str]) -> String {
    let mut text = String::new();
    for line in lines {
        let line = line.trim();
        match line.split_once("  ") {
            Some((word, rest)) if !word.contains(' ') => {
                push_line(&mut text, ".TP");
                push_line(&mut text, &format!("\\fB{}\\fR", escaped(word)));
                push_line(&mut text, &escaped(rest.trim()));
            }
            _ => push_line(&mut text, &escaped(line)),
        }
    }
    text
}

fn heading(title: &str) -> String {
    format!(".SH \"{}\"\n", title.to_uppercase())
}

fn push_line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("writing to a String cannot fail");
}

/// Text that roff shows as it is.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    match text.starts_with(['.', '\'']) {
        true => format!("\\&{text}"),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_after_the_options_becomes_sections() {
        let text = "Examples:\n  run --fast   quickly\n  .hidden\n\nSettings:\n  In a file,\n  \
                    or not.\n\nExit codes:\n    0  done\n    1  not\n       quite\n";
        assert_eq!(
            sections(text),
            ".SH \"EXAMPLES\"\n.nf\nrun \\-\\-fast   quickly\n\\&.hidden\n.fi\n\
             .SH \"SETTINGS\"\nIn a file,\nor not.\n\
             .SH \"EXIT STATUS\"\n.TP\n\\fB0\\fR\ndone\n.TP\n\\fB1\\fR\nnot\nquite\n"
        );
    }
}
