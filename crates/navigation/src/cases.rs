//! Resolves the small repositories in `cases/*.cases`, and compares the references with what the texts say of themselves.
//!
//! A case begins with a line `=== what it shows`. Each of its files begins with a line `--- path`. What a line refers to is written at
//! its end, after `#>`, whatever comment the language has (use its own before it: `//#>`); several are separated by `,`:
//!
//! - `call core.py:12` or `call 12`: a use of this kind (`call`, `read`, `write`, `import`, `type`, `inherit`, `override`) of what is named
//!   at that line of that file, or of the same file; lines are counted in the case's file from 1. A line that defines several names:
//!   `call core.py:12:name`.
//! - `call ?name`: a use with nothing known but its name.
//! - `call a.py:1 b.py:2`: a use with several targets.
//!
//! Exactly the expected uses must be found, in any order of their columns. Kinds that a case never mentions are not compared, nor are uses
//! of bare names (`?name`) if the case mentions none. A case that expects no `call` must have none.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use languages::symbols::{FileSymbols, Symbol, UseKind};
use languages::{ChunkLimits, Language, by_name, chunk, detect};

use super::{Reference, ReferenceKind, Repository, SourceFile, Target};

struct Case {
    title: String,
    files: Vec<(String, String)>,
}

fn cases(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("=== ") {
            cases.push(Case { title: title.to_owned(), files: Vec::new() });
        } else if let Some(path) = line.strip_prefix("--- ") {
            cases.last_mut().unwrap().files.push((path.trim().to_owned(), String::new()));
        } else if let Some((_, content)) = cases.last_mut().and_then(|case| case.files.last_mut()) {
            content.push_str(line);
            content.push('\n');
        }
    }
    cases
}

/// A reference as the cases write it: file, line, kind, and targets as `path:line` or `?name`.
type Seen = (String, usize, String, BTreeSet<String>);

fn expected(case: &Case) -> Vec<Seen> {
    let mut expected = Vec::new();
    for (path, content) in &case.files {
        for (line, text) in (1..).zip(content.lines()) {
            let Some((_, said)) = text.rsplit_once("#>") else { continue };
            for one in said.trim_end_matches("*/").trim_end_matches("-->").split(',') {
                let mut words = one.split_whitespace();
                let kind = words.next().unwrap_or_default().to_owned();
                let targets = words.map(|target| match target.chars().next() {
                    Some('0'..='9') => format!("{path}:{target}"),
                    _ => target.to_owned(),
                });
                expected.push((path.clone(), line, kind, targets.collect()));
            }
        }
    }
    expected
}

fn kind_name(kind: ReferenceKind) -> &'static str {
    match kind {
        ReferenceKind::Use(UseKind::Call) => "call",
        ReferenceKind::Use(UseKind::Read) => "read",
        ReferenceKind::Use(UseKind::Write) => "write",
        ReferenceKind::Use(UseKind::Import) => "import",
        ReferenceKind::Use(UseKind::Type) => "type",
        ReferenceKind::Use(UseKind::Inherit) => "inherit",
        ReferenceKind::Override => "override",
    }
}

/// Returns the symbols of a file, without the case's expectations in it.
fn symbols(path: &str, content: &str) -> (String, FileSymbols) {
    let bare: Vec<&str> =
        content.lines().map(|line| line.rsplit_once("#>").map_or(line, |(before, _)| before)).collect();
    let text = bare.join("\n") + "\n";
    let language = detect(path, text.as_bytes()).or_else(|| by_name("text"));
    (language.map_or("text", |language| language.id).to_owned(), symbols_of(&text, language))
}

/// Returns the symbols of a text, however long a busy machine takes.
pub(crate) fn symbols_of(text: &str, language: Option<&'static Language>) -> FileSymbols {
    let parse_timeout = Duration::from_secs(600);
    let limits = ChunkLimits { facts: true, parse_timeout, ..ChunkLimits::default() };
    chunk(text, language, &limits).symbols.unwrap_or_default()
}

