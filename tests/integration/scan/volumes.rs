//! Which filesystem a file is on: images and disks that take each other's place,
//! and views of one filesystem over another.

use crate::env::run::Run;
use crate::env::{TestEnv, skip};

/// What a script exits with where a tool or a filesystem is missing.
const UNAVAILABLE: i32 = 77;

/// Runs a script with mounts; `None` where this machine cannot.
fn run(env: &TestEnv, script: &str) -> Option<Run> {
    let run = env.run_with_mounts(script)?;
    (run.exit != Some(UNAVAILABLE)).then_some(run)
}

/// What a script printed between the line `== NAME` and the next such line.
fn part(run: &Run, name: &str) -> String {
    let (out, head) = (run.out(), format!("== {name}\n"));
    let rest = out.split_once(&head).map(|(_, rest)| rest);
    let part = rest.and_then(|rest| rest.split("== ").next());
    part.unwrap_or_else(|| panic!("no part {name}: {}", run.describe()))
        .to_owned()
}

/// Two images whose files have equal names, sizes, times and inodes, but other
/// contents: all of `one` is in `b`, nothing of `two` is.
fn images() -> TestEnv {
    let env = TestEnv::new();
    env.file("one/x", "first").file("one/y", "first");
    env.file("two/x", "other").file("two/y", "thing");
    env.file("b/x", "first").folder("img");
    env.settle_clock();
    env
}

/// The answers after one image has taken the place of another.
const SWAP: &str = "
    $MAKE_IMAGES 2>&1 >/dev/null || exit 77
    mount -o loop,ro 1.img img || exit 77
    $DUPESCAN scan img b
    echo == before; $DUPESCAN diff img b
    echo == again; $DUPESCAN scan img
    umount img; mount -o loop,ro 2.img img
    echo == diff; $DUPESCAN diff img b && exit 9
    echo == find; $DUPESCAN find b/x --elsewhere && exit 9
    echo == check; $DUPESCAN report --check
    echo == audit; $DUPESCAN audit || echo exit $?
    echo == rescan; $DUPESCAN scan img
    echo == report; $DUPESCAN report
    echo == audit again; $DUPESCAN audit";

fn check_swapped_image(make: &str) {
    let env = images();
    let Some(run) = run(&env, &SWAP.replace("$MAKE_IMAGES", make)) else {
        skip!("cannot make or mount such images");
    };
    let run = run.ok();
    let says = |name, sentence: &str| {
        assert!(
            part(&run, name).contains(sentence),
            "{name}: {sentence}{}",
            run.describe()
        );
    };
    says("before", "safe to wipe A");
    says("again", "2 of 2 files unchanged");
    says("diff", "2 files: changed since the scan");
    says("find", "2 files could be copies (2 changed since the scan)");
    says("check", "no duplicates found");
    says("audit", "2 files changed since the scan");
    says("rescan", "2 changed");
    says("report", "no duplicates found");
    for name in ["diff", "find", "audit", "audit again"] {
        let text = part(&run, name);
        assert!(!text.contains("safe to wipe A:"), "{text}");
        assert!(!text.contains("corrupted:"), "{text}");
    }
    assert!(
        !part(&run, "rescan").contains("unchanged"),
        "{}",
        run.describe()
    );
}

#[test]
fn a_squashfs_image_in_the_place_of_another_is_read_again() {
    let image = |from: &str, to: &str| {
        format!("mksquashfs {from} {to} -all-time 0 -mkfs-time 0 -no-progress")
    };
    let make = format!(
        "{{ {} && {}; }}",
        image("one", "1.img"),
        image("two", "2.img")
    );
    check_swapped_image(&make);
}

#[test]
fn an_erofs_image_in_the_place_of_another_is_read_again() {
    let uuid = "-U 00112233-4455-6677-8899-aabbccddeeff";
    let image = |from: &str, to: &str| format!("mkfs.erofs -T 0 {uuid} {to} {from}");
    let make = format!(
        "{{ {} && {}; }}",
        image("one", "1.img"),
        image("two", "2.img")
    );
    check_swapped_image(&make);
}

