//! Tests that after any sequence of edits, resolving only what may have changed gives the same as resolving everything.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use languages::by_name;
use languages::symbols::FileSymbols;
use proptest::prelude::*;

use super::{affected, mentions, offers, places_around};
use crate::cases::symbols_of;
use crate::{ReferenceKind, Repository, SourceFile};

const PATHS: &[&str] = &[
    "a.py", "b.py", "pkg/__init__.py", "pkg/c.py", "pkg/d.py", "pkg/sub/e.py", "src/g.py", "app/main.py",
    "deep/box/__init__.py", "deep/box/f.py", "deep/conftest.py",
];
const MODULES: &[&str] = &[
    "a", "b", "pkg", "pkg.c", "pkg.d", ".c", ".d", "..a", "..", "g", "pkg.sub.e", ".sub", "main", "box",
    "box.f",
];
const TYPES: &[&str] = &["Ant", "Bee", "Cat"];
const FUNCTIONS: &[&str] = &["find", "make", "take"];
const MEMBERS: &[&str] = &["crawl", "fly", "sleep"];
const VALUES: &[&str] = &["one", "two"];

fn pick(of: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    proptest::sample::select(of)
}

fn any_name() -> impl Strategy<Value = &'static str> {
    prop_oneof![pick(TYPES), pick(FUNCTIONS), pick(VALUES)]
}

fn expression() -> impl Strategy<Value = String> {
    prop_oneof![
        any_name().prop_map(str::to_owned),
        any_name().prop_map(|name| format!("{name}()")),
        (any_name(), pick(MEMBERS)).prop_map(|(name, member)| format!("{name}().{member}()")),
        (any_name(), pick(MEMBERS), pick(MEMBERS))
            .prop_map(|(name, one, two)| format!("{name}.{one}.{two}()")),
        (pick(&["a", "b", "pkg", "c", "e"]), any_name())
            .prop_map(|(module, name)| format!("{module}.{name}()")),
        (any_name(), pick(MEMBERS)).prop_map(|(module, name)| format!("pkg.c.{module}.{name}()")),
    ]
}

fn statement() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => (pick(MODULES), any_name()).prop_map(|(module, name)| format!("from {module} import {name}\n")),
        1 => (pick(MODULES), any_name(), any_name())
            .prop_map(|(module, name, other)| format!("from {module} import {name} as {other}\n")),
        1 => pick(MODULES).prop_map(|module| format!("import {}\n", module.trim_start_matches('.'))),
        1 => pick(MODULES).prop_map(|module| format!("from {module} import *\n")),
        1 => (pick(&[".", "..", "pkg"]), pick(&["c", "d", "a", "sub"]))
            .prop_map(|(module, name)| format!("from {module} import {name}\n")),
        1 => any_name().prop_map(|name| format!("__all__ = ['{name}']\n")),
        2 => (pick(VALUES), expression()).prop_map(|(name, value)| format!("{name} = {value}\n")),
        2 => (pick(FUNCTIONS), pick(TYPES), pick(TYPES), expression(), pick(MEMBERS)).prop_map(
            |(name, of, gives, value, member)| format!(
                "def {name}(x: {of}) -> {gives}:\n    y = {value}\n    x.{member}()\n    return y.{member}()\n"
            )
        ),
        1 => (pick(FUNCTIONS), expression())
            .prop_map(|(name, value)| format!("def {name}():\n    return {value}\n")),
        3 => (pick(TYPES), any_name(), pick(MEMBERS), pick(MEMBERS), pick(TYPES), expression()).prop_map(
            |(name, base, one, two, of, value)| format!(
                "class {name}({base}):\n    {two}: {of}\n    def {one}(self):\n        self.{two}.{one}()\n        return {value}\n"
            )
        ),
    ]
}

