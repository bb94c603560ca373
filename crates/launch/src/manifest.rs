//! Manifests of packages and build tools: the packages of a repository, and the commands that the manifests name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::pattern::pattern;

/// Longest manifest that is read, in bytes.
pub const MANIFEST_BYTES_MAX: usize = 1 << 20;

/// The registry of packages of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ecosystem {
    /// crates.io.
    Cargo,
    /// npm.
    Npm,
    /// PyPI.
    Python,
    /// Go modules.
    Go,
    /// Packagist.
    Composer,
    /// RubyGems.
    Ruby,
}

/// A package that a repository contains.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Package {
    /// The registry that publishes it.
    pub ecosystem: Ecosystem,
    /// Its name.
    pub name: String,
    /// The name by which code imports it.
    pub import_name: String,
    /// Path of its manifest.
    pub manifest: String,
}

/// The commands that manifests name, by the folder of the manifest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Commands {
    /// Scripts of `package.json`.
    pub scripts: BTreeMap<String, BTreeSet<String>>,
    /// Targets of makefiles. A folder with pattern rules or included files maps to `None`: its targets are not all known.
    pub make_targets: BTreeMap<String, Option<BTreeSet<String>>>,
    /// Recipes of justfiles, in the same way.
    pub recipes: BTreeMap<String, Option<BTreeSet<String>>>,
    /// Programs that packages install.
    pub programs: BTreeSet<String>,
    /// Targets of Cargo packages that manifests name: binaries, examples, tests, benchmarks.
    pub cargo_targets: BTreeSet<String>,
}

/// The contents of manifests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifests {
    /// The packages, sorted.
    pub packages: Vec<Package>,
    /// The commands.
    pub commands: Commands,
    /// Paths of manifests and the licences that they declare.
    pub licences: Vec<(String, String)>,
}

