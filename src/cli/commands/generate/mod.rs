//! `dupescan completions` and `dupescan man`: generated from the definitions
//! of the command line, so that they never disagree with it.

mod manual;

use std::io;
use std::path::Path;

use anyhow::Context;
use clap::CommandFactory;

use crate::cli::args::{Cli, CompletionsArgs, ManArgs};
use crate::cli::terminal::{Exit, output};

const NAME: &str = "dupescan";

/// Prints the completion script of a shell.
pub(crate) fn completions(args: &CompletionsArgs) -> anyhow::Result<Exit> {
    // Into memory first: the generators panic when they cannot write.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), NAME, &mut script);
    output::print(script)?;
    Ok(Exit::Done)
}

/// Prints the manual page, or writes all of them into a folder.
pub(crate) fn man(args: &ManArgs) -> anyhow::Result<Exit> {
    match &args.dir {
        Some(dir) => write_pages(dir)?,
        None => output::print(manual::page(&documented())?)?,
    }
    Ok(Exit::Done)
}

/// The commands as they are documented.
fn documented() -> clap::Command {
    let mut command = Cli::command();
    command = command.mut_subcommands(|command| command.disable_help_subcommand(true));
    command.build();
    command
}

/// Writes the page of a command and of all below it.
fn write_page(command: &clap::Command, dir: &Path) -> io::Result<()> {
    let name = command.get_display_name().unwrap_or(NAME);
    std::fs::write(dir.join(format!("{name}.1")), manual::page(command)?)?;
    let below = command.get_subcommands();
    below
        .into_iter()
        .try_for_each(|child| write_page(child, dir))
}

fn write_pages(dir: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir)
        .and_then(|()| write_page(&documented(), dir))
        .with_context(|| format!("cannot write manual pages into {}", dir.display()))
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;
    use clap_complete::Shell;

    use super::*;

    #[test]
    fn every_shell_learns_every_command() {
        for &shell in Shell::value_variants() {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), NAME, &mut script);
            let script = String::from_utf8(script).unwrap();
            for command in Cli::command().get_subcommands() {
                assert!(script.contains(command.get_name()), "{shell}");
            }
        }
    }

    #[test]
    fn a_folder_gets_a_page_for_every_command() {
        let dir = tempfile::tempdir().unwrap();
        let pages = dir.path().join("man/man1");
        write_pages(&pages).unwrap();
        assert!(pages.join("dupescan.1").exists());
        for command in Cli::command().get_subcommands() {
            let page = pages.join(format!("dupescan-{}.1", command.get_name()));
            assert!(page.exists(), "{}", page.display());
        }
    }

    /// Every command and the commands below it, each with the name of its page.
    fn with_pages(command: &clap::Command, page: &str) -> Vec<(String, clap::Command)> {
        let mut all = vec![(page.to_owned(), command.clone())];
        for child in command.get_subcommands() {
            all.extend(with_pages(child, &format!("{page}-{}", child.get_name())));
        }
        all
    }

    #[test]
    fn every_option_of_every_command_is_in_its_page() {
        let dir = tempfile::tempdir().unwrap();
        write_pages(dir.path()).unwrap();
        let pages = with_pages(&Cli::command(), NAME);
        assert!(pages.iter().any(|(page, _)| page == "dupescan-roots-move"));
        for (page, command) in pages {
            let text = std::fs::read_to_string(dir.path().join(format!("{page}.1"))).unwrap();
            let text = text.replace("\\-", "-");
            let options = command.get_arguments().filter_map(clap::Arg::get_long);
            for option in options {
                assert!(
                    text.contains(&format!("--{option}")),
                    "{page} lacks --{option}"
                );
            }
        }
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let error = write_pages(Path::new("/dev/null/man")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot write manual pages into /dev/null/man"
        );
    }
}
