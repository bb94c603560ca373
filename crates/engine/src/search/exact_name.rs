//! Recognises queries that consist of a name (`Context.json`, `Context#json`, `interface Env`, `fn foo()`) and finds the
//! definitions with that name.

use std::collections::{HashMap, HashSet};

use super::query::SearchQuery;
use super::ranking::Ranking;
use contract::Fault;
use languages::facts::DEFINED;
use languages::terms::{PathWords, squash};
use languages::{container, name_forms};
use store::{ChunkSelection, DefinitionRow, Reads, fact_id};

/// Longest query that can be a name, in bytes.
const NAME_BYTES_MAX: usize = 200;
/// The most definitions looked up by name, in addition to the candidates of the retrievers.
const NAMED_MAX: i64 = 200;

/// Words for kinds, with the kinds that they may mean, the most likely first.
const KIND_WORDS: &[(&[&str], &[&str])] = &[
    (
        &["function", "fn", "func", "def", "fun", "macro", "hook", "component", "handler", "decorator"],
        &["function", "method"],
    ),
    (&["method"], &["method", "function"]),
    (&["class", "object", "exception"], &["class", "struct", "interface", "trait", "type", "enum"]),
    (&["struct", "record", "union"], &["struct", "class", "type", "interface"]),
    (&["interface", "protocol"], &["interface", "trait", "type", "class"]),
    (&["trait", "mixin"], &["trait", "interface", "class"]),
    (&["enum"], &["enum", "class", "type"]),
    (&["type", "typedef", "alias"], &["type", "interface", "struct", "class", "enum", "trait"]),
    (&["module", "mod", "namespace", "package"], &["module", "class"]),
    (
        &["const", "constant", "let", "var", "val", "variable", "field", "property", "attribute"],
        &["variable", "function"],
    ),
];

/// Modifiers that may precede a definition; ignored.
const MODIFIERS: &[&str] = &[
    "export",
    "default",
    "pub",
    "public",
    "protected",
    "private",
    "static",
    "async",
    "abstract",
    "final",
    "readonly",
    "unsafe",
    "extern",
    "declare",
    "override",
    "new",
    "impl",
];

/// Words that may surround a name in a sentence; ignored.
const FILLERS: &[&str] = &[
    "the",
    "a",
    "an",
    "is",
    "are",
    "where",
    "what",
    "find",
    "show",
    "me",
    "definition",
    "defined",
    "declaration",
    "declared",
    "source",
    "code",
    "for",
    "of",
    "implementation",
    "implemented",
    "named",
    "called",
    "symbol",
];

/// Words between a name and its container: `json of Context`.
const PREPOSITIONS: &[&str] = &["of", "in", "on", "from"];

/// A query that is a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueriedName {
    /// Names of the containers (modules, classes), outermost first.
    container: Vec<String>,
    /// The name itself.
    name: String,
    /// Kinds that the definition may have, the most likely first; empty: any.
    kinds: &'static [&'static str],
    /// Whether only a definition in `container` matches. Set for two separate words, which may be a description
    /// instead.
    requires_container: bool,
}

