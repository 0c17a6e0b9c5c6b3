//! The lines on a terminal: one for each stage that has started, one about the
//! whole run, and one with the path being read. Pure; each line fits the width
//! and drops what matters least if there is no room.

use std::collections::BTreeSet;
use std::time::Duration;

use anstyle::{AnsiColor, Style as Paint};
use unicode_width::UnicodeWidthStr;

use super::view::{View, percent, share, shown_path};
use crate::model::Stage;
use crate::report::text::{counted, grouped, human_size, reclaimable, shorten_middle};

const STRONG: Paint = Paint::new().bold();
const FAINT: Paint = Paint::new().dimmed();
const PLAIN: Paint = Paint::new();
const FILLED: Paint = AnsiColor::Cyan.on_default();
const GAIN: Paint = AnsiColor::Green.on_default();
const BAD: Paint = AnsiColor::Red.on_default();

/// The widths that a bar may have.
const BAR: std::ops::RangeInclusive<usize> = 8..=30;
/// Columns between two parts.
const GAP: usize = 2;

/// A piece of a line. Pieces of rank 0 stay; the others are shown as long as
/// there is room, those of the lowest rank first.
struct Part {
    rank: u8,
    text: String,
    paint: Paint,
}

fn part(rank: u8, paint: Paint, text: impl Into<String>) -> Part {
    Part {
        rank,
        paint,
        text: text.into(),
    }
}

/// The lines for a terminal of so many columns. The last column stays empty: a
/// character in it may start a new line.
pub(crate) fn lines(view: &View, columns: usize, color: bool) -> Vec<String> {
    let room = columns.saturating_sub(1);
    let stages = [Stage::List, Stage::Probe, Stage::Hash, Stage::Settle];
    let mut lines: Vec<_> = stages
        .into_iter()
        .filter(|stage| has_begun(view, *stage))
        .map(|stage| stage_line(view, stage, room, color))
        .collect();
    lines.push(joined(whole_run(view), None, room, color));
    if let Some(path) = shown_path(&view.path) {
        let path = shorten_middle(&path, room);
        lines.push(painted(FAINT, &path, color));
    }
    lines
}

fn has_begun(view: &View, stage: Stage) -> bool {
    let now = &view.now;
    stage == now.stage
        || match stage {
            Stage::List => now.folders_listed > 0,
            Stage::Probe => now.candidates > 0,
            Stage::Hash => now.bytes_to_hash > 0,
            Stage::Settle => false,
        }
}

fn stage_line(view: &View, stage: Stage, room: usize, color: bool) -> String {
    let now = &view.now;
    let is_over = stage < now.stage;
    let name = match (stage, is_over) {
        (Stage::List, false) => "Listing",
        (Stage::List, true) => "Listed ",
        (Stage::Probe, false) => "Probing",
        (Stage::Probe, true) => "Probed ",
        (Stage::Hash, false) if now.is_audit => "Auditing",
        (Stage::Hash, false) => "Reading",
        (Stage::Hash, true) => "Read   ",
        (Stage::Settle, _) => "Adding up",
    };
    let mut parts = vec![part(0, if is_over { PLAIN } else { STRONG }, name)];
    let share = share(now, stage);
    let bar = share.filter(|_| stage == now.stage);
    // The percentage says the same in less room.
    let amounts = if bar.is_some() { 3 } else { 0 };
    match stage {
        Stage::List => parts.extend(found(view)),
        Stage::Probe => {
            let (done, total) = share.unwrap_or_default();
            let files = format!("{} of {} candidates", grouped(done), grouped(total));
            parts.push(part(amounts, PLAIN, files));
        }
        Stage::Hash if now.is_audit && share.is_none() => {
            parts.push(part(0, PLAIN, "looking up what to read"));
        }
        Stage::Hash => {
            let (done, total) = share.unwrap_or_default();
            let bytes = format!("{} of {}", human_size(done), human_size(total));
            parts.push(part(amounts, PLAIN, bytes));
        }
        Stage::Settle => {}
    }
    if let Some(share) = bar {
        parts.push(part(0, PLAIN, format!("{:>2} %", percent(share))));
    }
    if stage == Stage::Hash && bar.is_some() {
        let speed = format!("{}/s", human_size(view.bytes_per_second));
        parts.push(part(1, PLAIN, speed));
    }
    if stage == now.stage
        && let Some(eta) = view.eta
    {
        parts.push(part(2, STRONG, format!("ETA {}", clock(eta))));
    }
    joined(parts, bar, room, color)
}

/// What listing found.
fn found(view: &View) -> Vec<Part> {
    let now = &view.now;
    let folders = counted(now.folders_listed, "folder", "folders");
    let files = counted(now.files_seen, "file", "files");
    let mut parts = vec![part(1, PLAIN, folders), part(0, PLAIN, files)];
    if now.files_unchanged > 0 {
        let unchanged = format!("{} unchanged", grouped(now.files_unchanged));
        parts.push(part(2, PLAIN, unchanged));
    }
    // A first scan reads while it lists.
    if now.stage == Stage::List && now.bytes_read > 0 {
        let read = format!("{} read", human_size(now.bytes_read));
        parts.push(part(3, PLAIN, read));
    }
    parts
}

