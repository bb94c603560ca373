//! The modules of the program, in the order in which clients see their tools.

use surfaces::module::Modules;
use surfaces::modules::{ADMINISTRATION, INSTRUCTIONS, SEARCH};

/// The table of modules.
pub(crate) static MODULES: Modules = Modules::new(&[
    &SEARCH,
    &triage::MODULE,
    &ADMINISTRATION,
    &INSTRUCTIONS,
    #[cfg(feature = "launch")]
    &launch_runs::MODULE,
    #[cfg(feature = "bench")]
    &bench::MODULE,
]);
