//! The outcomes of commands and tool calls, with the exit status of the program.

use std::process::ExitCode;

use contract::{Envelope, Fault};

/// The exit status of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Success: status 0.
    Ok,
    /// The call ran and failed: status 1.
    Failed,
    /// The call was not run (usage, configuration, refusal): status 2.
    NotRun,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Ok => 0,
            Exit::Failed => 1,
            Exit::NotRun => 2,
        })
    }
}

/// A failure outside of a tool call, with the resulting exit status.
#[derive(Debug)]
pub struct CommandError {
    /// The reason.
    pub fault: Fault,
    /// The exit status.
    pub exit: Exit,
}

impl CommandError {
    /// Creates the error of a fault that was found before anything ran.
    #[must_use]
    pub fn not_run(fault: Fault) -> Self {
        Self { fault, exit: Exit::NotRun }
    }
}

impl From<Fault> for CommandError {
    fn from(fault: Fault) -> Self {
        Self { fault, exit: Exit::Failed }
    }
}

/// The result of a command's entry function.
pub type CommandResult = Result<Exit, CommandError>;

/// A tool's envelope and the resulting exit status.
pub struct ToolAnswer {
    /// The envelope.
    pub envelope: Envelope,
    /// The exit status.
    pub exit: Exit,
}
