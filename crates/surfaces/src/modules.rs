//! The modules whose pages, routes and commands are in this package.

use gate::modules as gate_modules;

use crate::http;
use crate::http::pages;
#[cfg(any(test, feature = "fuzzing"))]
use crate::module::Modules;
use crate::module::{Module, NavigationLink};

/// Searching, reading and indexing code.
pub static SEARCH: Module = Module {
    routes: http::tool_routes::ROUTES,
    pages: pages::SEARCH_PAGES,
    navigation: &[
        NavigationLink { place: 10, label: "Search", path: pages::SEARCH, tool: None },
        NavigationLink { place: 20, label: "Repositories", path: pages::REPOSITORIES, tool: None },
    ],
    ..Module::new(&gate_modules::SEARCH)
};

/// Setting up, inspecting and cleaning an installation.
pub static ADMINISTRATION: Module = Module {
    pages: pages::administration::PAGES,
    navigation: pages::administration::NAVIGATION,
    ..Module::new(&gate_modules::ADMINISTRATION)
};

/// The table of these modules, for the tests of this package.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) static TEST_MODULES: Modules = Modules::new(&[&SEARCH, &ADMINISTRATION]);
