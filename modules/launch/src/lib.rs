//! Launch runs: pages of documentation that are written about a repository, proved against its index, and published.
//!
//! What a run is and does next follows from its events, without storage: the package `launch`. Here it meets the world.
//!
//! | module | contents |
//! |---|---|
//! | [`runs`] | the jobs that advance runs; sites, forges, and what is stored of a run |
//! | `tools` | the tools and operations that clients call |
//! | `routes` | HTTP routes |
//! | `pages` | pages about runs |
//! | `commands` | `pairofcleats launch` |

pub mod runs;

mod tools;

mod commands;
mod pages;
mod routes;

use surfaces::module::Module;

/// The module.
pub static MODULE: Module = Module {
    routes: routes::ROUTES,
    pages: pages::PAGES,
    navigation: pages::NAVIGATION,
    commands: &[commands::COMMAND],
    doctor_checks: |app| Box::pin(commands::doctor_checks(app)),
    fetches_repositories: commands::fetches_repositories,
    ..Module::new(&tools::MODULE)
};
