//! What the program finds out before the gates run: how the commands of the site ended, and whether other hosts have the pages to which
//! links lead. Gates get it as data, so that they stay pure.

use std::collections::BTreeMap;

/// All of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    /// How the commands of the site profile ended, in the order in which they ran.
    pub commands: Vec<CommandResult>,
    /// What the listed hosts answered; `None` if none are listed.
    pub links: Option<ExternalLinks>,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandResult {
    /// Its name in the site profile.
    pub name: String,
    /// Whether a failure is an error.
    pub required: bool,
    /// How it ended.
    pub outcome: CommandOutcome,
}

/// The end of a command.
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

/// What hosts answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExternalLinks {
    /// By address, as [`address`](crate::external_hosts::address) writes it.
    pub results: BTreeMap<String, LinkOutcome>,
    /// Number of addresses that were not asked for.
    pub left_out: usize,
}

/// What a host answered about an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkOutcome {
    /// There is something.
    Reached,
    /// There is nothing: the status is 404 or 410.
    Gone(u16),
    /// Nobody knows, for this reason.
    Unclear(String),
}

impl LinkOutcome {
    /// What a status says.
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
