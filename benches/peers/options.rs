//! What the bench is asked to do.

use std::path::PathBuf;
use std::time::Duration;

use crate::trees::{Kind, Size};

/// The kinds of work, in the order in which they are done: warm before cold,
/// and what changes files last.
pub(crate) const WORKLOADS: &[&str] = &["first-warm", "rescan", "first-cold", "rescan-changed"];

pub(crate) const USAGE: &str = "\
usage: cargo bench --bench peers -- [OPTIONS]
  --kind LIST          small, media, mixed, twins, deep, million [default: small]
  --size quick|full    size of the trees [default: quick]
  --tree PATH          measure on this tree instead; it is only read
  --rounds N           runs of every program per workload [default: 7]
  --only LIST          first-warm, rescan, first-cold, rescan-changed [default: all]
  --contenders LIST    only programs whose label starts with one of these
  --drop-slower F      a program that took F times as long as the fastest in the
                       first round sits out the others [default: never]
  --timeout SECONDS    a single run may take so long [default: 600]
  --dir DIR            where trees and results are kept [default: dupescan-bench in
                       the folder for temporary files]
  --markdown FILE      write all kept results of this size into FILE
  --render             measure nothing, only write";

/// The options, checked.
pub(crate) struct Options {
    pub(crate) kinds: Vec<&'static Kind>,
    pub(crate) size: Size,
    pub(crate) tree: Option<PathBuf>,
    pub(crate) rounds: u64,
    pub(crate) workloads: Vec<&'static str>,
    pub(crate) contenders: Vec<String>,
    pub(crate) drop_slower: Option<f64>,
    pub(crate) timeout: Duration,
    pub(crate) dir: PathBuf,
    pub(crate) markdown: Option<PathBuf>,
    pub(crate) render: bool,
}

impl Options {
    fn new() -> Result<Self, String> {
        Ok(Self {
            kinds: kinds("small")?,
            size: Size::Quick,
            tree: None,
            rounds: 7,
            workloads: WORKLOADS.to_vec(),
            contenders: Vec::new(),
            drop_slower: None,
            timeout: Duration::from_secs(600),
            dir: std::env::temp_dir().join("dupescan-bench"),
            markdown: None,
            render: false,
        })
    }

    /// Reads the arguments.
    pub(crate) fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self::new()?;
        let mut arguments = arguments.filter(|argument| argument != "--bench");
        while let Some(name) = arguments.next() {
            if name == "--render" {
                options.render = true;
                continue;
            }
            let value = arguments.next();
            let value = value.ok_or_else(|| format!("{name} is unknown or lacks its value"))?;
            options.set(&name, &value)?;
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "--kind" => self.kinds = kinds(value)?,
            "--size" => {
                let size = Size::from_name(value);
                self.size = size.ok_or_else(|| bad(name, value, "quick or full"))?;
            }
            "--tree" => {
                let path = std::fs::canonicalize(value);
                self.tree = Some(path.map_err(|error| format!("{value}: {error}"))?);
            }
            "--rounds" => self.rounds = number(name, value)?,
            "--only" => self.workloads = workloads(value)?,
            "--contenders" => self.contenders = value.split(',').map(str::to_owned).collect(),
            "--drop-slower" => {
                let factor = value.parse().ok().filter(|factor| *factor >= 1.0);
                self.drop_slower = Some(factor.ok_or_else(|| bad(name, value, "1 or more"))?);
            }
            "--timeout" => self.timeout = Duration::from_secs(number(name, value)?),
            "--dir" => self.dir = PathBuf::from(value),
            "--markdown" => self.markdown = Some(PathBuf::from(value)),
            _ => return Err(format!("unknown option {name}")),
        }
        Ok(())
    }

    /// Whether a contender takes part.
    pub(crate) fn wants(&self, label: &str) -> bool {
        let mut wanted = self.contenders.iter();
        self.contenders.is_empty() || wanted.any(|start| label.starts_with(start.as_str()))
    }
}

fn bad(name: &str, value: &str, allowed: &str) -> String {
    format!("{name} {value}: expected {allowed}")
}

fn number(name: &str, value: &str) -> Result<u64, String> {
    let number = value.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| bad(name, value, "a whole number above 0"))
}

fn kinds(list: &str) -> Result<Vec<&'static Kind>, String> {
    list.split(',')
        .map(|name| Kind::from_name(name).ok_or_else(|| format!("unknown kind {name:?}")))
        .collect()
}

fn workloads(list: &str) -> Result<Vec<&'static str>, String> {
    let known = |name: &str| WORKLOADS.iter().copied().find(|known| *known == name);
    let wanted: Vec<_> = list
        .split(',')
        .map(|name| known(name).ok_or_else(|| bad("--only", name, &WORKLOADS.join(", "))))
        .collect::<Result<_, _>>()?;
    Ok(WORKLOADS
        .iter()
        .copied()
        .filter(|name| wanted.contains(name))
        .collect())
}
