//! A subsystem as one value: [`Module`]. The program has a table of them ([`Modules`]), and the surfaces name no module.
//!
//! The value holds what the subsystem adds to HTTP, pages and command line, and refers to what it adds to the gate.

use std::sync::{Arc, OnceLock};

use axum::Router;
use clap::ArgMatches;
use futures::future::{BoxFuture, LocalBoxFuture};
use gate::app::App;
use gate::module as gate_module;

use crate::cli::shell::{CommandResult, DoctorCheck, Session};
use crate::http::Route;
use contract::config::Config;

/// A subsystem, as the surfaces see it.
pub struct Module {
    /// Its part in the gate.
    pub gate: &'static gate_module::Module,
    /// Its routes for programs.
    pub routes: &'static [Route],
    /// Its pages for browsers.
    pub pages: &'static [Route],
    /// Links to its pages in the head of every page.
    pub navigation: &'static [NavigationLink],
    /// Its commands.
    pub commands: &'static [ModuleCommand],
    /// The routes of its dashboard, which `serve` and `mcp` offer to browsers on this machine without keys. A program has one.
    pub dashboard: Option<fn() -> Router<Arc<App>>>,
    /// Checks of `doctor` about it, after all others.
    pub doctor_checks: for<'a> fn(&'a App) -> BoxFuture<'a, Vec<DoctorCheck>>,
    /// Returns `true` if its settings have repositories fetched by their address, so that `doctor` checks git.
    pub fetches_repositories: fn(&Config) -> bool,
}

impl Module {
    /// A module that adds nothing to the surfaces: the base of others.
    #[must_use]
    pub const fn new(gate: &'static gate_module::Module) -> Self {
        Self {
            gate,
            routes: &[],
            pages: &[],
            navigation: &[],
            commands: &[],
            dashboard: None,
            doctor_checks: |_| Box::pin(std::future::ready(Vec::new())),
            fetches_repositories: |_| false,
        }
    }
}

/// A link in the head of every page.
pub struct NavigationLink {
    /// Its place among the links; the smallest comes first.
    pub place: u8,
    /// Its text.
    pub label: &'static str,
    /// The page that it leads to.
    pub path: &'static str,
    /// The tool or operation that a caller must be able to call to see the link; a link without one is always shown.
    pub tool: Option<&'static str>,
}

/// A command of a module.
#[derive(Debug)]
pub struct ModuleCommand {
    /// Returns its grammar; the name of the grammar is the name of the command.
    pub command: fn() -> clap::Command,
    /// Runs it on the arguments that the grammar accepted.
    pub run: for<'a> fn(&'a Session, &'a ArgMatches) -> LocalBoxFuture<'a, CommandResult>,
    /// The command that it follows in `--help`; without such a command it comes last.
    pub after: &'static str,
}

/// The modules of a program, in the order in which clients see their tools.
pub struct Modules {
    list: &'static [&'static Module],
    gate: OnceLock<gate_module::Modules>,
}

impl Modules {
    /// The table of these modules.
    #[must_use]
    pub const fn new(list: &'static [&'static Module]) -> Self {
        Self { list, gate: OnceLock::new() }
    }

    /// Returns the table as the gate sees it.
    #[must_use]
    pub fn gate(&'static self) -> &'static gate_module::Modules {
        self.gate.get_or_init(|| gate_module::Modules::new(self.iter().map(|module| module.gate).collect()))
    }

    /// Returns the modules, in order.
    pub fn iter(&self) -> impl Iterator<Item = &'static Module> + Clone {
        self.list.iter().copied()
    }

    /// Returns the routes of the modules for programs.
    pub fn routes(&self) -> impl Iterator<Item = &'static Route> + Clone {
        self.iter().flat_map(|module| module.routes)
    }

    /// Returns the pages of the modules.
    pub fn pages(&self) -> impl Iterator<Item = &'static Route> + Clone {
        self.iter().flat_map(|module| module.pages)
    }

    /// Returns the links in the head of every page, in order.
    #[must_use]
    pub fn navigation(&self) -> Vec<&'static NavigationLink> {
        let mut links: Vec<_> = self.iter().flat_map(|module| module.navigation).collect();
        links.sort_by_key(|link| link.place);
        links
    }

    /// Returns the commands of the modules.
    pub fn commands(&self) -> impl Iterator<Item = &'static ModuleCommand> + Clone {
        self.iter().flat_map(|module| module.commands)
    }

    /// Returns `true` if a repository holds records, such as findings, and no files.
    pub(crate) fn is_of_records(&'static self, repository: &str) -> bool {
        self.gate().record_sources().any(|source| source.root == repository)
    }
}

#[cfg(test)]
mod tests {
    use crate::modules::TEST_MODULES;

    #[test]
    fn links_are_in_the_order_of_their_places() {
        let labels: Vec<&str> = TEST_MODULES.navigation().iter().map(|link| link.label).collect();
        assert_eq!(labels, ["Search", "Repositories", "Administration"]);
    }

    #[test]
    fn each_link_leads_to_a_page_of_its_module() {
        for module in TEST_MODULES.iter() {
            for link in module.navigation {
                assert!(module.pages.iter().any(|page| page.path == link.path), "{}", link.label);
            }
        }
    }
}
