//! A page for a browser: one file with its style, its script and the groups,
//! which works from disk and needs no network.
//!
//! The page comes first and the groups after it, in blocks of JSON that the
//! script takes up one after the other, so the report streams. A name gets
//! into the page as escaped text inside a JSON string and from there only by
//! `textContent`; the Content-Security-Policy allows the page's own script and
//! style by their hashes, and nothing else.

mod data;
mod plan;
#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::tz::TimeZone;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::model::{CopyEntry, Group, Totals};
use crate::report::encode::rfc3339;
use crate::report::filters::{filters_line, keep_line};
use crate::report::groups::Render;
use crate::report::style::Header;
use crate::report::text::as_of_in;
use data::{Facts, Packer, PlanData, write_data};
pub use plan::PlanPage;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");

/// The script's parts share one scope, which nothing outside can reach.
const SCRIPT: &str = concat!(
    "(() => {\n\"use strict\";\n",
    include_str!("format.js"),
    include_str!("data.js"),
    include_str!("query.js"),
    include_str!("squarify.js"),
    include_str!("treemap.js"),
    include_str!("bars.js"),
    include_str!("table.js"),
    include_str!("main.js"),
    "})();\n",
);

/// Groups in one block: small enough that reading one does not halt the page.
const BLOCK: u32 = 2000;

/// What comes before the groups; the same in every report.
static FRONT: LazyLock<String> = LazyLock::new(|| {
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'",
        hash_source(SCRIPT),
        hash_source(STYLE)
    );
    PAGE.replace("{{policy}}", &policy)
        .replace("{{style}}", STYLE)
        .replace("{{script}}", SCRIPT)
});

/// What a Content-Security-Policy calls an inline text.
fn hash_source(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

/// The renderer of `--format html`.
pub(crate) struct Html<W> {
    out: W,
    zone: TimeZone,
    packer: Packer,
    in_block: u32,
}

impl<W: Write> Html<W> {
    pub(crate) fn new(out: W) -> Self {
        Self::in_zone(TimeZone::system(), out)
    }

    fn in_zone(zone: TimeZone, out: W) -> Self {
        Self {
            out,
            zone,
            packer: Packer::default(),
            in_block: 0,
        }
    }

    fn element(&mut self, id: &str, value: &impl Serialize) -> io::Result<()> {
        write!(self.out, "<script type=\"application/json\" id=\"{id}\">")?;
        write_data(&mut self.out, value)?;
        self.out.write_all(b"</script>\n")
    }

    fn close_block(&mut self) -> io::Result<()> {
        if self.in_block == 0 {
            return Ok(());
        }
        self.in_block = 0;
        self.out.write_all(b"\n]</script>\n")
    }
}

/// What the page says about the report as a whole, known before its groups.
#[derive(Serialize)]
struct HeaderData {
    generated_at: String,
    as_of: String,
    scanned: bool,
    unfinished: usize,
    filters: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    keep: Option<String>,
    /// Where the page shows a plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<PlanData>,
}

impl<W: Write> Html<W> {
    fn begin_with(&mut self, header: &Header, plan: Option<PlanData>) -> io::Result<()> {
        self.out.write_all(FRONT.as_bytes())?;
        let data = HeaderData {
            generated_at: rfc3339(header.generated_at),
            as_of: as_of_in(header, &self.zone),
            scanned: header.as_of.is_some(),
            unfinished: header.unfinished,
            filters: filters_line(&header.filters, false),
            keep: keep_line(&header.keep),
            plan,
        };
        self.element("header-data", &data)
    }

    /// Writes a group into the present block.
    fn packed<'c>(
        &mut self,
        facts: &Facts,
        copies: impl Iterator<Item = &'c CopyEntry>,
    ) -> io::Result<()> {
        if self.in_block == BLOCK {
            self.close_block()?;
        }
        let before: &[u8] = match self.in_block {
            0 => b"<script type=\"application/json\" class=\"groups-data\">[\n",
            _ => b",\n",
        };
        self.in_block += 1;
        self.out.write_all(before)?;
        self.packer.write(&mut self.out, facts, copies)
    }

    fn end_with(&mut self, totals: &Totals) -> io::Result<()> {
        self.close_block()?;
        self.element("totals-data", totals)?;
        self.out.write_all(b"</body>\n</html>\n")?;
        self.out.flush()
    }
}

impl<W: Write> Render for Html<W> {
    fn begin(&mut self, header: &Header) -> io::Result<()> {
        self.begin_with(header, None)
    }

    fn group(&mut self, group: &Group) -> io::Result<()> {
        self.packed(&Facts::of(group), group.copies.iter())
    }

    fn end(&mut self, totals: &Totals) -> io::Result<()> {
        self.end_with(totals)
    }
}
