//! What the system says about the disk below a filesystem.

use std::path::Path;

/// Whether the disk of a device says that it turns; `None` where the system
/// does not tell (no block device, or another system than Linux).
///
/// Virtual disks often say so though they do not, so that nobody should act on
/// this alone.
pub fn says_it_turns(dev: u64) -> Option<bool> {
    let (major, minor) = (rustix::fs::major(dev), rustix::fs::minor(dev));
    let device = Path::new("/sys/dev/block").join(format!("{major}:{minor}"));
    // A partition's queue is that of the disk it lies on.
    let answer = ["queue/rotational", "../queue/rotational"]
        .iter()
        .find_map(|file| std::fs::read_to_string(device.join(file)).ok())?;
    Some(answer.trim() == "1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::testing::skipped;

    #[test]
    fn what_is_no_block_device_does_not_say() {
        // Device number 0:0 belongs to nothing.
        assert_eq!(says_it_turns(0), None);
    }

    #[test]
    fn every_disk_of_this_machine_answers_as_the_system_does() {
        let disks: Vec<_> = std::fs::read_dir("/sys/block")
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|disk| {
                let read = |file: &str| std::fs::read_to_string(disk.path().join(file)).ok();
                Some((read("dev")?, read("queue/rotational")?))
            })
            .collect();
        if disks.is_empty() {
            skipped("no disk in /sys/block says whether it turns");
        }
        for (numbers, rotational) in disks {
            let mut numbers = numbers.trim().split(':').map(|n| n.parse::<u32>().unwrap());
            let (major, minor) = (numbers.next().unwrap(), numbers.next().unwrap());
            let dev = rustix::fs::makedev(major, minor);
            assert_eq!(says_it_turns(dev), Some(rotational.trim() == "1"));
        }
    }
}
