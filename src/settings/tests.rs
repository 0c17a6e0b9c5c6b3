use std::fs;

use super::*;

/// The three sources of one test, with a file that exists when it has text.
#[derive(Default)]
struct Sources {
    file: Option<&'static str>,
    environment: Vec<(OsString, OsString)>,
    flags: Layer,
}

impl Sources {
    fn file(mut self, text: &'static str) -> Self {
        self.file = Some(text);
        self
    }

    fn variable(self, key: Key, text: &'static str) -> Self {
        self.named_variable(&key.variable(), text)
    }

    fn named_variable(mut self, name: &str, text: &str) -> Self {
        self.environment.push((name.into(), text.into()));
        self
    }

    fn flag(mut self, key: Key, text: &'static str) -> Self {
        self.flags.flag(key, Some(text));
        self
    }

    fn load(self) -> Result<Config, ConfigError> {
        let dir = tempfile::tempdir().unwrap();
        let places = DefaultPaths {
            config: Some(dir.path().join("config.toml")),
            db: Some("/data/catalog.db".into()),
        };
        if let (Some(text), Some(path)) = (self.file, &places.config) {
            fs::write(path, text).unwrap();
        }
        Config::load(self.flags, None, self.environment, &places)
    }

    /// The error's text, without the test's own folder.
    fn error(self) -> String {
        let text = self.load().unwrap_err().to_string();
        match text.split_once("/config.toml") {
            Some((before, after)) => {
                let start = before.rfind(' ').map_or(0, |space| space + 1);
                format!("{}FILE{after}", &before[..start])
            }
            None => text,
        }
    }
}

fn sources() -> Sources {
    Sources::default()
}

