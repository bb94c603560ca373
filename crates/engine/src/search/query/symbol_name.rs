//! Parses the ways to name a symbol or a place: `Context.json`, `Context#json`, `src/context.ts:Context.json`, `src/context.ts:31`.

use crate::search::query::exact_name::{QueriedName, may_have_space, quotes_parts};
use contract::{ErrorCode, Fault, echo};
use languages::terms::squash;
use languages::{Closeness, closeness, nfc, split_name};
use store::navigation::DefinitionAt;

/// The meaning of a caller's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spelling {
    /// A name, perhaps in a certain file: the ways to read the text, the most likely first. There is always one.
    Name(Vec<Reading>),
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

/// One way to read a text as a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// Path of the file, or the end of it.
    pub path: Option<String>,
    /// The name.
    pub name: SymbolName,
}

/// The name of a symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolName {
    /// Names of the containers, outermost first.
    container: Vec<String>,
    /// The name itself, with its marks, as it was asked for.
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
        let asked = nfc(text.trim());
        let text = asked.as_ref();
        if text.strip_prefix("chunk:").is_some_and(|id| id.bytes().all(|byte| byte.is_ascii_digit())) {
            return Err(Fault::new(ErrorCode::InvalidRequest, "The id of a chunk does not name a symbol.")
                .with_hint("Pass the hit of a search as `hit`, or its `file` and `line`."));
        }
        let bare = without_quotes(text);
        let is_quoted = bare.len() < text.len();
        let mut readings: Vec<Reading> = Vec::new();
        if let Some((path, rest)) = split_path(bare) {
            let path = path.trim_start_matches("./").to_owned();
            if let Some((line, column)) = place(rest) {
                return Ok(Self::Place { path, line, column });
            }
            let names = SymbolName::readings(rest, is_quoted).into_iter();
            readings.extend(names.map(|name| Reading { path: Some(path.clone()), name }));
        }
        let names = SymbolName::readings(bare, is_quoted).into_iter();
        readings.extend(names.map(|name| Reading { path: None, name }));
        // A name of quotes alone: `""`.
        if readings.is_empty() && !text.is_empty() {
            readings.extend(SymbolName::literal(text).map(|name| Reading { path: None, name }));
        }
        if readings.is_empty() { Err(not_a_name(text)) } else { Ok(Self::Name(readings)) }
    }

    /// Returns the fault for a text that can only be read as a name with white space, which nothing has: it is more likely a question.
    /// `None` for other texts, and for names that have no other spelling: `operator bool`, "`a b`.`c`".
    #[must_use]
    pub fn question(&self, text: &str) -> Option<Fault> {
        let is_apart = |name: &String| name.contains(char::is_whitespace);
        let is_question =
            |name: &String| is_apart(name) && !split_name(name).is_some_and(|name| may_have_space(&name));
        let is_quoted = |outer: &String| text.contains(&format!("`{outer}`"));
        let has_space = |reading: &Reading| {
            let SymbolName { container, name, .. } = &reading.name;
            is_question(name) || container.iter().any(|outer| is_apart(outer) && !is_quoted(outer))
        };
        match self {
            Self::Name(readings) if readings.iter().all(has_space) => Some(not_a_name(text.trim())),
            _ => None,
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
    /// Returns the ways to read a text as a name, the most likely first. A quoted text is more likely a single name.
    fn readings(text: &str, is_quoted: bool) -> Vec<Self> {
        let (bare, is_quoted) = (without_quotes(text), is_quoted || without_quotes(text).len() < text.len());
        let text = bare;
        let parsed = QueriedName::parse(text).map(|name| {
            let (container, name, kinds) = name.into_parts();
            Self { container, name, kinds }
        });
        let literal = Self::literal(text);
        let mut found: Vec<Self> = match is_quoted && text.contains(char::is_whitespace) {
            true => literal.into_iter().chain(parsed).collect(),
            false => parsed.into_iter().chain(literal).collect(),
        };
        // A name with any characters, within something, which may have white space as well: `Sum.adds two numbers`, `weird class.is`.
        found.extend(splits(text).flat_map(|(outer, name)| {
            let parsed = QueriedName::parse(outer).map(|outer| {
                let (container, last, _) = outer.into_parts();
                container.into_iter().chain([last]).collect::<Vec<String>>()
            });
            let inner = |part: &str| part.trim_matches('`').to_owned();
            let spaced = outer.contains(char::is_whitespace).then(|| parts(outer).map(inner).collect());
            let read = |container| Some(Self { container, ..Self::literal(name)? });
            [parsed, spaced].into_iter().flatten().filter_map(read).collect::<Vec<Self>>()
        }));
        let mut known: Vec<Self> = Vec::with_capacity(found.len());
        for one in found {
            if !known.contains(&one) {
                known.push(one);
            }
        }
        known
    }

    /// Returns the whole text as a name; `None` if it is empty or too long, or has control characters.
    fn literal(text: &str) -> Option<Self> {
        let is_name = !text.is_empty() && text.len() <= NAME_BYTES_MAX && !text.contains(char::is_control);
        is_name.then(|| Self::plain(text))
    }

    /// Returns a name without containers.
    #[must_use]
    pub fn plain(name: &str) -> Self {
        Self { container: Vec::new(), name: name.to_owned(), kinds: &[] }
    }

    /// Returns the name with its containers.
    #[must_use]
    pub fn qualified(&self) -> String {
        let parts: Vec<&str> =
            self.container.iter().map(String::as_str).chain([self.name.as_str()]).collect();
        parts.join(".")
    }

    /// Returns the simple name.
    #[must_use]
    pub fn simple(&self) -> &str {
        &self.name
    }

    /// Returns whether a definition has the name in this spelling, in any container.
    #[must_use]
    pub fn is_spelling_of(&self, definition: &DefinitionAt) -> bool {
        let language = definition.language.as_deref();
        closeness(language, &self.name, &definition.name) == Some(Closeness::Same)
    }

    /// Returns the folded names of the containers.
    #[must_use]
    pub fn around(&self) -> Vec<String> {
        self.container.iter().map(|name| squash(name)).collect()
    }

    /// Returns whether a definition has this name, in the same spelling, and these containers, ignoring case. Containers are the
    /// definitions, the file and the folders around it.
    #[must_use]
    pub fn is_name_of(&self, definition: &DefinitionAt) -> bool {
        self.closeness(definition) == Some(Closeness::Same)
    }

    /// Returns the agreement of the name of a definition within these containers with this one; `None` for other definitions.
    #[must_use]
    pub fn closeness(&self, definition: &DefinitionAt) -> Option<Closeness> {
        // An `impl` block has the name of a type that is defined elsewhere.
        let may_be = definition.kind != "impl" && self.is_within(definition);
        let closeness = || closeness(definition.language.as_deref(), &self.name, &definition.name);
        if may_be { closeness() } else { None }
    }

    fn is_within(&self, definition: &DefinitionAt) -> bool {
        let around = around(definition);
        let mut around = around.iter().map(|name| squash(name));
        self.container.iter().all(|queried| {
            let queried = squash(queried);
            around.any(|name| name == queried)
        })
    }

    /// Returns how well a definition that has the name fits; larger is better, and of several definitions only the best fit. The kind
    /// counts most, then whether the containers are those directly around it, then their spelling.
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
const NAME_BYTES_MAX: usize = 400;
/// Maximum number of places at which a text is divided into containers and a name.
const SPLITS_MAX: usize = 8;

/// Returns a text without the quotes around it, but not without those around a part of it.
fn without_quotes(text: &str) -> &str {
    let inner = |quote: &char| {
        let inner = text.strip_prefix(*quote)?.strip_suffix(*quote)?;
        (!quotes_parts(text, *quote)).then_some(inner)
    };
    ['`', '"', '\''].iter().find_map(inner).map_or(text, str::trim)
}

/// Returns the ways to divide a text into containers and a name of any characters, the longest name first. Empty for a name without unusual
/// characters.
fn splits(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let is_usual = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$');
    let is_unusual = text.len() <= 2 * NAME_BYTES_MAX && text.contains(|c: char| !is_usual(c));
    let places = text.match_indices(['.', ':', '#']).filter(move |(at, _)| is_unusual && *at > 0);
    let divided = places.filter_map(|(at, mark)| {
        let (outer, name) = (text.get(..at)?, text.get(at + mark.len()..)?);
        // `::` is divided at its last colon.
        (!name.is_empty() && !name.starts_with(':'))
            .then(|| (outer.trim_end_matches(':'), name.trim_matches('`')))
    });
    divided.take(SPLITS_MAX)
}

/// Returns the names of the definitions around a definition, outermost first.
fn containers(definition: &DefinitionAt) -> Vec<String> {
    let outer = languages::container(&definition.name, &definition.qualified);
    outer.into_iter().flat_map(parts).map(str::to_owned).collect()
}

/// Returns the names in a text that separators divide.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(['.', ':', '#', '\\', '/']).map(str::trim).filter(|part| !part.is_empty())
}

/// Returns the names of everything around a definition, outermost first: folders, the file, definitions.
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
            Spelling::Name(readings) => {
                let Reading { path, name } = readings.into_iter().next().unwrap();
                (path.unwrap_or_default(), name.qualified())
            }
            Spelling::Place { path, line, column } => (path, format!("{line}:{}", column.unwrap_or(0))),
        }
    }

    #[test]
    fn names_and_places_are_distinguished() {
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
            ("operator  bool", "", "operator bool"),
            ("S::operator std::string", "", "S.operator std::string"),
            ("a.cpp:S::operator new []", "a.cpp", "S.operator new[]"),
            ("operator \"\" _km", "", "operator\"\"_km"),
            ("`weird class`.`is`", "", "weird class.is"),
            ("`.json`", "", "json"),
            ("==", "", "=="),
            ("::", "", "::"),
            ("Vec#<=>", "", "Vec.<=>"),
            ("Repo.get!", "", "Repo.get!"),
            ("`adds two numbers`", "", "adds two numbers"),
            ("src/a.kt:`adds two numbers`", "src/a.kt", "adds two numbers"),
            ("how are sessions refreshed", "", "how are sessions refreshed"),
        ] {
            assert_eq!(parsed(text), (path.to_owned(), name.to_owned()), "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "   ", "chunk:12", "\u{0}"] {
            let fault = Spelling::parse(text).unwrap_err();
            assert_eq!(fault.code, ErrorCode::InvalidRequest, "{text:?}");
            assert!(fault.hint.is_some());
        }
        assert!(Spelling::parse(&"x".repeat(10_000)).is_err());
        let question = |text: &str| Spelling::parse(text).unwrap().question(text).is_some();
        for text in [
            "how are sessions refreshed", "what is in config.json", "what does `foo`.bar do",
            "what does `foo`.bar", "operators of the parser",
        ] {
            assert!(question(text), "{text}");
        }
        for text in ["sessions", "class Foo", "operator bool", "a.cpp:operator T&", "`weird class`.`is`"] {
            assert!(!question(text), "{text}");
        }
    }

    #[test]
    fn a_text_is_read_in_every_way_that_it_may_be_a_name() {
        let names = |text: &str| match Spelling::parse(text).unwrap() {
            Spelling::Name(readings) => {
                let shown = |reading: Reading| {
                    let path = reading.path.map(|path| format!("{path}|")).unwrap_or_default();
                    format!("{path}{}|{}", reading.name.container.join("."), reading.name.name)
                };
                readings.into_iter().map(shown).collect::<Vec<_>>()
            }
            place => panic!("{place:?}"),
        };
        assert_eq!(names("get"), ["|get"]);
        assert_eq!(names("Sum.adds two numbers"), ["|Sum.adds two numbers", "Sum|adds two numbers"]);
        assert!(names("a.b:c").contains(&"a.b|c".to_owned()), "a method of Lua: {:?}", names("a.b:c"));
        assert_eq!(
            names("weird class.is"),
            ["weird.class|is", "|weird class.is", "weird|is", "weird class|is"]
        );
        assert_eq!(names("`weird class`.`is`")[0], "weird class|is");
        assert!(names("src/a.kt:Sum.is 1.5").contains(&"src/a.kt|Sum|is 1.5".to_owned()));
        assert!(names(&"a.b c".repeat(60)).len() <= 2 + 2 * SPLITS_MAX);
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
            Ok(Spelling::Name(mut readings)) => readings.remove(0).name,
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