/// What is about the run as a whole.
fn whole_run(view: &View) -> Vec<Part> {
    let now = &view.now;
    let mut parts = vec![part(0, PLAIN, clock(now.elapsed))];
    if view.stopping {
        parts.push(part(0, STRONG, "stopping"));
        parts.push(part(1, PLAIN, "(Ctrl-C again to quit at once)"));
    }
    if now.files_to_audit > 0 {
        parts.push(part(1, PLAIN, audited(view)));
    }
    if now.files_corrupted > 0 {
        parts.push(part(
            0,
            BAD,
            format!("{} corrupted", grouped(now.files_corrupted)),
        ));
    }
    let (active, workers) = (grouped(now.active), grouped(now.workers));
    parts.push(part(
        4,
        PLAIN,
        format!("{active} of {workers} threads busy"),
    ));
    if now.faults > 0 {
        parts.push(part(2, BAD, counted(now.faults, "error", "errors")));
    }
    if now.reclaimable > 0 {
        let size = reclaimable(now.reclaimable, false);
        parts.push(part(3, GAIN, format!("at least {size} so far")));
    }
    parts
}

/// How many files of an audit are done.
pub(crate) fn audited(view: &View) -> String {
    let now = &view.now;
    let files = counted(now.files_to_audit, "file", "files");
    format!("{} of {files}", grouped(now.files_audited))
}

/// The parts that have room, the bar after the first of them.
fn joined(parts: Vec<Part>, bar: Option<(u64, u64)>, room: usize, color: bool) -> String {
    let parts = those_with_room(parts, room);
    if width_of(&parts) > room {
        let texts: Vec<_> = parts.iter().map(|part| part.text.as_str()).collect();
        return shorten_middle(&texts.join("  "), room);
    }
    let left = room.saturating_sub(width_of(&parts) + GAP);
    let mut pieces: Vec<_> = parts
        .iter()
        .map(|part| painted(part.paint, &part.text, color))
        .collect();
    if let Some(share) = bar
        && left >= *BAR.start()
    {
        pieces.insert(1, drawn(share, left.min(*BAR.end()), color));
    }
    pieces.join("  ")
}

/// A line about one thing that is done: what and how much of it, the time left and
/// what else there is to say, its share, and the room and colour for it.
pub(crate) fn doing_line(
    (what, amount): (&str, &str),
    (eta, others): (Option<String>, Vec<String>),
    share: Option<(u64, u64)>,
    (room, color): (usize, bool),
) -> String {
    let mut parts = vec![part(0, STRONG, what), part(2, PLAIN, amount)];
    parts.extend(share.map(|share| part(0, PLAIN, format!("{:>2} %", percent(share)))));
    parts.extend(eta.map(|eta| part(1, STRONG, eta)));
    parts.extend(others.into_iter().map(|other| part(3, PLAIN, other)));
    joined(parts, share, room, color)
}

/// Drops the pieces that do not fit beside those of a lower rank.
fn those_with_room(mut parts: Vec<Part>, room: usize) -> Vec<Part> {
    let ranks: BTreeSet<u8> = parts.iter().map(|part| part.rank).collect();
    let mut shown = BTreeSet::from([0]);
    for rank in ranks {
        shown.insert(rank);
        let chosen = parts.iter().filter(|part| shown.contains(&part.rank));
        if rank > 0 && width_of(chosen) > room {
            shown.remove(&rank);
        }
    }
    parts.retain(|part| shown.contains(&part.rank));
    parts
}

fn width_of<'a>(parts: impl IntoIterator<Item = &'a Part>) -> usize {
    let widths = parts.into_iter().map(|part| part.text.width() + GAP);
    widths.sum::<usize>().saturating_sub(GAP)
}

fn drawn((done, total): (u64, u64), width: usize, color: bool) -> String {
    let filled = u128::from(done) * width as u128 / u128::from(total.max(1));
    let filled = usize::try_from(filled).unwrap_or(width).min(width);
    let (full, empty) = ("━".repeat(filled), "─".repeat(width - filled));
    painted(FILLED, &full, color) + &painted(FAINT, &empty, color)
}

fn painted(paint: Paint, text: &str, color: bool) -> String {
    if color && !text.is_empty() && paint != PLAIN {
        format!("{paint}{text}{paint:#}")
    } else {
        text.to_owned()
    }
}

