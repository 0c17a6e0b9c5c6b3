//! Log lines for people at a terminal: `warning: cannot read /a: Permission
//! denied` instead of an event with its fields, which programs get.

use std::collections::BTreeMap;
use std::fmt::{self, Debug};

use anstyle::{AnsiColor, Style as Paint};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::model::disarm;

/// Writes every event as a sentence.
pub(crate) struct Sentences {
    pub(crate) color: bool,
}

impl<S, N> FormatEvent<S, N> for Sentences
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let (word, paint) = match *event.metadata().level() {
            Level::ERROR => ("error:", AnsiColor::Red.on_default().bold()),
            Level::WARN => ("warning:", AnsiColor::Yellow.on_default().bold()),
            _ => ("note:", Paint::new().dimmed()),
        };
        if self.color {
            write!(writer, "{paint}{word}{paint:#}")?;
        } else {
            write!(writer, "{word}")?;
        }
        writeln!(writer, " {}", disarm(&fields.sentence()))
    }
}

/// The fields of an event as text.
#[derive(Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl Fields {
    fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    fn sentence(&self) -> String {
        let [path, fault, seconds] = ["path", "fault", "seconds"].map(|name| self.get(name));
        match self.get("event") {
            "scan.begin" => format!("scan {} of {path} started", self.get("scan")),
            "scan.end" => format!("scan {} ended: {}", self.get("scan"), self.get("state")),
            "stage.begin" => format!("stage {} started", self.get("stage")),
            "stage.end" => {
                let (stage, time) = (self.get("stage"), self.get("elapsed_ms"));
                format!("stage {stage} took {time} ms")
            }
            "item.failed" => format!("cannot read {path}: {fault}"),
            "item.retry" => format!("cannot read {path}, will retry: {fault}"),
            "item.stall" => format!("no progress for {seconds} s on {path}"),
            "item.given_up" => format!("gave up on {path}: no progress for {seconds} s"),
            "worker.abandoned" => format!("abandoned a thread stuck on {path}"),
            "breaker.open" | "breaker.give_up" => {
                let (message, reason) = (self.get("message"), self.get("reason"));
                format!("{message} ({path}: {reason})")
            }
            _ => self.plain(),
        }
    }

    /// The message, and all other fields.
    fn plain(&self) -> String {
        let others = self.0.iter().filter(|(name, value)| {
            !matches!(**name, "message" | "event" | "path_b64") && !value.is_empty()
        });
        let others: Vec<_> = others
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        match others.is_empty() {
            true => self.get("message").to_owned(),
            false => format!("{} ({})", self.get("message"), others.join(", ")),
        }
    }
}
