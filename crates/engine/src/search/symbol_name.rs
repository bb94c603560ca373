//! Parses the ways to name a symbol or a place: `Context.json`, `Context#json`, `src/context.ts:Context.json`, `src/context.ts:31`.

use super::exact_name::QueriedName;
use contract::{ErrorCode, Fault, echo};
use languages::terms::squash;
use store::navigation::DefinitionAt;

/// What a caller means by a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spelling {
    /// A name, perhaps in a certain file.
    Name {
        /// Path of the file, or the end of it.
        path: Option<String>,
        /// The name.
        name: SymbolName,
    },
    /// A line of a file.
    Place {
        /// Path of the file.
        path: String,
        /// Line, 1-based.
        line: u32,
        /// Column in characters, 1-based.
        column: Option<u32>,
    },
}

/// The name of a symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolName {
    /// Names of the containers, outermost first.
    container: Vec<String>,
    /// The name itself.
    name: String,
    /// Kinds that the definition may have, the most likely first; empty: any.
    kinds: &'static [&'static str],
}

impl Spelling {
    /// Parses a text.
    ///
    /// # Errors
    /// `INVALID_REQUEST` if it names no symbol.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let text = text.trim().trim_matches(['`', '"', '\'']).trim();
        if text.strip_prefix("chunk:").is_some_and(|id| id.bytes().all(|byte| byte.is_ascii_digit())) {
            return Err(Fault::new(ErrorCode::InvalidRequest, "The id of a chunk does not name a symbol.")
                .with_hint("Pass the hit of a search as `hit`, or its `file` and `line`."));
        }
        let (path, name) = match split_path(text) {
            Some((path, rest)) => (Some(path.trim_start_matches("./").to_owned()), rest),
            None => (None, text),
        };
        if let Some(path) = &path
            && let Some((line, column)) = place(name)
        {
            return Ok(Self::Place { path: path.clone(), line, column });
        }
        match SymbolName::parse(name) {
            Some(name) => Ok(Self::Name { path, name }),
            None => Err(not_a_name(text)),
        }
    }
}

fn not_a_name(text: &str) -> Fault {
    Fault::new(ErrorCode::InvalidRequest, format!("`{}` is not the name of a symbol.", echo(text))).with_hint(
        "Write a name like `Context.json` or `src/context.ts:Context.json`; `search` takes questions.",
    )
}

/// Splits a path from what follows its colon; `None` if there is no path.
fn split_path(text: &str) -> Option<(&str, &str)> {
    let bytes = text.as_bytes();
    let is_single = |at: usize| {
        bytes[at] == b':' && bytes.get(at + 1) != Some(&b':') && (at == 0 || bytes[at - 1] != b':')
    };
    let at = (0..bytes.len()).find(|&at| is_single(at))?;
    let (path, rest) = (&text[..at], &text[at + 1..]);
    let is_path = path.contains(['/', '.']) && !path.contains(['(', '<', '"', '\'']);
    (is_path && !rest.trim().is_empty()).then_some((path, rest.trim()))
}

/// Parses `12` or `12:5`; a colon may follow, as compilers print it.
fn place(text: &str) -> Option<(u32, Option<u32>)> {
    let mut numbers = text.trim_end_matches(':').splitn(2, ':');
    let line: u32 = numbers.next()?.parse().ok()?;
    let column = match numbers.next() {
        Some(column) => Some(column.parse().ok()?),
        None => None,
    };
    (line > 0 && column != Some(0)).then_some((line, column))
}

impl SymbolName {
    /// Parses a name; `None` if the text is not one.
    fn parse(text: &str) -> Option<Self> {
        if let Some(name) = QueriedName::parse(text) {
            let (container, name, kinds) = name.into_parts();
            return Some(Self { container, name, kinds });
        }
        // What no language calls an identifier may still be a name: `operator==`, `<=>`.
        let is_word = text.len() <= NAME_BYTES_MAX && !text.is_empty() && !text.contains(char::is_whitespace);
        (is_word && !squash(text).is_empty()).then(|| Self {
            container: Vec::new(),
            name: text.to_owned(),
            kinds: &[],
        })
    }

    /// The name with its containers.
    #[must_use]
    pub fn qualified(&self) -> String {
        let parts: Vec<&str> =
            self.container.iter().map(String::as_str).chain([self.name.as_str()]).collect();
        parts.join(".")
    }

    /// The simple name.
    #[must_use]
    pub fn simple(&self) -> &str {
        &self.name
    }

    /// The folded names of the containers.
    #[must_use]
    pub fn around(&self) -> Vec<String> {
        self.container.iter().map(|name| squash(name)).collect()
    }

    /// Whether a definition has this name, in the same spelling, and these containers, ignoring case. Containers are the
    /// definitions, the file and the folders around it.
    #[must_use]
    pub fn is_name_of(&self, definition: &DefinitionAt) -> bool {
        // An `impl` block has the name of a type that is defined elsewhere.
        definition.kind != "impl" && definition.name == self.name && self.is_within(definition)
    }

