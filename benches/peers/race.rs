//! The workloads: all contenders on one tree, in turns. A program that fails
//! or is missing shows in the table and stops nobody else.

use std::fs;
use std::io;
use std::time::Duration;

use super::competitor::Competitor;
use super::contenders::CONTENDERS;
use super::floor::{self, LIST_AND_STAT};
use super::ground::Ground;
use super::groups::{Agreement, Found};
use super::machine;
use super::measure::Call;
use super::options::Options;
use super::results::{Results, Role, Row, Sample, Workload};

/// The label of the bare listing.
pub(crate) const FLOOR: &str = "bare list and stat, all cores";
/// The label of the report after dupescan's scan.
pub(crate) const REPORT: &str = "dupescan report, after the scan";

/// One tree and everybody who runs on it.
pub(crate) struct Race<'o> {
    options: &'o Options,
    ground: Ground,
    competitors: Vec<Competitor>,
    /// Labels of contenders that are not installed.
    missing: Vec<&'static str>,
    catalog: Option<u64>,
}

/// How the runs of a workload are prepared and called.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    /// Everything forgotten, files in the page cache.
    Warm,
    /// Everything forgotten, nothing in the page cache.
    Cold,
    /// What was remembered is there.
    Again,
    /// The same, and some files are others than before.
    Changed,
}

impl Start {
    fn is_again(self) -> bool {
        matches!(self, Self::Again | Self::Changed)
    }
}

impl<'o> Race<'o> {
    pub(crate) fn new(options: &'o Options, ground: Ground) -> Self {
        let mut competitors = Vec::new();
        let mut missing = Vec::new();
        for contender in CONTENDERS.iter().filter(|c| options.wants(c.label)) {
            match Competitor::find(contender, &options.dir, options.timeout) {
                Some(competitor) => competitors.push(competitor),
                None => missing.push(contender.label),
            }
        }
        Self {
            options,
            ground,
            competitors,
            missing,
            catalog: None,
        }
    }

    /// Runs all workloads that were asked for.
    pub(crate) fn run(mut self) -> io::Result<Results> {
        let mut workloads = Vec::new();
        for &name in &self.options.workloads {
            println!("{} {}: {name}", self.ground.name, self.ground.size);
            workloads.push(self.workload(name)?);
        }
        self.ground.restore()?;
        let versions = self.competitors.iter().map(|competitor| {
            let label = competitor.contender.label.to_owned();
            (label, competitor.version.clone())
        });
        Ok(Results {
            tree: self.ground.name.clone(),
            size: self.ground.size.clone(),
            files: self.ground.files().unwrap_or(0),
            versions: versions.collect(),
            workloads,
            catalog: self.catalog,
        })
    }

    fn workload(&mut self, name: &str) -> io::Result<Workload> {
        let start = match name {
            "first-cold" => Start::Cold,
            "rescan" => Start::Again,
            "rescan-changed" => Start::Changed,
            _ => Start::Warm,
        };
        let (date, load) = (machine::today(), machine::load());
        let skipped = self.impossible(start)?;
        let rows = match &skipped {
            Some(reason) => {
                println!("  skipped: {reason}");
                Vec::new()
            }
            None => self.rounds(start)?,
        };
        Ok(Workload {
            name: name.to_owned(),
            date,
            load,
            skipped,
            rows,
        })
    }

    /// Why this cannot be measured here, if it cannot.
    fn impossible(&mut self, start: Start) -> io::Result<Option<String>> {
        Ok(match start {
            Start::Cold => drop_caches()
                .err()
                .map(|error| format!("the page cache cannot be dropped here: {error}")),
            // Round 0 is also what the first measured round changes from.
            Start::Changed if !self.ground.change_some(0)? => {
                Some("a real tree is never written to".to_owned())
            }
            _ => None,
        })
    }

    fn rounds(&mut self, start: Start) -> io::Result<Vec<Row>> {
        let mut rows: Vec<Row> = self.competitors.iter().map(|c| row(c, start)).collect();
        let mut asides = [Row::new(FLOOR, Role::Aside), Row::new(REPORT, Role::Aside)];
        if start != Start::Cold {
            floor::warm(&self.ground.top)?;
        }
        if start.is_again() {
            self.prepare(&mut rows)?;
        }
        for round in 1..=self.options.rounds {
            if start == Start::Changed {
                self.ground.change_some(round)?;
                floor::warm(&self.ground.top)?;
            }
            self.round(round, start, &mut rows, &mut asides)?;
            if round == 1 {
                self.drop_slow(&mut rows);
            }
        }
        rows.extend(asides);
        rows.extend(self.missing.iter().map(|label| Row {
            trouble: Some("not installed".to_owned()),
            ..Row::new(label, Role::Peer)
        }));
        Ok(rows)
    }

