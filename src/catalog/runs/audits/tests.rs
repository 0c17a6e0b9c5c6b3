use std::time::Duration;

use super::*;
use crate::catalog::query::FileFilter;
use crate::catalog::testing::{Bed, TestFile, file};
use crate::catalog::write::Writer;
use crate::model::RootId;

fn bed(files: &[TestFile<'_>]) -> Bed {
    let bed = Bed::new();
    bed.scan("/r", files);
    bed
}

fn scope(bed: &Bed) -> AuditScope {
    AuditScope {
        tops: bed.reader().all_tops().unwrap(),
        online: vec![RootId(1)],
        before: None,
        baseline: false,
    }
}

fn list(bed: &Bed, run: AuditId, scope: &AuditScope) -> AuditList {
    AuditList::build(bed.reader(), run, scope, FileFilter::default()).unwrap()
}

fn drain(mut list: AuditList) -> Vec<AuditCopy> {
    let mut all = Vec::new();
    loop {
        let batch = list.next_batch(2, u64::MAX).unwrap();
        if batch.is_empty() {
            return all;
        }
        all.extend(batch);
    }
}

fn note(bed: &Bed, run: AuditId, copies: &[AuditCopy], made: Option<Digest>) {
    let writer = Writer::start(bed.open(), 1_000, Duration::from_millis(250)).unwrap();
    let notes = copies.iter().map(|copy| AuditNote {
        names: copy.copy.names.clone(),
        state: copy.copy.state,
        finding: made.map_or(AuditFinding::Sound, |digest| {
            AuditFinding::Made(digest, None, false)
        }),
    });
    writer.handle().note_audits(run, notes.collect()).unwrap();
    writer.finish().unwrap();
}

#[test]
fn a_run_that_was_stopped_goes_on_and_a_finished_one_does_not() {
    let bed = bed(&[file("a", 10, 1)]);
    let first = bed.open().begin_audit(Path::new("/r")).unwrap();
    assert!(!first.resumed);
    let again = bed.open().begin_audit(Path::new("/r")).unwrap();
    assert!(again.resumed && again.id == first.id);
    assert_ne!(bed.open().begin_audit(Path::new("")).unwrap().id, first.id);
    let writer = Writer::start(bed.open(), 1_000, Duration::from_millis(250)).unwrap();
    writer.handle().finish_audit(first.id).unwrap();
    writer.finish().unwrap();
    let next = bed.open().begin_audit(Path::new("/r")).unwrap();
    assert!(!next.resumed && next.id != first.id);
    bed.sql("UPDATE audit_runs SET started_at = 0");
    assert!(!bed.open().begin_audit(Path::new("/r")).unwrap().resumed);
}

#[test]
fn what_was_found_sound_is_not_read_again_in_the_same_run() {
    let files = [
        file("a", 10, 1),
        file("link", 10, 1),
        file("b", 10, 2),
        file("unread", 20, 3).unread(),
        file("empty", 0, 4),
    ];
    let bed = bed(&files);
    let run = bed.open().begin_audit(Path::new("")).unwrap().id;
    let copies = drain(list(&bed, run, &scope(&bed)));
    assert_eq!(copies.len(), 2);
    assert_eq!(copies[0].copy.names.len(), 2);
    note(&bed, run, &copies[..1], None);
    let rest = list(&bed, run, &scope(&bed));
    assert_eq!((rest.copies, rest.bytes, rest.skipped), (1, 10, 2));
    // Another run reads it again, unless it was audited lately.
    let other = bed.open().begin_audit(Path::new("/r")).unwrap().id;
    assert_eq!(list(&bed, other, &scope(&bed)).copies, 2);
    let lately = AuditScope {
        before: Some(Timestamp(Timestamp::now().0 - 100)),
        ..scope(&bed)
    };
    assert_eq!(list(&bed, other, &lately).copies, 1);
    // A file that changed since was not audited in its new state.
    bed.sql("UPDATE files SET mtime_ns = 7");
    assert_eq!(list(&bed, other, &lately).copies, 2);
    assert_eq!(bed.reader().verify().unwrap(), []);
}

#[test]
fn a_baseline_stores_digests_and_coverage_counts_them() {
    let bed = bed(&[
        file("a", 10, 1),
        file("unread", 20, 3).unread(),
        file("empty", 0, 4),
    ]);
    let tops = bed.reader().all_tops().unwrap();
    let coverage = || bed.reader().coverage(&tops).unwrap();
    assert_eq!(
        coverage(),
        Coverage {
            files: 3,
            digested: 2
        }
    );
    let run = bed.open().begin_audit(Path::new("")).unwrap().id;
    let all = AuditScope {
        baseline: true,
        ..scope(&bed)
    };
    let copies = drain(list(&bed, run, &all));
    let unread: Vec<_> = copies.into_iter().filter(|c| c.digest.is_none()).collect();
    assert_eq!(unread.len(), 1);
    note(&bed, run, &unread, Digest::from_bytes(&[9; 32]));
    assert_eq!(
        coverage(),
        Coverage {
            files: 3,
            digested: 3
        }
    );
    assert_eq!(bed.count("scans WHERE hashed > 2"), 0);
    assert_eq!(bed.reader().verify().unwrap(), []);
}

#[test]
fn an_offline_root_is_counted_and_left_alone() {
    let bed = bed(&[file("a", 10, 1)]);
    bed.scan("/s", &[file("b", 10, 2)]);
    let run = bed.open().begin_audit(Path::new("")).unwrap().id;
    let found = list(&bed, run, &scope(&bed));
    assert_eq!((found.copies, found.offline), (1, 1));
}

#[test]
fn a_forgotten_root_takes_its_audits_with_it() {
    let bed = bed(&[file("a", 10, 1)]);
    let run = bed.open().begin_audit(Path::new("")).unwrap().id;
    let copies = drain(list(&bed, run, &scope(&bed)));
    note(&bed, run, &copies, None);
    assert_eq!(bed.count("audits"), 1);
    bed.open().forget(Path::new("/r")).unwrap();
    assert_eq!(bed.count("audits"), 0);
    assert_eq!(bed.reader().verify().unwrap(), []);
}
