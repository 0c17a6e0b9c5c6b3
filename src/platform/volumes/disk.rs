//! What the system says about the disk below a filesystem.

use std::path::Path;

/// Whether the disk of a device says that it turns; `None` where the system
/// does not tell (no block device, or another system than Linux).
///
/// Virtual disks often say so though they do not, so that nobody should act on
/// this alone.
pub fn says_it_turns(dev: u64) -> Option<bool> {
    Some(queue_setting(dev, "rotational")? == "1")
}

/// How many bytes the system reads ahead of a program that reads a file from
/// front to back; `None` where it does not tell.
pub fn read_ahead(dev: u64) -> Option<u64> {
    let kibibytes: u64 = queue_setting(dev, "read_ahead_kb")?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// A setting of the queue of requests to a device.
fn queue_setting(dev: u64, name: &str) -> Option<String> {
    let (major, minor) = (rustix::fs::major(dev), rustix::fs::minor(dev));
    let device = Path::new("/sys/dev/block").join(format!("{major}:{minor}"));
    // A partition's queue is that of the disk it lies on.
    let value = ["queue", "../queue"]
        .iter()
        .find_map(|queue| std::fs::read_to_string(device.join(queue).join(name)).ok())?;
    Some(value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::testing::skipped;

    #[test]
    fn what_is_no_block_device_does_not_say() {
        // Device number 0:0 belongs to nothing.
        assert_eq!(says_it_turns(0), None);
        assert_eq!(read_ahead(0), None);
    }

    #[test]
    fn every_disk_of_this_machine_answers_as_the_system_does() {
        let disks: Vec<_> = std::fs::read_dir("/sys/block")
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|disk| {
                let read = |file: &str| std::fs::read_to_string(disk.path().join(file)).ok();
                let ahead = read("queue/read_ahead_kb")?;
                Some((read("dev")?, read("queue/rotational")?, ahead))
            })
            .collect();
        if disks.is_empty() {
            skipped("no disk in /sys/block says whether it turns");
        }
        for (numbers, rotational, ahead) in disks {
            let mut numbers = numbers.trim().split(':').map(|n| n.parse::<u32>().unwrap());
            let (major, minor) = (numbers.next().unwrap(), numbers.next().unwrap());
            let dev = rustix::fs::makedev(major, minor);
            assert_eq!(says_it_turns(dev), Some(rotational.trim() == "1"));
            let ahead: u64 = ahead.trim().parse().unwrap();
            assert_eq!(read_ahead(dev), Some(ahead * 1024));
        }
    }
}
