"""Which test shows which row of the fault matrix.

A name is a test of `cargo test`, as `module::test` of tests/integration or as
a path in src; `step NAME` is a step of this script.
"""

import re

import lib
from lib import Figure

ROWS = {
    1: ("SIGINT, SIGTERM", "interface::exit_codes::an_interrupted_scan_is_130_and_says_how_to_resume", "faults::during_scan::a_huge_sparse_file_can_be_interrupted", "step signals"),
    2: ("a second Ctrl-C", "interface::exit_codes::a_second_interrupt_leaves_at_once"),
    3: ("SIGKILL during a scan", "scan::resume::killed_scans_give_the_same_answer_1", "scan::resume::killed_scans_give_the_same_answer_2", "scan::resume::killed_scans_give_the_same_answer_3", "scan::resume::interrupted_scans_give_the_same_answer", "scan::large_files::a_large_file_is_resumed_from_where_it_was", "scan::resume::every_stage_can_be_stopped", "step kill", "step reread"),
    4: ("power loss", "catalog::store::exclusive::tests::a_new_catalog_does_not_depend_on_its_wal", "step power"),
    5: ("the catalog's disk is full", "faults::during_scan::a_full_disk_under_the_catalog_stops_cleanly_and_is_resumed"),
    6: ("read-only catalog or folder", "faults::during_scan::a_read_only_catalog_answers_but_is_not_scanned_into", "faults::during_scan::a_catalog_in_a_folder_without_write_permission_answers_but_is_not_scanned_into"),
    7: ("corrupt catalog", "commands::verify::broken_catalogs_are_refused_and_stay_as_they_are", "commands::verify::a_damaged_page_is_found_before_anything_is_changed", "commands::verify::a_large_catalog_is_checked_beside_its_files_before_it_is_changed", "commands::verify::damage_met_on_the_way_is_one_sentence_that_names_the_catalog", "step corrupt"),
    8: ("catalog of a newer version", "catalog::store::schema::tests::a_newer_catalog_is_refused_and_stays_byte_identical"),
    9: ("two scans on one catalog", "interface::exit_codes::a_locked_catalog_is_3_at_once_and_names_the_holder", "step lock"),
    10: ("catalog on FUSE or a network", "step fuse-catalog"),
    11: ("a file vanishes", "faults::during_scan::files_that_vanish_under_the_scan_are_no_error"),
    12: ("a file changes while it is hashed", "faults::during_scan::files_that_change_under_the_scan_never_make_false_groups", "step mutations"),
    13: ("EIO on every attempt", "faults::during_scan::a_read_error_is_a_dead_letter_never_a_digest", "step unreadable"),
    14: ("EACCES", "commands::errors::a_folder_that_closes_takes_nothing_away", "commands::errors::what_cannot_be_read_is_listed_with_its_reason", "step unreadable"),
    15: ("ESTALE, EAGAIN, EBUSY, ETIMEDOUT", "model::fault::tests::every_errno_of_the_table_has_its_class_and_blame", "faults::during_scan::a_passing_read_error_is_tried_again", "faults::during_scan::errors_that_pass_are_tried_again_whatever_they_are"),
    16: ("a call that hangs", "faults::during_scan::a_file_that_hangs_takes_no_other_file_along", "scan::hazards::a_scan_ends_when_its_last_item_is_given_up", "step hang", "step signals"),
    17: ("a disk that fails all I/O", "faults::breaker::a_device_that_keeps_failing_stops_its_scan_and_can_be_resumed", "faults::breaker::a_device_that_dies_near_the_end_is_given_up_too", "faults::breaker::roots_on_other_devices_are_still_scanned", "step offline"),
    18: ("a root or a disk below it unmounted", "scan::rescan::an_unmounted_root_is_offline_not_empty", "scan::rescan::a_disk_gone_from_below_a_root_is_not_a_deletion", "scan::rescan::allow_empty_believes_that_all_was_deleted", "faults::offline::a_missing_root_does_not_keep_others_from_being_scanned", "faults::offline::a_root_on_another_filesystem_does_not_keep_others_from_being_scanned", "faults::offline::resume_scans_the_roots_that_are_there", "step offline"),
    19: ("FIFO, socket, device, /proc", "scan::command::special_files_are_never_opened", "scan::command::pseudo_filesystems_are_skipped_and_named"),
    20: ("sparse terabytes", "scan::command::sparse_files_are_compared_like_any_other", "scan::command::holes_are_hashed_without_being_read", "faults::during_scan::a_huge_sparse_file_can_be_interrupted", "scan::giants::petabytes_of_holes_keep_nobody_waiting", "step sparse"),
    21: ("empty files", "scan::command::empty_files_are_catalogued_but_no_duplicates"),
    22: ("symlink loops", "scan::command::symbolic_links_are_not_followed_by_default", "scan::options::follow_links_scans_what_links_lead_to_once"),
    23: ("bind loops, repeated and nested roots", "scan::command::a_bind_mount_shows_the_same_files_not_copies", "scan::command::repeated_and_nested_roots_never_make_a_file_its_own_duplicate"),
    24: ("hard links", "scan::command::hard_links_are_one_copy"),
    25: ("names that are not UTF-8", "scan::names::any_byte_comes_back_in_json", "scan::names::any_byte_comes_back_in_nul_ended_lists"),
    26: ("control characters on a terminal", "scan::names::a_terminal_gets_no_control_character_of_a_name"),
    27: ("CSV formulas", "scan::names::formulas_in_csv_are_neutralised", "report::groups::csv::tests::formulas_are_neutralised_and_their_bytes_kept"),
    28: ("depth 10,000, paths beyond PATH_MAX", "scan::command::a_path_longer_than_the_system_takes_is_found", "step deep"),
    29: ("a million files in one folder", "step wide"),
    30: ("times before 1970 and in the future", "scan::command::times_before_1970_and_far_ahead_are_kept"),
    31: ("content changed, mtime put back", "scan::rescan::a_change_with_the_mtime_put_back_is_seen", "step mutations"),
    32: ("coarse timestamps", "scan::rescan::a_file_hashed_too_soon_after_its_change_is_read_again"),
    33: ("the clock goes backwards", "step clock"),
    34: ("inode reuse", "scan::rescan::an_inode_given_to_a_new_file_inherits_no_digest"),
    35: ("64 file descriptors, little memory", "faults::during_scan::few_file_descriptors_are_enough", "faults::during_scan::little_memory_is_one_sentence_never_an_abort", "step limits"),
    36: ("standard output closed", "interface::exit_codes::a_reader_who_leaves_is_no_failure", "interface::exit_codes::closed_streams_are_survived", "scan::options::colour_is_used_only_when_asked_for_or_on_a_terminal"),
    37: ("catalog inside the tree", "scan::command::the_catalog_inside_the_tree_is_skipped"),
    38: ("a worker panics", "faults::during_scan::a_panic_in_a_worker_is_a_dead_letter_and_the_scan_continues", "pool::tests::a_panic_fails_its_item_and_renews_the_worker"),
    39: ("bad option, file or path", "interface::exit_codes::wrong_usage_is_2", "interface::config::a_bad_value_is_one_line_naming_value_origin_and_what_is_allowed", "interface::exit_codes::a_root_that_is_not_there_or_no_folder_is_2"),
}


