//! Names of parts of a repository in an instruction: files, scripts of task runners, and symbols. A rule whose names no longer exist
//! is stale.
//!
//! Only text in backticks and in code fences counts. Prose and placeholders are ignored: a report that cries wolf is not read.

use std::collections::BTreeSet;

/// The number of names of one kind that are read from a text; further ones are ignored.
const NAMES_MAX: usize = 64;
/// Longest name.
const NAME_BYTES_MAX: usize = 200;
const SYMBOL_BYTES_MIN: usize = 4;

/// Names in an instruction, each kind sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mentions {
    /// Paths of files and folders, relative to a repository.
    pub paths: BTreeSet<String>,
    /// Scripts of a task runner.
    pub scripts: BTreeSet<Script>,
    /// Functions, types and other identifiers.
    pub symbols: BTreeSet<String>,
}

/// A script of a task runner, as `make test` names `test`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Script {
    /// The command as written.
    pub command: String,
    /// The script.
    pub name: String,
    /// Names of the files that may define it.
    pub files: &'static [&'static str],
}

/// Task runners: the words before the name of a script, and the files that define scripts.
const RUNNERS: &[(&[&str], &[&str])] = &[
    (&["npm", "run"], &["package.json"]),
    (&["pnpm", "run"], &["package.json"]),
    (&["yarn", "run"], &["package.json"]),
    (&["bun", "run"], &["package.json"]),
    (&["make"], &["Makefile", "makefile", "GNUmakefile"]),
    (&["just"], &["justfile", "Justfile", ".justfile"]),
    (&["task"], &["Taskfile.yml", "Taskfile.yaml"]),
    (&["rake"], &["Rakefile"]),
];

/// Extensions that make a word without a slash the name of a file.
const FILE_EXTENSIONS: &[&str] = &[
    "c", "cc", "cfg", "conf", "cpp", "cs", "css", "ex", "exs", "go", "h", "hpp", "hs", "html", "ini", "java",
    "js", "json", "jsx", "kt", "lock", "lua", "md", "mdx", "php", "proto", "ps1", "py", "rb", "rs", "scala",
    "sh", "sql", "swift", "tf", "toml", "ts", "tsx", "txt", "xml", "yaml", "yml", "zig",
];

/// Returns the names in a Markdown text.
#[must_use]
pub fn mentions(markdown: &str) -> Mentions {
    let mut found = Mentions::default();
    let mut fence: Option<&str> = None;
    for line in markdown.lines() {
        let trimmed = line.trim_start();
        if let Some(marker) = ["```", "~~~"].into_iter().find(|marker| trimmed.starts_with(marker)) {
            fence = match fence {
                None => Some(marker),
                Some(open) if open == marker => None,
                open => open,
            };
            continue;
        }
        match fence {
            Some(_) => found.read_command(trimmed),
            None => code_spans(line).for_each(|span| found.read_span(span)),
        }
    }
    found
}

/// Returns the texts between backticks of a line; an unclosed backtick encloses nothing.
fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    let closed = line.matches('`').count() / 2;
    line.split('`').skip(1).step_by(2).take(closed).map(str::trim).filter(|span| !span.is_empty())
}

impl Mentions {
    /// Returns `true` if nothing is named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.scripts.is_empty() && self.symbols.is_empty()
    }

    fn read_span(&mut self, span: &str) {
        if span.contains(char::is_whitespace) {
            self.read_command(span);
        } else if let Some(path) = path(span) {
            insert(&mut self.paths, path);
        } else if let Some(symbol) = symbol(span) {
            insert(&mut self.symbols, symbol);
        }
    }

    /// Reads a command line: the script that a task runner runs, and the paths among its words.
    fn read_command(&mut self, line: &str) {
        let line = line.strip_prefix("$ ").unwrap_or(line);
        if line.len() > 4 * NAME_BYTES_MAX || line.starts_with('#') {
            return;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        for (prefix, files) in RUNNERS {
            let Some(name) = words.strip_prefix(*prefix).and_then(|rest| rest.first()) else { continue };
            if is_script(name) && self.scripts.len() < NAMES_MAX {
                let command = [*prefix, &[name]].concat().join(" ");
                self.scripts.insert(Script { command, name: (*name).to_owned(), files });
            }
        }
        // Other words with a slash may be arguments of any meaning, such as names of branches and images; names of files with
        // an extension are not.
        let named = words.iter().filter_map(|word| path(word)).filter(|path| has_extension(path));
        named.for_each(|path| insert(&mut self.paths, path));
    }
}

fn insert(names: &mut BTreeSet<String>, name: &str) {
    if names.len() < NAMES_MAX {
        names.insert(name.to_owned());
    }
}

fn is_script(name: &str) -> bool {
    let first = name.starts_with(|first: char| first.is_ascii_alphanumeric());
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':' | b'.');
    first && name.len() <= NAME_BYTES_MAX && name.bytes().all(allowed)
}

