//! Gate `readme_checks`: commands that pages tell people to run are named in manifests, paths exist, and so do the links of the README.

use super::known_names::is_history;
use super::shell::{self, Command};
use super::{Checked, Found, Gate, GateInput};
use crate::evidence::{Evidence, path_in_code};
use crate::issue::{Rule, Severity, quote};
use crate::manifest::Ecosystem;
use crate::site::{MemoryFiles, Page, Site, SiteLimits, Target, Unresolved};

pub(super) const GATE: Gate = Gate {
    name: "readme_checks",
    about: "Commands that pages show are named in manifests, and paths exist.",
    rules: &[MISSING_COMMAND, MISSING_PATH, README_LINK],
    check,
};

const MISSING_COMMAND: Rule = Rule::new("missing_command", "A page shows a command that does not exist");
const MISSING_PATH: Rule = Rule::new("missing_path", "A page names a path that does not exist");
const README_LINK: Rule = Rule::new("readme_link", "A link of the README leads nowhere");

fn check(input: &GateInput<'_>, found: &mut Found) -> Checked {
    let evidence = match input.evidence {
        Ok(evidence) => evidence,
        Err(reason) => return Checked::Unable(reason.to_owned()),
    };
    let context = Context { input, evidence };
    for page in input.pages().filter(|page| !is_history(page)) {
        let severity = if is_readme(&page.path) { Severity::Error } else { Severity::Warning };
        context.page(page, &page.path, severity, found);
    }
    context.readme(found);
    Checked::Done
}

fn is_readme(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.eq_ignore_ascii_case("readme.md"))
}

struct Context<'g, 'a> {
    input: &'g GateInput<'a>,
    evidence: &'a dyn Evidence,
}

impl Context<'_, '_> {
    /// Checks the README of the repository, if the site lies deeper.
    fn readme(&self, found: &mut Found) {
        let Some(base) = self.input.site.base().filter(|base| !base.is_empty()) else { return };
        if self.input.run.is_some() {
            return;
        }
        for name in ["README.md", "Readme.md", "readme.md"] {
            let Some(text) = self.evidence.text(name) else { continue };
            let files: MemoryFiles = [(name, text)].into_iter().collect();
            let site = Site::read(&files, Some(""), &SiteLimits::default());
            let shown = format!("{}{name}", "../".repeat(base.split('/').count()));
            for page in site.pages() {
                self.page(page, &shown, Severity::Error, found);
                self.readme_links(&site, page, &shown, found);
            }
        }
    }

    fn readme_links(&self, site: &Site, page: &Page, shown: &str, found: &mut Found) {
        for link in &page.links {
            let path = match site.resolve(page, &link.target) {
                // The site has the README alone; all else is in the repository.
                Err(Unresolved::NoFile(path) | Unresolved::NoRoute(path))
                | Ok(Target::InRepository { path, .. }) => path,
                _ => continue,
            };
            if !self.evidence.exists(&path) {
                let message = format!("The repository has no {}.", quote(&path));
                found.add(&README_LINK, Severity::Error, (shown, link.line), &link.target, message);
            }
        }
    }

    /// Checks what a page shows. `shown` is its path in issues.
    fn page(&self, page: &Page, shown: &str, severity: Severity, found: &mut Found) {
        for block in &page.code_blocks {
            let mut folder = Folder::default();
            for command in shell::commands(block) {
                if let Some(missing) =
                    folder.enter(&command, self.evidence).then(|| self.missing(&command, &folder)).flatten()
                {
                    let message = format!("{} does not exist: {}.", quote(&command.words.join(" ")), missing);
                    found.add(
                        &MISSING_COMMAND,
                        severity,
                        (shown, command.line),
                        &command.words.join(" "),
                        message,
                    );
                }
            }
        }
        for span in &page.code_spans {
            if let Some(path) = path_in_code(&span.code) {
                self.path(page, path, (shown, span.line), found);
                continue;
            }
            for words in shell::of_line(&span.code) {
                let command = Command { words, line: span.line };
                if let Some(missing) = self.missing(&command, &Folder::default()) {
                    let message = format!("{} does not exist: {missing}.", quote(&span.code));
                    found.add(&MISSING_COMMAND, severity, (shown, span.line), &span.code, message);
                }
            }
        }
    }

    /// Checks a path between backticks. It is that of a file of this repository only if the folders above it are.
    fn path(&self, page: &Page, path: &str, (shown, line): (&str, u32), found: &mut Found) {
        let plain = path.trim_end_matches('/');
        let in_site =
            self.input.site.exists(plain) || self.input.site.exists(&format!("{}/{plain}", page.folder()));
        if in_site || self.evidence.has_path_ending(plain) {
            return;
        }
        let Some((parent, name)) = plain.rsplit_once('/') else { return };
        let is_file = path.ends_with('/') || name.trim_start_matches('.').contains('.');
        let top = plain.split('/').next().unwrap_or_default();
        if !is_file || top.starts_with('.') || !self.evidence.exists(top) {
            return;
        }
        let severity = match parent.contains('/') && self.evidence.exists(parent) {
            true => Severity::Error,
            false => Severity::Warning,
        };
        let message = format!("The repository has no {}.", quote(path));
        found.add(&MISSING_PATH, severity, (shown, line), path, message);
    }

    /// What a command needs and the repository does not have.
    fn missing(&self, command: &Command, folder: &Folder) -> Option<String> {
        let (program, arguments) = command.words.split_first()?;
        match program.as_str() {
            "npm" | "pnpm" | "yarn" | "bun" => self.missing_script(arguments),
            "make" => self.missing_target(arguments),
            "just" => self.missing_recipe(arguments),
            "cargo" => self.missing_cargo_target(arguments),
            "sh" | "bash" | "python" | "python3" | "node" | "ruby" | "perl" | "deno" => {
                let script = arguments.first().filter(|argument| !argument.starts_with('-'))?;
                self.missing_file(script, folder)
            }
            program => self.missing_file(program, folder),
        }
    }

