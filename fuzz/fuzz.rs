//! One program for all targets: `FUZZ_TARGET` names the one that libFuzzer drives.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use pairofcleats::fuzzing::{TARGETS, Target};

static TARGET: OnceLock<&'static Target> = OnceLock::new();

fuzz_target!(
    init: {
        let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
        let Some(target) = TARGETS.iter().find(|target| target.name == name) else {
            let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            eprintln!("FUZZ_TARGET is one of: {}", names.join(" "));
            std::process::exit(2);
        };
        let _ = TARGET.set(target);
    },
    |data: &[u8]| {
        if let Some(target) = TARGET.get() {
            (target.run)(data);
        }
    }
);
