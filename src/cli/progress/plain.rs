//! Progress for logs: one line, however long.

use super::lines::{audited, clock};
use super::view::{View, percent, share, shown_path};
use crate::model::Stage;
use crate::report::text::{counted, grouped, human_size, reclaimable};

/// The line without its end.
pub(crate) fn line(view: &View) -> String {
    let now = &view.now;
    let mut parts = vec![format!("{}: {}", clock(now.elapsed), doing(view))];
    if let Some(eta) = view.eta {
        parts.push(format!("ETA {}", clock(eta)));
    }
    if now.is_audit {
        parts.push(audited(view));
        parts.push(format!("{} corrupted", grouped(now.files_corrupted)));
    } else {
        parts.push(counted(now.folders_listed, "folder", "folders"));
        parts.push(counted(now.files_seen, "file", "files"));
    }
    if now.files_unchanged > 0 {
        parts.push(format!("{} unchanged", grouped(now.files_unchanged)));
    }
    let (active, workers) = (grouped(now.active), grouped(now.workers));
    parts.push(format!("{active} of {workers} threads busy"));
    parts.push(counted(now.faults, "error", "errors"));
    if now.reclaimable > 0 {
        let size = reclaimable(now.reclaimable, false);
        parts.push(format!("at least {size} so far"));
    }
    if let Some(path) = shown_path(&view.path) {
        parts.push(path);
    }
    parts.join(", ")
}

/// The stage and how far it is.
fn doing(view: &View) -> String {
    let (now, share) = (&view.now, share(&view.now, view.now.stage));
    let (done, total) = share.unwrap_or_default();
    let share = share.map_or_else(String::new, |share| format!(" ({} %)", percent(share)));
    match now.stage {
        _ if view.stopping => "stopping".to_owned(),
        Stage::List => "listing".to_owned(),
        Stage::Probe => format!(
            "probing, {} of {} candidates{share}",
            grouped(done),
            grouped(total)
        ),
        Stage::Hash => format!(
            "{}, {} of {}{share}, {}/s",
            if now.is_audit { "auditing" } else { "reading" },
            human_size(done),
            human_size(total),
            human_size(view.bytes_per_second)
        ),
        Stage::Settle => "adding up".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::progress::view::testing::{auditing, in_stage, reading};

    #[test]
    fn a_line_has_it_all() {
        assert_eq!(
            line(&reading()),
            "1:23: reading, 3.0 GiB of 12.0 GiB (25 %), 112.0 MiB/s, ETA 2:15, 1,234 folders, \
             56,789 files, 50,000 unchanged, 3 of 4 threads busy, 3 errors, at least 1.0 GiB \
             reclaimable so far, /home/you/Pictures/2024/Norway/raw/IMG_0001.CR2"
        );
        let probing = line(&in_stage(Stage::Probe));
        assert!(probing.starts_with("1:23: probing, 750 of 3,000 candidates (25 %), ETA 2:15"));
    }

    #[test]
    fn an_audit_says_what_it_reads_and_finds() {
        assert_eq!(
            line(&auditing()),
            "1:23: auditing, 3.0 GiB of 12.0 GiB (25 %), 112.0 MiB/s, ETA 2:15, 1,200 of 4,800 \
             files, 1 corrupted, 3 of 4 threads busy, 3 errors, \
             /home/you/Pictures/2024/Norway/raw/IMG_0001.CR2"
        );
    }

    #[test]
    fn it_stays_one_line() {
        let mut view = reading();
        view.path = "/two\nlines".into();
        assert!(!line(&view).contains('\n'));
    }
}
