//! One program for all fuzz targets: `FUZZ_TARGET` names the target that libFuzzer runs. If `FUZZ_SEEDS` names a folder, the
//! seeds of the target are written to it first.
#![no_main]

use std::path::Path;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use fuzzing::{TARGETS, Target};

static TARGET: OnceLock<&'static Target> = OnceLock::new();

fn init() {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let Some(target) = TARGETS.iter().find(|target| target.name == name) else {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!("FUZZ_TARGET is one of: {}", names.join(" "));
        std::process::exit(2);
    };
    if let Some(folder) = std::env::var_os("FUZZ_SEEDS") {
        for (n, seed) in (target.seeds)().iter().enumerate() {
            std::fs::write(Path::new(&folder).join(format!("seed-{n}")), seed).expect("a folder for seeds");
        }
    }
    let _ = TARGET.set(target);
}

fuzz_target!(init: init(), |data: &[u8]| {
    if let Some(target) = TARGET.get() {
        (target.run)(data);
    }
});