    fn missing_script(&self, arguments: &[String]) -> Option<String> {
        let scripts = &self.evidence.commands().scripts;
        let name = match arguments {
            [run, name, ..] if run == "run" || run == "run-script" => name,
            [name, ..] if name == "test" || name == "start" => name,
            _ => return None,
        };
        // Without a manifest, the page speaks of the reader's own project.
        let is_missing =
            !scripts.is_empty() && is_name(name) && !scripts.values().any(|names| names.contains(name));
        is_missing.then(|| format!("no `package.json` has the script {}", quote(name)))
    }

    fn missing_target(&self, arguments: &[String]) -> Option<String> {
        let makefiles = &self.evidence.commands().make_targets;
        if makefiles.is_empty()
            || makefiles.values().any(Option::is_none)
            || arguments.iter().any(|one| one.starts_with('-'))
        {
            return None;
        }
        let is_known = |name: &String| makefiles.values().flatten().any(|targets| targets.contains(name));
        let name = arguments.iter().find(|name| is_name(name) && !is_known(name))?;
        Some(format!("no makefile has the target {}", quote(name)))
    }

    fn missing_recipe(&self, arguments: &[String]) -> Option<String> {
        let files = &self.evidence.commands().recipes;
        let name = arguments.first().filter(|name| is_name(name))?;
        let is_known =
            files.values().any(|recipes| recipes.as_ref().is_none_or(|recipes| recipes.contains(name)));
        (!files.is_empty() && !is_known).then(|| format!("no justfile has the recipe {}", quote(name)))
    }

    fn missing_cargo_target(&self, arguments: &[String]) -> Option<String> {
        let has_packages =
            self.evidence.packages().iter().any(|package| package.ecosystem == Ecosystem::Cargo);
        let is_elsewhere = matches!(
            arguments.first().map(String::as_str),
            Some("install" | "add" | "binstall" | "uninstall" | "new" | "init")
        );
        if !has_packages || is_elsewhere {
            return None;
        }
        let own = arguments.iter().take_while(|argument| *argument != "--").collect::<Vec<_>>();
        let pairs = own.iter().zip(own.iter().skip(1));
        pairs.filter(|(_, name)| is_name(name)).find_map(|(option, name)| {
            let folders: &[&str] = match option.as_str() {
                "--bin" => &["src/bin"],
                "--example" => &["examples"],
                "--test" => &["tests"],
                "--bench" => &["benches"],
                "-p" | "--package" => {
                    let is_known = self.evidence.packages().iter().any(|package| package.name == **name);
                    return (!is_known).then(|| format!("the workspace has no package {}", quote(name)));
                }
                _ => return None,
            };
            let by_folder = folders
                .iter()
                .flat_map(|folder| [format!("{folder}/{name}.rs"), format!("{folder}/{name}/main.rs")]);
            let is_known = self.evidence.commands().cargo_targets.contains(*name)
                || by_folder.into_iter().any(|path| self.evidence.has_path_ending(&path));
            (!is_known).then(|| format!("no package has {} {}", option.trim_start_matches('-'), quote(name)))
        })
    }

    /// The script that a command runs, if it should be in the repository and is not.
    fn missing_file(&self, program: &str, folder: &Folder) -> Option<String> {
        let current = folder.current.as_deref()?;
        let path = path_in_code(program)?;
        let below = if current.is_empty() { path.to_owned() } else { format!("{current}/{path}") };
        if self.evidence.exists(&below) || self.evidence.has_path_ending(path) {
            return None;
        }
        let is_script = [".sh", ".py", ".js", ".ts", ".rb", ".pl"].iter().any(|end| path.ends_with(end));
        let top = below.split('/').next().unwrap_or_default();
        let is_ours = is_script && self.evidence.exists(top) && !top.starts_with('.');
        is_ours.then(|| format!("the repository has no {}", quote(path)))
    }
}

/// Whether an argument is a plain name, and neither an option nor a placeholder.
fn is_name(argument: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':' | '.');
    argument.starts_with(|c: char| c.is_ascii_lowercase()) && argument.chars().all(is_plain)
}

/// The folder in which the commands of a block run.
struct Folder {
    /// Relative to the repository; `None` once it is not known.
    current: Option<String>,
    /// Whether the last command cloned a repository, so that the next change of folder enters it.
    cloned: bool,
}

impl Default for Folder {
    fn default() -> Self {
        Self { current: Some(String::new()), cloned: false }
    }
}

impl Folder {
    /// Follows `cd`. Returns whether the command runs in a known folder of the repository.
    fn enter(&mut self, command: &Command, evidence: &dyn Evidence) -> bool {
        match command.words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["git", "clone", ..] => self.cloned = true,
            ["cd", path] if self.cloned => {
                self.cloned = false;
                let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
                let is_own = evidence.name() == Some(name)
                    || evidence.packages().iter().any(|package| package.name == name);
                self.current = is_own.then(String::new);
            }
            ["cd", path] => {
                let known = self.current.take().and_then(|current| {
                    let path = path.trim_start_matches("./").trim_end_matches('/');
                    let below =
                        if current.is_empty() { path.to_owned() } else { format!("{current}/{path}") };
                    (evidence.has_all_paths() && evidence.exists(&below)).then_some(below)
                });
                self.current = known;
            }
            _ => return self.current.is_some(),
        }
        false
    }
}