/// Every limit: its key, two good values, a bad one, and how to read it back.
type LimitCase = (Key, [&'static str; 2], &'static str, fn(&Limits) -> String);

const LIMITS: [LimitCase; 10] = [
    (Key::Threads, ["3", "4"], "0", |l| l.workers.to_string()),
    (Key::QueuePerThread, ["20", "30"], "0", |l| {
        l.queue_per_worker.to_string()
    }),
    (Key::BatchRows, ["7", "8"], "0", |l| {
        l.batch_rows.to_string()
    }),
    (Key::BatchTime, ["10ms", "20ms"], "2m", |l| {
        format!("{:?}", l.batch_time)
    }),
    (Key::ItemTimeout, ["7s", "8s"], "2d", |l| {
        format!("{:?}", l.item_timeout)
    }),
    (Key::StallWarning, ["7s", "8s"], "1ms", |l| {
        format!("{:?}", l.stall_warning)
    }),
    (Key::ShutdownTimeout, ["7s", "8s"], "1h", |l| {
        format!("{:?}", l.shutdown)
    }),
    (Key::Retries, ["7", "8"], "-1", |l| l.retries.to_string()),
    (Key::Backoff, ["7s", "8s"], "soon", |l| {
        format!("{:?}", l.backoff)
    }),
    (Key::FatalErrors, ["7", "8"], "0", |l| {
        l.fatal_errors.to_string()
    }),
];

#[test]
fn without_sources_the_defaults_hold() {
    let config = sources().load().unwrap();
    assert_eq!(config.db, Path::new("/data/catalog.db"));
    assert_eq!(config.log.level, Level::WARN);
    assert_eq!(config.log.format, LogFormat::Text);
    assert_eq!(config.log.file, None);
    assert_eq!(config.color, ColorWhen::Auto);
    assert_eq!(config.metrics.file, None);
    assert_eq!(config.metrics.interval, Duration::from_secs(10));
    assert_eq!(config.limits, Limits::default());
    assert_eq!(config.limits.durability, Durability::Normal);
    assert_eq!(config.scan, ScanOptions::default());
}

#[test]
fn every_limit_can_be_set_in_all_three_ways_and_the_upper_source_wins() {
    for (key, [low, high], _, read) in LIMITS {
        let value = |sources: Sources| read(&sources.load().unwrap().limits);
        let file = |text: &'static str| -> &'static str {
            Box::leak(format!("{key} = {text:?}").into_boxed_str())
        };
        assert_eq!(value(sources().file(file(low))), low, "{key}");
        assert_eq!(value(sources().variable(key, low)), low, "{key}");
        assert_eq!(value(sources().flag(key, low)), low, "{key}");
        let over_file = sources().file(file(low)).variable(key, high);
        assert_eq!(value(over_file), high, "{key}");
        let over_environment = sources().variable(key, low).flag(key, high);
        assert_eq!(value(over_environment), high, "{key}");
    }
}

#[test]
fn every_bad_limit_names_value_origin_and_range() {
    for (key, _, bad, _) in LIMITS {
        let file = Box::leak(format!("{key} = {bad:?}").into_boxed_str());
        let starts = [
            (sources().file(file), format!("key {key} in FILE")),
            (
                sources().variable(key, bad),
                format!("environment variable {}", key.variable()),
            ),
            (sources().flag(key, bad), key.flag()),
        ];
        for (sources, origin) in starts {
            let text = sources.error();
            let expected = format!("invalid value '{bad}' for {origin}: expected a ");
            assert!(text.starts_with(&expected), "{text}");
            assert!(text.contains(" to "), "{text}");
        }
    }
}

#[test]
fn the_messages_are_whole_sentences() {
    assert_eq!(
        sources().flag(Key::Threads, "300").error(),
        "invalid value '300' for --threads: expected a whole number from 1 to 256"
    );
    assert_eq!(
        sources().variable(Key::BatchTime, "0").error(),
        "invalid value '0' for environment variable DUPESCAN_BATCH_TIME: expected a duration \
         from 1ms to 1m, such as 250ms, 5s, 2m or 1h"
    );
    assert_eq!(
        sources().file("hash = \"md5\"").error(),
        "invalid value 'md5' for key hash in FILE: expected sha256, sha512, sha3-256 or blake3"
    );
    assert_eq!(
        sources().file("nice = 1").error(),
        "invalid value '1' for key nice in FILE: expected true or false"
    );
    assert_eq!(
        sources().variable(Key::LogLevel, "loud").error(),
        "invalid value 'loud' for environment variable DUPESCAN_LOG_LEVEL: expected error, warn, \
         info, debug or trace"
    );
}

#[test]
fn every_other_bad_value_is_refused() {
    let cases = [
        (Key::Db, ""),
        (Key::LogLevel, "loud"),
        (Key::LogFormat, "xml"),
        (Key::LogFile, ""),
        (Key::Color, "red"),
        (Key::Hash, "md5"),
        (Key::MinSize, "big"),
        (Key::MaxSize, "-1"),
        (Key::Include, "a["),
        (Key::Exclude, "{a"),
        (Key::Gitignore, "yes"),
        (Key::Hidden, "1"),
        (Key::FollowLinks, "on"),
        (Key::OneFileSystem, "no"),
        (Key::IgnoreCtime, "x"),
        (Key::Nice, "19"),
        (Key::Bwlimit, "fast"),
        (Key::Io, "tape"),
        (Key::MetricsFile, ""),
        (Key::MetricsInterval, "10ms"),
        (Key::Progress, "dots"),
        (Key::ProgressInterval, "10ms"),
        (Key::Durability, "some"),
    ];
    for (key, bad) in cases {
        let text = sources().flag(key, bad).error();
        let expected = format!("invalid value '{bad}' for {}: expected ", key.flag());
        assert!(text.starts_with(&expected), "{text}");
        assert!(!text.contains('\n'), "{text}");
    }
    assert_eq!(cases.len() + LIMITS.len(), Key::ALL.len());
}

#[test]
fn a_whole_file_is_read() {
    let config = sources()
        .file(
            r#"
            db = "mine.db"
            log_level = "debug"
            log_format = "json"
            log_file = "/var/log/dupescan.log"
            color = "never"
            hash = "blake3"
            min_size = "1k"
            max_size = 4096
            include = ["*.jpg", "*.png"]
            exclude = "node_modules"
            gitignore = true
            hidden = false
            follow_links = true
            one_file_system = true
            ignore_ctime = true
            nice = true
            bwlimit = "50M/s"
            io = "hdd"
            metrics_file = "/run/dupescan.prom"
            metrics_interval = "1m"
            progress = "plain"
            progress_interval = "30s"
            durability = "full"
            threads = 2
            backoff = 1.5
            "#,
        )
        .load()
        .unwrap();
    assert!(config.db.is_absolute() && config.db.ends_with("mine.db"));
    assert_eq!(config.log.level, Level::DEBUG);
    assert_eq!(config.log.format, LogFormat::Json);
    assert_eq!(config.log.file, Some("/var/log/dupescan.log".into()));
    assert_eq!(config.color, ColorWhen::Never);
    assert_eq!(config.metrics.file, Some("/run/dupescan.prom".into()));
    assert_eq!(config.metrics.interval, Duration::from_secs(60));
    assert_eq!(config.progress.format, ProgressFormat::Plain);
    assert_eq!(config.progress.interval, Duration::from_secs(30));
    assert_eq!(config.limits.durability, Durability::Full);
    assert_eq!(config.limits.workers, 2);
    assert_eq!(config.limits.backoff, Duration::from_millis(1500));
    let expected = ScanOptions {
        algorithm: Some(Algorithm::Blake3),
        listing: ListingOptions {
            follow_links: true,
            one_file_system: true,
            include: vec!["*.jpg".into(), "*.png".into()],
            exclude: vec!["node_modules".into()],
            gitignore: true,
            no_hidden: true,
            max_depth: None,
        },
        ignore_ctime: true,
        min_size: Some(1024),
        max_size: Some(4096),
        nice: true,
        bwlimit: Some(50 << 20),
        io: IoMode::Hdd,
        ..ScanOptions::default()
    };
    assert_eq!(config.scan, expected);
}

#[test]
fn a_flag_can_switch_off_and_empty_what_is_below() {
    let config = sources()
        .file("nice = true\nexclude = [\"a\"]\nbwlimit = \"1M\"")
        .flag(Key::Nice, "false")
        .flag(Key::Exclude, "")
        .flag(Key::Bwlimit, "0")
        .load()
        .unwrap();
    assert_eq!(config.scan, ScanOptions::default());
}

#[test]
fn lists_in_the_environment_are_split_at_colons_and_replace_the_files() {
    let config = sources()
        .file("exclude = [\"a\"]")
        .variable(Key::Exclude, "b:c")
        .load()
        .unwrap();
    assert_eq!(config.scan.listing.exclude, ["b", "c"]);
}

#[test]
fn an_empty_variable_is_unset() {
    let config = sources()
        .file("threads = 2")
        .variable(Key::Threads, "")
        .load()
        .unwrap();
    assert_eq!(config.limits.workers, 2);
}

#[test]
fn the_largest_size_is_not_below_the_smallest() {
    assert_eq!(
        sources()
            .file("min_size = \"1M\"")
            .flag(Key::MaxSize, "1k")
            .error(),
        "invalid value '1k' for --max-size: expected at least min_size, 1048576 bytes"
    );
}

#[test]
fn unknown_keys_are_named_with_those_that_exist() {
    let text = sources().file("worker = 2").error();
    assert!(
        text.starts_with("unknown key 'worker' in FILE: expected one of db, log_level, "),
        "{text}"
    );
    assert!(text.contains(", threads, "), "{text}");
    let section = sources().file("[limits]\nthreads = 2").error();
    assert!(section.starts_with("unknown key 'limits' in FILE"));
}

#[test]
fn unknown_variables_are_named_with_those_that_exist() {
    let text = sources().named_variable("DUPESCAN_WORKERS", "2").error();
    assert!(
        text.starts_with(
            "unknown environment variable 'DUPESCAN_WORKERS': expected DUPESCAN_CONFIG, \
             DUPESCAN_DB, DUPESCAN_LOG_LEVEL, "
        ),
        "{text}"
    );
    assert!(text.contains(", DUPESCAN_THREADS, "), "{text}");
    for (name, text) in [
        ("DUPESCAN_WORKERS", ""),
        ("DUPESCAN_TEST_ANYTHING", "1"),
        ("DUPESCANNER", "1"),
        ("WORKERS", "1"),
    ] {
        assert!(
            sources().named_variable(name, text).load().is_ok(),
            "{name}"
        );
    }
}

#[test]
fn what_is_not_toml_is_one_line_with_its_number() {
    let text = sources().file("threads = 2\nhash = sha256\n").error();
    assert!(
        text.starts_with("FILE is not valid TOML: line 2: "),
        "{text}"
    );
    assert!(!text.contains('\n'), "{text}");
}

#[test]
fn values_of_the_wrong_kind_are_refused() {
    assert_eq!(
        sources().file("threads = [1, 2]").error(),
        "invalid value '1, 2' for key threads in FILE: expected one value, not a list"
    );
    assert_eq!(
        sources().file("exclude = [[\"a\"]]").error(),
        "invalid value 'array' for key exclude in FILE: expected text, a number, true or false, \
         or a list of them"
    );
}

#[test]
fn a_value_that_is_not_utf8_is_refused() {
    use std::os::unix::ffi::OsStringExt;
    let hash = OsString::from_vec(b"sha\xff".to_vec());
    let places = DefaultPaths {
        config: None,
        db: Some("/data/catalog.db".into()),
    };
    let error = Config::load(
        Layer::default(),
        None,
        [("DUPESCAN_HASH".into(), hash)],
        &places,
    )
    .unwrap_err();
    assert!(error.to_string().ends_with("expected text in UTF-8"));
}

#[test]
fn a_file_that_was_asked_for_must_be_there() {
    let load = |flag: Option<&Path>, variable: &'static str| {
        let environment = [("DUPESCAN_CONFIG".into(), variable.into())];
        Config::load(
            Layer::default(),
            flag,
            environment,
            &DefaultPaths::default(),
        )
        .unwrap_err()
        .to_string()
    };
    assert_eq!(
        load(Some(Path::new("/no/such.toml")), ""),
        "cannot read the configuration file /no/such.toml from --config"
    );
    assert_eq!(
        load(None, "/no/such.toml"),
        "cannot read the configuration file /no/such.toml from environment variable DUPESCAN_CONFIG"
    );
}

#[test]
fn the_flag_for_the_file_beats_its_variable() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("flag.toml");
    fs::write(&file, "db = \"/from/flag.db\"").unwrap();
    let environment = [("DUPESCAN_CONFIG".into(), "/no/such.toml".into())];
    let config = Config::load(
        Layer::default(),
        Some(&file),
        environment,
        &DefaultPaths::default(),
    );
    assert_eq!(config.unwrap().db, Path::new("/from/flag.db"));
}

#[test]
fn without_a_home_the_catalog_must_be_named() {
    let error = Config::load(Layer::default(), None, [], &DefaultPaths::default()).unwrap_err();
    assert!(error.to_string().contains("--db"), "{error}");
}
