//! Rust: modules are declared by their parents, and crates are named by their manifests.

use std::collections::HashMap;

use languages::symbols::{Import, Imported, Interface, SymbolKind};

use super::{DEFAULT, Family, FreeNames, Located, Rules};
use crate::paths::{Paths, folder, join, name, relative};
use crate::repository::Repository;
use crate::value::Module;

pub(super) const RULES: Rules = Rules {
    family: Family::Rust,
    languages: &["rust"],
    modules,
    submodule,
    separator: "::",
    exported: |_, _| true,
    namespaces: true,
    macros_marked: true,
    imports_pass_on: true,
    free_names: FreeNames::Builtin,
    free_names_are_modules: true,
    locals_in_order: true,
    bases_by_scope: true,
    visible_extensions: true,
    content_members: &[
        "borrow", "borrow_mut", "expect", "get_or_init", "get_or_insert_with", "lock", "or_default",
        "or_insert", "or_insert_with", "read", "unwrap", "unwrap_or", "unwrap_or_default", "unwrap_or_else",
        "write",
    ],
    same_members: &[
        "as_deref", "as_deref_mut", "as_mut", "as_ref", "back", "back_mut", "by_ref", "chain", "clone",
        "cloned", "context", "copied", "drain", "entry", "filter", "find", "first", "first_mut", "front",
        "front_mut", "get", "get_mut", "inspect", "into_iter", "into_values", "iter", "iter_mut", "last",
        "last_mut", "map_err", "max_by_key", "min_by_key", "next", "next_back", "ok", "ok_or", "ok_or_else",
        "or", "or_else", "peek", "peekable", "pop", "pop_back", "pop_front", "remove", "rev", "skip",
        "step_by", "swap_remove", "take", "take_while", "to_owned", "to_vec", "values", "values_mut",
        "with_context",
    ],
    transparent_members: &[
        "as_mut", "as_ref", "borrow", "borrow_mut", "by_ref", "clone", "expect", "to_owned", "unwrap",
        "unwrap_or_else",
    ],
    content_types: &["Item", "Output", "Target"],
    target_type: Some("Target"),
    builtin_members: BUILTIN_MEMBERS,
    ..DEFAULT
};

/// Maximum depth of nested modules.
const MODULES_MAX: usize = 64;

/// The crates of the repository, and the module that declares each file.
#[derive(Debug, Default)]
pub(crate) struct Crates {
    /// The root of each crate that others can use, by its name.
    libraries: HashMap<String, u32>,
    /// The file that declares each file as its module.
    parents: HashMap<u32, u32>,
    /// The files that define a macro of each name, with the root of their crate, in which all code after the definition sees it.
    macros: HashMap<String, Vec<(u32, u32)>>,
}

/// Maximum number of files that define macros of one name.
const SAME_NAME_MAX: usize = 32;

impl Crates {
    fn new(repository: &Repository) -> Self {
        let mut crates = Self::default();
        let paths = &repository.paths;
        for (number, file) in (0..).zip(repository.files()) {
            if file.language == "rust" {
                for symbol in &file.interface.symbols {
                    if symbol.kind == SymbolKind::Macro && symbol.scope == 0 {
                        let name = file.interface.arena.text(symbol.name).to_owned();
                        let same = crates.macros.entry(name).or_default();
                        if same.len() < SAME_NAME_MAX {
                            same.push((number, number));
                        }
                    }
                }
                for import in &file.interface.imports {
                    let module = file.interface.arena.text(import.module);
                    let child = module.strip_prefix("./").and_then(|path| declared(paths, number, path));
                    // If several files declare it, the library is the one that others see.
                    if let Some(child) = child.filter(|child| *child != number) {
                        let parent = crates.parents.entry(child).or_insert(number);
                        if name(&file.path) == "lib.rs" {
                            *parent = number;
                        }
                    }
                }
            } else if name(&file.path) == "Cargo.toml" {
                let root = library(paths, &file.path, &file.interface);
                if let (Some(package), Some(root)) = (&file.interface.package, root) {
                    crates.libraries.insert(package.replace('-', "_"), root);
                }
            }
        }
        let mut macros = std::mem::take(&mut crates.macros);
        for (root, file) in macros.values_mut().flatten() {
            *root = crates.root(paths, *file);
        }
        crates.macros = macros;
        // Without a manifest, the folder has the name of the crate.
        let known: Vec<u32> = crates.libraries.values().copied().collect();
        for root in paths.ending_with(Family::Rust, "src/lib.rs").filter(|root| !known.contains(root)) {
            let package = name(folder(folder(paths.path(root)))).replace('-', "_");
            if !package.is_empty() {
                crates.libraries.entry(package).or_insert(root);
            }
        }
        crates
    }

    /// Returns the file whose module a file is: the one that declares it, or the usual one, because a macro may declare it.
    fn parent(&self, paths: &Paths, file: u32) -> Option<u32> {
        if let Some(parent) = self.parents.get(&file) {
            return Some(*parent);
        }
        let path = paths.path(file);
        if matches!(name(path), "main.rs" | "lib.rs" | "build.rs") {
            return None;
        }
        let own = if name(path) == "mod.rs" { folder(folder(path)) } else { folder(path) };
        // Undeclared files beside a crate's root are crates of their own; so are tests, examples and the like.
        let usual = ["mod.rs", "main.rs"].iter().map(|file| join(own, file));
        usual.filter_map(|path| paths.file(Family::Rust, &path)).find(|parent| *parent != file)
    }

