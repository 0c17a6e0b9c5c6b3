//! What the system says about the disk below a filesystem.

use std::path::Path;

/// How many bytes the system reads ahead of a program that reads a file from
/// front to back; `None` if it does not say.
pub fn read_ahead(dev: u64) -> Option<u64> {
    let kibibytes: u64 = queue_setting(dev, "read_ahead_kb")?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// A setting of the queue of requests to a device.
fn queue_setting(dev: u64, name: &str) -> Option<String> {
    let (major, minor) = (rustix::fs::major(dev), rustix::fs::minor(dev));
    let device = Path::new("/sys/dev/block").join(format!("{major}:{minor}"));
    // A partition has the queue of its disk.
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
                Some((read("dev")?, read("queue/read_ahead_kb")?))
            })
            .collect();
        if disks.is_empty() {
            skipped("no disk in /sys/block says how far it reads ahead");
        }
        for (numbers, ahead) in disks {
            let mut numbers = numbers.trim().split(':').map(|n| n.parse::<u32>().unwrap());
            let (major, minor) = (numbers.next().unwrap(), numbers.next().unwrap());
            let dev = rustix::fs::makedev(major, minor);
            let ahead: u64 = ahead.trim().parse().unwrap();
            assert_eq!(read_ahead(dev), Some(ahead * 1024));
        }
    }
}