impl QueriedName {
    /// Parses the name that a query consists of; `None` if it is not a name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_matches(['`', '"', '\'', '?', ';', ',']).trim();
        if text.is_empty() || text.len() > NAME_BYTES_MAX || text.contains('\n') {
            return None;
        }
        if let Some(handler) = handler(text) {
            return Some(Self {
                container: Vec::new(),
                name: handler,
                kinds: &[],
                requires_container: false,
            });
        }
        let plain = without_arguments(text)?;
        let mut words: Vec<&str> = plain.split_whitespace().collect();
        if let [name, preposition, outer] = words.as_slice()
            && PREPOSITIONS.contains(&preposition.to_lowercase().as_str())
        {
            let (outer, name) = (chain(outer)?, chain(name)?);
            return Self::from_parts(outer.into_iter().chain(name).collect(), &[], true);
        }
        let (count, last) = (words.len(), words.last().copied());
        words.retain(|word| !FILLERS.contains(&word.to_lowercase().as_str()));
        let in_sentence = words.len() < count;
        let kinds = take_kind(&mut words);
        if words.is_empty() {
            // `type`, `class`: the only word is the name.
            return if count == 1 { Self::from_parts(chain(last?)?, &[], false) } else { None };
        }
        match words.as_slice() {
            [word] => {
                let parts = chain(word)?;
                let looks_like_name =
                    parts.len() > 1 || word.contains(|c: char| c.is_uppercase() || c == '_');
                // In a sentence such as `where is the router`, a word is a name only if its spelling shows it.
                (!in_sentence || looks_like_name || !kinds.is_empty())
                    .then(|| Self::from_parts(parts, kinds, false))?
            }
            [outer, name] if !in_sentence => {
                let (outer, name) = (chain(outer)?, chain(name)?);
                Self::from_parts(outer.into_iter().chain(name).collect(), kinds, true)
            }
            _ => None,
        }
    }

    fn from_parts(
        mut parts: Vec<String>,
        kinds: &'static [&'static str],
        requires_container: bool,
    ) -> Option<Self> {
        let name = parts.pop()?;
        Some(Self { container: parts, name, kinds, requires_container })
    }

    /// Returns the names of the containers, outermost first, the name itself, and the kinds that the definition may have.
    #[must_use]
    pub(crate) fn into_parts(self) -> (Vec<String>, String, &'static [&'static str]) {
        (self.container, self.name, self.kinds)
    }

    /// Returns whether the name is a single lower-case word that may be an ordinary word: `cookie`, but not `Cookie`,
    /// `set_cookie` or `class cookie`.
    #[must_use]
    pub(super) fn is_ordinary_word(&self) -> bool {
        self.container.is_empty()
            && self.kinds.is_empty()
            && self.name.chars().all(|c| c.is_alphabetic() && !c.is_uppercase())
    }

    /// Returns the name and its containers, squashed, innermost first.
    #[must_use]
    pub(super) fn squashed(&self) -> Vec<String> {
        std::iter::once(&self.name).chain(self.container.iter().rev()).map(|name| squash(name)).collect()
    }

    /// Returns whether a definition has this name and, if `requires_container`, is in the right container.
    fn is_name_of(&self, definition: &DefinitionRow) -> bool {
        // An `impl` block has the name of a type that is defined elsewhere.
        definition.kind != "impl"
            && squash(&definition.name) == squash(&self.name)
            && (!self.requires_container || self.is_directly_in_container(definition))
    }

    /// Returns whether the innermost container of the definition is that of the name.
    fn is_directly_in_container(&self, definition: &DefinitionRow) -> bool {
        let containers = containers_of(definition);
        match (containers.last(), self.container.last()) {
            (Some(actual), Some(queried)) => squash(actual) == squash(queried),
            _ => false,
        }
    }

    /// Returns the boost of a definition with this name, as a share of the best score; 0 if it has another name.
    #[must_use]
    pub(super) fn boost(&self, definition: &DefinitionRow, path: &str, ranking: &Ranking) -> f32 {
        if !self.is_name_of(definition) {
            return 0.0;
        }
        let containers = containers_of(definition);
        let mut boost = 0.0;
        let mut same_case = definition.name == self.name;
        match (self.container.last(), containers.last()) {
            (None, None) => boost += ranking.name_outer_boost,
            (None, Some(_)) => {}
            (Some(queried), innermost) => {
                let names = containers.iter().map(String::as_str);
                if self.is_directly_in_container(definition) {
                    boost += ranking.name_container_boost;
                    same_case &= innermost == Some(queried);
                    boost += if self.is_within(path, names) { ranking.name_outer_boost } else { 0.0 };
                } else if self.is_within(path, names) {
                    boost += ranking.name_path_boost;
                } else {
                    return 0.0;
                }
            }
        }
        if let Some(at) = self.kinds.iter().position(|kind| *kind == definition.kind) {
            boost += if at == 0 { ranking.name_kind_boost } else { ranking.name_kind_boost / 2.0 };
        }
        boost + if same_case { ranking.name_case_boost } else { 0.0 }
    }

    /// Returns whether all containers of the name surround the definition, in this order: directories, the file,
    /// definitions.
    fn is_within<'p>(&'p self, path: &'p str, containers: impl Iterator<Item = &'p str>) -> bool {
        let words = PathWords::new(path);
        let around = words.directories.iter().rev().copied().chain([words.stem]).chain(containers);
        let mut around = around.map(squash);
        self.container.iter().all(|queried| {
            let queried = squash(queried);
            around.any(|name| name == queried)
        })
    }

    /// Reads the definitions with this name among the chunks of `selection`, each with its repository. Where a repository has none
    /// in the container, those with the simple name count.
    async fn definitions(
        &self,
        reads: &mut Reads,
        selection: &ChunkSelection,
        repositories: &[i64],
    ) -> Result<Vec<(i64, DefinitionRow)>, Fault> {
        let simple = squash(&self.name);
        if simple.is_empty() {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        if !self.container.is_empty() {
            let qualified = [self.container.join("."), self.name.clone()].join(".");
            let forms = name_forms(&self.name, &qualified);
            let ids: Vec<i64> = forms.iter().filter(|form| **form != simple).map(|form| id(form)).collect();
            found = reads.named(&ids, selection, repositories, NAMED_MAX).await?;
            found.retain(|(_, definition)| self.is_name_of(definition));
        }
        let complete: HashSet<i64> = found.iter().map(|(repository, _)| *repository).collect();
        let lacking: Vec<i64> = repositories.iter().filter(|id| !complete.contains(id)).copied().collect();
        if (complete.is_empty() || !lacking.is_empty()) && !self.requires_container {
            let simple = reads.named(&[id(&simple)], selection, &lacking, NAMED_MAX).await?;
            found.extend(simple.into_iter().filter(|(_, definition)| self.is_name_of(definition)));
        }
        Ok(found)
    }
}

