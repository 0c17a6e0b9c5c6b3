use std::collections::BTreeSet;

use clap::CommandFactory;
use clap::error::ErrorKind;

use super::report::ReportSort;
use super::*;
use crate::model::{Algorithm, FaultId, IoMode, ListingOptions, Mode, ScanOptions};
use crate::settings::{Config, Places};

fn parse(line: &str) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(["dupescan"].into_iter().chain(line.split_whitespace()))
}

fn config(line: &str) -> Config {
    let cli = parse(line).unwrap();
    let flags = cli.command.settings().over(cli.global.settings());
    let places = Places {
        config: None,
        db: Some("/data/catalog.db".into()),
    };
    Config::load(flags, None, |_| None, &places).unwrap()
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
        ("queue_per_worker", limits.queue_per_worker.to_string()),
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

#[test]
fn help_fits_100_columns_and_has_examples() {
    let mut root = Cli::command().term_width(100);
    root.build();
    for mut command in all_commands(&root) {
        let name = command.get_name().to_owned();
        for help in [command.render_help(), command.render_long_help()] {
            for line in help.to_string().lines() {
                assert!(line.chars().count() <= 100, "{name}: {line}");
            }
        }
    }
    for command in Cli::command().get_subcommands() {
        let examples = command.get_after_help().map(ToString::to_string);
        assert!(examples.is_some_and(|text| text.contains("Examples:")));
    }
}

#[test]
fn long_help_states_the_exit_codes_and_short_help_hides_rare_limits() {
    let help = Cli::command().render_long_help().to_string();
    for code in ["  0  ", "  1  ", "  2  ", "  3  ", "130  "] {
        assert!(help.contains(code), "{code}");
    }
    let mut root = Cli::command();
    let scan = root.find_subcommand_mut("scan").unwrap();
    let short = scan.render_help().to_string();
    let long = scan.render_long_help().to_string();
    assert!(short.contains("--workers") && !short.contains("--backoff"));
    assert!(long.contains("Limits:") && long.contains("--backoff"));
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
            exclude: vec!["a".into(), "b".into()],
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
}

#[test]
fn resume_and_retry_take_limits_too() {
    for command in ["scan a", "resume", "retry 1 2"] {
        let limits = config(&format!("{command} --workers 7 --backoff 1s")).limits;
        assert_eq!(limits.workers, 7, "{command}");
        assert_eq!(limits.backoff.as_secs(), 1, "{command}");
    }
}

#[test]
fn the_last_of_a_repeated_flag_wins() {
    assert_eq!(config("scan a --workers 2 --workers 3").limits.workers, 3);
    assert!(!config("scan a --nice --nice=false").scan.nice);
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
    assert_eq!(args.ext, ["jpg", "png", "gif"]);
    assert!(args.null);
    assert_eq!((args.min_count, args.limit), (3, Some(9)));
    assert_eq!(args.sort, ReportSort::Count);
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
        "invalid value '10 B' from --max-size: expected at least the smallest size, 1.0 KiB"
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
