//! JavaScript and TypeScript: modules are files, found by relative paths or by the folders of a monorepo's packages.

mod packages;

use std::collections::BTreeSet;

pub(crate) use packages::Packages;

use super::{DEFAULT, Family, FreeNames, Located, Merging, Rules};
use crate::paths::{Paths, folder, join, name, relative};
use crate::repository::Repository;
use crate::value::Module;

pub(super) const RULES: Rules = Rules {
    family: Family::EcmaScript,
    languages: &["javascript", "tsx", "typescript"],
    modules,
    may_be_own: |path| alias(path).is_some(),
    exported: |source, symbol| symbol.exported || is_script(source),
    merging: Merging::InScope,
    functions_are_types: true,
    free_names: FreeNames::Builtin,
    constructors: &["constructor"],
    content_members: &["at", "find", "findLast", "get", "next", "pop", "shift"],
    builtin_members: BUILTIN_MEMBERS,
    ..DEFAULT
};

/// Endings that a module's path may omit, the likeliest first.
const ENDS: &[&str] = &[".ts", ".tsx", ".d.ts", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"];
/// Endings of compiled files, with those of the sources they are made of.
const COMPILED: &[(&str, &[&str])] =
    &[(".js", &[".ts", ".tsx"]), (".jsx", &[".tsx"]), (".mjs", &[".mts", ".ts"]), (".cjs", &[".cts", ".ts"])];
/// Modules of Node itself, which come before all others. Sorted.
const NODE: &[&str] = &[
    "assert", "assert/strict", "async_hooks", "buffer", "child_process", "cluster", "console", "constants",
    "crypto", "dgram", "diagnostics_channel", "dns", "dns/promises", "domain", "events", "fs", "fs/promises",
    "http", "http2", "https", "inspector", "inspector/promises", "module", "net", "os", "path", "path/posix",
    "path/win32", "perf_hooks", "process", "punycode", "querystring", "readline", "readline/promises",
    "repl", "stream", "stream/consumers", "stream/promises", "stream/web", "string_decoder", "sys", "timers",
    "timers/promises", "tls", "trace_events", "tty", "url", "util", "util/types", "v8", "vm", "wasi",
    "worker_threads", "zlib",
];
/// Folders that projects usually name by themselves behind `@`: `@lib/a`.
const NAMED: &[&str] = &[
    "app", "common", "components", "config", "constants", "features", "helpers", "hooks", "layouts", "lib",
    "libs", "models", "modules", "pages", "routes", "server", "services", "shared", "src", "store", "stores",
    "ui", "utils", "views",
];
/// Folders whose folders are packages or whole programs.
const HOLDERS: &[&str] = &[
    "apps", "clients", "crates", "example", "examples", "libs", "modules", "packages", "plugins", "projects",
    "services", "sites", "templates", "workspaces",
];
/// Folders inside of a package that an alias may lead to.
const BASES: &[&str] = &["", "app", "lib", "src"];

/// Checks whether a file is a declaration file. Without imports and exports, it declares names for all files; here only paths reach them.
fn is_script(source: &crate::source_file::SourceFile) -> bool {
    source.path.ends_with(".d.ts")
}

fn modules<'p>(repository: &Repository, from: u32, path: &'p str) -> Vec<Located<'p>> {
    let paths = &repository.paths;
    let found = if path.starts_with('.') {
        relative_file(paths, from, path)
    } else if path.starts_with("node:") || NODE.binary_search(&path).is_ok() {
        None
    } else {
        let packages = repository.ecmascript.get_or_init(|| Packages::new(repository));
        aliased(paths, from, path).or_else(|| packages.find(paths, path))
    };
    found.map(|file| Located::whole(Module::File(file))).into_iter().collect()
}

/// Finds the file of a path that begins with a dot.
fn relative_file(paths: &Paths, from: u32, path: &str) -> Option<u32> {
    let path = relative(folder(paths.path(from)), path).filter(|_| path.starts_with('.'))?;
    file(paths, &path)
}

/// Checks whether a file is a test, an example or the like.
fn is_test(path: &str) -> bool {
    let is_side = |part: &str| {
        let name = part.trim_matches('_');
        ["bench", "benchmarks", "docs", "e2e", "example", "examples", "scripts", "test", "tests"]
            .contains(&name)
    };
    path.contains(".test.") || path.contains(".spec.") || path.split('/').any(is_side)
}

