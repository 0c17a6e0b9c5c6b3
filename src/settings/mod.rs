//! Turns defaults, the configuration file, the environment and the flags into
//! one validated [`Config`]. Owns the names of settings, their allowed values
//! and their precedence; does not parse flags, and does not print.
//!
//! Each source fills a [`Layer`]; the layers are merged, and only the merged
//! values are read. A setting is spelled the same everywhere: `min_size` in the
//! file, `DUPESCAN_MIN_SIZE` in the environment, `--min-size` as a flag.

mod environment;
mod error;
mod keys;
mod layers;
#[cfg(test)]
mod tests;
pub mod values;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use environment::Environment;
pub use error::ConfigError;
pub use keys::Key;
use keys::{CONFIG_VARIABLE, SWITCHES};
pub use layers::Layer;
use tracing::Level;

use crate::model::{Algorithm, Durability, IoMode, Limits, ListingOptions, ScanOptions};

/// All settings, validated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The catalog.
    pub db: PathBuf,
    /// What is logged, how and where.
    pub log: LogConfig,
    /// When to use colour.
    pub color: ColorWhen,
    /// Where metrics are written, and how often.
    pub metrics: MetricsConfig,
    /// How progress is shown, and how often.
    pub progress: ProgressConfig,
    /// The limits of the worker pool.
    pub limits: Limits,
    /// How scans run, unless flags of one scan say otherwise. Options of a
    /// single scan (`mode`, `rehash`, `hash_all`, `max_depth`) are not settings
    /// and have their defaults here.
    pub scan: ScanOptions,
}

/// What is logged, how and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogConfig {
    /// The least important level that is logged.
    pub level: Level,
    /// Text or JSON.
    pub format: LogFormat,
    /// The file to append to; standard error when there is none.
    pub file: Option<PathBuf>,
}

/// Where metrics are written, and how often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricsConfig {
    /// The file; nothing is written when there is none.
    pub file: Option<PathBuf>,
    /// Time between two writes.
    pub interval: Duration,
}

