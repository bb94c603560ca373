//! Whatever the files say, resolving ends without a panic.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use languages::by_name;
use languages::symbols::FileSymbols;
use proptest::prelude::*;

use super::cases::symbols_of;
use super::{Reference, Repository, SourceFile};

/// The references of all files, whose paths are numbers, but the first is what others are likely to import.
fn resolve(language: &str, extension: &str, texts: &[String]) -> Vec<Vec<Reference>> {
    let all: Vec<FileSymbols> = texts.iter().map(|text| symbols_of(text, by_name(language))).collect();
    let file = |(number, symbols): (usize, &FileSymbols)| SourceFile {
        path: format!("a/{number}.{extension}"),
        language: language.to_owned(),
        interface: Arc::new(symbols.interface.clone().into()),
    };
    let repository = Repository::new(all.iter().enumerate().map(file).collect());
    (0..).zip(&all).map(|(number, symbols)| repository.resolve(number, &symbols.body)).collect()
}

fn sample(language: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../languages/src").join(language);
    std::fs::read_to_string(folder.join("sample.txt")).unwrap()
        + "\n"
        + &std::fs::read_to_string(folder.join("facts.cases")).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn damaged_files_are_resolved(
        language in prop::sample::select(vec![
            "c", "cpp", "csharp", "go", "java", "javascript", "php", "python", "ruby", "rust", "scala", "swift", "tsx", "typescript",
        ]),
        from in 0.0..1.0f64, length in 0usize..400, insert in "(?s).{0,60}",
    ) {
        let sample = sample(language);
        let chars: Vec<char> = sample.chars().collect();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss,
            reason = "a position within a short sample")]
        let from = (chars.len() as f64 * from) as usize;
        let to = (from + length).min(chars.len());
        let damaged: String = chars[..from].iter().copied().chain(insert.chars()).chain(chars[to..].iter().copied()).collect();
        resolve(language, by_name(language).unwrap().extensions[0], &[damaged, sample]);
    }
}

/// The work for a use is bounded, whatever the names lead to.
#[test]
fn circles_chains_and_crowds_end() {
    let mut circle = String::new();
    let mut chain = "class A:\n  def f(self): return self\nx0 = A()\n".to_owned();
    let mut crowd = String::new();
    for at in 0..3000 {
        writeln!(circle, "class C{at}(C{}, C{}): pass", (at + 1) % 3000, (at + 2) % 3000).unwrap();
        writeln!(chain, "x{} = x{at}.f() or x{at}", at + 1).unwrap();
        writeln!(crowd, "def same(): return same()").unwrap();
    }
    circle += "C0().missing()\n";
    chain += "x3000.f()\nx20.f()\n";
    let stars: String = (0..4).map(|at| format!("from .{at} import *\n")).collect();
    let resolved =
        resolve("python", "py", &[circle + &stars, chain + &stars, crowd + &stars, stars + "nothing()\n"]);
    let found = |file: usize, name: &str| resolved[file].iter().filter(|one| one.name == name).count();
    assert_eq!((found(0, "missing"), found(1, "f")), (1, 3002));
    assert!(resolved[2].iter().all(|one| one.targets.len() <= 64));
}