/// Generates an edit: the text of a file, or `None` if it is removed.
fn edit() -> impl Strategy<Value = (usize, Option<String>)> {
    let text = proptest::collection::vec(statement(), 0..6).prop_map(|all| all.concat());
    (0..PATHS.len(), proptest::option::weighted(0.85, text))
}

fn python(text: &str) -> FileSymbols {
    symbols_of(text, by_name("python"))
}

fn language(path: &str) -> &'static str {
    if path.ends_with(".ts") { "typescript" } else { "python" }
}

/// A reference, with its targets by what stays the same when lines move: file, enclosing names, position among equals.
type Stored = (ReferenceKind, u32, u32, String, BTreeSet<String>);

/// The stored data of a file.
struct File {
    symbols: FileSymbols,
    offers: Vec<u64>,
    mentions: Vec<u32>,
}

fn repository(files: &BTreeMap<&'static str, File>) -> Repository {
    let source = |(path, file): (&&str, &File)| SourceFile {
        path: (*path).to_owned(),
        language: language(path).to_owned(),
        interface: Arc::new(file.symbols.interface.clone().into()),
    };
    Repository::new(files.iter().map(source).collect())
}

fn identity(path: &str, symbols: &FileSymbols, symbol: u32) -> String {
    let FileSymbols { interface, body, .. } = symbols;
    let name_at = |place| {
        let own = interface.symbols.iter().map(|one| (one, &interface.arena));
        let mut all = own.chain(body.symbols.iter().map(|one| (one, &body.arena)));
        all.find(|(one, _)| one.place == place).map_or("", |(one, arena)| arena.text(one.name))
    };
    let names =
        |symbol| -> Vec<&str> { places_around(interface, body, symbol).into_iter().map(name_at).collect() };
    let own = names(symbol);
    let equal = (0..symbol).filter(|other| names(*other) == own).count();
    format!("{path}:{}:{equal}", own.join("<"))
}

fn resolve(
    repository: &Repository,
    files: &BTreeMap<&'static str, File>,
    wanted: &HashSet<&str>,
) -> HashMap<&'static str, Vec<Stored>> {
    let all: Vec<(&&'static str, &File)> = files.iter().collect();
    let mut resolved = HashMap::new();
    for (number, (path, file)) in (0..).zip(&all) {
        if !wanted.contains(**path) {
            continue;
        }
        let references = repository.resolve(number, &file.symbols.body).into_iter().map(|one| {
            let targets = one.targets.iter().map(|target| {
                let (path, file) = all[target.file as usize];
                identity(path, &file.symbols, target.symbol)
            });
            (one.kind, one.place.line, one.place.column, one.name, targets.collect())
        });
        resolved.insert(**path, references.collect());
    }
    resolved
}

