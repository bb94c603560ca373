//! The short form of fuzzing, within `cargo test`: no guide, the same inputs each time, each target for a moment.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use super::mutate::{Random, mutated};
use super::{TARGETS, Target};

/// Mutations of a target.
const MUTATIONS: usize = 1000;
/// Longest mutation.
const BYTES_MAX: usize = 8192;

/// Seeds, and inputs of the committed corpus by name.
fn inputs(target: &Target) -> Vec<(String, Vec<u8>)> {
    let seeds = (target.seeds)().into_iter().enumerate().map(|(at, seed)| (format!("seed {at}"), seed));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target.name);
    let mut corpus: Vec<_> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.display().to_string(), fs::read(&path).unwrap()))
        .collect();
    corpus.sort();
    seeds.chain(corpus).collect()
}

/// Runs a target; the input is shown if it fails, so that it can be kept.
fn holds(target: &Target, name: &str, input: &[u8]) {
    let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    assert!(
        outcome.is_ok(),
        "the target {} failed on {name}; keep it in fuzz/corpus/{}: {}",
        target.name,
        target.name,
        input.escape_ascii()
    );
}

#[test]
fn every_target_holds_on_its_corpus_and_on_mutations_of_it() {
    std::thread::scope(|scope| {
        for target in TARGETS {
            scope.spawn(move || {
                let known = inputs(target);
                assert!(!known.is_empty(), "{} has no seeds", target.name);
                for (name, input) in &known {
                    holds(target, name, input);
                }
                let known: Vec<Vec<u8>> = known.into_iter().map(|(_, input)| input).collect();
                let seed = blake3::hash(target.name.as_bytes());
                let mut random = Random::new(u64::from_le_bytes(*seed.as_bytes().first_chunk().unwrap()));
                for _ in 0..MUTATIONS {
                    holds(target, "a mutation", &mutated(&known, &mut random, BYTES_MAX));
                }
            });
        }
    });
}

#[test]
fn the_corpus_has_a_folder_for_no_other_target() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    for entry in fs::read_dir(corpus).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(TARGETS.iter().any(|target| target.name == name), "no target is called {name}");
    }
}