/// How progress is shown, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgressConfig {
    /// How it is shown.
    pub format: ProgressFormat,
    /// Time between two lines or events; a bar moves ten times a second.
    pub interval: Duration,
}

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressFormat {
    /// A bar on a terminal, nothing elsewhere.
    Auto,
    /// Lines that are redrawn, and cleared at the end.
    Bar,
    /// A line every interval.
    Plain,
    /// A JSON object every interval.
    Json,
    /// Nothing.
    None,
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColorWhen {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Default locations.
#[derive(Debug, Clone, Default)]
pub struct DefaultPaths {
    /// The configuration file, read when it exists.
    pub config: Option<PathBuf>,
    /// The catalog.
    pub db: Option<PathBuf>,
}

impl DefaultPaths {
    /// The platform's directories: on Linux `~/.config/dupescan/config.toml`
    /// and `~/.local/share/dupescan/catalog.db`.
    pub fn of_platform() -> Self {
        let dirs = directories::ProjectDirs::from("", "", "dupescan");
        Self {
            config: dirs.as_ref().map(|d| d.config_dir().join("config.toml")),
            db: dirs.as_ref().map(|d| d.data_dir().join("catalog.db")),
        }
    }
}

impl Config {
    /// Merges defaults < file < environment < `flags` and validates the result.
    ///
    /// `file` is the one that a flag named; `variables` is the environment.
    pub fn load(
        flags: Layer,
        file: Option<&Path>,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        places: &DefaultPaths,
    ) -> Result<Self, ConfigError> {
        let environment = Environment::new(variables)?;
        let file = read_file(file, &environment, places)?;
        let environment = Layer::from_environment(&environment);
        Self::validate(&flags.over(environment.over(file)), places)
    }

    fn validate(settings: &Layer, places: &DefaultPaths) -> Result<Self, ConfigError> {
        Ok(Self {
            db: settings
                .path(Key::Db)?
                .or_else(|| places.db.clone())
                .ok_or(ConfigError::NoDataDirectory)?,
            log: log(settings)?,
            color: settings
                .get(
                    Key::Color,
                    values::choice(&[
                        ("auto", ColorWhen::Auto),
                        ("always", ColorWhen::Always),
                        ("never", ColorWhen::Never),
                    ]),
                )?
                .unwrap_or(ColorWhen::Auto),
            metrics: metrics(settings)?,
            progress: progress(settings)?,
            limits: limits(settings)?,
            scan: scan(settings)?,
        })
    }
}

/// The file's layer. A file that was asked for must exist; the default one may
/// be missing.
fn read_file(
    flag: Option<&Path>,
    environment: &Environment,
    places: &DefaultPaths,
) -> Result<Layer, ConfigError> {
    let (file, origin) = if let Some(path) = flag {
        (path.to_owned(), Some("--config".to_owned()))
    } else if let Some(path) = environment.get(CONFIG_VARIABLE) {
        let origin = format!("environment variable {CONFIG_VARIABLE}");
        (path.into(), Some(origin))
    } else if let Some(path) = &places.config {
        (path.clone(), None)
    } else {
        return Ok(Layer::default());
    };
    match read_regular(&file) {
        Ok(text) => Layer::from_toml(&text, &file),
        Err(error) if origin.is_none() && is_absent(&error) => Ok(Layer::default()),
        Err(source) => Err(ConfigError::Unreadable {
            file,
            origin: origin.unwrap_or_else(|| "its default location".to_owned()),
            source,
        }),
    }
}

/// Reads a file; a pipe might keep us waiting for ever.
fn read_regular(file: &Path) -> io::Result<String> {
    match fs::metadata(file)?.is_file() {
        true => fs::read_to_string(file),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn log(settings: &Layer) -> Result<LogConfig, ConfigError> {
    let levels = values::choice(&[
        ("error", Level::ERROR),
        ("warn", Level::WARN),
        ("info", Level::INFO),
        ("debug", Level::DEBUG),
        ("trace", Level::TRACE),
    ]);
    let formats = values::choice(&[("text", LogFormat::Text), ("json", LogFormat::Json)]);
    Ok(LogConfig {
        level: settings.get(Key::LogLevel, levels)?.unwrap_or(Level::WARN),
        format: settings
            .get(Key::LogFormat, formats)?
            .unwrap_or(LogFormat::Text),
        file: settings.path(Key::LogFile)?,
    })
}

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

fn metrics(settings: &Layer) -> Result<MetricsConfig, ConfigError> {
    let interval = values::duration(100 * MS..=HOUR);
    Ok(MetricsConfig {
        file: settings.path(Key::MetricsFile)?,
        interval: settings
            .get(Key::MetricsInterval, interval)?
            .unwrap_or(10 * SECOND),
    })
}

fn progress(settings: &Layer) -> Result<ProgressConfig, ConfigError> {
    let formats = values::choice(&[
        ("auto", ProgressFormat::Auto),
        ("bar", ProgressFormat::Bar),
        ("plain", ProgressFormat::Plain),
        ("json", ProgressFormat::Json),
        ("none", ProgressFormat::None),
    ]);
    let interval = values::duration(100 * MS..=HOUR);
    Ok(ProgressConfig {
        format: settings
            .get(Key::Progress, formats)?
            .unwrap_or(ProgressFormat::Auto),
        interval: settings
            .get(Key::ProgressInterval, interval)?
            .unwrap_or(10 * SECOND),
    })
}

fn limits(settings: &Layer) -> Result<Limits, ConfigError> {
    let count = |key, range| settings.get(key, values::whole::<usize>(range));
    let small = |key, range| settings.get(key, values::whole::<u32>(range));
    let time = |key, range| settings.get(key, values::duration(range));
    let durability = values::choice(&[("normal", Durability::Normal), ("full", Durability::Full)]);
    let default = Limits::default();
    let workers = count(Key::Threads, Limits::WORKERS)?;
    Ok(Limits {
        workers: workers.unwrap_or(default.workers),
        reserve: workers.map_or(default.reserve, |_| 0),
        threads: workers.unwrap_or(default.threads),
        queue_per_worker: count(Key::QueuePerThread, 1..=1_000)?
            .unwrap_or(default.queue_per_worker),
        batch_rows: count(Key::BatchRows, 1..=1_000_000)?.unwrap_or(default.batch_rows),
        batch_time: time(Key::BatchTime, MS..=MINUTE)?.unwrap_or(default.batch_time),
        item_timeout: time(Key::ItemTimeout, SECOND..=DAY)?.unwrap_or(default.item_timeout),
        stall_warning: time(Key::StallWarning, SECOND..=DAY)?.unwrap_or(default.stall_warning),
        shutdown: time(Key::ShutdownTimeout, 100 * MS..=10 * MINUTE)?.unwrap_or(default.shutdown),
        retries: small(Key::Retries, 0..=100)?.unwrap_or(default.retries),
        backoff: time(Key::Backoff, Duration::ZERO..=10 * MINUTE)?.unwrap_or(default.backoff),
        fatal_errors: small(Key::FatalErrors, 1..=1_000_000)?.unwrap_or(default.fatal_errors),
        durability: settings
            .get(Key::Durability, durability)?
            .unwrap_or(default.durability),
    })
}

fn scan(settings: &Layer) -> Result<ScanOptions, ConfigError> {
    let io = values::choice(&[
        ("auto", IoMode::Auto),
        ("ssd", IoMode::Ssd),
        ("hdd", IoMode::Hdd),
    ]);
    let mut options = ScanOptions {
        algorithm: settings.get(Key::Hash, str::parse::<Algorithm>)?,
        listing: ListingOptions {
            include: settings.list(Key::Include, values::glob)?,
            exclude: settings.list(Key::Exclude, values::glob)?,
            no_hidden: settings.get(Key::Hidden, values::boolean)? == Some(false),
            ..ListingOptions::default()
        },
        min_size: settings.get(Key::MinSize, values::size)?,
        max_size: settings.get(Key::MaxSize, values::size)?,
        bwlimit: settings.get(Key::Bwlimit, values::rate)?.flatten(),
        io: settings.get(Key::Io, io)?.unwrap_or_default(),
        ..ScanOptions::default()
    };
    for (key, switch) in SWITCHES {
        *switch(&mut options) = settings.get(key, values::boolean)?.unwrap_or(false);
    }
    match (options.min_size, options.max_size) {
        (Some(min), Some(max)) if min > max => {
            let allowed = format!("expected at least min_size, {min} bytes");
            settings
                .conflict(Key::MaxSize, &allowed)
                .map_or(Ok(options), Err)
        }
        _ => Ok(options),
    }
}
