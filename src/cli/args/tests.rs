use std::collections::BTreeSet;

use clap::CommandFactory;
use clap::error::ErrorKind;

use super::help::{Length, commands_of_length, root_of_length};
use super::*;
use crate::model::{Algorithm, FaultId, IoMode, ListingOptions, Mode, ScanOptions};
use crate::report::Format;
use crate::scan::TypedExcludes;
use crate::settings::{Config, DefaultPaths};

fn parse(line: &str) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(["dupescan"].into_iter().chain(line.split_whitespace()))
}

fn config(line: &str) -> Config {
    let cli = parse(line).unwrap();
    let flags = cli.command.settings().over(cli.global.settings());
    let places = DefaultPaths {
        config: None,
        db: Some("/data/catalog.db".into()),
    };
    Config::load(flags, None, [], &places).unwrap()
}

fn all_commands(command: &clap::Command) -> Vec<clap::Command> {
    let mut all = vec![command.clone()];
    for child in command.get_subcommands() {
        all.extend(all_commands(child));
    }
    all
}

/// The help of a limit says the default that the program has.
#[test]
fn defaults_of_limits_are_those_in_the_help() {
    let limits = crate::model::Limits::default();
    let command = Cli::command();
    let scan = command.find_subcommand("scan").unwrap();
    for (option, default) in [
        ("queue_per_thread", limits.queue_per_worker.to_string()),
        ("batch_rows", limits.batch_rows.to_string()),
        ("batch_time", format!("{}ms", limits.batch_time.as_millis())),
        (
            "item_timeout",
            format!("{}m", limits.item_timeout.as_secs() / 60),
        ),
        (
            "stall_warning",
            format!("{}s", limits.stall_warning.as_secs()),
        ),
        (
            "shutdown_timeout",
            format!("{}s", limits.shutdown.as_secs()),
        ),
        ("retries", limits.retries.to_string()),
        ("backoff", format!("{}ms", limits.backoff.as_millis())),
        ("fatal_errors", limits.fatal_errors.to_string()),
    ] {
        let argument = scan
            .get_arguments()
            .find(|argument| argument.get_id() == option);
        let help = argument.unwrap().get_help().unwrap().to_string();
        assert!(help.ends_with(&format!("[default: {default}]")), "{help}");
    }
}

#[test]
fn the_definitions_are_sound() {
    Cli::command().debug_assert();
}

/// The help of every command, the program itself included, as `--help` and its
/// relatives print it.
fn helps(length: Length, columns: usize) -> Vec<(String, String)> {
    let root = || Cli::command().term_width(columns);
    let mut all = vec![root_of_length(root(), length)];
    let mut commands = commands_of_length(root(), length);
    commands.build();
    all.extend(all_commands(&commands).into_iter().skip(1));
    let help = |mut command: clap::Command| {
        let help = match length {
            Length::All => command.render_long_help(),
            _ => command.render_help(),
        };
        (command.get_name().to_owned(), help.to_string())
    };
    all.into_iter().map(help).collect()
}

#[test]
fn short_help_fits_one_screen_and_help_fits_two() {
    for (length, most) in [(Length::Brief, 24), (Length::Normal, 48)] {
        for (command, help) in helps(length, 80) {
            let lines = help.lines().count();
            assert!(lines <= most, "{command}: {lines} lines\n{help}");
        }
    }
}

#[test]
fn help_fits_the_terminal_and_has_examples() {
    for (length, columns) in [
        (Length::Brief, 80),
        (Length::Normal, 80),
        (Length::All, 100),
    ] {
        for (command, help) in helps(length, columns) {
            for line in help.lines() {
                assert!(line.chars().count() <= columns, "{command}: {line}");
            }
        }
    }
    for command in Cli::command().get_subcommands() {
        let examples = command.get_after_help().map(ToString::to_string);
        assert!(examples.is_some_and(|text| text.contains("Examples:")));
    }
}

#[test]
fn help_states_the_exit_codes_and_only_the_longest_has_tuning_options() {
    let (_, help) = helps(Length::Normal, 80).swap_remove(0);
    for code in ["  0  ", "  1  ", "  2  ", "  3  ", "130  "] {
        assert!(help.contains(code), "{code}");
    }
    for (length, has_tuning) in [
        (Length::Brief, false),
        (Length::Normal, false),
        (Length::All, true),
    ] {
        let all = helps(length, 80);
        let scan = &all.iter().find(|(name, _)| name == "scan").unwrap().1;
        assert!(scan.contains("--threads"), "{scan}");
        for option in ["--backoff", "--batch-rows", "--queue-per-thread", "--db"] {
            assert_eq!(scan.contains(option), has_tuning, "{option}: {scan}");
        }
    }
}

