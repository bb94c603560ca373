//! ARCHITECTURE.md stays true: it is short, its paths and names exist, and its glossary defines each term once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::{assert_none, files, packages, root};

const PAGE: &str = "ARCHITECTURE.md";
const LINES_MAX: usize = 250;

/// Texts in backticks that are neither paths nor names of Rust code, each with the file that defines it.
const DEFINED_ELSEWHERE: &[(&str, &str)] = &[
    // Addresses and methods that clients send.
    ("POST /search", "docs/serving.md"),
    ("tools/list", "tests/it/serving/methods.rs"),
    // Error codes of the contract.
    ("FORBIDDEN", "contracts/errors.json"),
    ("NO_INDEX", "contracts/errors.json"),
    // Files and variables that users write.
    (".pairofcleats.json", "crates/tenancy/src/resolve.rs"),
    ("DATABASE_URL", "crates/contract/src/config/load.rs"),
    ("PAIROFCLEATS_HOME", "crates/contract/src/config/layout.rs"),
    // Settings that are lists of tables.
    ("[[launch.sites]]", "crates/contract/src/config/launch_sites.rs"),
    ("[[sources]]", "crates/contract/src/config/sources.rs"),
    // Columns of tables.
    ("derived_due", "migrations/project/search/0008_due.sql"),
    ("statistics_due", "migrations/project/search/0008_due.sql"),
];

/// The programs of command lines in backticks.
const PROGRAMS: &[&str] = &["cargo", "pairofcleats"];

/// Endings of file names. A text in backticks with one of them is a path, also without a folder.
const FILE_ENDINGS: &[&str] = &[".json", ".md", ".rs", ".sql", ".toml", ".yml"];

/// Keywords before the name that they define, beside `fn`.
const DEFINING: &[&str] = &["const", "enum", "macro_rules!", "mod", "static", "struct", "trait", "type"];

/// A text in backticks, with the number of its line.
struct Quote<'p> {
    line: usize,
    text: &'p str,
}