    /// Everybody once. Every round begins with another one, so that none
    /// always follows the same.
    fn round(
        &mut self,
        round: u64,
        start: Start,
        rows: &mut [Row],
        [floor, report]: &mut [Row; 2],
    ) -> io::Result<()> {
        if start == Start::Cold {
            drop_caches()?;
        }
        match self.bare_listing() {
            Ok(sample) => floor.samples.push(sample),
            Err(error) => floor.trouble = Some(error),
        }
        let count = self.competitors.len();
        let mut found: Vec<_> = self.competitors.iter().map(|_| None).collect();
        for turn in 0..count {
            let at = (turn + usize::try_from(round - 1).unwrap_or(0)) % count;
            if rows[at].trouble.is_none() && self.turn(at, &mut rows[at], start)? {
                let answer = self.competitors[at].found(&self.ground.top);
                found[at] = Some(answer.map(|(found, asking)| {
                    if at == 0 {
                        report.samples.extend(asking);
                    }
                    found
                }));
            }
        }
        compare(rows, &found);
        self.catalog = self
            .catalog
            .or(self.competitors.first().and_then(Competitor::catalog));
        Ok(())
    }

    /// Lets everyone who remembers anything learn the tree.
    fn prepare(&self, rows: &mut [Row]) -> io::Result<()> {
        for (competitor, row) in self.competitors.iter().zip(rows) {
            competitor.forget()?;
            if competitor.remembers() {
                row.trouble = competitor.run(&self.ground.top, true).err();
            }
        }
        Ok(())
    }

    /// One run of one contender; `false` if it failed.
    fn turn(&self, at: usize, row: &mut Row, start: Start) -> io::Result<bool> {
        let competitor = &self.competitors[at];
        if !(start.is_again() && competitor.remembers()) {
            competitor.forget()?;
        }
        if start == Start::Cold {
            drop_caches()?;
            competitor.warm_program();
        }
        match competitor.run(&self.ground.top, start.is_again()) {
            Ok(sample) => row.samples.push(sample),
            Err(error) => {
                println!("  {}: {error}", row.label);
                row.trouble = Some(error);
            }
        }
        Ok(row.trouble.is_none())
    }

    /// Takes those out of the next rounds that are far behind.
    fn drop_slow(&self, rows: &mut [Row]) {
        let first = |row: &Row| row.samples.first().map(|sample| sample.wall);
        let fastest = rows.iter().filter_map(first).min_by(f64::total_cmp);
        let (Some(factor), Some(fastest)) = (self.options.drop_slower, fastest) else {
            return;
        };
        for row in rows.iter_mut().filter(|row| row.role == Role::Peer) {
            if first(row).is_some_and(|wall| wall > factor * fastest) {
                row.trouble = Some(format!("one round only: over {factor} × the fastest"));
            }
        }
    }

    fn bare_listing(&self) -> Result<Sample, String> {
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let home = self.options.dir.join("state").join("floor");
        fs::create_dir_all(&home).map_err(|error| error.to_string())?;
        let tree = self.ground.top.to_string_lossy().into_owned();
        let call = Call {
            program: &own,
            arguments: &[LIST_AND_STAT.to_owned(), tree],
            home: &home,
            stdout: &home.join("stdout.txt"),
            timeout: Duration::from_secs(600),
        };
        call.run()
    }
}

fn row(competitor: &Competitor, start: Start) -> Row {
    let role = if competitor.contender.is_own() {
        Role::Own
    } else {
        Role::Peer
    };
    Row {
        cached: start.is_again() && competitor.remembers(),
        ..Row::new(competitor.contender.label, role)
    }
}

/// Compares the groups of one round with those of dupescan, the first of all.
/// A wrong answer in any round stays.
fn compare(rows: &mut [Row], found: &[Option<Result<Found, String>>]) {
    let reference = match found.first() {
        Some(Some(Ok(reference))) if rows[0].role == Role::Own => Some(reference),
        _ => None,
    };
    for (row, found) in rows.iter_mut().zip(found) {
        let agreement = match (found, reference) {
            (None, _) => continue,
            (Some(Err(why)), _) => Agreement::Unknown { why: why.clone() },
            (Some(Ok(found)), Some(reference)) => found.agreement(reference),
            (Some(Ok(_)), None) => Agreement::Unknown {
                why: "dupescan found no groups to compare with".to_owned(),
            },
        };
        if !matches!(row.agreement, Some(Agreement::Differs { .. })) {
            row.agreement = Some(agreement);
        }
    }
}

/// Empties the page cache, and the caches of names and inodes.
fn drop_caches() -> io::Result<()> {
    rustix::fs::sync();
    fs::write("/proc/sys/vm/drop_caches", "3")
}