/// Returns the file that a path without its ending names.
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

/// Expands an alias: `@/a`, `~/a`, `#a`, `$lib/a`, `@lib/a`. Aliases always name files of the repository.
fn alias(path: &str) -> Option<String> {
    if let Some(rest) = ["@/", "~/", "#/", "#"].iter().find_map(|mark| path.strip_prefix(mark)) {
        return Some(rest.to_owned());
    }
    let named = path
        .strip_prefix('@')
        .filter(|rest| rest.split_once('/').is_some_and(|(name, _)| NAMED.contains(&name)));
    named.or_else(|| path.strip_prefix('$').filter(|rest| rest.starts_with("lib/"))).map(str::to_owned)
}

/// Finds the file of an alias, or of a path from the folder of the package, such as `src/a`: the only file with this path in the innermost
/// folder around that is probably a package's and has any.
fn aliased(paths: &Paths, from: u32, path: &str) -> Option<u32> {
    let alias = alias(path);
    if alias.is_none() && (path.starts_with('@') || !path.contains('/')) {
        return None;
    }
    let (rest, bases) = match &alias {
        Some(rest) => (rest.as_str(), BASES),
        None => (path, &["", "src"][..]),
    };
    let own = folder(paths.path(from));
    let mut around = own;
    loop {
        if is_package(paths, own, around) {
            let found: BTreeSet<u32> =
                bases.iter().filter_map(|base| file(paths, &join(&join(around, base), rest))).collect();
            if let Some(first) = found.first() {
                return (found.len() == 1).then_some(*first);
            }
        }
        if around.is_empty() {
            return None;
        }
        around = folder(around);
    }
}

/// Checks whether a folder around another one is probably that of a package: it has sources of its own, or is where packages usually are.
fn is_package(paths: &Paths, own: &str, around: &str) -> bool {
    let inside = own.strip_prefix(around).unwrap_or_default().trim_start_matches('/');
    let holder = name(folder(around));
    around.is_empty()
        || HOLDERS.contains(&holder)
        || (inside.split('/').next() == Some("app") && name(around) != "src")
        || paths.folder(Family::EcmaScript, &join(around, "src")).is_some()
}

/// Members of arrays, strings, maps, sets, promises, functions, of the browser's and Node's types that are used most.
const BUILTIN_MEMBERS: &[&str] = &[
    "abort", "add", "addEventListener", "all", "append", "appendChild", "apply", "arrayBuffer", "assign",
    "at", "bind", "blob", "body", "call", "catch", "charAt", "charCodeAt", "clear", "clone", "close",
    "codePointAt", "concat", "constructor", "cookie", "copyWithin", "create", "delete", "description",
    "dispatchEvent", "emit", "end", "endsWith", "enqueue", "entries", "error", "every", "exec", "fill",
    "filter", "finally", "find", "findIndex", "findLast", "flags", "flat", "flatMap", "forEach", "formData",
    "from", "get", "getAttribute", "getElementById", "getReader", "getTime", "global", "has",
    "hasOwnProperty", "headers", "includes", "indexOf", "info", "insertBefore", "isArray", "join", "json",
    "key", "keys", "lastIndexOf", "length", "localeCompare", "log", "map", "match", "matchAll", "message",
    "method", "mock", "mockReturnValue", "name", "next", "normalize", "now", "off", "ok", "on", "once",
    "padEnd", "padStart", "parse", "pipe", "pop", "preventDefault", "prototype", "push", "querySelector",
    "race", "read", "reduce", "reduceRight", "reject", "remove", "removeChild", "removeEventListener",
    "repeat", "replace", "replaceAll", "resolve", "reverse", "search", "set", "setAttribute", "shift",
    "signal", "size", "slice", "some", "sort", "splice", "split", "stack", "startsWith", "status",
    "stringify", "subarray", "substring", "test", "text", "then", "toFixed", "toISOString", "toJSON",
    "toLowerCase", "toString", "toUpperCase", "trim", "trimEnd", "trimStart", "type", "unshift", "url",
    "value", "valueOf", "values", "warn", "write",
];

#[test]
fn lists_that_are_searched_are_sorted() {
    assert!(NODE.is_sorted());
}