/// Reads the definitions with the queried name among the chunks of `selection`, by chunk id; empty if the query is not a
/// name or has no definition. Each of `repositories` is searched as if it were alone; without any, the selection is searched as one.
///
/// # Errors
/// Storage faults.
pub(super) async fn definitions(
    reads: &mut Reads,
    query: &SearchQuery,
    selection: &ChunkSelection,
    repositories: &[i64],
) -> Result<HashMap<i64, Vec<DefinitionRow>>, Fault> {
    let mut found: HashMap<i64, Vec<DefinitionRow>> = HashMap::new();
    if let Some(name) = QueriedName::parse(&query.ranking_text()).filter(|_| query.similar_to.is_none()) {
        for (_, definition) in name.definitions(reads, selection, repositories).await? {
            found.entry(definition.chunk_id).or_default().push(definition);
        }
    }
    Ok(found)
}

fn id(form: &str) -> i64 {
    fact_id(DEFINED, form)
}

/// Returns the names of the containers of a definition, outermost first.
fn containers_of(definition: &DefinitionRow) -> Vec<String> {
    let outer = container(&definition.name, &definition.qualified);
    let parts = outer.into_iter().flat_map(|outer| outer.split(['.', ':', '#', '\\', '/']));
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Returns the name of an anonymous handler, which is the call that registers it: `app.get('/x')`.
fn handler(text: &str) -> Option<String> {
    let (callee, rest) = text.split_once('(')?;
    let argument = rest.strip_suffix(')')?.trim();
    let quotes = ['\'', '"', '`'];
    let is_quoted = argument.len() > 1 && argument.starts_with(quotes) && argument.ends_with(quotes);
    (is_quoted && chain(callee).is_some()).then(|| text.to_owned())
}

/// Removes arguments, type arguments and a parenthesised receiver, and makes `.` the only separator.
fn without_arguments(text: &str) -> Option<String> {
    let text = text.replace("->", ".");
    // `func (c *Context) JSON`.
    let text = match text.strip_prefix("func (").and_then(|rest| rest.split_once(')')) {
        Some((receiver, rest)) => {
            let receiver = receiver.rsplit([' ', '*']).next().unwrap_or_default();
            format!("func {receiver}.{}", rest.trim_start())
        }
        None => text,
    };
    let end = text.find('(').unwrap_or(text.len());
    let head = if end == 0 { return None } else { &text[..end] };
    let mut plain = String::with_capacity(head.len());
    let mut depth = 0usize;
    for c in head.chars() {
        match c {
            '<' => depth += 1,
            '>' if depth > 0 => depth -= 1,
            _ if depth > 0 => {}
            c => plain.push(c),
        }
    }
    Some(plain.replace("::", ".").replace("?.", ".").replace(['#', '\\', '/'], "."))
}

/// Removes the word for a kind, at the start with its modifiers or at the end, and returns its kinds.
fn take_kind(words: &mut Vec<&str>) -> &'static [&'static str] {
    let mut kinds: &'static [&'static str] = &[];
    while words.len() > 1 {
        let first = words[0].to_lowercase();
        let found = kind_word(words[0]);
        if found.is_none() && !MODIFIERS.contains(&first.as_str()) {
            break;
        }
        kinds = found.unwrap_or(kinds);
        words.remove(0);
    }
    if kinds.is_empty()
        && words.len() > 1
        && let Some(found) = words.last().and_then(|word| kind_word(word))
    {
        words.pop();
        kinds = found;
    }
    kinds
}

