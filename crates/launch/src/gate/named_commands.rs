//! Checks that a repository has the script, target, recipe, package or file that a command names.

use super::shell::Command;
use crate::evidence::{Evidence, path_in_code};
use crate::issue::quote;
use crate::manifest::Ecosystem;

/// A requirement of a command that the repository does not meet.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Missing {
    /// The reason why the command does not exist.
    pub(super) what: String,
    /// `true` if nothing else can provide it, as an installed program could.
    pub(super) is_certain: bool,
}

/// Subcommands of Cargo whose targets and packages are those of the workspace, with their short names.
const CARGO_COMMANDS: &[&str] =
    &["build", "b", "run", "r", "test", "t", "check", "c", "bench", "clippy", "doc", "d"];
/// Files of tools that generate makefiles. With them, the makefiles of the repository do not list all targets.
const MAKEFILE_GENERATORS: &[&str] = &[
    "CMakeLists.txt", "configure", "configure.ac", "configure.in", "Makefile.am", "Makefile.in",
    "Makefile.PL", "meson.build",
];
/// Extensions of scripts.
const SCRIPTS: &[&str] = &[".sh", ".py", ".js", ".ts", ".rb", ".pl"];

/// Returns the requirement of a command that the repository does not meet; `None` if it meets all, or that cannot be decided. `current` is
/// the folder in which the command runs, `None` if it is not known.
///
/// Only names that a manifest must declare are looked up. Runners that also run installed or downloaded programs, such as `npx`,
/// `uv run`, `poetry run` and `dotnet`, are not checked.
pub(super) fn missing(command: &Command, current: Option<&str>, evidence: &dyn Evidence) -> Option<Missing> {
    let (program, arguments) = command.words.split_first()?;
    match program.as_str() {
        "npm" | "pnpm" | "yarn" | "bun" => missing_script(program, arguments, evidence),
        "make" => certainly(missing_target(arguments, evidence)),
        "just" => certainly(missing_recipe(arguments, evidence)),
        "cargo" => certainly(missing_cargo_target(arguments, evidence)),
        "sh" | "bash" | "python" | "python3" | "node" | "ruby" | "perl" | "deno" => {
            let script = arguments.first().filter(|argument| !argument.starts_with('-'))?;
            certainly(missing_file(script, current?, evidence))
        }
        program => certainly(missing_file(program, current?, evidence)),
    }
}

fn certainly(what: Option<String>) -> Option<Missing> {
    what.map(|what| Missing { what, is_certain: true })
}

fn missing_script(program: &str, arguments: &[String], evidence: &dyn Evidence) -> Option<Missing> {
    let scripts = &evidence.commands().scripts;
    let (name, is_run) = match arguments {
        [run, name, ..] if run == "run" || run == "run-script" => (name, true),
        // Bun has a command `test` of its own, and npm starts `server.js` without a script.
        [name, ..] if name == "test" && program != "bun" => (name, false),
        [name, ..] if name == "start" && !evidence.has_path_ending("server.js") => (name, false),
        _ => return None,
    };
    // Yarn and Bun run installed programs in the same way, and Bun runs files, too.
    let runs_others = is_run && matches!(program, "yarn" | "bun");
    let is_file = runs_others && name.contains('.');
    // Without a manifest, the page is about the reader's own project.
    let is_missing = !scripts.is_empty()
        && is_name(name)
        && !is_file
        && !scripts.values().any(|names| names.contains(name));
    is_missing.then(|| Missing {
        what: format!("no `package.json` has the script {}", quote(name)),
        is_certain: !runs_others,
    })
}

fn missing_target(arguments: &[String], evidence: &dyn Evidence) -> Option<String> {
    let makefiles = &evidence.commands().make_targets;
    if makefiles.is_empty()
        || makefiles.values().any(Option::is_none)
        || arguments.iter().any(|one| one.starts_with('-'))
        || MAKEFILE_GENERATORS.iter().any(|name| evidence.has_path_ending(name))
    {
        return None;
    }
    // Make has built-in rules for files.
    let is_known = |name: &String| {
        name.contains('.')
            || makefiles.values().flatten().any(|targets| targets.contains(name))
            || ["", ".c", ".cpp", ".cc", ".sh"].iter().any(|end| evidence.may_exist(&format!("{name}{end}")))
    };
    let name = arguments.iter().find(|name| is_name(name) && !is_known(name))?;
    Some(format!("no makefile has the target {}", quote(name)))
}

fn missing_recipe(arguments: &[String], evidence: &dyn Evidence) -> Option<String> {
    let files = &evidence.commands().recipes;
    let name = arguments.first().filter(|name| is_name(name))?;
    let is_known =
        files.values().any(|recipes| recipes.as_ref().is_none_or(|recipes| recipes.contains(name)));
    (!files.is_empty() && !is_known).then(|| format!("no justfile has the recipe {}", quote(name)))
}