#[test]
fn how_a_scan_runs_is_not_listed_under_what_to_scan() {
    let command = Cli::command();
    let scan = command.find_subcommand("scan").unwrap();
    for option in ["progress_interval", "metrics_interval", "durability"] {
        let mut all = scan.get_arguments();
        let argument = all.find(|argument| argument.get_id() == option).unwrap();
        assert_eq!(argument.get_help_heading(), None, "{option}");
    }
}

#[test]
fn help_of_a_command_can_be_asked_for_in_several_ways() {
    let help = |line: &str| {
        let words = std::iter::once("dupescan").chain(line.split_whitespace());
        let error = help::parse(words.map(Into::into)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DisplayHelp, "{line}");
        error.to_string()
    };
    assert_eq!(help("help scan"), help("scan --help"));
    assert_eq!(help("help"), help("--help"));
    assert_eq!(help("help roots move"), help("roots move --help"));
    assert!(help("scan --nice=false --help-all").contains("--batch-time"));
    assert!(!help("scan --help").contains("--batch-time"));
    assert!(help("scan -h").len() < help("scan --help").len());
}

#[test]
fn every_command_of_the_contract_is_there() {
    let root = Cli::command();
    let names: BTreeSet<_> = root
        .get_subcommands()
        .map(clap::Command::get_name)
        .collect();
    let expected = [
        "scan",
        "resume",
        "report",
        "folders",
        "diff",
        "unique",
        "find",
        "export",
        "history",
        "audit",
        "plan",
        "plans",
        "apply",
        "undo",
        "journal",
        "empty-trash",
        "protect",
        "status",
        "errors",
        "retry",
        "forget",
        "roots",
        "purge",
        "verify",
        "backup",
        "completions",
        "man",
    ];
    assert_eq!(names, BTreeSet::from(expected));
}

#[test]
fn every_setting_is_a_flag_of_the_same_name() {
    let mut root = Cli::command();
    root.build();
    let scan = root.find_subcommand("scan").unwrap();
    let flags: BTreeSet<_> = scan
        .get_arguments()
        .filter_map(clap::Arg::get_long)
        .collect();
    for key in Key::ALL.iter().filter(|key| **key != Key::LogLevel) {
        let flag = key.flag();
        assert!(flags.contains(flag.trim_start_matches("--")), "{flag}");
    }
}

#[test]
fn a_mistyped_command_gets_a_suggestion() {
    let error = parse("scna .").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidSubcommand);
    assert!(error.to_string().contains("'scan'"), "{error}");
}

#[test]
fn verbose_and_quiet_set_the_level_and_exclude_each_other() {
    for (line, level) in [
        ("status", tracing::Level::WARN),
        ("status -q", tracing::Level::ERROR),
        ("-v status", tracing::Level::INFO),
        ("status -vv", tracing::Level::DEBUG),
        ("status -vvvv", tracing::Level::TRACE),
    ] {
        assert_eq!(config(line).log.level, level, "{line}");
    }
    let error = parse("status -q -v").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ArgumentConflict);
}

#[test]
fn every_scan_flag_reaches_the_options() {
    let line = "scan a --mode folders --rehash --hash-all --max-depth 3 --hash blake3 \
                --min-size 1k --max-size 10M --include *.jpg --exclude a --exclude b \
                --gitignore --no-hidden --follow-links --one-file-system --ignore-ctime --nice \
                --bwlimit 50M/s --io hdd";
    let Command::Scan(args) = parse(line).unwrap().command else {
        panic!("not a scan");
    };
    let expected = ScanOptions {
        mode: Mode::Folders,
        algorithm: Some(Algorithm::Blake3),
        listing: ListingOptions {
            follow_links: true,
            one_file_system: true,
            include: vec!["*.jpg".into()],
            // Those that are typed belong to the root.
            exclude: Vec::new(),
            gitignore: true,
            no_hidden: true,
            max_depth: Some(3),
        },
        rehash: true,
        ignore_ctime: true,
        min_size: Some(1024),
        max_size: Some(10 << 20),
        hash_all: true,
        nice: true,
        bwlimit: Some(50 << 20),
        io: IoMode::Hdd,
    };
    assert_eq!(args.options(&config(line).scan), expected);
    let excludes = args.settings.excludes().unwrap();
    assert_eq!(excludes.globs, Some(vec!["a".to_owned(), "b".to_owned()]));
}

