//! The rules of ARCHITECTURE.md that the compiler cannot check, as tests over the source text.

mod architecture;
mod circles;
mod language;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Module rows of packages that have several, from top to bottom. Modules of one row do not use one another. Between packages,
/// Cargo enforces the order.
const ROWS: &[(&str, &[&[&str]])] = &[
    ("crates/gate/src", &[&["modules"], &["tools"], &["app"]]),
    (
        "modules/instructions/src",
        &[
            &["commands", "dashboard", "pages", "routes"],
            &["tools"],
            &["bound_folders", "method_times", "usage_writer"],
            &["catalog"],
        ],
    ),
    ("modules/launch/src", &[&["commands", "pages"], &["routes"], &["tools"], &["runs"]]),
    ("modules/triage/src", &[&["command", "pages"], &["tools"], &["findings"]]),
    ("crates/engine/src", &[&["navigation", "highlighting", "left_out"], &["indexing", "search"], &["jobs"]]),
    (
        "crates/platform/src",
        &[
            &["telemetry"],
            &["outbound"],
            &["disk_space", "failpoints", "file_lock", "process"],
            &["safe_open", "sha256", "task"],
        ],
    ),
];

/// Files without a row: the value that a module hands over refers to all rows, and they to it.
const BETWEEN_ROWS: &[&str] = &["crates/gate/src/module.rs"];

/// Crates that only some paths may name.
const FENCED: &[(&str, &[&str])] = &[
    ("axum", &["crates/surfaces/src/", "modules/"]),
    ("maud", &["crates/surfaces/src/http/pages/", "modules/"]),
    ("rmcp", &["crates/surfaces/src/"]),
    ("tower", &["crates/surfaces/src/"]),
    ("tower_http", &["crates/surfaces/src/"]),
    ("hyper", &["crates/surfaces/src/"]),
    ("clap", &["crates/surfaces/src/", "crates/bench/src/command", "modules/"]),
    ("tokio_rustls", &["crates/surfaces/src/http/", "crates/platform/src/outbound/"]),
    ("prometheus_client", &["crates/platform/src/telemetry/metrics.rs"]),
    ("sqlx", &["crates/store/"]),
    ("rusqlite", &["crates/store/src/portable/"]),
    ("pgvector", &["crates/store/"]),
    ("reqwest", &["crates/platform/src/outbound.rs", "crates/platform/src/outbound/"]),
    ("jsonwebtoken", &["crates/tenancy/src/oauth/"]),
    ("ort", &["crates/embedding/src/onnx.rs"]),
    ("tokenizers", &["crates/embedding/src/tokenize.rs"]),
    ("tree_sitter", &["crates/languages/"]),
    ("notify", &["crates/engine/src/indexing/watch.rs"]),
    (
        "seccompiler",
        &["crates/platform/src/process/sandbox.rs", "crates/platform/src/process/confined/restrictions.rs"],
    ),
    (
        "landlock",
        &["crates/platform/src/process/sandbox.rs", "crates/platform/src/process/confined/restrictions.rs"],
    ),
    ("gix", &["crates/history/"]),
    ("jsonc_parser", &["crates/surfaces/src/cli/agents/edit_json.rs"]),
    ("toml_edit", &["crates/surfaces/src/cli/agents/edit_toml.rs"]),
    ("yaml_edit", &["crates/surfaces/src/cli/agents/edit_yaml.rs"]),
    ("imara_diff", &["crates/history/"]),
];

const FILE_LINES_MAX: usize = 500;

