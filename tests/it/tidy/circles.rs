//! Files that import one another cannot be read one by one: no group of them has more than a few files.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

use super::{assert_none, files, packages, production};

/// Maximum number of files of a group in which each imports the others, directly or not.
const GROUP_MAX: usize = 3;

/// A module of a package, as the names on the way to it.
type ModulePath = Vec<String>;

/// Which modules of a package each of its modules imports.
type Imports = BTreeMap<ModulePath, BTreeSet<ModulePath>>;

fn names(path: &str) -> ModulePath {
    path.split("::").map(|name| name.trim().to_owned()).collect()
}

/// The module of a source file, whose path is relative to `src`.
fn module_of(file: &str) -> ModulePath {
    let mut names: ModulePath = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if names.last().is_some_and(|last| matches!(last.as_str(), "lib" | "main" | "mod")) {
        names.pop();
    }
    names
}

/// The paths of a `use` declaration, with `{…}` written out.
fn expand(tree: &str) -> Vec<String> {
    let Some((start, rest)) = tree.split_once('{') else {
        return vec![tree.split(" as ").next().unwrap_or_default().trim().to_owned()];
    };
    let inside = rest.rsplit_once('}').map_or(rest, |(inside, _)| inside);
    let (mut depth, mut parts) = (0_usize, vec![String::new()]);
    for character in inside.chars() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().unwrap().push(character);
    }
    parts.iter().flat_map(|part| expand(&format!("{start}{}", part.trim()))).collect()
}

/// Returns the paths in the code of a module that begin with `crate::` or `super::`. A `pub use` is not an import: it only re-exports.
fn named_paths(text: &str) -> Vec<String> {
    let code: String =
        text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n");
    let imports = Regex::new(r"(?m)^\s*((?:pub(?:\([^)]*\))? )?)use ((?:crate|super|self)::[^;]+);").unwrap();
    let mut found: Vec<String> = imports
        .captures_iter(&code)
        .filter(|import| import[1].is_empty())
        .flat_map(|import| expand(&import[2]))
        .collect();
    let others = imports.replace_all(&code, "");
    let inline = Regex::new(r"(?:^|[^\w:])((?:crate|super)(?:::\w+)+)").unwrap();
    found.extend(inline.captures_iter(&others).map(|path| path[1].to_owned()));
    found
}

/// The module that a path in the code of `module` leads to, if it is another one.
fn target(module: &ModulePath, path: &str, known: &BTreeSet<ModulePath>) -> Option<ModulePath> {
    let mut rest = names(path);
    let mut full = if rest[0] == "crate" {
        rest.remove(0);
        Vec::new()
    } else {
        let mut around = module.clone();
        while rest.first().is_some_and(|name| name == "super" || name == "self") {
            if rest.remove(0) == "super" {
                around.pop();
            }
        }
        around
    };
    full.extend(rest);
    while !full.is_empty() && !known.contains(&full) {
        full.pop();
    }
    (!full.is_empty() && full != *module).then_some(full)
}

fn imports_of(package: &str) -> Imports {
    let folder = format!("{package}/src");
    let sources: Vec<(ModulePath, String)> = files(&folder, "rs")
        .into_iter()
        .map(|(path, text)| (module_of(path.trim_start_matches(&folder).trim_start_matches('/')), text))
        .filter(|(module, _)| module.iter().all(|name| name != "tests" && name != "fuzzing"))
        .collect();
    let known: BTreeSet<ModulePath> = sources.iter().map(|(module, _)| module.clone()).collect();
    let imports = sources.iter().map(|(module, text)| {
        let paths = named_paths(production(text));
        (module.clone(), paths.iter().filter_map(|path| target(module, path, &known)).collect())
    });
    imports.collect()
}

/// All modules that can be reached from one.
fn reachable<'i>(imports: &'i Imports, from: &'i ModulePath) -> BTreeSet<&'i ModulePath> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        for next in imports.get(module).into_iter().flatten() {
            if reached.insert(next) {
                open.push(next);
            }
        }
    }
    reached
}

/// The groups of modules that reach one another.
fn groups(imports: &Imports) -> BTreeSet<Vec<&ModulePath>> {
    let reached: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> =
        imports.keys().map(|module| (module, reachable(imports, module))).collect();
    let group_of = |module: &&ModulePath| {
        let together = reached[*module]
            .iter()
            .filter(|other| reached.get(**other).is_some_and(|back| back.contains(*module)));
        together.copied().collect::<Vec<_>>()
    };
    reached.keys().map(group_of).filter(|group| group.len() > 1).collect()
}

#[test]
fn few_files_import_one_another() {
    let mut violations = Vec::new();
    for package in packages() {
        for group in groups(&imports_of(&package)).iter().filter(|group| group.len() > GROUP_MAX) {
            let members: Vec<String> = group.iter().map(|module| module.join("::")).collect();
            violations.push(format!(
                "{package}: {} files import one another; move what they share to a file that imports none of them: {}",
                members.len(),
                members.join(", ")
            ));
        }
    }
    assert_none(&violations);
}

#[test]
fn a_circle_is_found_through_all_forms_of_imports() {
    let known: BTreeSet<ModulePath> = ["a", "a::b", "c", "d"].iter().map(|path| names(path)).collect();
    let texts = [
        ("a", "use crate::c::X;"),
        ("a::b", "use super::Y;\npub use crate::d::Z;\n// crate::d"),
        ("c", "fn f() { crate::a::b::g() }"),
        ("d", "use crate::{a::{self, b::{g, h as i}}, c};"),
    ];
    let imports: Imports = texts
        .iter()
        .map(|(module, text)| {
            let module = names(module);
            let targets = named_paths(text).iter().filter_map(|path| target(&module, path, &known)).collect();
            (module, targets)
        })
        .collect();
    assert_eq!(imports[&names("d")].len(), 3, "{imports:?}");
    assert_eq!(groups(&imports), BTreeSet::from([vec![&names("a"), &names("a::b"), &names("c")]]));
}
