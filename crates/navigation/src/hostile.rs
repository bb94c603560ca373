//! Whatever the files say, resolving ends without a panic.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use languages::by_name;
use languages::symbols::FileSymbols;
use proptest::prelude::*;

use super::cases::symbols_of;
use super::{Reference, Repository, SourceFile};

/// Returns the references of all files, whose paths are numbers, but the first is what others are likely to import.
fn resolve(language: &str, extension: &str, texts: &[String]) -> Vec<Vec<Reference>> {
    let path = |(number, text): (usize, &String)| (format!("a/{number}.{extension}"), text.clone());
    resolve_at(language, texts.iter().enumerate().map(path).collect())
}

/// Returns the references of all files, each with its path and text.
fn resolve_at(language: &str, files: Vec<(String, String)>) -> Vec<Vec<Reference>> {
    let all: Vec<FileSymbols> = files.iter().map(|(_, text)| symbols_of(text, by_name(language))).collect();
    let file = |((path, _), symbols): ((String, String), &FileSymbols)| SourceFile {
        path,
        language: language.to_owned(),
        interface: Arc::new(symbols.interface.clone().into()),
    };
    let repository = Repository::new(files.into_iter().zip(&all).map(file).collect());
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

/// The work over all files before the first is resolved is bounded, too: paths that are alike in many ways, packages that all pass on one
/// another's names, and packages in packages that import themselves.
#[test]
fn crowds_of_packages_end() {
    let deep = "x/".repeat(20);
    let mut go = String::from("package main\nimport (\n");
    (0..120).for_each(|at| writeln!(go, "p{at} \"a.b/{at}/{deep}v\"").unwrap());
    go += ")\nfunc main() { p1.F() }\n";
    let mut files = vec![("main.go".to_owned(), go)];
    files.extend((0..120).map(|at| (format!("{at}/{deep}v/a.go"), "package v\nfunc F() {}\n".to_owned())));
    let resolved = resolve_at("go", files);
    assert_eq!(resolved[0].iter().filter(|one| one.name == "F").count(), 1);

    let mut stars: String = (0..80).map(|at| format!("export * from './{at}'\n")).collect();
    stars += "export * from '.'\n";
    let mut files: Vec<(String, String)> =
        (0..80).map(|at| (format!("packages/p/src/{at}.ts"), stars.clone())).collect();
    files.push(("packages/p/src/index.ts".to_owned(), stars));
    let imports: String =
        (0..100).map(|at| format!("import {{ n{at} }} from '@s/p/{}'\nn{at}()\n", at % 80)).collect();
    files.push(("packages/q/a.ts".to_owned(), imports));
    assert!(resolve_at("typescript", files).iter().flatten().all(|one| one.targets.is_empty()));

    let deep = "x/".repeat(200);
    let imports: String = (0..500).map(|at| format!("from x.x{at} import y\nfrom x.x import y\n")).collect();
    let mut files = vec![(format!("{deep}a.py"), imports.clone()), ("b.py".to_owned(), imports)];
    files.extend((0..200).map(|at| (format!("{}__init__.py", "x/".repeat(at + 1)), String::new())));
    assert!(resolve_at("python", files).iter().flatten().all(|one| one.targets.is_empty()));
}
