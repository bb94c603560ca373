//! Security findings: reports of scanners become records that search finds, and people decide about them.
//!
//! | module | contents |
//! |---|---|
//! | [`findings`] | reads reports, stores findings and decisions, collects the context of a finding |
//! | `tools` | the tools and operations that clients call |
//! | `pages` | the board of findings, and a page for each |
//! | `command` | `pairofcleats triage` |

pub mod findings;

mod tools;

mod command;
mod pages;

use surfaces::module::Module;

/// The module.
pub static MODULE: Module = Module {
    pages: pages::PAGES,
    navigation: pages::NAVIGATION,
    commands: &[command::COMMAND],
    ..Module::new(&tools::MODULE)
};
