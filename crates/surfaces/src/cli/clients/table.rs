//! The client table. Adding a client means adding a row.
//!
//! The formats follow the clients' own documentation as of November 2026.

use super::location::{Instructions, Location};
use super::{Client, editors, terminal};

/// The file of instructions that most agents read in a repository.
pub(super) const PROJECT_AGENTS: &[Instructions] = &[Instructions::section(Location::project("AGENTS.md"))];

/// All clients, in display order.
pub static CLIENTS: &[Client] = &[
    terminal::CLAUDE_CODE,
    editors::CLAUDE_DESKTOP,
    editors::VSCODE,
    editors::CURSOR,
    terminal::CODEX,
    terminal::GEMINI,
    editors::ZED,
    editors::WINDSURF,
    terminal::OPENCODE,
    terminal::AMP,
    editors::CONTINUE,
    terminal::GOOSE,
    terminal::COPILOT,
    editors::JUNIE,
    editors::GENERIC,
];