#[test]
fn an_image_below_a_root_is_read_again_and_two_mounts_of_one_are_one_copy() {
    let env = images();
    env.folder("tree/disk").folder("twice");
    let script = "
        mksquashfs one 1.img -all-time 0 -mkfs-time 0 -no-progress >/dev/null || exit 77
        mksquashfs two 2.img -all-time 0 -mkfs-time 0 -no-progress >/dev/null
        mount -o loop,ro 1.img tree/disk || exit 77
        mount --bind tree/disk twice
        $DUPESCAN scan tree b twice
        echo == twice; $DUPESCAN diff twice b; $DUPESCAN diff tree/disk b
        echo == same; $DUPESCAN report
        echo == again; $DUPESCAN scan tree b twice
        umount twice; umount tree/disk; mount -o loop,ro 2.img tree/disk
        echo == diff; $DUPESCAN diff tree/disk b && exit 9
        echo == audit; $DUPESCAN audit tree
        echo == rescan; $DUPESCAN scan tree
        echo == report; $DUPESCAN report tree --check";
    let Some(run) = run(&env, script) else {
        skip!("cannot make or mount such images");
    };
    let run = run.ok();
    let says = |name, sentence: &str| {
        assert!(
            part(&run, name).contains(sentence),
            "{name}: {sentence}{}",
            run.describe()
        );
    };
    assert_eq!(part(&run, "twice").matches("safe to wipe A:").count(), 2);
    says("same", "1 duplicate group, 3 copies");
    says("again", "5 of 5 files unchanged, 0 B read");
    says("diff", "2 files: changed since the scan");
    says("audit", "2 files changed since the scan");
    says("rescan", "2 changed");
    says("report", "no duplicates found");
}

/// An overlay lends its files the device numbers of the filesystems it is over.
#[test]
fn a_file_of_a_layer_is_one_copy_under_all_its_names() {
    let env = TestEnv::new();
    env.random("content", 1, 50_000)
        .random("other", 2, 60_000)
        .folder("low")
        .folder("up")
        .folder("merged")
        .folder("bound");
    let script = "
        truncate -s 8M low.img; mkfs.ext4 -q low.img || exit 77
        mount -o loop low.img low || exit 77
        mount -t tmpfs none up; mkdir up/upper up/work low/sub
        cp content low/sub/1; ln low/sub/1 low/sub/2; ln low/sub/1 low/3
        mount -t overlay -o lowerdir=low,upperdir=up/upper,workdir=up/work none merged || exit 77
        cp other merged/sub/4; ln merged/sub/4 merged/5
        test $(stat -c %d merged) != $(stat -c %d merged/3) || exit 77
        mount --bind merged/sub bound
        sleep 0.1
        echo == scan; $DUPESCAN scan merged bound
        echo == report; $DUPESCAN report
        cp merged/3 merged/copy; sleep 0.1
        echo == again; $DUPESCAN scan merged bound
        echo == group; $DUPESCAN report --links
        echo == check; $DUPESCAN report --check
        echo == audit; $DUPESCAN audit";
    let Some(run) = run(&env, script) else {
        skip!("cannot mount an overlay over several filesystems");
    };
    let run = run.ok();
    for (name, sentence) in [
        ("report", "no duplicates found"),
        ("again", "1 new, 8 of 9 files unchanged"),
        ("group", "2 copies of 48.8 KiB"),
        ("group", "1 duplicate group, 2 copies, 48.8 KiB reclaimable"),
        ("check", "1 duplicate group, 2 copies, 48.8 KiB reclaimable"),
        ("audit", "2 files, 97.7 KiB OK"),
    ] {
        let text = part(&run, name);
        assert!(
            text.contains(sentence),
            "{name}: {sentence}{}",
            run.describe()
        );
    }
}

/// The answers after the disk of the root `a` was mounted at `b`.
const REMOUNTED: &str = "
    truncate -s $SIZE disk.img; $MKFS disk.img >/dev/null 2>&1 || exit 77
    mount -o loop disk.img a || exit 77
    mkdir -p a/photos/2024; cp content a/photos/x; cp content a/photos/2024/y; sleep 0.1
    $DUPESCAN scan a/photos
    umount a; mount -o loop disk.img b
    echo == moved; $DUPESCAN scan $PLACE
    echo == report; $DUPESCAN report
    echo == status; $DUPESCAN status
    umount b; mount -o loop disk.img a
    echo == by hand; $DUPESCAN roots move $ROOT a/photos
    echo == back; $DUPESCAN scan a/photos";