/// The meaning of a text in backticks.
enum Quoted<'p> {
    /// A row of [`DEFINED_ELSEWHERE`], with its file.
    Elsewhere(&'static str),
    /// A command line, with its program.
    Command(&'p str),
    Path,
    /// A setting, as section and key.
    Setting(&'p str, &'p str),
    /// A name such as `store::Reads`, as its segments.
    Name(Vec<&'p str>),
    /// A name with `()`.
    Function(Vec<&'p str>),
    Unknown,
}

fn quotes(page: &str) -> Vec<Quote<'_>> {
    let lines = page.lines().enumerate();
    lines
        .flat_map(|(number, line)| {
            let quoted = line.split('`').skip(1).step_by(2);
            quoted.map(move |text| Quote { line: number + 1, text })
        })
        .collect()
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn is_identifier(text: &str) -> bool {
    text.starts_with(|first: char| first.is_alphabetic() || first == '_') && text.chars().all(is_word)
}

fn classify(text: &str) -> Quoted<'_> {
    if let Some((_, file)) = DEFINED_ELSEWHERE.iter().copied().find(|(known, _)| *known == text) {
        return Quoted::Elsewhere(file);
    }
    if let Some((program, _)) = text.split_once(' ') {
        return Quoted::Command(program);
    }
    if text.contains('/') || FILE_ENDINGS.iter().any(|ending| text.ends_with(ending)) {
        return Quoted::Path;
    }
    if let Some((section, key)) = text.split_once('.')
        && is_identifier(section)
        && is_identifier(key)
    {
        return Quoted::Setting(section, key);
    }
    let name = text.strip_suffix("()");
    let segments: Vec<&str> = name.unwrap_or(text).split("::").collect();
    if !segments.iter().all(|segment| is_identifier(segment)) {
        return Quoted::Unknown;
    }
    if name.is_some() { Quoted::Function(segments) } else { Quoted::Name(segments) }
}

/// Numbers of files, by the name that they define.
type Definitions = BTreeMap<String, BTreeSet<usize>>;

/// The places where the Rust code of the repository defines some names.
#[derive(Default)]
struct Code {
    paths: Vec<String>,
    functions: Definitions,
    /// Types, constants, modules, variants and fields.
    others: Definitions,
    /// The `impl` blocks of types.
    impls: Definitions,
}

impl Code {
    fn read(wanted: &BTreeSet<&str>) -> Self {
        let mut code = Self::default();
        for folder in ["src", "crates", "modules", "tests"] {
            for (path, text) in files(folder, "rs") {
                code.add(path, &text, wanted);
            }
        }
        code
    }

    fn add(&mut self, path: String, text: &str, wanted: &BTreeSet<&str>) {
        let file = self.paths.len();
        self.paths.push(path);
        for line in text.lines() {
            let line = line.split("//").next().unwrap_or_default();
            let mut start = 0;
            for word in line.split(|character: char| !is_word(character)) {
                let end = start + word.len();
                if wanted.contains(word)
                    && let Some(definitions) = self.definitions(&line[..start], word, &line[end..])
                {
                    definitions.entry(word.to_owned()).or_default().insert(file);
                }
                start = end + line[end..].chars().next().map_or(0, char::len_utf8);
            }
        }
    }

    /// Returns where to record a name between `before` and `after`, if this line defines it.
    fn definitions(&mut self, before: &str, name: &str, after: &str) -> Option<&mut Definitions> {
        let (before, after) = (before.trim(), after.trim_start());
        let keyword = before.split_whitespace().next_back().unwrap_or_default();
        let is_type = name.starts_with(char::is_uppercase);
        let is_public = before == "pub" || (before.starts_with("pub(") && before.ends_with(')'));
        let is_variant =
            before.is_empty() && is_type && (after.is_empty() || after.starts_with([',', '(', '{', '=']));
        let is_field = is_public && after.starts_with(':') && !after.starts_with("::");
        // A row of a macro that generates functions.
        let is_signature = before.is_empty() && !is_type && after.starts_with('(') && after.contains(") -> ");
        if keyword == "fn" || is_signature {
            Some(&mut self.functions)
        } else if DEFINING.contains(&keyword) || is_variant || is_field {
            Some(&mut self.others)
        } else if before.starts_with("impl") {
            Some(&mut self.impls)
        } else {
            None
        }
    }

    fn has_function(&self, segments: &[&str]) -> bool {
        let Some((name, around)) = segments.split_last() else { return false };
        let mut defining = self.functions.get(*name).into_iter().flatten();
        defining.any(|file| self.belongs(*file, around))
    }

    fn has_name(&self, segments: &[&str]) -> bool {
        let Some((name, around)) = segments.split_last() else { return false };
        let is_package =
            around.is_empty() && packages().iter().any(|package| package.ends_with(&format!("/{name}")));
        let mut defining = self.others.get(*name).into_iter().flatten();
        is_package || self.has_function(segments) || defining.any(|file| self.belongs(*file, around))
    }

    /// Checks whether the qualifiers of a name fit a file: modules by its path, types by a declaration or an `impl` in it.
    fn belongs(&self, file: usize, around: &[&str]) -> bool {
        around.iter().all(|segment| {
            if segment.starts_with(char::is_uppercase) {
                let mut having = [&self.impls, &self.others].into_iter().filter_map(|one| one.get(*segment));
                having.any(|files| files.contains(&file))
            } else {
                self.paths[file].split(['/', '.']).any(|part| part == *segment)
            }
        })
    }
}

/// Checks whether `defaults.toml` has the setting.
fn is_setting(defaults: &str, section: &str, key: &str) -> bool {
    let header = format!("\n[{section}]");
    let rest = defaults.split_once(header.as_str()).map_or("", |(_, rest)| rest);
    let settings = rest.split("\n[").next().unwrap_or_default();
    settings.lines().any(|line| {
        let line = line.trim_start_matches("# ");
        line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='))
    })
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_default()
}

/// Texts in backticks that name nothing, and links that lead nowhere.
fn stale_quotes(page: &str) -> Vec<String> {
    let quotes = quotes(page);
    let mut wanted = BTreeSet::new();
    for quote in &quotes {
        if let Quoted::Name(segments) | Quoted::Function(segments) = classify(quote.text) {
            wanted.extend(segments);
        }
    }
    let code = Code::read(&wanted);
    let defaults = read("crates/contract/src/config/defaults.toml");
    let mut violations = Vec::new();
    for Quote { line, text } in quotes {
        let problem = match classify(text) {
            Quoted::Elsewhere(file) if !read(file).contains(text) => {
                format!("is not in {file}: correct its row in DEFINED_ELSEWHERE, or the page")
            }
            Quoted::Command(program) if !PROGRAMS.contains(&program) => {
                format!("is a command of `{program}`: write a path or a name, or add the program to PROGRAMS")
            }
            Quoted::Path if !root().join(text).exists() => {
                "does not exist: name the path that has it now, from the root of the repository".to_owned()
            }
            Quoted::Setting(section, key) if !is_setting(&defaults, section, key) => {
                "is no setting of defaults.toml: name the setting that replaced it".to_owned()
            }
            Quoted::Name(segments) if !code.has_name(&segments) => {
                "is defined by no source: name what replaced it, or add it to DEFINED_ELSEWHERE".to_owned()
            }
            Quoted::Function(segments) if !code.has_function(&segments) => {
                "is no function of a source: name the one that replaced it".to_owned()
            }
            Quoted::Unknown => {
                "is no path, name, setting or command: rewrite it, or add it to DEFINED_ELSEWHERE".to_owned()
            }
            _ => continue,
        };
        violations.push(format!("{PAGE}:{line}: `{text}` {problem}"));
    }
    for (number, line) in page.lines().enumerate() {
        let number = number + 1;
        if line.matches('`').count() % 2 == 1 {
            violations.push(format!("{PAGE}:{number}: a backtick is not closed on its line: close it there"));
        }
        let links = line.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
        for link in links.filter(|link| !link.starts_with("http") && !root().join(link).exists()) {
            violations.push(format!("{PAGE}:{number}: the link to `{link}` leads nowhere: correct it"));
        }
    }
    violations
}

/// Terms that the glossary defines twice.
fn terms_defined_twice(page: &str) -> Vec<String> {
    let (mut lines, mut violations) = (BTreeMap::new(), Vec::new());
    let is_before = |(_, line): &(usize, &str)| *line != "## Glossary";
    let glossary = page.lines().enumerate().skip_while(is_before).skip(1);
    let rows = glossary.take_while(|(_, line)| !line.starts_with("## ")).filter_map(|(number, line)| {
        let cell = line.strip_prefix('|')?.split('|').next()?;
        Some((number + 1, cell))
    });
    // The first two rows are the head of the table and the line below it.
    for (number, cell) in rows.skip(2) {
        for term in cell.split(',').map(|term| term.trim().to_lowercase()) {
            if let Some(first) = lines.insert(term.clone(), number) {
                violations.push(format!(
                    "{PAGE}:{number}: the glossary defines `{term}` again (first in line {first}): \
                     keep one meaning, and give the other one a qualified term"
                ));
            }
        }
    }
    if lines.is_empty() {
        violations.push(format!("{PAGE}: there is no table below `## Glossary`: add one"));
    }
    violations
}

#[test]
fn the_map_is_short_and_complete() {
    let page = read(PAGE);
    let mut violations = Vec::new();
    let lines = page.lines().count();
    if lines > LINES_MAX {
        violations.push(format!(
            "{PAGE}: {lines} lines, over {LINES_MAX}: move details to the comment of their module or to docs/"
        ));
    }
    for package in packages() {
        if !page.contains(&format!("| `{package}` |")) {
            violations.push(format!("{PAGE}: the table of packages lacks `{package}`: add a row"));
        }
    }
    assert_none(&violations);
}

#[test]
fn the_map_names_only_what_exists() {
    let page = read(PAGE);
    let mut violations = stale_quotes(&page);
    for (text, _) in DEFINED_ELSEWHERE {
        if quotes(&page).iter().all(|quote| quote.text != *text) {
            violations.push(format!(
                "{}: {PAGE} no longer names `{text}`: remove its row from DEFINED_ELSEWHERE",
                file!()
            ));
        }
    }
    assert_none(&violations);
}

#[test]
fn the_glossary_defines_each_term_once() {
    assert_none(&terms_defined_twice(&read(PAGE)));
}

/// Lines of a page, each with a part of the violation that it causes; an empty text for a line without one.
#[test]
fn stale_paths_names_and_terms_are_noticed() {
    let lines = [
        (
            "`crates/gate/src/tools/call.rs`, `store::Reads`, `Reads::lexical_hits()`, `search.candidates`, `engine`",
            "",
        ),
        ("`crates/store/src/gone.rs`", "does not exist"),
        ("`gone.md`", "does not exist"),
        ("`gone_function()`", "no function of a source"),
        // Files with these names, and of this type, have a field `lexical`.
        ("`Part::lexical()`", "no function of a source"),
        ("`part::lexical()`", "no function of a source"),
        ("`GoneType`", "defined by no source"),
        ("`Reads::hidden_mode`", "defined by no source"),
        ("`triage::Reads`", "defined by no source"),
        ("`search.gone`", "no setting"),
        ("`rm everything`", "a command of `rm`"),
        ("`--gone`", "no path, name, setting or command"),
        ("`src", "not closed"),
        ("[page](docs/gone.md#place)", "leads nowhere"),
    ];
    let page: Vec<&str> = lines.iter().map(|(line, _)| *line).collect();
    let violations = stale_quotes(&page.join("\n"));
    for (number, (line, expected)) in lines.iter().enumerate() {
        let place = format!("{PAGE}:{}: ", number + 1);
        let found: Vec<&String> = violations.iter().filter(|one| one.starts_with(&place)).collect();
        let is_noticed = found.iter().any(|one| !expected.is_empty() && one.contains(*expected));
        assert!(is_noticed || (expected.is_empty() && found.is_empty()), "{line}: {found:?}");
    }

    let rows = ["| term | meaning |", "|---|---|", "| a, b | one |", "| B | two |"].join("\n");
    let glossary = format!("## Glossary\n\n{rows}\n\n## End\n| a | |\n");
    let found = terms_defined_twice(&glossary);
    assert!(found.len() == 1 && found[0].contains("`b` again (first in line 5)"), "{found:?}");
}
