//! SHA-256 of several messages at once, as many as this processor is good at:
//! sixteen with AVX-512, two with SHA instructions, else one after the other.
//! Only whole blocks are compressed here; lengths, padding and everything else
//! stay with the callers and the sha2 crate.

mod block;
#[cfg(target_arch = "x86_64")]
mod pair;
#[cfg(target_arch = "x86_64")]
mod wide;

use std::cmp::Reverse;

pub use block::{Sha256Block, Sha256State};
use sha2::block_api::compress256;

/// A message, or a part of one.
#[derive(Debug, Clone)]
pub struct Sha256Message<'a> {
    /// Its state so far.
    pub state: Sha256State,
    /// The blocks that are still to be taken in.
    pub blocks: &'a [Sha256Block],
}

impl Sha256Message<'_> {
    fn pass(&mut self, count: usize) {
        self.blocks = &self.blocks[count..];
    }

    fn is_done(&self) -> bool {
        self.blocks.is_empty()
    }
}

/// How many messages of equal length it takes to use the processor well.
pub fn sha256_at_once() -> usize {
    match (Sixteen::detect(), Two::detect()) {
        (Some(_), _) => Sixteen::LANES,
        (None, Some(_)) => 2,
        (None, None) => 1,
    }
}

/// Takes all blocks of all messages into their states. The longest begin, so that
/// those that are compressed at once end together.
pub fn sha256_compress_all(messages: &mut [Sha256Message<'_>]) {
    let mut messages: Vec<_> = messages.iter_mut().collect();
    messages.sort_unstable_by_key(|message| Reverse(message.blocks.len()));
    if let Some(sixteen) = Sixteen::detect() {
        sixteen.compress_all(&mut messages);
    }
    if let Some(two) = Two::detect() {
        two.compress_all(&mut messages);
    }
    for message in messages {
        compress256(&mut message.state, message.blocks);
        message.blocks = &[];
    }
}

#[cfg(target_arch = "x86_64")]
fn not_done<'m, 'a>(
    messages: &'m mut [&mut Sha256Message<'a>],
) -> impl Iterator<Item = &'m mut Sha256Message<'a>> {
    let messages = messages.iter_mut().map(|message| &mut **message);
    messages.filter(|message| !message.is_done())
}

/// Proof that this processor can compress sixteen messages at once.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "never there"))]
struct Sixteen(());

#[cfg(target_arch = "x86_64")]
impl Sixteen {
    const LANES: usize = wide::LANES;
    fn detect() -> Option<Self> {
        let is_there = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
        is_there.then_some(Self(()))
    }

    /// With fewer messages than this, two at a time are faster, or one.
    fn worth() -> usize {
        if Two::detect().is_some() { 12 } else { 3 }
    }

    /// Compresses while there are enough messages left. One takes up its lane
    /// where the one before it ended, so that no lane waits for a longer one.
    fn compress_all(self, messages: &mut [&mut Sha256Message<'_>]) {
        let mut waiting = not_done(messages);
        let mut lanes: Vec<_> = waiting.by_ref().take(Self::LANES).collect();
        let mut states = wide::States::new();
        for (lane, message) in lanes.iter().enumerate() {
            states.set(lane, &message.state);
        }
        let worth = Self::worth();
        while lanes.len() >= worth {
            self.step(&mut states, &mut lanes);
            let mut lane = 0;
            while lane < lanes.len() {
                if !lanes[lane].is_done() {
                    lane += 1;
                    continue;
                }
                lanes[lane].state = states.get(lane);
                if let Some(next) = waiting.next() {
                    states.set(lane, &next.state);
                    lanes[lane] = next;
                } else {
                    let last = states.get(lanes.len() - 1);
                    states.set(lane, &last);
                    lanes.swap_remove(lane);
                }
            }
        }
        for (lane, message) in lanes.into_iter().enumerate() {
            message.state = states.get(lane);
        }
    }

    /// Takes in as many blocks as every message has. Lanes without a message
    /// do the first one's work again.
    #[allow(
        unsafe_code,
        reason = "functions for particular processors are unsafe to call"
    )]
    fn step(self, states: &mut wide::States, lanes: &mut [&mut Sha256Message<'_>]) {
        let lengths = lanes.iter().map(|message| message.blocks.len());
        let common = lengths.min().unwrap_or(0);
        let blocks =
            std::array::from_fn(|lane| lanes.get(lane).map_or(lanes[0].blocks, |m| m.blocks));
        // SAFETY: a value of this type exists only after `detect` has found
        // every feature that the function is compiled for.
        unsafe { wide::compress(states, &blocks, common) }
        for message in lanes {
            message.pass(common);
        }
    }
}

