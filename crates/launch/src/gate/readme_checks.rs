//! Gate `readme_checks`: commands on pages are named in manifests, paths exist, and the links of the README lead somewhere.

use super::known_names::is_history;
use super::named_commands::{Missing, missing};
use super::shell::{self, Command};
use super::{Checked, Found, Gate, GateInput};
use crate::evidence::{Evidence, path_in_code};
use crate::issue::{Rule, Severity, quote};
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
    /// Checks the README of the repository, if the site is in a folder of it.
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
            let (path, severity) = match site.resolve(page, &link.target) {
                // This site contains only the README; everything else is in the repository.
                Err(Unresolved::NoFile(path) | Unresolved::NoRoute(path))
                | Ok(Target::InRepository { path, .. }) => (path, Severity::Error),
                // The README may also be the first page of a site.
                Ok(Target::FromRoot { path, .. }) => (path, Severity::Warning),
                _ => continue,
            };
            if !self.evidence.may_exist(&path) {
                let message = format!("The repository has no {}.", quote(&path));
                found.add(&README_LINK, severity, (shown, link.line), &link.target, message);
            }
        }
    }

    /// Checks the commands and paths on a page. `shown` is its path in issues.
    fn page(&self, page: &Page, shown: &str, severity: Severity, found: &mut Found) {
        for block in &page.code_blocks {
            let mut folder = Folder::default();
            for command in shell::commands(block) {
                if folder.enter(&command, self.evidence) {
                    let shown_command = command.words.join(" ");
                    let missing = missing(&command, folder.current.as_deref(), self.evidence);
                    report(missing, &shown_command, (shown, command.line), severity, found);
                }
            }
        }
        let lines: Vec<&str> = page.text.lines().collect();
        for span in &page.code_spans {
            if let Some(path) = path_in_code(&span.code) {
                let row = usize::try_from(span.line).unwrap_or_default().saturating_sub(1);
                let line = lines.get(row).copied().unwrap_or_default();
                self.path(page, path, (shown, span.line, line), found);
                continue;
            }
            for words in shell::of_line(&span.code) {
                let command = Command { words, line: span.line };
                let missing = missing(&command, Some(""), self.evidence);
                report(missing, &span.code, (shown, span.line), severity, found);
            }
        }
    }

    /// Checks a path between backticks. It is a path of this repository only if its parent folders exist.
    fn path(&self, page: &Page, path: &str, (shown, number, line): (&str, u32, &str), found: &mut Found) {
        let (plain, site) = (path.trim_end_matches('/'), self.input.site);
        let below_page = format!("{}/{plain}", page.folder());
        let in_site = site.exists(plain) || site.exists(below_page.trim_start_matches('/'));
        let is_left_out = || {
            let in_repository = site.in_repository(below_page.trim_start_matches('/'));
            self.evidence.is_left_out(plain)
                || in_repository.is_some_and(|path| self.evidence.is_left_out(&path))
        };
        if in_site || self.evidence.has_path_ending(plain) || is_left_out() {
            return;
        }
        let Some((parent, name)) = plain.rsplit_once('/') else { return };
        let is_file = path.ends_with('/') || name.trim_start_matches('.').contains('.');
        let top = plain.split('/').next().unwrap_or_default();
        if !is_file || top.starts_with('.') || !self.evidence.exists(top) {
            return;
        }
        // Hidden files, such as `.env`, are often created by the reader and not committed.
        let is_to_be_made = || name.starts_with('.') || speaks_of_making(line, path);
        let severity = match parent.contains('/') && self.evidence.exists(parent) && !is_to_be_made() {
            true => Severity::Error,
            false => Severity::Warning,
        };
        let message = format!("The repository has no {}.", quote(path));
        found.add(&MISSING_PATH, severity, (shown, number), path, message);
    }
}

/// Reports a command with a missing requirement.
fn report(
    missing: Option<Missing>,
    command: &str,
    place: (&str, u32),
    severity: Severity,
    found: &mut Found,
) {
    let Some(missing) = missing else { return };
    let severity = if missing.is_certain { severity } else { Severity::Warning };
    let message = format!("{} does not exist: {}.", quote(command), missing.what);
    found.add(&MISSING_COMMAND, severity, place, command, message);
}

/// Returns `true` if a line asks the reader to create a file, or says that a program creates it.
fn speaks_of_making(line: &str, path: &str) -> bool {
    const BEGINNINGS: &[&str] = &["creat", "generat", "produc", "renam", "writ"];
    const WORDS: &[&str] = &[
        "add", "adds", "copied", "copies", "copy", "make", "makes", "move", "output", "outputs", "paste",
        "place", "put", "save", "saved", "saves", "touch",
    ];
    let line = line.get(..line.floor_char_boundary(LINE_BYTES_MAX)).unwrap_or_default();
    let line = line.replace(path, "").to_lowercase();
    line.split(|c: char| !c.is_alphabetic())
        .any(|word| WORDS.contains(&word) || BEGINNINGS.iter().any(|beginning| word.starts_with(beginning)))
}

/// The part of a line that is searched for statements about a path, in bytes.
const LINE_BYTES_MAX: usize = 2_000;

/// The folder in which the commands of a block run.
struct Folder {
    /// Relative to the repository; `None` once it is not known.
    current: Option<String>,
    /// `true` if the last command cloned a repository, so that the next change of folder enters it.
    cloned: bool,
}

impl Default for Folder {
    fn default() -> Self {
        Self { current: Some(String::new()), cloned: false }
    }
}

impl Folder {
    /// Follows `cd`. Returns `true` if the command runs in a known folder of the repository.
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