fn missing_cargo_target(arguments: &[String], evidence: &dyn Evidence) -> Option<String> {
    // `cargo +nightly build`
    let arguments = match arguments.split_first() {
        Some((toolchain, rest)) if toolchain.starts_with('+') => rest,
        _ => arguments,
    };
    let own = arguments.iter().take_while(|argument| *argument != "--").collect::<Vec<_>>();
    let is_of_workspace = own.first().is_some_and(|command| CARGO_COMMANDS.contains(&command.as_str()));
    let is_elsewhere = own.iter().any(|one| one.starts_with("--manifest-path") || one.as_str() == "-C");
    let has_packages = evidence.packages().iter().any(|package| package.ecosystem == Ecosystem::Cargo);
    if !is_of_workspace || is_elsewhere || !has_packages {
        return None;
    }
    let pairs = own.iter().zip(own.iter().skip(1));
    pairs.filter(|(_, name)| is_name(name)).find_map(|(option, name)| {
        let folder = match option.as_str() {
            "--bin" => "src/bin",
            "--example" => "examples",
            "--test" => "tests",
            "--bench" => "benches",
            "-p" | "--package" => {
                let is_known = evidence.packages().iter().any(|package| package.name == **name);
                return (!is_known).then(|| format!("the workspace has no package {}", quote(name)));
            }
            _ => return None,
        };
        let mut by_folder = [format!("{folder}/{name}.rs"), format!("{folder}/{name}/main.rs")].into_iter();
        let is_known = evidence.commands().cargo_targets.contains(*name)
            || by_folder.any(|path| evidence.has_path_ending(&path));
        (!is_known).then(|| format!("no package has {} {}", option.trim_start_matches('-'), quote(name)))
    })
}

/// Returns the script that a command runs if it is missing from the repository although it should be there: its folder exists, and is not
/// one that a build creates.
fn missing_file(program: &str, current: &str, evidence: &dyn Evidence) -> Option<String> {
    let path = path_in_code(program)?;
    let below = if current.is_empty() { path.to_owned() } else { format!("{current}/{path}") };
    if evidence.may_exist(&below) || evidence.has_path_ending(path) {
        return None;
    }
    let (folder, _) = below.rsplit_once('/')?;
    let is_script = SCRIPTS.iter().any(|end| path.ends_with(end));
    let is_ours = is_script && evidence.exists(folder) && !folder.starts_with('.');
    is_ours.then(|| format!("the repository has no {}", quote(path)))
}

/// Returns `true` if an argument is a plain name, and neither an option nor a placeholder.
fn is_name(argument: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':' | '.');
    argument.starts_with(|c: char| c.is_ascii_lowercase()) && argument.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Questions;
    use crate::evidence::tests::evidence;
    use crate::gate::shell::of_line;

    const FILES: &[(&str, &str)] = &[
        ("Cargo.toml", "[package]\nname = \"shop\"\n"),
        ("Makefile", "build:\n\tcargo build\n"),
        ("justfile", "build:\n  cargo build\n"),
        ("package.json", "{ \"scripts\": { \"dev\": \"vite\" } }"),
        ("scripts/load.sh", "echo\n"),
        ("tool.c", "int main;\n"),
    ];

    /// Returns whether the missing program of each command is certain to be missing; `None` if it is not missing.
    fn certainty(line: &str, more: &[(&str, &str)]) -> Option<bool> {
        let facts = evidence(Questions::default(), &[FILES, more].concat(), &[]);
        let words = of_line(line).into_iter().next().unwrap();
        missing(&Command { words, line: 1 }, Some(""), &facts).map(|missing| missing.is_certain)
    }

    #[test]
    fn what_no_manifest_names_is_missing() {
        for line in [
            "npm run deploy", "npm test", "npm start", "pnpm run deploy --fast", "yarn test", "make deploy",
            "just deploy", "cargo test -p gone", "cargo +nightly run --bin gone", "cargo b --example gone",
            "sh scripts/gone.sh", "./scripts/gone.sh",
        ] {
            assert_eq!(certainty(line, &[]), Some(true), "{line}");
        }
        for line in ["yarn run deploy", "bun run deploy"] {
            assert_eq!(certainty(line, &[]), Some(false), "{line}");
        }
    }

    #[test]
    fn what_others_provide_is_not() {
        for line in [
            "npm run dev",
            "npm install",
            "npm ci",
            "npm --prefix web run deploy",
            "npm run --workspaces deploy",
            "pnpm --filter web run deploy",
            "pnpm install",
            "yarn add x",
            "yarn tsc",
            "bun run index.ts",
            "bun test",
            "bun install",
            "make build",
            "make -C sub deploy",
            "make -f other.mk deploy",
            "make tool",
            "make x.o",
            "make DEBUG=1",
            "just build release",
            "just --list",
            "cargo update -p serde",
            "cargo tree -p serde",
            "cargo add -p shop serde",
            "cargo install --bin gone other",
            "cargo build --manifest-path x/Cargo.toml -p other",
            "cargo run -p shop -- -p gone",
            "cargo nextest run -p gone",
            "poe test",
            "uv run gone.py",
            "poetry run gone",
            "go run ./...",
            "go test ./gone/...",
            "dotnet run --project src/Gone",
            "node dist/index.js",
            "node packages/a/dist/cli.js",
            "python -m gone",
        ] {
            assert_eq!(certainty(line, &[]), None, "{line}");
        }
    }

    #[test]
    fn generated_makefiles_may_have_any_target() {
        assert_eq!(certainty("make deploy", &[("CMakeLists.txt", "project(x)\n")]), None);
        assert_eq!(certainty("npm start", &[("server.js", "run();\n")]), None);
    }
}
