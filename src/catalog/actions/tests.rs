use std::path::{Path, PathBuf};

use crate::catalog::testing::{Bed, file};
use crate::model::{
    Action, ActionId, ActionOutcome, ActionState, CopyEntry, Digest, NewAction, PlanOptions,
    PlannedCopy, PlannedGroup, Role,
};

fn planned(role: Role, path: &str, links: &[&str]) -> PlannedCopy {
    PlannedCopy {
        role,
        copy: CopyEntry {
            path: path.into(),
            root: "/r".into(),
            volume: "uuid:1".to_owned(),
            mtime_ns: 1_000,
            ctime_ns: 1_000,
            inode: Some(u64::MAX),
            occupied: 10,
            links: links.iter().map(PathBuf::from).collect(),
            ..CopyEntry::default()
        },
    }
}

fn digest() -> Digest {
    Digest::from_bytes(&[1; 32]).unwrap()
}

#[test]
fn a_plan_comes_back_as_it_was_written() {
    let bed = Bed::new();
    let mut group = PlannedGroup {
        number: 1,
        digest: digest(),
        size: 10,
        copies: vec![
            planned(Role::Keep, "/r/a", &[]),
            planned(Role::Act, "/r/b", &["/r/c", "/r/d"]),
            planned(Role::Act, "/r/e", &[]),
        ],
    };
    let mut catalog = bed.open();
    let mut plan = catalog
        .begin_plan(Action::Trash, &PlanOptions::default())
        .unwrap();
    plan.add(&group).unwrap();
    plan.add(&group).unwrap();
    let totals = plan.totals();
    let id = plan.finish().unwrap();
    assert_eq!((totals.groups, totals.files, totals.bytes), (2, 8, 40));
    let reader = bed.reader();
    let header = reader.plan(id).unwrap().unwrap();
    assert_eq!((header.action, header.totals), (Action::Trash, totals));
    assert_eq!(reader.plan_groups(id, 0, 1).unwrap(), [group.clone()]);
    group.number = 2;
    assert_eq!(reader.plan_groups(id, 1, 9).unwrap(), [group]);
    assert!(catalog.delete_plan(id).unwrap());
    assert_eq!((bed.count("plan_groups"), bed.count("plan_files")), (0, 0));
}

#[test]
fn an_unfinished_plan_does_not_exist() {
    let bed = Bed::new();
    let mut catalog = bed.open();
    drop(
        catalog
            .begin_plan(Action::Delete, &PlanOptions::default())
            .unwrap(),
    );
    assert_eq!(bed.reader().plans().unwrap(), []);
}

fn action(path: &str) -> NewAction {
    NewAction {
        group: 1,
        path: path.into(),
        keeper: "/r/a".into(),
        state: file("b", 10, 2).state(),
        occupied: 10,
        digest: digest(),
        trash: "/r/.dupescan-trash-0/1".into(),
    }
}

fn outcome(id: ActionId, progress: ActionState, ctime_ns: Option<i64>) -> ActionOutcome {
    ActionOutcome {
        id,
        progress,
        reason: String::new(),
        ctime_ns,
    }
}

#[test]
fn the_journal_and_the_rows_of_files_change_together() {
    let bed = Bed::new();
    bed.scan("/r", &[file("a", 10, 1), file("b", 10, 2)]);
    let mut catalog = bed.open();
    let plan = catalog
        .begin_plan(Action::Trash, &PlanOptions::default())
        .unwrap();
    let plan = plan.finish().unwrap();
    let run = catalog.begin_run(plan, Action::Trash).unwrap();
    let ids = catalog.intend(run, &[action("/r/b")]).unwrap();
    let open = catalog.open_actions().unwrap();
    assert_eq!((open.len(), &open[0].action), (1, &action("/r/b")));

    let row = |path: &str| bed.reader().current_file(Path::new(path)).unwrap();
    let groups = || bed.reader().totals().unwrap().groups;
    assert!(row("/r/b").is_some());
    catalog
        .settle_actions(&[outcome(ids[0], ActionState::Trashed, Some(7))])
        .unwrap();
    assert_eq!((row("/r/b"), groups()), (None, 0));
    assert_eq!(catalog.roots().unwrap()[0].files, 1);
    assert!(
        bed.reader()
            .done_by(plan, 1, Path::new("/r/b"))
            .unwrap()
            .is_some()
    );
    assert_eq!(bed.reader().verify().unwrap(), []);

    catalog.intend_again(&ids, ActionState::Restoring).unwrap();
    assert_eq!(catalog.open_actions().unwrap()[0].trashed_ctime_ns, Some(7));
    catalog
        .settle_actions(&[outcome(ids[0], ActionState::Restored, Some(8))])
        .unwrap();
    let back = row("/r/b").unwrap();
    assert_eq!((back.state.ctime_ns, back.digest), (8, Some(digest())));
    assert_eq!((groups(), catalog.roots().unwrap()[0].files), (1, 2));
    assert_eq!(catalog.open_actions().unwrap(), []);
    assert_eq!(bed.reader().verify().unwrap(), []);
    catalog.finish_run(run).unwrap();
    assert!(bed.reader().runs().unwrap()[0].finished.is_some());
    let counts = bed.reader().action_counts(run).unwrap();
    assert_eq!(counts, [(ActionState::Restored, 1, 10)]);
}

#[test]
fn what_is_skipped_keeps_its_row_and_has_a_reason() {
    let bed = Bed::new();
    bed.scan("/r", &[file("a", 10, 1), file("b", 10, 2)]);
    let mut catalog = bed.open();
    let plan = catalog
        .begin_plan(Action::Trash, &PlanOptions::default())
        .unwrap();
    let plan = plan.finish().unwrap();
    let run = catalog.begin_run(plan, Action::Trash).unwrap();
    let skipped = [(action("/r/b"), "changed since the scan".to_owned())];
    catalog.skip(run, &skipped).unwrap();
    let entries = bed.reader().actions(run, ActionId(0), 9).unwrap();
    assert_eq!(entries[0].reason, "changed since the scan");
    assert!(
        bed.reader()
            .done_by(plan, 1, Path::new("/r/b"))
            .unwrap()
            .is_none()
    );
    assert!(
        bed.reader()
            .current_file(Path::new("/r/b"))
            .unwrap()
            .is_some()
    );
}

#[test]
fn protected_folders_are_remembered_once() {
    let bed = Bed::new();
    let mut catalog = bed.open();
    assert!(catalog.protect(Path::new("/r/keep")).unwrap());
    assert!(!catalog.protect(Path::new("/r/keep")).unwrap());
    assert_eq!(bed.reader().protected().unwrap(), [Path::new("/r/keep")]);
    assert!(catalog.unprotect(Path::new("/r/keep")).unwrap());
    assert!(!catalog.unprotect(Path::new("/r/keep")).unwrap());
}