fn kind_word(word: &str) -> Option<&'static [&'static str]> {
    let word = word.to_lowercase();
    let found = KIND_WORDS.iter().find(|(words, _)| words.contains(&word.as_str()));
    found.map(|(_, kinds)| *kinds)
}

/// Returns the names of a dotted chain; `None` if one part is not a name.
fn chain(text: &str) -> Option<Vec<String>> {
    let text = text.trim_matches(['`', '"', '\'', ',', ';', '?', '.', '@', '&', '*', '$', ':']);
    let parts: Vec<String> =
        text.split('.').map(|part| part.trim_end_matches(['!', '?']).to_owned()).collect();
    let is_name = |part: &String| {
        part.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$' | '~'))
            && part.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '-' | '~'))
    };
    parts.iter().all(is_name).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Option<(String, String, &'static str)> {
        QueriedName::parse(text).map(|queried| {
            (queried.container.join("."), queried.name, queried.kinds.first().copied().unwrap_or_default())
        })
    }

    fn assert_parses(text: &str, container: &str, name: &str, kind: &str) {
        let parsed = parse(text);
        let parsed =
            parsed.as_ref().map(|(container, name, kind)| (container.as_str(), name.as_str(), *kind));
        assert_eq!(parsed, Some((container, name, kind)), "{text}");
    }

    #[test]
    fn a_name_is_parsed_in_every_spelling() {
        for text in [
            "Context.json",
            "Context#json",
            "Context::json",
            "Context->json",
            "Context.json()",
            "`Context.json`",
        ] {
            assert_parses(text, "Context", "json", "");
        }
        assert_parses("context.json(data, 200)", "context", "json", "");
        assert_parses("Context json", "Context", "json", "");
        assert_parses("json in Context", "Context", "json", "");
        assert_parses("Context json method", "Context", "json", "method");
        assert_parses("func (c *Context) JSON(code int)", "Context", "JSON", "function");
        for text in [
            "interface Env",
            "Env interface",
            "export interface Env",
            "the Env interface",
            "interface Env<T>",
        ] {
            assert_parses(text, "", "Env", "interface");
        }
        assert_parses("type Env", "", "Env", "type");
        assert_parses("fn foo", "", "foo", "function");
        assert_parses("pub async fn foo(x: u32) -> bool", "", "foo", "function");
        assert_parses("function cors", "", "cors", "function");
        assert_parses("class Foo", "", "Foo", "class");
        assert_parses("impl Foo", "", "Foo", "");
        assert_parses("def bar(self):", "", "bar", "function");
        assert_parses("AppContext.push()", "AppContext", "push", "");
        assert_parses("crate::search::rank", "crate.search", "rank", "");
        assert_parses("where is AppContext.push defined?", "AppContext", "push", "");
        assert_parses("foo()", "", "foo", "");
        assert_parses("type", "", "type", "");
        assert_parses("app.get('/x')", "", "app.get('/x')", "");
    }

    #[test]
    fn other_queries_are_not_names() {
        for text in [
            "how are sessions refreshed",
            "where is the router",
            "rate limiting middleware for requests",
            "a + b",
            "",
            "(x)",
            "first line\nsecond",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        // Two words may be a description, so a definition must match both.
        assert!(QueriedName::parse("session refresh").unwrap().requires_container);
    }

    fn row(qualified: &str, kind: &str) -> DefinitionRow {
        let name = qualified.rsplit(['.', ':']).next().unwrap_or_default().to_owned();
        DefinitionRow {
            name,
            qualified: qualified.to_owned(),
            kind: kind.to_owned(),
            ..DefinitionRow::default()
        }
    }

    #[test]
    fn more_exact_matches_have_higher_boosts() {
        let ranking = Ranking::default();
        let boost = |text: &str, qualified: &str, kind: &str, path: &str| {
            QueriedName::parse(text).unwrap().boost(&row(qualified, kind), path, &ranking)
        };
        let method = |text| boost(text, "Context.json", "method", "src/context.ts");
        assert!(method("Context.json") > method("context.json"));
        assert!(method("context.json") > boost("Context.json", "json", "function", "src/Context.ts"));
        assert!(boost("Context.json", "json", "function", "src/context.ts") > 0.0, "a file as a module");
        assert!(boost("Context.json", "Other.json", "method", "src/other.ts").abs() < f32::EPSILON);
        assert!(method("session json").abs() < f32::EPSILON, "two words need both");
        let env = |kind| boost("interface Env", "Env", kind, "src/types.ts");
        assert!(env("interface") > env("type") && env("type") > env("variable"));
        assert!(method("text").abs() < f32::EPSILON);
    }
}
