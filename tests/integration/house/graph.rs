//! A directed graph of names and its cycles.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Names, which ones they lead to, and a reason for each step.
#[derive(Default)]
pub(crate) struct Graph {
    steps: BTreeMap<String, BTreeMap<String, String>>,
}

impl Graph {
    /// Adds a step, unless it is there.
    pub(crate) fn add(&mut self, from: String, to: String, reason: impl FnOnce() -> String) {
        let steps = self.steps.entry(from).or_default();
        steps.entry(to).or_insert_with(reason);
    }

    /// Why a name leads to another.
    pub(crate) fn reason(&self, from: &str, to: &str) -> &str {
        &self.steps[from][to]
    }

    /// For each step that is part of a cycle, the shortest one through it,
    /// from its first name in the alphabet back to that name. All cycles would
    /// be too many to read, and one for each knot would hide new steps in it.
    pub(crate) fn cycles(&self) -> BTreeSet<Vec<String>> {
        let mut cycles = BTreeSet::new();
        for to in self.steps.keys() {
            let reached = self.reach(to);
            let before = self
                .steps
                .iter()
                .filter(|(_, steps)| steps.contains_key(to));
            for (from, _) in before.filter(|(from, _)| reached.contains_key(from.as_str())) {
                let back = |name: &&str| reached[name];
                let way = std::iter::successors(Some(from.as_str()), back);
                cycles.insert(closed(way.collect()));
            }
        }
        cycles
    }

    /// Every name that can be reached, with the one before it on a shortest way.
    fn reach<'a>(&'a self, start: &'a str) -> BTreeMap<&'a str, Option<&'a str>> {
        let mut reached = BTreeMap::from([(start, None)]);
        let mut waiting = VecDeque::from([start]);
        while let Some(name) = waiting.pop_front() {
            for next in self.steps.get(name).into_iter().flat_map(BTreeMap::keys) {
                if !reached.contains_key(next.as_str()) {
                    reached.insert(next, Some(name));
                    waiting.push_back(next);
                }
            }
        }
        reached
    }
}

/// A cycle, given backwards, from its first name in the alphabet to that name.
fn closed(mut backwards: Vec<&str>) -> Vec<String> {
    backwards.reverse();
    let names = backwards.iter().enumerate();
    let first = names.min_by_key(|(_, name)| *name).map_or(0, |(at, _)| at);
    backwards.rotate_left(first);
    backwards.push(backwards[0]);
    backwards.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_of_a_knot_is_in_a_cycle() {
        let mut graph = Graph::default();
        for step in ["bc", "ca", "ab", "cb", "xa", "ay"] {
            let (from, to) = step.split_at(1);
            graph.add(from.to_owned(), to.to_owned(), String::new);
        }
        let cycles: Vec<_> = graph.cycles().iter().map(|way| way.concat()).collect();
        assert_eq!(cycles, ["abca", "bcb"]);
    }
}