/// `0:07`, `12:05`, `3:04:05`.
pub(crate) fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cli::progress::view::testing::{auditing, in_stage, reading};
    use crate::testing::proptest_config;

    fn text(view: &View, columns: usize) -> String {
        lines(view, columns, false).join("\n")
    }

    #[test]
    fn a_wide_terminal_shows_everything() {
        insta::assert_snapshot!(text(&reading(), 120), @"
        Listed   1,234 folders  56,789 files  50,000 unchanged
        Probed   3,000 of 3,000 candidates
        Reading  ━━━━━━━───────────────────────  3.0 GiB of 12.0 GiB  25 %  112.0 MiB/s  ETA 2:15
        1:23  3 of 4 threads busy  3 errors  at least 1.0 GiB reclaimable so far
        /home/you/Pictures/2024/Norway/raw/IMG_0001.CR2
        ");
    }

    #[test]
    fn a_narrow_terminal_shows_what_matters() {
        insta::assert_snapshot!(text(&reading(), 40), @"
        Listed   1,234 folders  56,789 files
        Probed   3,000 of 3,000 candidates
        Reading  25 %  112.0 MiB/s  ETA 2:15
        1:23  3 of 4 threads busy  3 errors
        /home/you/Pictures/…ay/raw/IMG_0001.CR2
        ");
    }

    #[test]
    fn the_narrowest_terminals_keep_stage_share_and_speed() {
        let mut view = reading();
        (view.now.folders_listed, view.now.files_seen) = (66_667, 10_000_000);
        view.now.candidates = 0;
        let text_of = |view: &View| lines(view, 28, false)[..2].join("\n");
        insta::assert_snapshot!(text_of(&view), @"
        Listed   10,000,000 files
        Reading  25 %  112.0 MiB/s
        ");
    }

    #[test]
    fn a_first_scan_reads_while_it_lists() {
        insta::assert_snapshot!(text(&in_stage(Stage::List), 80), @"
        Listing  1,234 folders  56,789 files  50,000 unchanged  3.0 GiB read
        Probing  750 of 3,000 candidates
        1:23  3 of 4 threads busy  3 errors  at least 1.0 GiB reclaimable so far
        /home/you/Pictures/2024/Norway/raw/IMG_0001.CR2
        ");
    }

    #[test]
    fn an_audit_says_what_it_reads_and_finds() {
        insta::assert_snapshot!(text(&auditing(), 80), @"
        Auditing  ━━━━───────────────  3.0 GiB of 12.0 GiB  25 %  112.0 MiB/s  ETA 2:15
        1:23  1,200 of 4,800 files  1 corrupted  3 of 4 threads busy  3 errors
        /home/you/Pictures/2024/Norway/raw/IMG_0001.CR2
        ");
        insta::assert_snapshot!(text(&auditing(), 40), @"
        Auditing  25 %  112.0 MiB/s  ETA 2:15
        1:23  1,200 of 4,800 files  1 corrupted
        /home/you/Pictures/…ay/raw/IMG_0001.CR2
        ");
        let mut view = auditing();
        (view.now.files_to_audit, view.now.bytes_to_hash, view.eta) = (0, 0, None);
        let text = text(&view, 80);
        assert!(
            text.starts_with("Auditing  looking up what to read\n"),
            "{text}"
        );
    }

    #[test]
    fn a_run_that_stops_says_so() {
        let mut view = in_stage(Stage::Probe);
        view.stopping = true;
        let text = text(&view, 80);
        assert!(text.contains("1:23  stopping  (Ctrl-C again"), "{text}");
    }

    #[test]
    fn names_cannot_reach_the_terminal_as_commands() {
        let mut view = reading();
        view.path = "/a\x1b[2J\nb".into();
        assert!(text(&view, 80).ends_with(r"/a\x1b[2J\nb"));
    }

    #[test]
    fn clocks_count_hours_only_where_there_are_some() {
        let clock = |seconds| clock(Duration::from_secs(seconds));
        assert_eq!(clock(7), "0:07");
        assert_eq!(clock(725), "12:05");
        assert_eq!(clock(11_045), "3:04:05");
    }

    proptest! {
        #![proptest_config(proptest_config())]

        #[test]
        fn no_line_is_wider_than_the_terminal(
            columns in 1_usize..250,
            figures in prop::array::uniform8(any::<u64>()),
            stage in 0_usize..4,
            color: bool,
            path in r"/\PC{0,80}",
        ) {
            let mut view = reading();
            let now = &mut view.now;
            now.stage = [Stage::List, Stage::Probe, Stage::Hash, Stage::Settle][stage];
            [
                now.folders_listed, now.files_seen, now.candidates, now.bytes_to_hash,
                now.bytes_hashed, now.bytes_read, now.faults, now.reclaimable,
            ] = figures;
            view.stopping = figures[0] % 2 == 0;
            view.path = path.into();
            for line in lines(&view, columns, color) {
                let seen = anstream::adapter::strip_str(&line).to_string();
                prop_assert!(seen.width() < columns, "{seen:?} in {columns}");
            }
        }
    }
}
