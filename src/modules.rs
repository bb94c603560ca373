//! The modules of the program, in the order in which clients see their tools.

use surfaces::module::Modules;
use surfaces::modules::{ADMINISTRATION, INSTRUCTIONS, LAUNCH, SEARCH, TRIAGE};

/// The table of modules.
pub(crate) static MODULES: Modules = Modules::new(&[
    &SEARCH,
    &TRIAGE,
    &ADMINISTRATION,
    &INSTRUCTIONS,
    &LAUNCH,
    #[cfg(feature = "bench")]
    &bench::MODULE,
]);