/// `place` is scanned, and `root` is the root then.
fn check_remounted(make: (&str, &str), place: &str, root: &str, has_moved: bool) {
    let env = TestEnv::new();
    env.random("content", 1, 50_000).folder("a").folder("b");
    let script = REMOUNTED
        .replace("$SIZE", make.0)
        .replace("$MKFS", make.1)
        .replace("$PLACE", place)
        .replace("$ROOT", root);
    let Some(run) = run(&env, &script) else {
        skip!("cannot make or mount a loop image ({})", make.1);
    };
    let run = run.ok();
    let line = format!(
        "the root {} is at {} now: moved it there in the catalog",
        env.path("a/photos").display(),
        env.path("b/photos").display()
    );
    assert_eq!(run.err().contains(&line), has_moved, "{}", run.describe());
    let moved = part(&run, "moved");
    assert!(moved.contains(", 0 B read"), "{}", run.describe());
    let report = part(&run, "report");
    for name in ["b/photos/x", "b/photos/2024/y"] {
        assert!(report.contains(&env.path(name).display().to_string()));
    }
    for text in [report, part(&run, "status")] {
        let old = env.path("a/photos").display().to_string();
        assert!(!text.contains(&old), "{}", run.describe());
    }
    if root == "b/photos" {
        assert!(part(&run, "back").contains("2 of 2 files unchanged, 0 B read"));
    }
}

#[test]
fn a_disk_at_another_mount_point_takes_its_root_along() {
    let make = ("16M", "mkfs.ext4 -q");
    check_remounted(make, "b/photos", "b/photos", true);
}

#[test]
fn a_root_is_found_above_what_is_scanned() {
    let make = ("320M", "mkfs.xfs -q");
    check_remounted(make, "b/photos/2024", "b/photos", true);
}

/// The files of the clone have other contents, though no program of its system wrote
/// them.
#[test]
fn a_clone_of_a_disk_is_a_new_root_and_lends_no_digests() {
    let env = TestEnv::new();
    env.random("content", 1, 50_000)
        .folder("a")
        .folder("b")
        .folder("c");
    let script = "
    truncate -s 16M disk.img; mkfs.ext4 -q disk.img || exit 77
    mount -o loop disk.img a || exit 77
    cp content a/x; cp content a/y; printf 'the content of y, once' > a/z; cp a/z a/w
    sync; sleep 0.1; $DUPESCAN scan a; stat -c '%i %s %y %z' a/w > before
    umount a; cp disk.img clone.img
    LC_ALL=C sed -i 's/the content of y, once/the content of y, then/' clone.img
    echo == clone; mount -o loop,ro clone.img b; stat -c '%i %s %y %z' b/w | cmp before - || exit 8
    $DUPESCAN scan b
    echo == report; $DUPESCAN report --paths
    echo == both; mount -o loop,ro disk.img c
    $DUPESCAN scan c
    echo == all; $DUPESCAN report --paths
    echo == again; $DUPESCAN scan b c
    umount b; umount c; mount -o loop,ro clone.img c
    echo == swapped; $DUPESCAN scan c || echo exit $?";
    let Some(run) = run(&env, script) else {
        skip!("cannot make or mount a loop image");
    };
    let run = run.ok();
    let why = format!(
        "{} is scanned as a new root, not as the root {}: it is on another disk with the same UUID",
        env.path("b").display(),
        env.path("a").display()
    );
    assert!(run.err().contains(&why), "{}", run.describe());
    let moved = format!(
        "the root {} is at {} now",
        env.path("a").display(),
        env.path("c").display()
    );
    assert!(run.err().contains(&moved), "{}", run.describe());
    let count = |line| run.err().matches(line).count();
    assert_eq!(count("is scanned as a new root"), 1, "{}", run.describe());
    // All copies of x and y, and one of three others: b/z was changed on the disk.
    let copies = part(&run, "all").lines().count();
    assert_eq!(copies, 4 + 3, "{}", run.describe());
    for (name, sentence) in [
        ("clone", "4 new, 195.4 KiB read"),
        ("both", "4 of 4 files unchanged, 0 B read"),
        ("again", "8 of 8 files unchanged, 0 B read"),
        ("swapped", "exit 3"),
    ] {
        let text = part(&run, name);
        assert!(
            text.contains(sentence),
            "{name}: {sentence}{}",
            run.describe()
        );
    }
    assert!(
        run.err()
            .contains("it is on another filesystem than last time")
    );
}

#[test]
fn a_root_that_is_still_in_its_place_is_not_moved() {
    let env = TestEnv::new();
    env.random("tree/x", 1, 50_000).folder("bound");
    let script = "
        mount --bind tree bound; sleep 0.1
        $DUPESCAN scan tree
        echo == bound; $DUPESCAN scan bound
        echo == report; $DUPESCAN report";
    let Some(run) = run(&env, script) else {
        skip!("bind mounts are not permitted");
    };
    let run = run.ok();
    let line = "that is still there; a file that is reached both ways is one copy";
    assert!(run.err().contains(line), "{}", run.describe());
    assert!(part(&run, "report").contains("no duplicates found"));
}
