//! The pages of the instruction catalog: its entries, their changes and usage, gates, checks, and reviews of texts.
//!
//! Everything comes from the tools of the catalog, so these pages show the same as agents and the command line receive.

mod changes;
mod checks;
mod entries;
mod entry;
mod gates;
mod remove;
mod review;
mod usage;

mod answers;
mod entry_address;
mod frame;
mod paths;

use axum::routing::{MethodFilter, on};

use self::paths::{CATALOG, CATALOG_TOOL};
use surfaces::http::Route;
use surfaces::http::pages::frame::page;
use surfaces::module::NavigationLink;

const GET: MethodFilter = MethodFilter::GET;
const POST: MethodFilter = MethodFilter::POST;

/// The pages.
pub(crate) const PAGES: &[Route] = &[
    page(entries::PATH, GET, |method| on(method, entries::show)),
    page(entry::PATH, GET, |method| on(method, entry::show)),
    page(remove::PATH, GET, |method| on(method, remove::ask)),
    page(remove::PATH, POST, |method| on(method, remove::remove)),
    page(changes::PATH, GET, |method| on(method, changes::show)),
    page(changes::PATH, POST, |method| on(method, changes::compare)),
    page(usage::PATH, GET, |method| on(method, usage::show)),
    page(gates::PATH, GET, |method| on(method, gates::show)),
    page(checks::PATH, GET, |method| on(method, checks::show)),
    page(review::PATH, GET, |method| on(method, review::show)),
    page(review::PATH, POST, |method| on(method, review::review)),
];

/// The link in the head of every page.
pub(crate) const NAVIGATION: &[NavigationLink] =
    &[NavigationLink { place: 30, label: "Instructions", path: CATALOG, tool: Some(CATALOG_TOOL) }];
