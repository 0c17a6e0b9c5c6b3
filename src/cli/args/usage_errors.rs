//! Usage errors in one sentence, with a suggestion, instead of clap's paragraph.

use std::error::Error;
use std::io::{self, Write};

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::Cli;
use crate::cli::terminal::{Exit, exit};
use crate::settings::values;

/// Prints what is wrong with the command line and how to fix it, or what clap
/// prints: help, the version.
pub(crate) fn explain(error: &clap::Error) -> Exit {
    if let Some(sentence) = sentence(error) {
        exit::print_line(&sentence);
        if let Some(hint) = hint(error) {
            writeln!(io::stderr(), "{hint}").unwrap_or_default();
        }
        return Exit::Usage;
    }
    match error.print() {
        _ if error.use_stderr() => Exit::Usage,
        Err(failure) if failure.kind() != io::ErrorKind::BrokenPipe => {
            exit::print_line(&format!("cannot write to standard output: {failure}"));
            Exit::Failed
        }
        _ => Exit::Done,
    }
}

/// What is wrong with the command line; `None` for what clap prints itself:
/// help, the version.
fn sentence(error: &clap::Error) -> Option<String> {
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let name = one(error, ContextKind::InvalidSubcommand)?;
            let meant = suggestion(error, &name);
            Some(format!("unknown command '{name}'{meant}"))
        }
        ErrorKind::UnknownArgument => {
            let name = one(error, ContextKind::InvalidArg)?;
            let what = if name.starts_with('-') {
                format!("unknown option {name}")
            } else {
                format!("unexpected argument '{name}'")
            };
            Some(what + &suggestion(error, &name))
        }
        ErrorKind::MissingRequiredArgument => {
            let names = all(error, ContextKind::InvalidArg);
            let names: Vec<_> = names.iter().map(|name| described(name)).collect();
            Some(format!("missing {}", names.join(" and ")))
        }
        ErrorKind::ArgumentConflict => {
            let name = one(error, ContextKind::InvalidArg)?;
            let others = all(error, ContextKind::PriorArg);
            let others: Vec<_> = others.iter().map(|other| bare_name(other)).collect();
            let (name, others) = (bare_name(&name), others.join(" or "));
            Some(format!("{name} cannot be used with {others}"))
        }
        ErrorKind::TooManyValues => {
            let name = one(error, ContextKind::InvalidArg)?;
            let value = one(error, ContextKind::InvalidValue)?;
            let name = bare_name(&name);
            Some(format!("unexpected value '{value}': {name} takes no value"))
        }
        ErrorKind::WrongNumberOfValues => {
            let name = one(error, ContextKind::InvalidArg)?;
            let wanted = number(error, ContextKind::ExpectedNumValues)?;
            let given = number(error, ContextKind::ActualNumValues)?;
            let name = bare_name(&name);
            Some(format!("{name} takes {wanted} values, but got {given}"))
        }
        ErrorKind::ValueValidation | ErrorKind::InvalidValue => bad_value(error),
        _ => None,
    }
}

/// The usage of the command, and where to find its help; `None` if the sentence
/// alone says what to do.
fn hint(error: &clap::Error) -> Option<String> {
    let usage = usage_of(error)?;
    let command = command_of(&usage).join(" ");
    Some(format!("Usage: {usage} (more: {command} --help)"))
}

/// The first line of the usage that clap would print.
fn usage_of(error: &clap::Error) -> Option<String> {
    let ContextValue::StyledStr(usage) = error.get(ContextKind::Usage)? else {
        return None;
    };
    let usage = usage.to_string();
    let line = usage.lines().next()?.trim_start_matches("Usage:").trim();
    Some(line.to_owned())
}

/// The words before the arguments: the program, under the name it was started
/// with, and the subcommands.
fn command_of(usage: &str) -> Vec<&str> {
    let words = usage.split(' ');
    words
        .take_while(|word| !word.starts_with(['[', '<', '-']))
        .collect()
}

/// A bad value gets the same line as one in the file or the environment.
fn bad_value(error: &clap::Error) -> Option<String> {
    let allowed = match error.kind() {
        ErrorKind::ValueValidation => Some(error.source()?.to_string()),
        _ => match all(error, ContextKind::ValidValue) {
            names if names.is_empty() => None,
            names => Some(format!("expected {}", values::alternatives(&names))),
        },
    };
    let option = one(error, ContextKind::InvalidArg)?;
    let option = bare_name(&option);
    let value = one(error, ContextKind::InvalidValue).filter(|value| !value.is_empty());
    Some(match (value, allowed) {
        (Some(value), Some(allowed)) => format!("invalid value '{value}' for {option}: {allowed}"),
        (Some(value), None) => format!("invalid value '{value}' for {option}"),
        (None, Some(allowed)) => format!("{option} needs a value: {allowed}"),
        (None, None) => format!("{option} needs a value"),
    })
}

/// What was probably meant by `name`.
fn suggestion(error: &clap::Error, name: &str) -> String {
    let mut names = meant_in_lower_case(error, name);
    if names.is_empty() {
        names = suggested(error);
    }
    if !names.is_empty() {
        return format!(": did you mean {}?", values::alternatives(&names));
    }
    // "'report --format' exists"; the other tips are about `--`.
    let tips = all(error, ContextKind::Suggested);
    tips.iter()
        .find(|tip| tip.ends_with(" exists"))
        .map_or_else(String::new, |tip| format!(", but {tip}"))
}

fn suggested(error: &clap::Error) -> Vec<String> {
    let kinds = [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg];
    kinds.iter().flat_map(|kind| all(error, *kind)).collect()
}