/// Returns `true` if a file is a manifest that [`Manifests::read`] understands.
#[must_use]
pub fn is_manifest(path: &str) -> bool {
    let name = file_name(path);
    matches!(
        name,
        "Cargo.toml"
            | "package.json"
            | "pyproject.toml"
            | "setup.cfg"
            | "go.mod"
            | "composer.json"
            | "Makefile"
            | "makefile"
            | "GNUmakefile"
            | "justfile"
            | "Justfile"
            | ".justfile"
    ) || name.ends_with(".gemspec")
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

impl Manifests {
    /// Reads a manifest; one that cannot be parsed is ignored.
    pub fn read(&mut self, path: &str, text: &str) {
        if text.len() > MANIFEST_BYTES_MAX {
            return;
        }
        match file_name(path) {
            "Cargo.toml" => self.read_cargo(path, text).unwrap_or_default(),
            "package.json" => self.read_npm(path, text).unwrap_or_default(),
            "pyproject.toml" => self.read_pyproject(path, text).unwrap_or_default(),
            "composer.json" => self.read_composer(path, text).unwrap_or_default(),
            "setup.cfg" => self.read_setup(path, text),
            "go.mod" => self.read_go(path, text),
            name if name.ends_with(".gemspec") => self.read_gemspec(path, text),
            name if name.to_lowercase().ends_with("makefile") => {
                self.commands.make_targets.insert(folder(path).to_owned(), make_targets(text));
            }
            name if name.to_lowercase().ends_with("justfile") => {
                self.commands.recipes.insert(folder(path).to_owned(), just_recipes(text));
            }
            _ => {}
        }
    }

    /// Sorts what was read, after the last manifest.
    pub fn finish(&mut self) {
        self.packages.sort();
        self.packages.dedup();
        self.licences.sort();
    }

    fn add_package(&mut self, ecosystem: Ecosystem, name: &str, import_name: String, path: &str) {
        let (name, manifest) = (name.to_owned(), path.to_owned());
        self.packages.push(Package { ecosystem, name, import_name, manifest });
    }

    fn add_licence(&mut self, path: &str, licence: Option<&str>) {
        if let Some(licence) = licence.map(str::trim).filter(|licence| crate::licence::is_expression(licence))
        {
            self.licences.push((path.to_owned(), licence.to_owned()));
        }
    }

    fn read_cargo(&mut self, path: &str, text: &str) -> Option<()> {
        let table: toml::Table = text.parse().ok()?;
        let workspace = table.get("workspace").and_then(|workspace| workspace.get("package"));
        self.add_licence(
            path,
            workspace.and_then(|package| package.get("license")).and_then(toml::Value::as_str),
        );
        for kind in ["bin", "example", "test", "bench"] {
            let targets = table.get(kind).and_then(toml::Value::as_array).into_iter().flatten();
            let names: Vec<&str> = targets.filter_map(|target| target.get("name")?.as_str()).collect();
            self.commands.cargo_targets.extend(names.iter().map(|name| (*name).to_owned()));
            if kind == "bin" {
                self.commands.programs.extend(names.iter().map(|name| (*name).to_owned()));
            }
        }
        let package = table.get("package")?;
        let name = package.get("name")?.as_str()?;
        let library = table.get("lib").and_then(|library| library.get("name")).and_then(toml::Value::as_str);
        self.add_package(Ecosystem::Cargo, name, library.unwrap_or(name).replace('-', "_"), path);
        self.commands.programs.insert(name.to_owned());
        self.commands.cargo_targets.insert(name.to_owned());
        self.add_licence(path, package.get("license").and_then(toml::Value::as_str));
        Some(())
    }

    fn read_npm(&mut self, path: &str, text: &str) -> Option<()> {
        let json: Value = serde_json::from_str(text).ok()?;
        let scripts = json["scripts"].as_object().map(|scripts| scripts.keys().cloned().collect());
        self.commands.scripts.insert(folder(path).to_owned(), scripts.unwrap_or_default());
        let programs = json["bin"].as_object().into_iter().flat_map(|programs| programs.keys().cloned());
        self.commands.programs.extend(programs);
        self.add_licence(path, json["license"].as_str());
        let name = json["name"].as_str()?;
        if json["bin"].is_string() {
            self.commands.programs.insert(file_name(name).to_owned());
        }
        self.add_package(Ecosystem::Npm, name, name.to_owned(), path);
        Some(())
    }

    fn read_pyproject(&mut self, path: &str, text: &str) -> Option<()> {
        let table: toml::Table = text.parse().ok()?;
        let poetry = table.get("tool").and_then(|tool| tool.get("poetry"));
        let project = table.get("project").or(poetry)?;
        let programs = project.get("scripts").and_then(toml::Value::as_table).into_iter().flatten();
        self.commands.programs.extend(programs.map(|(name, _)| name.clone()));
        let licence = project.get("license");
        let text = licence.and_then(|licence| licence.as_str().or_else(|| licence.get("text")?.as_str()));
        self.add_licence(path, text);
        let name = project.get("name")?.as_str()?;
        self.add_package(Ecosystem::Python, name, name.replace(['-', '.'], "_").to_lowercase(), path);
        Some(())
    }

    fn read_composer(&mut self, path: &str, text: &str) -> Option<()> {
        let json: Value = serde_json::from_str(text).ok()?;
        self.add_licence(path, json["license"].as_str());
        let name = json["name"].as_str()?;
        for namespace in json["autoload"]["psr-4"].as_object().into_iter().flat_map(|all| all.keys()) {
            let namespace = namespace.trim_end_matches('\\').to_owned();
            self.add_package(Ecosystem::Composer, name, namespace, path);
        }
        Some(())
    }

    fn read_setup(&mut self, path: &str, text: &str) {
        static NAME: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?m)^name\s*=\s*([A-Za-z0-9_.-]+)\s*$"));
        if let Some(name) = NAME.captures(text).and_then(|found| found.get(1)) {
            let import_name = name.as_str().replace(['-', '.'], "_").to_lowercase();
            self.add_package(Ecosystem::Python, name.as_str(), import_name, path);
        }
    }

    fn read_go(&mut self, path: &str, text: &str) {
        static MODULE: LazyLock<Regex> = LazyLock::new(|| pattern(r#"(?m)^module\s+"?([^\s"]+)"?\s*$"#));
        if let Some(name) = MODULE.captures(text).and_then(|found| found.get(1)) {
            self.add_package(Ecosystem::Go, name.as_str(), name.as_str().to_owned(), path);
        }
    }

    fn read_gemspec(&mut self, path: &str, text: &str) {
        static NAME: LazyLock<Regex> =
            LazyLock::new(|| pattern(r#"(?m)^\s*\w+\.name\s*=\s*["']([A-Za-z0-9_.-]+)["']"#));
        if let Some(name) = NAME.captures(text).and_then(|found| found.get(1)) {
            self.add_package(Ecosystem::Ruby, name.as_str(), name.as_str().replace('-', "/"), path);
        }
    }
}

/// The targets of a makefile; `None` if it includes others or has rules for patterns, so that more may exist.
fn make_targets(text: &str) -> Option<BTreeSet<String>> {
    let mut targets = BTreeSet::new();
    for line in text.lines() {
        if line.starts_with(['\t', '#']) {
            continue;
        }
        if ["include ", "-include ", "sinclude ", "define "].iter().any(|word| line.starts_with(word)) {
            return None;
        }
        let Some((names, rest)) = line.split_once(':') else { continue };
        if rest.starts_with('=') || rest.starts_with(":=") {
            continue;
        }
        if names.contains(['%', '$']) {
            return None;
        }
        if !names.contains('=') {
            targets.extend(names.split_whitespace().map(str::to_owned));
        }
    }
    Some(targets)
}

/// The recipes of a justfile with their aliases; `None` if it imports others.
fn just_recipes(text: &str) -> Option<BTreeSet<String>> {
    static RECIPE: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"^@?([A-Za-z_][A-Za-z0-9_-]*)[^:]*:(?:[^=]|$)"));
    static ALIAS: LazyLock<Regex> = LazyLock::new(|| pattern(r"^alias\s+([A-Za-z_][A-Za-z0-9_-]*)\s*:="));
    let mut recipes = BTreeSet::new();
    for line in text.lines() {
        if line.starts_with("import ") || line.starts_with("import? ") || line.starts_with("mod ") {
            return None;
        }
        let found = ALIAS.captures(line).or_else(|| RECIPE.captures(line));
        recipes.extend(found.and_then(|found| found.get(1)).map(|name| name.as_str().to_owned()));
    }
    Some(recipes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(files: &[(&str, &str)]) -> Manifests {
        let mut manifests = Manifests::default();
        for (path, text) in files {
            assert!(is_manifest(path), "{path}");
            manifests.read(path, text);
        }
        manifests.finish();
        manifests
    }

    #[test]
    fn packages_have_the_names_that_code_imports() {
        let manifests = read(&[
            ("Cargo.toml", "[package]\nname = \"my-shop\"\nlicense = \"MIT\"\n[[bin]]\nname = \"shopd\"\n"),
            ("web/package.json", r#"{ "name": "@acme/shop", "bin": "x.js", "license": "ISC" }"#),
            (
                "py/pyproject.toml",
                "[project]\nname = \"Shop-Tools\"\n[project.scripts]\nshop-cli = \"a:b\"\n",
            ),
            ("go.mod", "module example.com/shop\n\ngo 1.22\n"),
            (
                "composer.json",
                r#"{ "name": "acme/shop", "autoload": { "psr-4": { "Acme\\Shop\\": "src/" } } }"#,
            ),
            ("shop.gemspec", "Gem::Specification.new do |s|\n  s.name = \"acme-shop\"\nend\n"),
            ("old/setup.cfg", "[metadata]\nname = shop-old\n"),
        ]);
        let imported: Vec<_> =
            manifests.packages.iter().map(|one| (one.ecosystem, one.import_name.as_str())).collect();
        assert_eq!(
            imported,
            [
                (Ecosystem::Cargo, "my_shop"),
                (Ecosystem::Npm, "@acme/shop"),
                (Ecosystem::Python, "shop_tools"),
                (Ecosystem::Python, "shop_old"),
                (Ecosystem::Go, "example.com/shop"),
                (Ecosystem::Composer, "Acme\\Shop"),
                (Ecosystem::Ruby, "acme/shop"),
            ]
        );
        let programs: Vec<&str> = manifests.commands.programs.iter().map(String::as_str).collect();
        assert_eq!(programs, ["my-shop", "shop", "shop-cli", "shopd"]);
        let licences = [("Cargo.toml", "MIT"), ("web/package.json", "ISC")];
        assert_eq!(manifests.licences, licences.map(|(path, spdx)| (path.to_owned(), spdx.to_owned())));
    }

    #[test]
    fn targets_scripts_and_recipes_are_commands() {
        let manifests = read(&[
            ("Makefile", "CC := gcc\nX = a:b\nall: build test\nbuild test: src\n\tcc x:y\n.PHONY: all\n"),
            ("sub/Makefile", "%.o: %.c\n"),
            (
                "justfile",
                "set shell := [\"sh\"]\nv := \"1\"\nbuild target='x': deps\n  cargo build\nalias b := build\n@quiet:\n  echo\n",
            ),
            ("package.json", r#"{ "scripts": { "dev": "vite", "build": "tsc" } }"#),
        ]);
        let commands = &manifests.commands;
        let targets = commands.make_targets[""].as_ref().unwrap();
        assert!(["all", "build", "test"].iter().all(|name| targets.contains(*name)), "{targets:?}");
        assert!(!targets.contains("CC") && !targets.contains("X"), "{targets:?}");
        assert_eq!(commands.make_targets["sub"], None, "more targets may exist");
        let recipes: Vec<&str> = commands.recipes[""].iter().flatten().map(String::as_str).collect();
        assert_eq!(recipes, ["b", "build", "quiet"]);
        assert!(commands.scripts[""].contains("dev"));
    }

    #[test]
    fn what_cannot_be_read_says_nothing() {
        let long = format!("[package]\nname = \"{}\"", "x".repeat(MANIFEST_BYTES_MAX));
        for (path, text) in
            [("Cargo.toml", "[[["), ("package.json", "{"), ("go.mod", ""), ("Cargo.toml", long.as_str())]
        {
            assert_eq!(read(&[(path, text)]), Manifests::default(), "{path}");
        }
    }
}
