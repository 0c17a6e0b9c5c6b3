//! Devices that keep failing. After a run of device-like faults without one
//! success, nothing more is sent to a device; after a pause one item checks it,
//! and if that fails too the device is given up for this run. So is one that
//! fails less often, because little was left to do on it, and does not answer
//! when the stage ends. What was not done stays pending in the catalog.

use std::collections::HashMap;

use crate::model::VolumeId;

/// Faults in a row that open the breaker.
const TRIP: u32 = 20;

/// The state of every device that has failed lately.
#[derive(Debug, Default)]
pub(crate) struct Breakers {
    devices: HashMap<VolumeId, State>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// This many faults in a row.
    Closed(u32),
    /// Nothing is sent until the device check comes back.
    Open,
    /// Not used any more in this run.
    GivenUp,
}

/// What a fault on a device means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// One of few: treat the path as failed.
    Path,
    /// The breaker has just opened: keep the item as the device check.
    Opened,
    /// The breaker is open: the item stays pending.
    Held,
    /// The device check failed: the device has just been given up.
    GivenUp,
}

impl Breakers {
    /// Whether work may be sent to these devices.
    pub(crate) fn admits(&self, devices: impl IntoIterator<Item = VolumeId>) -> bool {
        self.devices.is_empty()
            || devices.into_iter().all(|device| {
                !matches!(
                    self.devices.get(&device),
                    Some(State::Open | State::GivenUp)
                )
            })
    }

    /// Notes a device-like fault; `is_check` for the item that checked an
    /// open breaker.
    pub(crate) fn failed(&mut self, device: VolumeId, is_check: bool) -> Verdict {
        let state = self.devices.entry(device).or_insert(State::Closed(0));
        match *state {
            State::Closed(faults) if faults + 1 < TRIP => {
                *state = State::Closed(faults + 1);
                Verdict::Path
            }
            State::Closed(_) => {
                *state = State::Open;
                Verdict::Opened
            }
            State::Open if is_check => {
                *state = State::GivenUp;
                Verdict::GivenUp
            }
            State::Open | State::GivenUp => Verdict::Held,
        }
    }

    /// Notes a success. `true` when it closed an open breaker: late
    /// results from before it opened do not.
    pub(crate) fn succeeded(&mut self, device: VolumeId, is_check: bool) -> bool {
        match self.devices.get(&device) {
            Some(State::Closed(_)) => {
                self.devices.remove(&device);
                false
            }
            Some(State::Open) if is_check => {
                self.devices.remove(&device);
                true
            }
            _ => false,
        }
    }

    /// Whether the last operations on a device failed, too few to open its
    /// breaker.
    pub(crate) fn is_failing(&self, device: VolumeId) -> bool {
        matches!(self.devices.get(&device), Some(State::Closed(_)))
    }

    /// Notes that a device does not answer at all.
    pub(crate) fn give_up(&mut self, device: VolumeId) {
        self.devices.insert(device, State::GivenUp);
    }

    /// Whether nothing has failed lately, so that nothing need be asked.
    pub(crate) fn is_quiet(&self) -> bool {
        self.devices.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISK: VolumeId = VolumeId(1);
    const OTHER: VolumeId = VolumeId(2);

    fn tripped() -> Breakers {
        let mut breakers = Breakers::default();
        for _ in 1..TRIP {
            assert_eq!(breakers.failed(DISK, false), Verdict::Path);
        }
        assert_eq!(breakers.failed(DISK, false), Verdict::Opened);
        breakers
    }

    #[test]
    fn a_run_of_faults_opens_the_breaker_of_that_device_only() {
        let mut breakers = tripped();
        assert_eq!(breakers.failed(DISK, false), Verdict::Held);
        assert!(!breakers.admits([DISK]));
        assert!(!breakers.admits([OTHER, DISK]));
        assert!(breakers.admits([OTHER]));
    }

    #[test]
    fn one_success_in_between_keeps_it_closed() {
        let mut breakers = Breakers::default();
        for _ in 0..5 {
            for _ in 1..TRIP {
                assert_eq!(breakers.failed(DISK, false), Verdict::Path);
            }
            assert!(!breakers.succeeded(DISK, false));
        }
        assert!(breakers.is_quiet());
    }

    #[test]
    fn a_check_that_succeeds_closes_it_again() {
        let mut breakers = tripped();
        assert!(
            !breakers.succeeded(DISK, false),
            "a late result is no check"
        );
        assert!(breakers.succeeded(DISK, true));
        assert!(breakers.admits([DISK]));
    }

    #[test]
    fn a_check_that_fails_gives_the_device_up() {
        let mut breakers = tripped();
        assert_eq!(breakers.failed(DISK, true), Verdict::GivenUp);
        assert_eq!(breakers.failed(DISK, false), Verdict::Held);
        assert!(!breakers.succeeded(DISK, true));
        assert!(!breakers.admits([DISK]));
    }

    #[test]
    fn a_few_faults_at_the_end_are_no_success() {
        let mut breakers = Breakers::default();
        assert!(!breakers.is_failing(DISK));
        breakers.failed(DISK, false);
        assert!(breakers.is_failing(DISK) && !breakers.is_failing(OTHER));
        breakers.succeeded(DISK, false);
        assert!(!breakers.is_failing(DISK));
        breakers.give_up(DISK);
        assert!(!breakers.is_failing(DISK) && !breakers.admits([DISK]));
    }
}
