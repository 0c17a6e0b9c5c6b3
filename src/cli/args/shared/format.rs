//! `--format` and `--json`: every command accepts some of the output formats.

use clap::Args;
use clap::builder::TypedValueParser;

use super::choice::one_of;
use crate::report::Format;
use crate::settings::values;

/// Accepts the names of these formats.
pub(crate) fn among(formats: &[Format]) -> impl TypedValueParser<Value = Format> + use<> {
    let choice = |format: &Format| (format.name(), format.description(), *format);
    one_of(&formats.iter().map(choice).collect::<Vec<_>>())
}

/// The help of an option that accepts these formats.
fn help(formats: &[Format]) -> String {
    let names: Vec<_> = formats.iter().map(|format| format.name()).collect();
    format!("Format: {}", values::alternatives(&names))
}

macro_rules! format_options {
    ($(#[$doc:meta])* $name:ident, $formats:expr) => {
        $(#[$doc])*
        #[derive(Debug, Default, Args)]
        #[command(next_help_heading = "Output")]
        pub(crate) struct $name {
            #[arg(long, help = help(&$formats), value_name = "FORMAT", default_value = "table")]
            #[arg(value_parser = among(&$formats))]
            format: Format,

            /// Short for --format json
            #[arg(long, conflicts_with = "format", hide_short_help = true)]
            json: bool,
        }

        impl $name {
            /// The format that was asked for.
            pub(crate) fn format(&self) -> Format {
                match self.json {
                    true => Format::Json,
                    false => self.format,
                }
            }
        }
    };
}

format_options!(
    /// Formats of a report of duplicates.
    ReportFormat,
    Format::OF_REPORTS
);
format_options!(
    /// Formats of an answer that is a list of rows.
    RowsFormat,
    Format::OF_ROWS
);
format_options!(
    /// Formats of a plan.
    PlanFormat,
    Format::OF_PLANS
);
format_options!(
    /// Formats of everything else.
    PlainFormat,
    Format::PLAIN
);