/// Words in a file name that do not tell its purpose.
const EMPTY_NAMES: &[&str] =
    &["utils", "util", "helpers", "helper", "common", "core", "manager", "service", "misc"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn files(folder: &str, extension: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open = vec![root().join(folder)];
    while let Some(folder) = open.pop() {
        let mut entries: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == extension) {
                let name = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(!found.is_empty(), "no .{extension} files below {folder}");
    found
}

/// The text of a file without its unit tests, which are at the end.
fn production(text: &str) -> &str {
    text.find("\n#[cfg(test)]\nmod tests").map_or(text, |end| &text[..end])
}

/// Path and text of every source file of the product.
fn sources() -> Vec<(String, String)> {
    let mut found = files("src", "rs");
    found.extend(files("crates", "rs"));
    found.extend(files("modules", "rs"));
    found
}

/// The folders of all packages but the root's.
fn packages() -> Vec<String> {
    let folders = |above: &'static str| {
        let entries = fs::read_dir(root().join(above)).unwrap().map(|entry| entry.unwrap().file_name());
        entries.map(move |name| format!("{above}/{}", name.to_string_lossy()))
    };
    let mut found: Vec<String> = folders("crates").chain(folders("modules")).collect();
    found.sort();
    found
}

fn assert_none(violations: &[String]) {
    assert!(violations.is_empty(), "\n{}", violations.join("\n"));
}

#[test]
fn a_module_uses_only_rows_below_it() {
    let mut violations = Vec::new();
    for (folder, rows) in ROWS {
        let row_of: BTreeMap<&str, usize> = rows
            .iter()
            .enumerate()
            .flat_map(|(row, names)| names.iter().map(move |name| (*name, row)))
            .collect();
        for (path, text) in files(folder, "rs") {
            let relative = path.strip_prefix(folder).unwrap().trim_start_matches('/');
            let module = relative.split(['/', '.']).next().unwrap();
            if matches!(module, "lib" | "main") || BETWEEN_ROWS.contains(&path.as_str()) {
                continue;
            }
            let row = *row_of.get(module).unwrap_or_else(|| panic!("{path}: module `{module}` has no row"));
            for (number, line) in production(&text).lines().enumerate() {
                let code = line.split("//").next().unwrap_or_default();
                for used in code.split("crate::").skip(1) {
                    let used =
                        used.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
                    if let Some(used_row) = row_of.get(used)
                        && used != module
                        && *used_row <= row
                    {
                        violations.push(format!("{path}:{}: `{module}` must not use `{used}`", number + 1));
                    }
                }
            }
        }
    }
    assert_none(&violations);
}

#[test]
fn fenced_crates_stay_inside_their_fence() {
    let mut violations = Vec::new();
    for (path, text) in sources() {
        for (name, allowed) in FENCED {
            if allowed.iter().any(|prefix| path.starts_with(prefix)) {
                continue;
            }
            for (number, line) in production(&text).lines().enumerate() {
                let code = line.split("//").next().unwrap_or_default();
                let named = code.match_indices(&format!("{name}::")).any(|(at, _)| {
                    !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':')
                });
                if named {
                    violations.push(format!("{path}:{}: names `{name}`", number + 1));
                }
            }
        }
    }
    assert_none(&violations);
}

/// Files that start programs. All others use `process::Program`, which ends the whole process tree.
const PROGRAM_STARTERS: &[&str] = &[
    "crates/platform/src/process.rs",
    // It is what ends the whole tree of a command, and starts that command.
    "crates/platform/src/process/confined/supervisor.rs",
    // The embedded server outlives the process that starts it and stops with its last user; its supervisor enforces that.
    "crates/store/src/postgres/embedded/shared_server.rs",
    "crates/store/src/postgres/embedded/tied_child.rs",
    // Measures a whole server, which ends its own children.
    "crates/bench/src/scale/start.rs",
];

#[test]
fn programs_are_started_in_one_place() {
    let mut violations = Vec::new();
    for (path, text) in sources() {
        let is_test_file = ["tests.rs", "scenarios.rs"].iter().any(|end| path.ends_with(end));
        if is_test_file || PROGRAM_STARTERS.contains(&path.as_str()) {
            continue;
        }
        for (number, line) in production(&text).lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            if code.contains("Command::new(") {
                violations.push(format!("{path}:{}: starts a program; use `process::Program`", number + 1));
            }
        }
    }
    for path in PROGRAM_STARTERS {
        assert!(root().join(path).exists(), "{path} does not exist");
    }
    assert_none(&violations);
}

#[test]
fn every_file_says_why_it_exists_and_stays_short() {
    let mut violations = Vec::new();
    for folder in ["src", "crates", "modules", "tests", "benches"] {
        for (path, text) in files(folder, "rs") {
            if !text.starts_with("//! ") && !text.starts_with("//! \n") {
                violations.push(format!("{path}: the first line must be `//!` and say why the file exists"));
            }
            let lines = production(&text).lines().count();
            if matches!(folder, "src" | "crates" | "modules") && lines > FILE_LINES_MAX {
                violations.push(format!("{path}: {lines} lines without tests, over {FILE_LINES_MAX}"));
            }
            let empty = path.split(['/', '.']).find(|part| EMPTY_NAMES.contains(part));
            if let Some(word) = empty {
                violations.push(format!("{path}: `{word}` does not tell the purpose"));
            }
        }
    }
    assert_none(&violations);
}

/// Files that use `Scope::ALL` to list the existing scopes. Scopes are granted by name, so that no key gets a scope that is
/// added later.
const SCOPE_LISTERS: &[&str] = &["crates/tenancy/src/oauth/resource.rs", "crates/surfaces/src/cli/keys.rs"];

