//! `dupescan completions` and `dupescan man`: nothing of the command line is
//! missing from them.

use std::collections::BTreeSet;
use std::fs;

use crate::env::TestEnv;

/// The commands that the help lists.
fn commands(env: &TestEnv) -> Vec<String> {
    let help = env.run("--help").ok().out();
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next());
    // A long description may continue on an indented line of its own.
    let names = names.filter(|name| help.contains(&format!("\n  {name} ")) && *name != "help");
    let commands: Vec<_> = names.map(str::to_owned).collect();
    assert!(commands.len() > 13, "{commands:?}");
    commands
}

/// The long options in the whole help of a command.
fn options(env: &TestEnv, command: &str) -> BTreeSet<String> {
    let help = env.run(&format!("{command} --help-all")).ok().out();
    let words = help.lines().filter_map(|line| {
        let line = line.trim_start();
        let start = line
            .find("--")
            .filter(|&at| at <= 4 && line.starts_with('-'))?;
        let option = &line[start..];
        let end = option[2..].find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        Some(option[..end.map_or(option.len(), |end| end + 2)].to_owned())
    });
    let options: BTreeSet<_> = words.filter(|option| option.len() > 2).collect();
    assert!(
        options.contains("--db") && options.contains("--help"),
        "{command}: {options:?}"
    );
    options
}

#[test]
fn completions_know_every_command_and_option() {
    let env = TestEnv::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = env
            .run(&format!("completions {shell}"))
            .ok()
            .without_complaint()
            .out();
        for command in commands(&env) {
            assert!(script.contains(&command), "{shell} lacks {command}");
            for option in options(&env, &command) {
                // fish and elvish write options without their dashes.
                let name = option.trim_start_matches('-');
                assert!(script.contains(name), "{shell} lacks {option} of {command}");
            }
        }
    }
}

#[test]
fn the_bash_completion_is_a_script_that_bash_reads() {
    let env = TestEnv::new();
    let script = env.run("completions bash").ok().stdout;
    env.file("data/completion.bash", script);
    let mut bash = env.bare_command("bash");
    bash.args(["-n", "data/completion.bash"]);
    env.finish(bash).ok().without_complaint();
}

#[test]
fn the_manual_names_every_command_and_global_option() {
    let env = TestEnv::new();
    let page = env
        .run("man")
        .ok()
        .without_complaint()
        .out()
        .replace("\\-", "-");
    assert!(
        page.starts_with(".ie") || page.contains(".TH dupescan 1"),
        "{page}"
    );
    for command in commands(&env) {
        assert!(page.contains(&command), "the manual lacks {command}");
    }
    for option in [
        "--db",
        "--config",
        "--verbose",
        "--quiet",
        "--log-format",
        "--log-file",
        "--color",
    ] {
        assert!(page.contains(option), "the manual lacks {option}");
    }
    assert!(page.contains("130"), "the manual lacks the exit codes");
}

#[test]
fn a_page_has_the_usual_sections() {
    let env = TestEnv::new();
    let page = env.run("man").ok().out();
    for section in ["SYNOPSIS", "EXAMPLES", "SETTINGS", "VALUES", "EXIT STATUS"] {
        assert!(
            page.contains(&format!(".SH \"{section}\"\n")),
            "{section}: {page}"
        );
    }
    assert!(!page.contains("EXTRA"), "{page}");
    // Columns of an example stay columns.
    let examples = page.split(".SH \"EXAMPLES\"\n.nf\n").nth(1).unwrap();
    let examples = examples.split("\n.fi\n").next().unwrap();
    assert!(
        examples.starts_with("dupescan scan ~/Pictures /mnt/backup   find"),
        "{examples}"
    );
    assert!(!page.contains("dupescan\\-help"), "{page}");
    env.run("man --dir data/man1").ok();
    let pages = fs::read_dir(env.path("data/man1")).unwrap();
    for page in pages {
        let path = page.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains("[\\fB\\-\\-db\\fR]"), "{path:?}");
        // Every page that is named is there.
        for name in text.lines().filter_map(|line| line.strip_suffix("(1)")) {
            let name = name.replace("\\-", "-");
            assert!(
                env.path(format!("data/man1/{name}.1")).exists(),
                "{name} in {path:?}"
            );
        }
    }
    let scan = fs::read_to_string(env.path("data/man1/dupescan-scan.1")).unwrap();
    assert!(
        scan.contains("\\fBdupescan scan\\fR [OPTIONS] <PATH>...\n"),
        "{scan}"
    );
}

#[test]
fn every_command_has_a_page_with_its_options() {
    let env = TestEnv::new();
    env.run("man --dir data/man1").ok();
    for command in commands(&env) {
        let page = fs::read_to_string(env.path(format!("data/man1/dupescan-{command}.1"))).unwrap();
        let page = page.replace("\\-", "-");
        for option in options(&env, &command) {
            assert!(
                page.contains(&option),
                "the page of {command} lacks {option}"
            );
        }
        // Each with a description.
        let lines: Vec<_> = page.lines().collect();
        for entry in lines.windows(3).filter(|entry| entry[0] == ".TP") {
            assert!(!entry[2].is_empty(), "{command}: {}", entry[1]);
        }
    }
}

#[test]
fn neither_needs_a_home_or_a_catalog() {
    let env = TestEnv::new();
    for line in [["completions", "fish"].as_slice(), &["man"]] {
        let mut command = env.bare_command(env!("CARGO_BIN_EXE_dupescan"));
        command
            .env_remove("HOME")
            .env_remove("XDG_DATA_HOME")
            .args(line);
        env.finish(command).ok();
    }
    assert!(!env.db().exists());
}