/// Proof that this processor can compress two messages at once.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "never there"))]
struct Two(());

#[cfg(target_arch = "x86_64")]
impl Two {
    fn detect() -> Option<Self> {
        // AVX implies the older SSE levels. Its three-operand forms spare the
        // copies between registers that would cost a sixth of the speed.
        let is_there = is_x86_feature_detected!("sha") && is_x86_feature_detected!("avx");
        is_there.then_some(Self(()))
    }

    /// Compresses while there are two messages left. One takes up its stream
    /// where the one before it ended, so that none waits for the longer one.
    #[allow(
        unsafe_code,
        reason = "functions for particular processors are unsafe to call"
    )]
    fn compress_all(self, messages: &mut [&mut Sha256Message<'_>]) {
        let mut waiting = not_done(messages);
        let mut streams = [waiting.next(), waiting.next()];
        while let [Some(one), Some(two)] = &mut streams {
            let common = one.blocks.len().min(two.blocks.len());
            let blocks = [one.blocks, two.blocks];
            // SAFETY: a value of this type exists only after `detect` has found
            // every feature that the function is compiled for.
            unsafe { pair::compress([&mut one.state, &mut two.state], blocks) }
            for stream in &mut streams {
                if let Some(message) = stream {
                    message.pass(common);
                }
                if stream.as_ref().is_some_and(|message| message.is_done()) {
                    *stream = waiting.next();
                }
            }
        }
    }
}

/// Other processors get the sha2 crate's best single stream.
#[cfg(not(target_arch = "x86_64"))]
impl Sixteen {
    const LANES: usize = 16;

    fn detect() -> Option<Self> {
        None
    }

    fn compress_all(self, _messages: &mut [&mut Sha256Message<'_>]) {}
}

#[cfg(not(target_arch = "x86_64"))]
impl Two {
    fn detect() -> Option<Self> {
        None
    }

    fn compress_all(self, _messages: &mut [&mut Sha256Message<'_>]) {}
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::testing::proptest_config;

    type Owned = (Sha256State, Vec<Sha256Block>);

    fn messages() -> impl Strategy<Value = Vec<Owned>> {
        let block = vec(any::<u8>(), 64).prop_map(|bytes| bytes.try_into().unwrap());
        vec((any::<Sha256State>(), vec(block, 0..9)), 0..40)
    }

    /// The states that the sha2 crate comes to by itself.
    fn expected(messages: &[Owned]) -> Vec<Sha256State> {
        let state = |(state, blocks): &Owned| {
            let mut state = *state;
            compress256(&mut state, blocks);
            state
        };
        messages.iter().map(state).collect()
    }

    fn borrowed(messages: &[Owned]) -> Vec<Sha256Message<'_>> {
        messages
            .iter()
            .map(|(state, blocks)| Sha256Message {
                state: *state,
                blocks,
            })
            .collect()
    }

    /// The states after `compress` and, for what it left, the sha2 crate.
    fn states(mut messages: Vec<Sha256Message<'_>>) -> Vec<Sha256State> {
        for message in &mut messages {
            compress256(&mut message.state, message.blocks);
        }
        messages.into_iter().map(|message| message.state).collect()
    }

    proptest! {
        #![proptest_config(proptest_config())]

        /// Any states, any blocks, messages of different lengths: the sha2
        /// crate's compression of each by itself says what must come out.
        #[test]
        fn all_states_are_those_of_the_sha2_crate(owned in messages()) {
            let mut all = borrowed(&owned);
            sha256_compress_all(&mut all);
            prop_assert!(all.iter().all(Sha256Message::is_done));
            prop_assert_eq!(states(all), expected(&owned));
        }

        #[test]
        fn two_at_a_time_are_right(owned in messages()) {
            let Some(two) = Two::detect() else {
                eprintln!("SKIPPED: this processor has no SHA instructions");
                return Ok(());
            };
            let mut all = borrowed(&owned);
            two.compress_all(&mut all.iter_mut().collect::<Vec<_>>());
            let left = all.iter().filter(|message| !message.is_done()).count();
            prop_assert!(left <= 1, "{left} left");
            prop_assert_eq!(states(all), expected(&owned));
        }

        #[test]
        fn sixteen_at_a_time_are_right(owned in messages()) {
            let Some(sixteen) = Sixteen::detect() else {
                eprintln!("SKIPPED: this processor has no AVX-512");
                return Ok(());
            };
            let mut all = borrowed(&owned);
            sixteen.compress_all(&mut all.iter_mut().collect::<Vec<_>>());
            let left = all.iter().filter(|message| !message.is_done()).count();
            prop_assert!(left < Sixteen::LANES, "{left} left");
            prop_assert_eq!(states(all), expected(&owned));
        }
    }
}
