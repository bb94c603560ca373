//! The modules of the program, in the order in which clients see their tools.

#[cfg(not(feature = "launch"))]
use contract::{ErrorCode, Fault};
#[cfg(not(feature = "launch"))]
use surfaces::module::Module;
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
    #[cfg(not(feature = "launch"))]
    &NO_LAUNCH_RUNS,
    #[cfg(feature = "bench")]
    &bench::MODULE,
]);

/// In the place of launch runs in a program without them: the setting that enables them is refused instead of ignored.
#[cfg(not(feature = "launch"))]
static NO_LAUNCH_RUNS: Module = Module::new(&gate::module::Module {
    name: "launch",
    check_settings: |config| match config.launch.enabled {
        false => Ok(()),
        true => Err(Fault::new(ErrorCode::InvalidInput, "This program was built without launch runs.")
            .with_hint("Set launch.enabled to false, or use a program with the feature `launch`.")),
    },
    ..gate::module::Module::EMPTY
});