def check(context):
    """Rows 1 to 39 of the matrix: each has its test."""
    from main import STEPS

    lost = [f"row {row}: {name}" for row, (_, *names) in ROWS.items() for name in names if not exists(name, STEPS)]
    for line in lost:
        context.note(f"{line}: there is no such test")
    named = sum(len(names) for _, *names in ROWS.values())
    yield Figure.of(
        "matrix: rows 1 to 39",
        f"{len(ROWS)} rows with {named} tests or steps, of which {len(lost)} do not exist",
        "each with the name of its test",
        sorted(ROWS) == list(range(1, 40)) and not lost,
    )


def exists(name, steps):
    if name.startswith("step "):
        return name[5:] in steps
    *modules, test = name.split("::")
    project = lib.HERE.parent.parent
    pattern = re.compile(rf"#\[test\][^}}]*?fn {test}\(", re.S)
    inside = "/".join(part for part in modules if part != "tests")
    src = project / "src"
    places = [project / "tests/integration" / f"{inside}.rs", src / f"{inside}.rs", src / inside / "mod.rs", src / inside / "tests.rs"]
    return any(pattern.search(place.read_text()) for place in places if place.exists())


def table():
    """The rows in Markdown."""
    lines = ["| # | Fault | Shown by |", "|---|---|---|"]
    for row, (fault, *names) in ROWS.items():
        lines.append(f"| {row} | {fault} | {', '.join(f'`{name}`' for name in names)} |")
    return "\n".join(lines) + "\n"