#[test]
fn scopes_are_granted_by_name() {
    let mut violations = Vec::new();
    for (path, text) in sources() {
        if path.contains("crates/languages/") || SCOPE_LISTERS.contains(&path.as_str()) {
            continue;
        }
        for (number, line) in production(&text).lines().enumerate() {
            if line.contains("Scope::ALL") {
                violations.push(format!("{path}:{}: name the granted scopes", number + 1));
            }
        }
    }
    assert_none(&violations);
}

/// Words of modules that the gate and the surfaces do not use, and the places that may: scopes are one list, and the queue and the time
/// limit of launch runs are settings of the server.
const MODULE_WORDS: &[&str] = &["triage", "launch"];
const MODULE_WORDS_IN: &[(&str, &str)] = &[
    ("crates/surfaces/src/http/pages/administration/keys.rs", "scope::"),
    ("crates/gate/src/app/admission/mod.rs", "launch"),
    ("crates/gate/src/tools/call.rs", "bulkhead::launch"),
    ("crates/gate/src/tools/admin/cache_gc.rs", "launch_keep_days"),
];

#[test]
fn the_gate_and_the_surfaces_name_no_module() {
    let mut violations = Vec::new();
    for (path, text) in files("crates/gate/src", "rs").into_iter().chain(files("crates/surfaces/src", "rs")) {
        for (number, line) in production(&text).lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            let words: Vec<String> =
                code.to_lowercase().split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect();
            let is_allowed = MODULE_WORDS_IN
                .iter()
                .any(|(file, part)| path == *file && code.to_lowercase().contains(part));
            if !is_allowed && words.iter().any(|word| MODULE_WORDS.contains(&word.as_str())) {
                violations.push(format!("{path}:{}: names a module", number + 1));
            }
        }
    }
    assert_none(&violations);
}

/// Files that may know record sources only by their root, not by name.
const SOURCE_AGNOSTIC: &[&str] = &[
    "crates/gate/src/app/index_job.rs",
    "crates/gate/src/tools/search/show_file.rs",
    "crates/surfaces/src/cli/rebuild.rs",
];

#[test]
fn record_sources_are_not_named() {
    let mut violations = Vec::new();
    for (path, text) in sources() {
        let is_agnostic =
            SOURCE_AGNOSTIC.contains(&path.as_str()) || path.starts_with("crates/engine/src/indexing/");
        for (number, line) in production(&text).lines().enumerate() {
            if is_agnostic && line.to_lowercase().contains("triage") {
                violations.push(format!("{path}:{}: names a record source", number + 1));
            }
        }
    }
    assert_none(&violations);
}

#[test]
fn no_unfinished_code_is_left() {
    let mut violations = Vec::new();
    for (path, text) in sources() {
        for (number, line) in production(&text).lines().enumerate() {
            for mark in ["todo!(", "unimplemented!(", "// TODO", "// FIXME", "#[allow("] {
                if line.contains(mark) {
                    violations.push(format!("{path}:{}: `{mark}`", number + 1));
                }
            }
        }
    }
    assert_none(&violations);
}

#[test]
fn documents_name_only_modules_that_exist() {
    let mut violations = Vec::new();
    for document in ["README.md", "ARCHITECTURE.md"] {
        let text = fs::read_to_string(root().join(document)).unwrap();
        for word in text.split(|c: char| c.is_whitespace() || "()`,;|".contains(c)) {
            let looks_like_path =
                ["src/", "crates/", "modules/", "tests/", "migrations/", "models/", "contracts/", "benches/"]
                    .iter()
                    .any(|prefix| word.starts_with(prefix));
            if looks_like_path && !word.contains(['*', '<', '{']) {
                let path = word.trim_end_matches(['.', ':']);
                if !root().join(path).exists() {
                    violations.push(format!("{document}: `{path}` does not exist"));
                }
            }
        }
    }
    assert_none(&violations);
}

#[test]
fn every_dependency_has_a_comment() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let mut in_dependencies = false;
    let mut violations = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            // Other packages refer to the workspace's entries.
            in_dependencies = line == "[workspace.dependencies]";
        } else if in_dependencies
            && line.contains('=')
            && !line.starts_with('#')
            && !line.contains("path = \"crates/")
            && !line.contains("path = \"modules/")
        {
            // Grammars share one comment, at the first one.
            if !line.contains('#') && !line.starts_with("tree-sitter-") {
                violations.push(format!(
                    "Cargo.toml: `{}` has no comment",
                    line.split('=').next().unwrap_or_default().trim()
                ));
            }
        }
    }
    assert_none(&violations);
}
