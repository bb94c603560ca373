//! Python: modules are files, packages folders with `__init__.py` or without.

mod roots;
mod standard;

use languages::symbols::{Interface, Symbol};

pub(crate) use roots::{Packages, clues};

use super::{DEFAULT, Family, FreeNames, Located, Rules};
use crate::paths::{Paths, folder, join, name};
use crate::repository::Repository;
use crate::source_file::SourceFile;
use crate::value::Module;

pub(super) const RULES: Rules = Rules {
    family: Family::Python,
    languages: &["python"],
    modules,
    submodule,
    exported,
    in_star,
    members_visible_in_body: true,
    imports_pass_on: true,
    parameters_reassigned: true,
    free_names: FreeNames::Builtin,
    call_member: Some("__call__"),
    constructors: &["__init__", "__init_subclass__", "__new__", "__post_init__"],
    content_members: &[
        "__aenter__", "__enter__", "__next__", "get", "pop", "popleft", "result", "setdefault",
    ],
    builtin_members: BUILTIN_MEMBERS,
    ..DEFAULT
};

/// Endings of its files.
pub(crate) const ENDS: &[&str] = &[".py", ".pyi", ".pyx"];

/// Finds the modules of an absolute or relative path. Names at its end that are neither files nor folders are left as members.
fn modules<'p>(repository: &Repository, from: u32, path: &'p str) -> Vec<Located<'p>> {
    let paths = &repository.paths;
    let dots = path.bytes().take_while(|byte| *byte == b'.').count();
    let names: Vec<&str> = path[dots..].split('.').filter(|name| !name.is_empty()).collect();
    if dots > 0 {
        let mut base = folder(paths.path(from));
        for _ in 1..dots {
            if base.is_empty() {
                return Vec::new();
            }
            base = folder(base);
        }
        return along(paths, base, &names).into_iter().collect();
    }
    let found = roots::root(repository, from, &names).and_then(|root| along(paths, &root, &names));
    found.into_iter().collect()
}

fn has_init(paths: &Paths, folder: &str) -> bool {
    !folder.is_empty() && init(paths, folder).is_some()
}

fn has_module(paths: &Paths, folder: &str, name: &str) -> bool {
    let path = join(folder, name);
    init(paths, &path).is_some() || file(paths, &path).is_some()
}

fn has_folder(paths: &Paths, folder: &str, name: &str) -> bool {
    paths.folder(Family::Python, &join(folder, name)).is_some()
}

fn init(paths: &Paths, folder: &str) -> Option<u32> {
    file(paths, &join(folder, "__init__"))
}

fn file(paths: &Paths, path: &str) -> Option<u32> {
    ENDS.iter().find_map(|end| paths.file(Family::Python, &format!("{path}{end}")))
}

/// Follows a path of names from a folder to a module.
fn along<'p>(paths: &Paths, base: &str, names: &[&'p str]) -> Option<Located<'p>> {
    let mut module = match init(paths, base) {
        Some(init) if !base.is_empty() => Some(Module::File(init)),
        _ => paths.folder(Family::Python, base),
    };
    let mut at = base.to_owned();
    for (depth, name) in names.iter().enumerate() {
        let path = join(&at, name);
        let inner = module_at(paths, &path);
        match inner {
            Some(inner) => module = Some(inner),
            None if depth > 0 => {
                return module.map(|module| Located { module, rest: names[depth..].to_vec() });
            }
            None => return None,
        }
        at = path;
    }
    module.map(Located::whole)
}

fn module_at(paths: &Paths, path: &str) -> Option<Module> {
    let found = init(paths, path).or_else(|| file(paths, path)).map(Module::File);
    found.or_else(|| paths.folder(Family::Python, path))
}

fn submodule(repository: &Repository, module: Module, inner: &str) -> Option<Module> {
    let paths = &repository.paths;
    let base = match module {
        Module::File(file) => {
            let path = paths.path(file);
            name(path).starts_with("__init__.").then(|| folder(path))?
        }
        Module::Folder { file, bytes } => paths.folder_path(file, bytes),
        Module::Package(_) => return None,
    };
    module_at(paths, &join(base, inner))
}

/// Every name of a file can be imported from it.
fn exported(_: &SourceFile, _: &Symbol) -> bool {
    true
}

/// Checks whether an import of all names binds a name: those in `__all__`, which are listed as exports; without it, those that do not begin
/// with an underscore.
fn in_star(interface: &Interface, name: &str) -> bool {
    match interface.exports.is_empty() {
        true => !name.starts_with('_'),
        false => interface.exports.iter().any(|export| interface.arena.text(export.name) == name),
    }
}

/// Members of `str`, `bytes`, `list`, `dict`, `set`, files, and of what the standard library is used for most.
const BUILTIN_MEMBERS: &[&str] = &[
    "acquire", "add", "append", "appendleft", "as_integer_ratio", "bit_length", "cancel", "capitalize",
    "casefold", "center", "clear", "close", "copy", "count", "decode", "difference", "discard", "done",
    "encode", "end", "endswith", "error", "exists", "expandtabs", "extend", "fileno", "find", "findall",
    "flush", "format", "format_map", "fromkeys", "get", "group", "groups", "index", "info", "insert",
    "intersection", "isalnum", "isalpha", "isascii", "isatty", "isdecimal", "isdigit", "isdisjoint",
    "isidentifier", "islower", "isnumeric", "isprintable", "isspace", "issubset", "issuperset", "istitle",
    "isupper", "items", "join", "keys", "ljust", "lower", "lstrip", "maketrans", "match", "mkdir", "name",
    "open", "partition", "pop", "popitem", "popleft", "put", "read", "readable", "readline", "readlines",
    "release", "remove", "removeprefix", "removesuffix", "replace", "result", "reverse", "rfind", "rindex",
    "rjust", "rpartition", "rsplit", "rstrip", "run", "search", "seek", "send", "set", "setdefault", "sort",
    "span", "split", "splitlines", "start", "startswith", "stop", "strip", "sub", "swapcase",
    "symmetric_difference", "tell", "title", "tobytes", "translate", "truncate", "union", "update", "upper",
    "values", "wait", "warning", "writable", "write", "writelines", "zfill",
];