/// Edits the files of a repository round by round. After each round, the references that are kept must equal those of resolving everything.
fn compare(
    rounds: impl IntoIterator<Item = Vec<(&'static str, Option<String>)>>,
) -> Result<(), TestCaseError> {
    let mut files: BTreeMap<&'static str, File> = BTreeMap::new();
    let mut stored: HashMap<&'static str, Vec<Stored>> = HashMap::new();
    for edits in rounds {
        let mut changed: HashSet<u32> = HashSet::new();
        let mut unresolved: HashSet<&str> = HashSet::new();
        for (path, text) in edits {
            let new = text.map(|text| symbols_of(&text, by_name(language(path)))).map(|symbols| File {
                offers: offers(path, &symbols.interface),
                mentions: mentions(&symbols),
                symbols,
            });
            let old = files.remove(path);
            let of = |file: Option<&File>| -> HashSet<u64> {
                file.map(|file| file.offers.iter().copied().collect()).unwrap_or_default()
            };
            let (before, after) = (of(old.as_ref()), of(new.as_ref()));
            changed.extend(before.symmetric_difference(&after).map(|offer| (offer >> 32) as u32));
            stored.remove(path);
            if let Some(new) = new {
                files.insert(path, new);
                unresolved.insert(path);
            }
        }
        let unresolved: HashSet<&str> =
            unresolved.into_iter().filter(|path| files.contains_key(path)).collect();
        let repository = repository(&files);
        let numbers = (0..).zip(files.keys()).filter(|(_, path)| unresolved.contains(**path));
        let numbers: HashSet<u32> = numbers.map(|(number, _)| number).collect();
        let names = affected(repository.files(), &numbers, changed);
        let mentions_one = |file: &File| {
            names.as_ref().is_none_or(|names| file.mentions.iter().any(|name| names.contains(name)))
        };
        let wanted = files.iter().filter(|(path, file)| unresolved.contains(**path) || mentions_one(file));
        let wanted: HashSet<&str> = wanted.map(|(path, _)| *path).collect();
        stored.extend(resolve(&repository, &files, &wanted));
        let all: HashSet<&str> = files.keys().copied().collect();
        prop_assert_eq!(&stored, &resolve(&repository, &files, &all));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn incremental_results_equal_full_ones(
        first in proptest::collection::vec(edit(), 8),
        edits in proptest::collection::vec(proptest::collection::vec(edit(), 1..3), 1..6),
    ) {
        let rounds = std::iter::once(first).chain(edits);
        compare(rounds.map(|edits| edits.into_iter().map(|(path, text)| (PATHS[path], text)).collect()))?;
    }
}

/// The meaning of a path can depend on files that are never mentioned: on imports inside of the package, and on files that mark a project.
#[test]
fn changes_to_the_roots_of_imports_are_noticed() {
    let set = |path, text: &str| (path, Some(text.to_owned()));
    let first = vec![
        set("a.py", "import box.f\nbox.f.find()\n"),
        set("deep/box/__init__.py", ""),
        set("deep/box/f.py", "def find(): pass\n"),
        set("deep/box/late.py", "import box.more as y\n"),
    ];
    let rounds = [
        first,
        vec![set("deep/box/g.py", "from box.f import find as x\n")],
        vec![set("deep/box/h.py", "from box.g import x as z\n")],
        vec![set("deep/box/g.py", "")],
        vec![("deep/box/h.py", None)],
        vec![set("deep/box/more.py", "")],
        vec![("deep/box/late.py", None)],
        vec![set("deep/setup.py", "")],
        vec![("deep/setup.py", None)],
    ];
    compare(rounds).unwrap();
}

/// The parameters of a callback depend on types that its file does not mention.
#[test]
fn changed_callback_parameters_are_noticed() {
    let set = |path, text: &str| (path, Some(text.to_owned()));
    let types = |given: &str, number: &str| {
        format!(
            "import {{ First, Second }} from './things'\ntype Handler = ({number}c: {given}) => void\n\
             export interface Register {{ (path: string, handler: Handler): void }}\n"
        )
    };
    let first = vec![
        set("things.ts", "export class First { text() {} }\nexport class Second { text() {} }\n"),
        set("types.ts", &types("First", "")),
        set("app.ts", "import { Register } from './types'\nexport class App { get!: Register }\n"),
        set("main.ts", "import { App } from './app'\nnew App().get('/', (c) => c.text())\n"),
    ];
    let rounds = [
        first,
        vec![set("types.ts", &types("Second", ""))],
        vec![set("types.ts", &types("Second", "n: number, "))],
        vec![set("types.ts", &types("First", ""))],
        vec![set("app.ts", "export class App { get!: string }\n")],
    ];
    compare(rounds).unwrap();
}

#[test]
fn a_change_that_no_one_can_see_changes_no_name() {
    let one = python(
        "class A:\n    def f(self):\n        x = 1\n        print(x)\n        self.f()\n\ndef g():\n    pass\n",
    );
    let other = python(
        "\n\n# Moved\nclass A:\n    def f(self):\n        y = A()\n        y.f()\n\ndef g():\n    g()\n",
    );
    assert_eq!(offers("a.py", &one.interface), offers("a.py", &other.interface));
}