    fn is_within(&self, definition: &DefinitionAt) -> bool {
        let around = around(definition);
        let mut around = around.iter().map(|name| squash(name));
        self.container.iter().all(|queried| {
            let queried = squash(queried);
            around.any(|name| name == queried)
        })
    }

    /// How well a definition that has the name fits; larger is better, and of several definitions only the best fit. The kind
    /// counts most, then whether the containers are those directly around it, then how these are spelled.
    pub(crate) fn fit(&self, definition: &DefinitionAt) -> u32 {
        let containers = containers(definition);
        let tail: Vec<&str> =
            containers.iter().rev().take(self.container.len()).rev().map(String::as_str).collect();
        let is_direct = self.container.is_empty()
            || tail.iter().map(|name| squash(name)).eq(self.container.iter().map(|name| squash(name)));
        let is_exact = self.container.is_empty() || tail == self.container;
        let has_kind = self.kinds.is_empty() || self.kinds.contains(&definition.kind.as_str());
        let flags = [has_kind, is_direct, is_exact];
        flags.iter().fold(0, |sum, flag| sum * 2 + u32::from(*flag))
    }
}

/// Longest name of unusual characters, in bytes.
const NAME_BYTES_MAX: usize = 200;

/// Names of the definitions around a definition, outermost first.
fn containers(definition: &DefinitionAt) -> Vec<String> {
    let outer = languages::container(&definition.name, &definition.qualified);
    let parts = outer.into_iter().flat_map(|outer| outer.split(['.', ':', '#', '\\', '/']));
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Names of what is around a definition, outermost first: folders, the file, definitions.
fn around(definition: &DefinitionAt) -> Vec<String> {
    let words = languages::terms::PathWords::new(&definition.path);
    let folders = words.directories.iter().rev().map(|folder| (*folder).to_owned());
    folders.chain([words.stem.to_owned()]).chain(containers(definition)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (String, String) {
        match Spelling::parse(text).unwrap() {
            Spelling::Name { path, name } => (path.unwrap_or_default(), name.qualified()),
            Spelling::Place { path, line, column } => (path, format!("{line}:{}", column.unwrap_or(0))),
        }
    }

    #[test]
    fn names_and_places_are_told_apart() {
        for (text, path, name) in [
            ("Context.json", "", "Context.json"),
            ("Context#json", "", "Context.json"),
            ("Context::json", "", "Context.json"),
            ("`json()`", "", "json"),
            ("src/context.ts:Context.json", "src/context.ts", "Context.json"),
            ("./a.rs:Foo::bar", "a.rs", "Foo.bar"),
            ("std::mem::take", "", "std.mem.take"),
            ("src/a.py:31", "src/a.py", "31:0"),
            ("a.py:31:5", "a.py", "31:5"),
            ("a.py:31:5:", "a.py", "31:5"),
            ("class Foo", "", "Foo"),
            ("operator==", "", "operator=="),
        ] {
            assert_eq!(parsed(text), (path.to_owned(), name.to_owned()), "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "   ", "chunk:12", "how are sessions refreshed", "==", "::", "\u{0}"] {
            let fault = Spelling::parse(text).unwrap_err();
            assert_eq!(fault.code, ErrorCode::InvalidRequest, "{text:?}");
            assert!(fault.hint.is_some());
        }
        assert!(Spelling::parse(&"x".repeat(10_000)).is_err());
    }

    fn row(qualified: &str, kind: &str) -> DefinitionAt {
        let name = qualified.rsplit(['.', ':']).next().unwrap_or_default().to_owned();
        DefinitionAt {
            name,
            qualified: qualified.to_owned(),
            kind: kind.to_owned(),
            path: "src/other.ts".to_owned(),
            ..DefinitionAt::default()
        }
    }

    #[test]
    fn containers_are_definitions_files_or_folders() {
        let name = |text: &str| match Spelling::parse(text) {
            Ok(Spelling::Name { name, .. }) => name,
            other => panic!("{other:?}"),
        };
        let method = row("Context.json", "method");
        assert!(name("Context.json").is_name_of(&method));
        assert!(name("json").is_name_of(&method));
        assert!(!name("Request.json").is_name_of(&method));
        assert!(
            name("helper.parse")
                .is_name_of(&DefinitionAt { path: "src/helper.ts".to_owned(), ..row("parse", "function") })
        );
        assert!(!name("json").is_name_of(&row("impl json", "impl")));
        assert!(!name("JSON").is_name_of(&method), "the name of another");
        assert!(name("context.json").is_name_of(&method));
        let (exact, folded) = (row("Context.json", "method"), row("context.json", "method"));
        assert!(name("Context.json").fit(&exact) > name("Context.json").fit(&folded));
        assert!(name("class Foo").fit(&row("Foo", "class")) > name("class Foo").fit(&row("Foo", "function")));
    }
}