/// Returns the relative path in a word, if it is one: with a slash, or with the extension of a source file.
fn path(word: &str) -> Option<&str> {
    let word = word.strip_prefix("./").unwrap_or(word).trim_end_matches(['/', ',', ';']);
    let allowed =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'/' | b'+' | b'@');
    let is_plain = (3..=NAME_BYTES_MAX).contains(&word.len()) && word.bytes().all(allowed);
    let is_elsewhere = word.starts_with(['/', '@', '-', '.']) && !word.starts_with(".github/");
    if !is_plain || is_elsewhere || word.contains("//") || word.contains("..") {
        return None;
    }
    let has_letters = word.bytes().any(|byte| byte.is_ascii_alphabetic());
    // `and/or`, `owner/repo` and `feature/x` have a slash as well, so a path has an extension or at least two slashes.
    let is_path = has_extension(word) || word.matches('/').count() >= 2;
    (has_letters && is_path).then_some(word)
}

fn has_extension(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.')
        .is_some_and(|(stem, extension)| !stem.is_empty() && FILE_EXTENSIONS.contains(&extension))
}

/// Returns the identifier in a word, if it looks like code: `name()`, `Type::method`, `snake_case`, `camelCase`, `PascalCase`. The
/// last part counts.
fn symbol(word: &str) -> Option<&str> {
    let is_call = word.ends_with("()");
    let bare = word.trim_end_matches("()");
    let last = bare.rsplit(['.', ':', '#']).next().unwrap_or(bare);
    let is_identifier = last.len() <= NAME_BYTES_MAX
        && last.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && last.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && bare.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':' | b'#'));
    if !is_identifier || last.len() < SYMBOL_BYTES_MIN {
        return None;
    }
    let inner = last.trim_matches('_');
    let has_lower = inner.bytes().any(|byte| byte.is_ascii_lowercase());
    let is_snake = has_lower && inner.contains('_');
    let has_hump = has_lower && inner.bytes().skip(1).any(|byte| byte.is_ascii_uppercase());
    (is_call || bare.contains("::") || is_snake || has_hump).then_some(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(markdown: &str) -> (Vec<String>, Vec<String>, Vec<String>) {
        let Mentions { paths, scripts, symbols } = mentions(markdown);
        let scripts = scripts.into_iter().map(|script| script.command);
        (paths.into_iter().collect(), scripts.collect(), symbols.into_iter().collect())
    }

    #[test]
    fn spans_name_files_scripts_and_symbols() {
        let text = "Put helpers into `src/util/text.rs` and `docs/` (see `README.md`). Run `npm run lint:fix` and `make test`.\n\
            Call `parse_config()` or `Config::load`, never `readFileSync`; `HttpClient` is fine.";
        let (paths, scripts, symbols) = names(text);
        assert_eq!(paths, ["README.md", "src/util/text.rs"]);
        assert_eq!(scripts, ["make test", "npm run lint:fix"]);
        assert_eq!(symbols, ["HttpClient", "load", "parse_config", "readFileSync"]);
    }

    #[test]
    fn prose_and_placeholders_name_nothing() {
        for text in [
            "Put helpers into src/util/text.rs",
            "`and/or` `feature/login` `owner/repo` `main` `true` `TODO` `<your-file>.rs` `*.md` `src/**/*.rs` `$HOME/x.sh`",
            "`https://example.org/a/b.html` `/etc/hosts/a.conf` `../other/a.rs` `~/a/b.rs` `@scope/pkg/x` `1.2.3` `a.b`",
            "`MAX_SIZE` `async` `string` `id` `e.g.` `--flag` `x()`",
            "an odd ` backtick and src/a.rs",
            "",
        ] {
            assert!(mentions(text).is_empty(), "{text}: {:?}", mentions(text));
        }
    }

    #[test]
    fn fences_hold_commands() {
        let text = "Run:\n\n```sh\n$ just build release\n# make nothing\ncargo fmt -- crates/a/src/lib.rs origin/main\n```\n`src/b.rs`\n~~~\nmake deploy\n";
        let (paths, scripts, symbols) = names(text);
        assert_eq!(paths, ["crates/a/src/lib.rs", "src/b.rs"]);
        assert_eq!(scripts, ["just build", "make deploy"]);
        assert!(symbols.is_empty());
    }

    #[test]
    fn hostile_texts_are_bounded() {
        let many: String = (0..500).map(|at| format!("`file_name_{at}.rs` `fnName{at}` ")).collect();
        let found = mentions(&many);
        assert_eq!((found.paths.len(), found.symbols.len()), (NAMES_MAX, NAMES_MAX));
        assert!(mentions(&"`".repeat(100_000)).is_empty());
        assert!(mentions(&format!("`{}.rs`", "a".repeat(10_000))).is_empty());
    }
}
