//! JavaScript and TypeScript: modules are files, found by relative paths or by the folders of a monorepo's packages.

use super::{DEFAULT, Family, FreeNames, Located, Merging, Rules};
use crate::paths::{Paths, folder, join, relative};
use crate::repository::Repository;
use crate::value::Module;

pub(super) const RULES: Rules = Rules {
    family: Family::EcmaScript,
    languages: &["javascript", "tsx", "typescript"],
    modules,
    exported: |source, symbol| symbol.exported || is_script(source),
    merging: Merging::InScope,
    functions_are_types: true,
    free_names: FreeNames::Builtin,
    constructors: &["constructor"],
    content_members: &["at", "find", "findLast", "get", "next", "pop", "shift"],
    builtin_members: BUILTIN_MEMBERS,
    ..DEFAULT
};

/// What may be left out at the end of a module's path, the likeliest first.
const ENDS: &[&str] = &[".ts", ".tsx", ".d.ts", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"];
/// Endings of compiled files, with those of the sources they are made of.
const COMPILED: &[(&str, &[&str])] =
    &[(".js", &[".ts", ".tsx"]), (".jsx", &[".tsx"]), (".mjs", &[".mts", ".ts"]), (".cjs", &[".cts", ".ts"])];
/// Folders that hold the packages of a monorepo.
const PACKAGES: &[&str] = &["packages", "libs", "apps", "modules", "crates", "plugins", ""];

/// A declaration file without imports and exports declares for all; such names are reached by paths only here.
fn is_script(source: &crate::repository::SourceFile) -> bool {
    source.path.ends_with(".d.ts")
}

fn modules<'p>(repository: &Repository, from: u32, path: &'p str) -> Vec<Located<'p>> {
    let paths = &repository.paths;
    let found = if path.starts_with('.') {
        relative(folder(paths.path(from)), path).and_then(|path| file(paths, &path))
    } else {
        aliased(paths, from, path).or_else(|| package(paths, path))
    };
    found.map(|file| Located::whole(Module::File(file))).into_iter().collect()
}

/// The file that a path without its ending names.
fn file(paths: &Paths, path: &str) -> Option<u32> {
    let exact = |path: &str| paths.file(Family::EcmaScript, path);
    let with_end = |path: &str| ENDS.iter().find_map(|end| exact(&format!("{path}{end}")));
    let compiled = || {
        COMPILED.iter().find_map(|(end, sources)| {
            let stem = path.strip_suffix(end)?;
            sources.iter().find_map(|source| exact(&format!("{stem}{source}")))
        })
    };
    exact(path).or_else(compiled).or_else(|| with_end(path)).or_else(|| with_end(&join(path, "index")))
}

/// `@/a`, `~/a` and `#a`, as most set-ups have them: below `src` of a folder around, or that folder itself; and paths from a folder
/// around, such as `src/a`.
fn aliased(paths: &Paths, from: u32, path: &str) -> Option<u32> {
    let marked = ["@/", "~/", "#/", "#", "$lib/"].iter().find_map(|mark| path.strip_prefix(mark));
    let rest = marked.unwrap_or(path);
    if marked.is_none() && (path.starts_with('@') || !path.contains('/')) {
        return None;
    }
    let mut around = folder(paths.path(from));
    loop {
        if marked.is_some()
            && let Some(found) = file(paths, &join(&join(around, "src"), rest))
        {
            return Some(found);
        }
        if let Some(found) = file(paths, &join(around, rest)) {
            return Some(found);
        }
        if around.is_empty() {
            return None;
        }
        around = folder(around);
    }
}

/// `@scope/name/rest` or `name/rest`: the folder of a package that is called so.
fn package(paths: &Paths, path: &str) -> Option<u32> {
    let plain =
        path.strip_prefix('@').and_then(|scoped| scoped.split_once('/')).map_or(path, |(_, name)| name);
    let (name, rest) = plain.split_once('/').unwrap_or((plain, ""));
    if name.is_empty() {
        return None;
    }
    for packages in PACKAGES {
        let root = join(packages, name);
        if paths.folder(Family::EcmaScript, &root).is_none() {
            continue;
        }
        let inner = if rest.is_empty() { "index" } else { rest };
        for sources in ["src", "", "lib", "source"] {
            if let Some(found) = file(paths, &join(&join(&root, sources), inner)) {
                return Some(found);
            }
        }
    }
    None
}

/// Members of arrays, strings, maps, sets, promises, functions, of the browser's and Node's types that are used most.
const BUILTIN_MEMBERS: &[&str] = &[
    "abort",
    "add",
    "addEventListener",
    "all",
    "append",
    "appendChild",
    "apply",
    "arrayBuffer",
    "assign",
    "at",
    "bind",
    "blob",
    "body",
    "call",
    "catch",
    "charAt",
    "charCodeAt",
    "clear",
    "clone",
    "close",
    "codePointAt",
    "concat",
    "constructor",
    "cookie",
    "copyWithin",
    "create",
    "delete",
    "description",
    "dispatchEvent",
    "emit",
    "end",
    "endsWith",
    "enqueue",
    "entries",
    "error",
    "every",
    "exec",
    "fill",
    "filter",
    "finally",
    "find",
    "findIndex",
    "findLast",
    "flags",
    "flat",
    "flatMap",
    "forEach",
    "formData",
    "from",
    "get",
    "getAttribute",
    "getElementById",
    "getReader",
    "getTime",
    "global",
    "has",
    "hasOwnProperty",
    "headers",
    "includes",
    "indexOf",
    "info",
    "insertBefore",
    "isArray",
    "join",
    "json",
    "key",
    "keys",
    "lastIndexOf",
    "length",
    "localeCompare",
    "log",
    "map",
    "match",
    "matchAll",
    "message",
    "method",
    "mock",
    "mockReturnValue",
    "name",
    "next",
    "normalize",
    "now",
    "off",
    "ok",
    "on",
    "once",
    "padEnd",
    "padStart",
    "parse",
    "pipe",
    "pop",
    "preventDefault",
    "prototype",
    "push",
    "querySelector",
    "race",
    "read",
    "reduce",
    "reduceRight",
    "reject",
    "remove",
    "removeChild",
    "removeEventListener",
    "repeat",
    "replace",
    "replaceAll",
    "resolve",
    "reverse",
    "search",
    "set",
    "setAttribute",
    "shift",
    "signal",
    "size",
    "slice",
    "some",
    "sort",
    "splice",
    "split",
    "stack",
    "startsWith",
    "status",
    "stringify",
    "subarray",
    "substring",
    "test",
    "text",
    "then",
    "toFixed",
    "toISOString",
    "toJSON",
    "toLowerCase",
    "toString",
    "toUpperCase",
    "trim",
    "trimEnd",
    "trimStart",
    "type",
    "unshift",
    "url",
    "value",
    "valueOf",
    "values",
    "warn",
    "write",
];
