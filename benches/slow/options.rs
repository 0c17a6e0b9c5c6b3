//! What is asked of the bench.

use std::path::PathBuf;

pub(crate) const USAGE: &str = "\
usage: cargo bench --bench slow -- [OPTIONS]      (as root)

  --size quick|full   trees of 1,900 or 8,000 files (default: quick)
  --seed N            the tree, by its seed (default: 1)
  --only NAMES        workloads, by comma: hdd, hdd-again, far, one-folder, far-hdd
                      (default: all)
  --latency US        how far away a far filesystem is (default: 1000)
  --program PATH      measure this dupescan too, an older one say
  --no-fclones        without fclones
  --options WORDS     more options for dupescan, by space
  --dir DIR           where images, catalogs and mounts are kept
                      (default: dupescan-slow in the folder for temporary files)
";

/// What is asked of the bench.
pub(crate) struct Options {
    pub(crate) is_full: bool,
    pub(crate) seed: u64,
    only: Vec<String>,
    pub(crate) latency: u64,
    pub(crate) others: Vec<PathBuf>,
    pub(crate) with_fclones: bool,
    pub(crate) words: Vec<String>,
    pub(crate) dir: PathBuf,
}

impl Options {
    /// `None` where help is asked for.
    pub(crate) fn parse(
        mut arguments: impl Iterator<Item = String>,
    ) -> Result<Option<Self>, String> {
        let mut options = Self {
            is_full: false,
            seed: 1,
            only: Vec::new(),
            latency: 1_000,
            others: Vec::new(),
            with_fclones: true,
            words: Vec::new(),
            dir: std::env::temp_dir().join("dupescan-slow"),
        };
        while let Some(option) = arguments.next() {
            let mut value = || {
                let value = arguments.next();
                value.ok_or_else(|| format!("{option} needs a value"))
            };
            let number = |text: String| {
                let number = text.parse::<u64>();
                number.map_err(|_| format!("{text} is no number"))
            };
            match option.as_str() {
                "--bench" => {}
                "-h" | "--help" => return Ok(None),
                "--no-fclones" => options.with_fclones = false,
                "--size" => options.is_full = value()? == "full",
                "--seed" => options.seed = number(value()?)?,
                "--latency" => options.latency = number(value()?)?,
                "--program" => options.others.push(value()?.into()),
                "--dir" => options.dir = value()?.into(),
                "--only" => options.only = value()?.split(',').map(str::to_owned).collect(),
                "--options" => options.words = value()?.split(' ').map(str::to_owned).collect(),
                _ => return Err(format!("{option} is unknown")),
            }
        }
        Ok(Some(options))
    }

    /// Whether a workload is asked for.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }

    /// Photos and small files of the tree.
    pub(crate) fn tree(&self) -> (u32, u32) {
        match self.is_full {
            true => (1_200, 6_000),
            false => (300, 1_500),
        }
    }
}