/// clap's suggestions are case-sensitive: `SCAN` has nothing in common with
/// `scan`. So the word is tried again in lower case.
fn meant_in_lower_case(error: &clap::Error, name: &str) -> Vec<String> {
    let lower = name.to_lowercase();
    let Some(usage) = usage_of(error).filter(|_| lower != name) else {
        return Vec::new();
    };
    let mut line = command_of(&usage);
    line.push(&lower);
    match Cli::command().try_get_matches_from(&line) {
        Err(again) if again.kind() == error.kind() => suggested(&again),
        _ => vec![lower],
    }
}

fn number(error: &clap::Error, kind: ContextKind) -> Option<isize> {
    match error.get(kind) {
        Some(ContextValue::Number(number)) => Some(*number),
        _ => None,
    }
}

fn one(error: &clap::Error, kind: ContextKind) -> Option<String> {
    all(error, kind).into_iter().next()
}

fn all(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        Some(ContextValue::StyledStrs(texts)) => texts.iter().map(ToString::to_string).collect(),
        _ => Vec::new(),
    }
}

/// An argument that is missing, in words where its name says little.
fn described(name: &str) -> &str {
    match bare_name(name) {
        "A" => "first folder",
        "B" => "second folder",
        other => other,
    }
}

/// What clap calls `--hash <ALGORITHM>`, `--nice[=<BOOL>]` or `[ID]...`,
/// without its decoration.
fn bare_name(option: &str) -> &str {
    let decoration = [' ', '[', ']', '<', '>', '=', '.'];
    option
        .split(decoration)
        .find(|part| !part.is_empty())
        .unwrap_or(option)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn error(line: &str) -> clap::Error {
        let args = ["dupescan"].into_iter().chain(line.split_whitespace());
        Cli::try_parse_from(args).unwrap_err()
    }

    fn message(line: &str) -> Option<String> {
        sentence(&error(line))
    }

    #[test]
    fn a_bad_value_of_a_flag_is_one_line() {
        for (line, expected) in [
            (
                "report --min-size big",
                "invalid value 'big' for --min-size: expected a size such as 512, 1k, 10M, 1.5G \
                 or 2GiB (powers of 1024) or 500MB (of 1000), less than 8 EiB",
            ),
            (
                "scan . --hash md5",
                "invalid value 'md5' for --hash: expected sha256, sha512, sha3-256 or blake3",
            ),
            (
                "scan . --gitignore=maybe",
                "invalid value 'maybe' for --gitignore: expected true or false",
            ),
            (
                "report --format",
                "--format needs a value: expected table, json, jsonl, csv, fdupes, paths or html",
            ),
            ("report --limit", "--limit needs a value"),
            ("history --between 1", "--between takes 2 values, but got 1"),
            (
                "retry all",
                "invalid value 'all' for ID: expected an ID as listed by `dupescan errors`",
            ),
        ] {
            assert_eq!(message(line).unwrap(), expected);
        }
    }

    #[test]
    fn what_was_mistyped_is_named_with_what_was_meant() {
        for (line, expected, usage) in [
            (
                "scna .",
                "unknown command 'scna': did you mean scan?",
                "dupescan --help",
            ),
            (
                "report --forat json",
                "unknown option --forat: did you mean --format?",
                "dupescan report --help",
            ),
            (
                "scan --wat .",
                "unknown option --wat",
                "dupescan scan --help",
            ),
            (
                "status extra",
                "unexpected argument 'extra'",
                "dupescan status --help",
            ),
            ("scan", "missing PATH", "dupescan scan --help"),
            ("diff a", "missing second folder", "dupescan diff --help"),
            (
                "roots move",
                "missing OLD and NEW",
                "dupescan roots move --help",
            ),
            (
                "status -q -v",
                "--quiet cannot be used with --verbose",
                "--help",
            ),
            (
                "report --null=3",
                "unexpected value '3': --null takes no value",
                "dupescan report --help",
            ),
        ] {
            let error = error(line);
            assert_eq!(sentence(&error).as_deref(), Some(expected));
            let hint = hint(&error).unwrap();
            assert!(hint.starts_with("Usage: dupescan "), "{hint}");
            assert!(hint.ends_with(&format!("{usage})")), "{hint}");
            assert!(!hint.contains('\n'), "{hint}");
        }
    }

    #[test]
    fn capitals_do_not_hide_what_was_meant() {
        for (line, expected) in [
            ("SCAN .", "unknown command 'SCAN': did you mean scan?"),
            ("Scan .", "unknown command 'Scan': did you mean scan?"),
            ("SCNA .", "unknown command 'SCNA': did you mean scan?"),
            (
                "report --Format json",
                "unknown option --Format: did you mean --format?",
            ),
            (
                "report --FORAT json",
                "unknown option --FORAT: did you mean --format?",
            ),
            ("XYZZY", "unknown command 'XYZZY'"),
        ] {
            assert_eq!(message(line).as_deref(), Some(expected));
        }
    }

    #[test]
    fn the_hint_works_under_any_name() {
        for (program, command) in [
            ("/opt/My-Dupes_2.1", "My-Dupes_2.1 roots move"),
            ("./finder", "finder roots move"),
        ] {
            let error = Cli::try_parse_from([program, "roots", "move"]).unwrap_err();
            let hint = hint(&error).unwrap();
            assert!(hint.starts_with(&format!("Usage: {command} ")), "{hint}");
            assert!(
                hint.ends_with(&format!("(more: {command} --help)")),
                "{hint}"
            );
        }
    }

    #[test]
    fn help_is_left_to_clap() {
        for line in ["--help", "--version", "roots", ""] {
            assert_eq!(message(line), None, "{line}");
        }
    }
}
