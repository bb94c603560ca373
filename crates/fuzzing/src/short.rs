//! Runs every target within `cargo test`, on the same inputs each time.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use super::mutate::{Random, mutated};
use super::{TARGETS, Target};

/// Number of mutations for each target.
const MUTATIONS: usize = 1000;
/// Longest mutated input.
const BYTES_MAX: usize = 8192;

/// The seeds and the committed corpus, with names.
fn inputs(target: &Target) -> Vec<(String, Vec<u8>)> {
    let seeds = (target.seeds)().into_iter().enumerate().map(|(at, seed)| (format!("seed {at}"), seed));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target.name);
    let mut corpus: Vec<_> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.display().to_string(), fs::read(&path).unwrap()))
        .collect();
    corpus.sort();
    seeds.chain(corpus).collect()
}

/// Runs a target; prints the input if it fails, so that it can be added to the corpus.
fn assert_target_holds(target: &Target, name: &str, input: &[u8]) {
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
                    assert_target_holds(target, name, input);
                }
                let known: Vec<Vec<u8>> = known.into_iter().map(|(_, input)| input).collect();
                let seed = blake3::hash(target.name.as_bytes());
                let mut random = Random::new(u64::from_le_bytes(*seed.as_bytes().first_chunk().unwrap()));
                for _ in 0..MUTATIONS {
                    assert_target_holds(target, "a mutation", &mutated(&known, &mut random, BYTES_MAX));
                }
            });
        }
    });
}

#[test]
fn every_folder_of_the_corpus_belongs_to_a_target() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for entry in fs::read_dir(corpus).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(TARGETS.iter().any(|target| target.name == name), "no target is called {name}");
    }
}
