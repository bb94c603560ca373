//! Observations that the program makes before the gates run: the outcomes of the site's commands, and whether links to other hosts lead
//! somewhere. Gates receive them as data, so that they stay pure.

use std::collections::BTreeMap;

/// All observations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    /// The outcomes of the commands of the site profile, in the order in which they ran.
    pub commands: Vec<CommandResult>,
    /// The answers of the listed hosts; `None` if none are listed.
    pub links: Option<ExternalLinks>,
}

/// The outcome of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandResult {
    /// Its name in the site profile.
    pub name: String,
    /// `true` if a failure is an error.
    pub required: bool,
    /// Its outcome.
    pub outcome: CommandOutcome,
}

/// The outcome of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandOutcome {
    /// With success.
    Passed,
    /// Otherwise.
    Failed {
        /// Completes the sentence that begins with the command, such as `ended with status 1`.
        how: String,
        /// The last lines that it printed, without secrets and hidden characters.
        output: String,
    },
    /// It did not run; a sentence says why, after the code of the error.
    NotRun(String),
}

/// The answers of hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExternalLinks {
    /// By address, as [`address`](crate::external_hosts::address) writes it.
    pub results: BTreeMap<String, LinkOutcome>,
    /// Number of addresses that were not requested.
    pub left_out: usize,
}

/// A host's answer about an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkOutcome {
    /// There is something.
    Reached,
    /// There is nothing: the status is 404 or 410.
    Gone(u16),
    /// The answer is inconclusive, for this reason.
    Unclear(String),
}

impl LinkOutcome {
    /// Interprets a status.
    #[must_use]
    pub fn of_status(status: u16) -> Self {
        match status {
            200..=299 => Self::Reached,
            404 | 410 => Self::Gone(status),
            other => Self::Unclear(format!("the host answers status {other}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_two_statuses_say_that_a_page_is_gone() {
        assert_eq!(LinkOutcome::of_status(204), LinkOutcome::Reached);
        for status in [404, 410] {
            assert_eq!(LinkOutcome::of_status(status), LinkOutcome::Gone(status));
        }
        for status in [301, 401, 403, 429, 500] {
            assert!(matches!(LinkOutcome::of_status(status), LinkOutcome::Unclear(_)), "{status}");
        }
    }
}