    /// Returns the root of the crate of a file.
    fn root(&self, paths: &Paths, file: u32) -> u32 {
        let mut root = file;
        for _ in 0..MODULES_MAX {
            match self.parent(paths, root) {
                Some(parent) => root = parent,
                None => break,
            }
        }
        root
    }
}

/// Returns the root of the library that a manifest describes.
fn library(paths: &Paths, manifest: &str, interface: &Interface) -> Option<u32> {
    let arena = &interface.arena;
    let own = interface.imports.iter().find(|row| row.local.is_some_and(|local| arena.text(local) == "lib"));
    let path = own.map_or("src/lib.rs", |row| arena.text(row.module));
    paths.file(Family::Rust, &relative(folder(manifest), path)?)
}

/// Returns the file of a module that a file declares: below its own folder of modules, or beside it if it is the root of a crate.
fn declared(paths: &Paths, file: u32, path: &str) -> Option<u32> {
    let own = paths.path(file);
    let beside = folder(own);
    let stem = name(own).strip_suffix(".rs").unwrap_or_default();
    let inside = match stem {
        "mod" | "lib" | "main" => beside.to_owned(),
        stem => join(beside, stem),
    };
    [inside.as_str(), beside].into_iter().find_map(|folder| {
        let ends = if path.ends_with(".rs") { &[""][..] } else { &[".rs", "/mod.rs"] };
        ends.iter().find_map(|end| paths.file(Family::Rust, &relative(folder, &format!("{path}{end}"))?))
    })
}

fn modules<'p>(repository: &Repository, from: u32, path: &'p str) -> Vec<Located<'p>> {
    let (paths, crates) = (&repository.paths, repository.rust.get_or_init(|| Crates::new(repository)));
    if let Some(path) = path.strip_prefix("./") {
        let file = declared(paths, from, path).map(Module::File);
        return file.map(Located::whole).into_iter().collect();
    }
    let is_absolute = path.starts_with("::");
    let parts: Vec<&str> = path.trim_start_matches("::").split("::").collect();
    let Some(first) = parts.first() else { return Vec::new() };
    let (file, used) = match *first {
        "crate" => (Some(crates.root(paths, from)), 1),
        "self" => (Some(from), 1),
        "super" => {
            let supers = parts.iter().take_while(|part| **part == "super").count();
            let mut file = Some(from);
            for _ in 0..supers.min(MODULES_MAX) {
                file = file.and_then(|file| crates.parent(paths, file));
            }
            (file, supers)
        }
        first if !is_absolute && is_bound(repository, from, first) => (Some(from), 0),
        first => match crates.libraries.get(first) {
            Some(library) => (Some(*library), 1),
            // The name of a macro.
            None => {
                let same = crates.macros.get(first).map_or(&[][..], Vec::as_slice);
                let root = if same.is_empty() { from } else { crates.root(paths, from) };
                (same.iter().find(|(of, _)| *of == root).map(|(_, file)| *file), 0)
            }
        },
    };
    let located = file.map(|file| Located { module: Module::File(file), rest: parts[used..].to_vec() });
    located.into_iter().collect()
}

/// Finds a module that no file declares, because a macro does.
fn submodule(repository: &Repository, module: Module, inner: &str) -> Option<Module> {
    match module {
        Module::File(file) => {
            declared(&repository.paths, file, inner).filter(|found| *found != file).map(Module::File)
        }
        Module::Folder { .. } | Module::Package(_) => None,
    }
}

/// Checks whether a file has something of this name at its top: a module, a type, or an import from elsewhere.
fn is_bound(repository: &Repository, file: u32, name: &str) -> bool {
    let Some((half, index)) = repository.interface(file) else { return false };
    let mut imports = index.imports(half, 0, name).filter_map(|import| half.imports.get(import as usize));
    let leads_elsewhere = |import: &Import| {
        let module = half.arena.text(import.module);
        (module.starts_with("./") || matches!(import.what, Imported::Name(_)))
            && module.split("::").next() != Some(name)
    };
    index.symbols(half, 0, name).next().is_some() || imports.any(leads_elsewhere)
}

/// Methods of the standard library's types and traits that are used most.
const BUILTIN_MEMBERS: &[&str] = &[
    "all", "and_then", "any", "as_bytes", "as_mut", "as_ref", "as_str", "borrow", "borrow_mut", "by_ref",
    "chain", "chars", "clear", "clone", "cloned", "cmp", "collect", "contains", "contains_key", "copied",
    "count", "drain", "drop", "ends_with", "entry", "enumerate", "eq", "expect", "extend", "filter",
    "filter_map", "find", "finish", "first", "flat_map", "flatten", "flush", "fmt", "fold", "for_each",
    "from", "get", "get_mut", "hash", "insert", "into", "into_iter", "is_empty", "is_err", "is_none",
    "is_ok", "is_some", "iter", "iter_mut", "join", "keys", "last", "len", "lines", "lock", "map", "map_err",
    "max", "min", "next", "ok", "ok_or", "ok_or_else", "or_default", "or_else", "or_insert",
    "or_insert_with", "parse", "partial_cmp", "poll", "pop", "position", "push", "push_str", "read",
    "read_to_end", "read_to_string", "recv", "remove", "replace", "retain", "rev", "send", "skip", "sort",
    "sort_by", "spawn", "split", "starts_with", "sum", "swap", "take", "to_owned", "to_string", "to_vec",
    "trim", "try_from", "try_into", "unwrap", "unwrap_or", "unwrap_or_default", "unwrap_or_else", "values",
    "wait", "with_capacity", "write", "write_all", "write_fmt", "zip",
];