fn symbol(symbols: &FileSymbols, target: Target) -> (&Symbol, &str) {
    let (interface, body) = (&symbols.interface, &symbols.body);
    match (target.symbol as usize).checked_sub(interface.symbols.len()) {
        None => {
            let symbol = &interface.symbols[target.symbol as usize];
            (symbol, interface.arena.text(symbol.name))
        }
        Some(at) => (&body.symbols[at], body.arena.text(body.symbols[at].name)),
    }
}

fn seen(case: &Case) -> Vec<(Seen, String)> {
    let all: Vec<_> = case.files.iter().map(|(path, content)| symbols(path, content)).collect();
    let files = all.iter().zip(&case.files).map(|((language, symbols), (path, _))| {
        assert!(symbols.is_sound());
        SourceFile {
            path: path.clone(),
            language: language.clone(),
            interface: Arc::new(symbols.interface.clone().into()),
        }
    });
    let repository = Repository::new(files.collect());
    let mut seen = Vec::new();
    for (number, (path, _)) in (0..).zip(&case.files) {
        for Reference { kind, place, name, targets, .. } in
            repository.resolve(number, &all[number as usize].1.body)
        {
            let mut places = BTreeSet::new();
            let mut names = BTreeSet::new();
            for target in targets {
                let (symbol, name) = symbol(&all[target.file as usize].1, target);
                let place = format!("{}:{}", case.files[target.file as usize].0, symbol.place.line);
                names.insert(format!("{place}:{name}"));
                places.insert(place);
            }
            if places.is_empty() {
                places.insert(format!("?{name}"));
            }
            let names: Vec<String> = names.into_iter().collect();
            seen.push((
                (path.clone(), place.line as usize, kind_name(kind).to_owned(), places),
                names.join(" "),
            ));
        }
    }
    seen
}

/// Describes the differences between what a case expects and what was found.
fn differences(case: &Case) -> Vec<String> {
    let expected = expected(case);
    let mut kinds: BTreeSet<&str> = expected.iter().map(|(_, _, kind, _)| kind.as_str()).collect();
    kinds.insert("call");
    let bare = expected.iter().any(|seen| seen.3.iter().any(|target| target.starts_with('?')));
    let without_name = |target: &String| {
        let mut parts = target.splitn(3, ':');
        match (parts.next(), parts.next()) {
            (Some(path), Some(line)) if !path.starts_with('?') => format!("{path}:{line}"),
            _ => target.clone(),
        }
    };
    let mut left: BTreeMap<Seen, Vec<Seen>> = BTreeMap::new();
    for (path, line, kind, targets) in &expected {
        let places = targets.iter().map(without_name).collect();
        let key = (path.clone(), *line, kind.clone(), places);
        left.entry(key).or_default().push((path.clone(), *line, kind.clone(), targets.clone()));
    }
    let mut differences = Vec::new();
    for (key, names) in seen(case) {
        let named = key.3.iter().any(|target| target.starts_with('?'));
        if !kinds.contains(key.2.as_str()) || (named && !bare) {
            continue;
        }
        let fits = left.get_mut(&key).and_then(|wanted| {
            let fits = |wanted: &Seen| {
                wanted.3.iter().all(|target| {
                    target.starts_with('?')
                        || key.3.contains(target)
                        || names.split(' ').any(|name| name == target)
                })
            };
            let at = wanted.iter().position(fits)?;
            Some(wanted.swap_remove(at))
        });
        if fits.is_none() {
            differences.push(format!("  {}:{} unexpected: {} {:?} ({names})", key.0, key.1, key.2, key.3));
        }
    }
    for (path, line, kind, targets) in left.into_values().flatten() {
        differences.push(format!("  {path}:{line} missing: {kind} {targets:?}"));
    }
    differences
}

#[test]
fn names_are_resolved_as_the_cases_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cases");
    let mut wrong = Vec::new();
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "cases") {
            continue;
        }
        for case in cases(&std::fs::read_to_string(&path).unwrap()) {
            count += 1;
            let differences = differences(&case);
            if !differences.is_empty() {
                let file = path.file_name().unwrap().to_string_lossy().into_owned();
                wrong.push(format!("{file}: {}\n{}", case.title, differences.join("\n")));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count} cases:\n{}", wrong.len(), wrong.join("\n"));
}
