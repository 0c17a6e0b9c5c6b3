//! Where the time of a run went.

use std::time::Duration;

use crate::model::Stage;

/// How long the parts of a run took.
#[derive(Debug, Clone, Default)]
pub struct Timing {
    stages: Vec<(Stage, Duration)>,
    /// Queries over the whole catalog, between and in stages.
    pub queries: Duration,
    /// The writer at work, beside everything else.
    pub writer: Duration,
}

impl Timing {
    /// The stages that were run, each with the sum of its passes.
    pub fn stages(&self) -> &[(Stage, Duration)] {
        &self.stages
    }

    pub(crate) fn with_writer(mut self, writer: Duration) -> Self {
        self.writer = writer;
        self
    }

    /// Adds a pass of a stage.
    pub(crate) fn add_stage(&mut self, stage: Stage, elapsed: Duration) {
        match self.stages.iter_mut().find(|(known, _)| *known == stage) {
            Some((_, sum)) => *sum += elapsed,
            None => self.stages.push((stage, elapsed)),
        }
    }
}