#[test]
fn typed_excludes_extend_configured_ones_or_clear_them() {
    let excludes = |line: &str| match parse(line).unwrap().command {
        Command::Scan(args) => args.settings.excludes().unwrap(),
        _ => panic!("not a scan"),
    };
    for (line, globs, only) in [
        ("scan a", None, false),
        ("scan a -E x", Some(vec!["x".to_owned()]), false),
        ("scan a --no-excludes", Some(Vec::new()), true),
        ("scan a --exclude=", Some(Vec::new()), true),
        (
            "scan a --no-excludes -E x",
            Some(vec!["x".to_owned()]),
            true,
        ),
    ] {
        assert_eq!(excludes(line), TypedExcludes { globs, only }, "{line}");
    }
}

#[test]
fn resume_and_retry_take_limits_too() {
    for command in ["scan a", "resume", "retry 1 2"] {
        let limits = config(&format!("{command} --threads 7 --backoff 1s")).limits;
        assert_eq!(limits.workers, 7, "{command}");
        assert_eq!(limits.backoff.as_secs(), 1, "{command}");
    }
}

#[test]
fn the_last_of_a_repeated_flag_wins() {
    assert_eq!(config("scan a --threads 2 --threads 3").limits.workers, 3);
    assert!(!config("scan a --nice --nice=false").scan.nice);
    let skips_hidden = |line| config(line).scan.listing.no_hidden;
    assert!(!skips_hidden("scan a"));
    assert!(skips_hidden("scan a --hidden --no-hidden"));
    assert!(!skips_hidden("scan a --no-hidden --hidden"));
}

#[test]
fn familiar_short_forms_are_understood() {
    let Command::Scan(args) = parse("scan a -L -x -E b -d 2 -j 3").unwrap().command else {
        panic!("not a scan");
    };
    assert_eq!(args.max_depth, Some(2));
    assert_eq!(
        args.settings.excludes().unwrap().globs,
        Some(vec!["b".to_owned()])
    );
    let all = config("scan a -L -x -E b -j 3");
    assert!(all.scan.listing.follow_links && all.scan.listing.one_file_system);
    assert_eq!(all.limits.workers, 3);
    assert_eq!(config("scan a --workers 5").limits.workers, 5);
    assert_eq!(
        config("scan a --queue-per-thread 5")
            .limits
            .queue_per_worker,
        5
    );
    assert!(config("scan a --follow").scan.listing.follow_links);
    let Command::Report(args) = parse("report --json -n 3 -e jpg -E x").unwrap().command else {
        panic!("not a report");
    };
    assert_eq!(args.format.format(), Format::Json);
    assert_eq!((args.limit, args.filter.ext.len()), (Some(3), 1));
    for line in [
        "status", "errors", "folders", "unique", "history", "audit", "find a", "diff a b",
    ] {
        parse(&format!("{line} --json")).unwrap();
        assert!(parse(&format!("{line} --json --format json")).is_err());
    }
}

#[test]
fn a_flag_that_is_on_or_off_does_not_swallow_the_path() {
    let Command::Scan(args) = parse("scan --gitignore a").unwrap().command else {
        panic!("not a scan");
    };
    assert_eq!(args.paths, [PathBuf::from("a")]);
}

#[test]
fn retry_and_report_read_their_values() {
    let Command::Retry(args) = parse("retry 3 5").unwrap().command else {
        panic!("not a retry");
    };
    assert_eq!(args.ids, [FaultId(3), FaultId(5)]);
    let line = "report x --ext .jpg,png --ext gif -0 --min-count 3 --limit 9 --sort count";
    let Command::Report(args) = parse(line).unwrap().command else {
        panic!("not a report");
    };
    assert_eq!(args.filter.ext, ["jpg", "png", "gif"]);
    assert!(args.null);
    assert_eq!((args.min_count, args.limit), (3, Some(9)));
    assert_eq!(args.sort, crate::catalog::Order::Count);
}

#[test]
fn a_report_of_no_possible_size_is_refused() {
    let check = |line| match parse(line).unwrap().command {
        Command::Report(args) => args.check().map_err(|error| error.to_string()),
        _ => panic!("not a report"),
    };
    assert_eq!(check("report --min-size 1k --max-size 1k"), Ok(()));
    assert_eq!(
        check("report --min-size 1k --max-size 10").unwrap_err(),
        "invalid value '10 B' for --max-size: expected at least --min-size, 1.0 KiB"
    );
}

#[test]
fn bad_values_of_single_commands_are_refused() {
    let lines = [
        "scan",
        "scan a --max-depth -1",
        "retry -5",
        "retry all",
        "report --min-count 1",
        "report --limit 0",
        "report --ext a.b",
        "report --exclude a[",
        "report --format xml",
        "errors --limit none",
        "purge --before sometime",
        "roots",
        "roots move a",
        "completions tcsh",
    ];
    for line in lines {
        assert_eq!(parse(line).expect_err(line).exit_code(), 2, "{line}");
    }
}
