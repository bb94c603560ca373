//! The instruction catalog: a team's instructions for agents, versioned, searchable, checked, and counted when they are used.
//!
//! What an entry is, and how entries are imported, compared and checked, is in the package `instructions`, without storage. Here it meets
//! the world.
//!
//! | module | contents |
//! |---|---|
//! | `catalog` | the catalog in the database |
//! | `usage_writer` | writes counts of uses a moment after the uses |
//! | `method_times` | how long calls of the catalog's methods take |
//! | `bound_folders` | folders of files that the operator has bound to projects |
//! | `tools` | the tools and operations that clients call |
//! | `routes` | HTTP routes |
//! | `pages` | pages about the catalog |
//! | `dashboard` | the page without keys for people on this machine |
//! | `commands` | `pairofcleats instructions` |

mod catalog;

mod bound_folders;
mod method_times;
mod usage_writer;

mod tools;

mod commands;
mod dashboard;
mod pages;
mod routes;

use surfaces::module::Module;

/// The module.
pub static MODULE: Module = Module {
    routes: routes::ROUTES,
    pages: pages::PAGES,
    navigation: pages::NAVIGATION,
    commands: &[commands::COMMAND],
    dashboard: Some(dashboard::routes),
    ..Module::new(&tools::MODULE)
};
