//! The modules of the program, in the order in which clients see their tools.

use surfaces::module::Modules;
use surfaces::modules::{ADMINISTRATION, SEARCH};

/// The table of modules.
pub(crate) static MODULES: Modules = Modules::new(&[
    &SEARCH,
    &triage::MODULE,
    &ADMINISTRATION,
    &instruction_catalog::MODULE,
    #[cfg(feature = "launch")]
    &launch_runs::MODULE,
    #[cfg(feature = "bench")]
    &bench::MODULE,
]);
