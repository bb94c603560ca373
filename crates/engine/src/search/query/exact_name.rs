//! Recognises queries that consist of a name (`Context.json`, `Context#json`, `interface Env`, `fn foo()`) and finds the
//! definitions with that name.

mod words;

use std::collections::{BTreeSet, HashMap, HashSet};

use words::{FILLERS, KIND_WORDS, MODIFIERS, PREPOSITIONS};

use crate::search::query::SearchQuery;
use crate::search::query::other_spelling::other_spelling;
use crate::search::rank::ranking::Ranking;
use contract::{Fault, Warning};
use languages::facts::DEFINED;
use languages::terms::{PathWords, squash};
use languages::{
    Closeness, QuestionName, bare, closeness, container, fold, nfc, spelled, spellings_of_name, split_name,
};
use store::{ChunkSelection, DefinitionRow, Reads, fact_id};

/// Longest query that can be a name, in bytes.
const NAME_BYTES_MAX: usize = 200;
/// Maximum number of definitions looked up by name, in addition to the candidates of the retrievers.
const NAMED_MAX: i64 = 200;

/// A query that is a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::search) struct QueriedName {
    /// Names of the containers (modules, classes), outermost first.
    container: Vec<String>,
    /// The name itself, with its marks, as it was asked.
    name: String,
    /// The name as the index may have it, in one language or another.
    spellings: Vec<String>,
    /// Kinds that the definition may have, the most likely first; empty: any.
    kinds: &'static [&'static str],
    /// `true` if only a definition in `container` matches. Set for two separate words, which may be a description instead.
    requires_container: bool,
    /// The whole text, if it has white space: a name of the same words is what was asked, in whatever it is.
    whole: Option<String>,
}

impl QueriedName {
    /// Parses the name that a query consists of; `None` if it is not a name.
    #[must_use]
    pub(in crate::search) fn parse(text: &str) -> Option<Self> {
        let text = &*nfc(unquoted(text));
        if text.is_empty() || text.len() > NAME_BYTES_MAX || text.contains('\n') {
            return None;
        }
        if let Some(handler) = handler(text) {
            return Some(Self::new(QuestionName { container: Vec::new(), name: handler }, &[], false));
        }
        if !text.contains(char::is_whitespace) {
            return Some(Self::new(split_name(text)?, &[], false));
        }
        if let Some(named) = split_name(text).filter(may_have_space) {
            return Some(Self::new(named, &[], false));
        }
        let plain = without_arguments(text)?;
        let mut words: Vec<&str> = plain.split_whitespace().map(bare_word).collect();
        let is_filler = |word: &str| FILLERS.contains(&word.trim_end_matches('?').to_lowercase().as_str());
        let in_sentence = words.iter().any(|word| is_filler(word));
        // The mark that ends a question belongs to no name.
        if let Some(last) = words.last_mut().filter(|_| in_sentence) {
            *last = last.trim_end_matches('?');
        }
        if let [name, preposition, outer] = words.as_slice()
            && !is_filler(name)
            && PREPOSITIONS.contains(&preposition.to_lowercase().as_str())
        {
            let (outer, name) = (split_name(outer)?, split_name(name)?);
            return Some(Self::new(joined(outer, name), &[], true));
        }
        let (count, last) = (words.len(), words.last().copied());
        words.retain(|word| !is_filler(word));
        let kinds = take_kind(&mut words);
        if words.is_empty() {
            // `type`, `class`: the only word is the name.
            return if count == 1 { Some(Self::new(split_name(last?)?, &[], false)) } else { None };
        }
        match words.as_slice() {
            [word] => {
                let named = split_name(word)?;
                let looks_like_name = !named.container.is_empty()
                    || word.contains(|c: char| c.is_uppercase() || c == '_')
                    || bare(&named.name) != named.name;
                // In a sentence such as `where is the router`, a word is a name only if its spelling shows it.
                let is_name = !in_sentence || looks_like_name || !kinds.is_empty();
                is_name.then(|| Self::new(named, kinds, false))
            }
            [outer, name] if !in_sentence => {
                Some(Self::new(joined(split_name(outer)?, split_name(name)?), kinds, true))
            }
            // `where is save! used`: of several words, the one with a mark is the name.
            words if in_sentence => {
                let is_marked = |word: &&str| word.len() > 1 && word.ends_with(['!', '?']);
                let (last, inner) = words.split_last()?;
                let mut marked = inner.iter().copied().filter(is_marked);
                let word = marked.next().filter(|_| marked.next().is_none() && !is_marked(last))?;
                Some(Self::new(split_name(word)?, kinds, false))
            }
            _ => None,
        }
    }

    /// Returns the whole text as a name with white space, as some languages have them: `adds two numbers`. `None` for a text without, or
    /// one that is too long.
    #[must_use]
    pub(in crate::search) fn whole_text(text: &str) -> Option<Self> {
        let text = unquoted(text);
        let words: Vec<&str> = text.split_whitespace().collect();
        let fits = words.len() > 1 && text.len() <= NAME_BYTES_MAX && !text.contains(char::is_control);
        fits.then(|| {
            let name = QuestionName { container: Vec::new(), name: words.join(" ") };
            let whole = Some(name.name.to_lowercase());
            Self { whole, spellings: Vec::new(), ..Self::new(name, &[], false) }
        })
    }

    fn new(named: QuestionName, kinds: &'static [&'static str], requires_container: bool) -> Self {
        let QuestionName { container, name } = named;
        let spellings = spellings_of_name(&name);
        Self { container, name, spellings, kinds, requires_container, whole: None }
    }

    /// Returns the names of the containers, outermost first, the name itself, and the kinds that the definition may have.
    #[must_use]
    pub(crate) fn into_parts(self) -> (Vec<String>, String, &'static [&'static str]) {
        (self.container, self.name, self.kinds)
    }

    /// Returns whether the name is a single lower-case word that may be an ordinary word: `cookie`, but not `Cookie`,
    /// `set_cookie` or `class cookie`.
    #[must_use]
    pub(in crate::search) fn is_ordinary_word(&self) -> bool {
        self.container.is_empty()
            && self.kinds.is_empty()
            && self.name.chars().all(|c| c.is_alphabetic() && !c.is_uppercase())
    }

    /// Returns the name and its containers, squashed, innermost first.
    #[must_use]
    pub(in crate::search) fn squashed(&self) -> Vec<String> {
        std::iter::once(fold(&self.name))
            .chain(self.container.iter().rev().map(|name| squash(name)))
            .collect()
    }

    /// Returns whether a definition has this name and, if `requires_container`, is in the right container.
    fn is_name_of(&self, definition: &DefinitionRow) -> bool {
        // An `impl` block has the name of a type that is defined elsewhere.
        definition.kind != "impl"
            && self.closeness(definition).is_some()
            && (self.is_whole(definition)
                || !self.requires_container
                || self.is_directly_in_container(definition))
    }

    /// Returns whether a definition has the whole text as its name, or its name and those of its containers, some with white space.
    fn is_whole(&self, definition: &DefinitionRow) -> bool {
        // `operator new[]` has the letters of `operator new`.
        let may_be_folded =
            definition.qualified.contains(char::is_whitespace) && !definition.name.starts_with("operator ");
        let is_qualified = |whole: &String| may_be_folded && fold(&definition.qualified) == fold(whole);
        let is_it = |whole: &String| definition.name.to_lowercase() == *whole || is_qualified(whole);
        self.whole.as_ref().is_some_and(is_it)
    }

    /// Returns how much the name of a definition agrees with the spelling that was asked, without regard to case and naming style.
    fn closeness(&self, definition: &DefinitionRow) -> Option<Closeness> {
        self.closeness_in(definition, definition.language.as_deref())
    }

    /// Returns the same, of a definition in a file of a language.
    fn closeness_in(&self, definition: &DefinitionRow, language: Option<&str>) -> Option<Closeness> {
        let name = definition.name.as_str();
        if self.is_whole(definition) {
            return Some(Closeness::Same);
        }
        if self.spellings.is_empty() {
            return None;
        }
        if closeness(language, &spelled(&self.name), &spelled(name)) == Some(Closeness::Same) {
            return Some(Closeness::Same);
        }
        let key = fold(name);
        self.spellings.iter().any(|one| fold(one) == key).then_some(Closeness::Bare)
    }

    /// Returns a warning if definitions were found, but none in the spelling that was asked.
    #[must_use]
    pub(in crate::search) fn other_spelling<'d>(
        &self,
        found: impl Iterator<Item = &'d DefinitionRow>,
    ) -> Option<Warning> {
        if self.requires_container {
            return None;
        }
        let mut names = BTreeSet::new();
        for definition in found {
            if self.closeness(definition) == Some(Closeness::Same) {
                return None;
            }
            names.insert(definition.name.as_str());
        }
        (!names.is_empty()).then(|| other_spelling(&self.name, names))
    }

    /// Returns whether the innermost container of the definition is that of the name.
    fn is_directly_in_container(&self, definition: &DefinitionRow) -> bool {
        let containers = containers_of(definition);
        match (containers.last(), self.container.last()) {
            (Some(actual), Some(queried)) => squash(actual) == squash(queried),
            _ => false,
        }
    }

    /// Returns the boost of a definition with this name, as a share of the best score; 0 if it has a different name.
    #[must_use]
    pub(in crate::search) fn boost(&self, definition: &DefinitionRow, path: &str, ranking: &Ranking) -> f32 {
        if !self.is_name_of(definition) {
            return 0.0;
        }
        if self.is_whole(definition) {
            return ranking.name_outer_boost + ranking.name_container_boost + ranking.name_case_boost;
        }
        let containers = containers_of(definition);
        let mut boost = 0.0;
        // `fetch!` is not the name of `fetch`, though some languages write the mark after any name.
        let language = || languages::detect(path, b"").map(|language| language.id);
        let mut same_case = self.spellings.contains(&definition.name)
            && self.closeness_in(definition, language()) == Some(Closeness::Same);
        match (self.container.last(), containers.last()) {
            (None, None) => boost += ranking.name_outer_boost,
            (None, Some(_)) => {}
            (Some(queried), innermost) => {
                let names = containers.iter().map(String::as_str);
                if self.is_directly_in_container(definition) {
                    boost += ranking.name_container_boost;
                    same_case &=
                        innermost.is_some_and(|innermost| spellings_of_name(queried).contains(innermost));
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
        let mut simple: Vec<String> = self.spellings.iter().map(|spelling| fold(spelling)).collect();
        simple.sort_unstable();
        simple.dedup();
        simple.retain(|key| !key.is_empty());
        let ids = |keys: &[String]| -> Vec<i64> { keys.iter().map(|key| id(key)).collect() };
        let mut found = Vec::new();
        if let Some(whole) = &self.whole {
            found = reads.named(&[id(&fold(whole))], selection, repositories, NAMED_MAX).await?;
            found.retain(|(_, definition)| self.is_whole(definition) && definition.kind != "impl");
            if !found.is_empty() || self.spellings.is_empty() {
                return Ok(found);
            }
        }
        if let Some(innermost) = self.container.last() {
            let outer = [squash(&self.container.concat()), squash(innermost)];
            let forms: Vec<String> = outer
                .iter()
                .flat_map(|outer| simple.iter().map(move |key| format!("{outer}{key}")))
                .collect();
            found = reads.named(&ids(&forms), selection, repositories, NAMED_MAX).await?;
            found.retain(|(_, definition)| self.is_name_of(definition));
        }
        let complete: HashSet<i64> = found.iter().map(|(repository, _)| *repository).collect();
        let lacking: Vec<i64> = repositories.iter().filter(|id| !complete.contains(id)).copied().collect();
        if (complete.is_empty() || !lacking.is_empty()) && !self.requires_container {
            let rows = reads.named(&ids(&simple), selection, &lacking, NAMED_MAX).await?;
            found.extend(rows.into_iter().filter(|(_, definition)| self.is_name_of(definition)));
        }
        // Another spelling counts only where nothing has the one that was asked.
        let best = found.iter().filter_map(|(_, definition)| self.closeness(definition)).max();
        found.retain(|(_, definition)| self.closeness(definition) == best);
        Ok(found)
    }
}

/// Reads the definitions with the queried name among the chunks of `selection`, by chunk id; empty if the query is not a
/// name or has no definition. Each of `repositories` is searched as if it were alone; without any, the selection is searched as one.
///
/// # Errors
/// Storage faults.
pub(in crate::search) async fn definitions(
    reads: &mut Reads,
    query: &SearchQuery,
    selection: &ChunkSelection,
    repositories: &[i64],
) -> Result<HashMap<i64, Vec<DefinitionRow>>, Fault> {
    let mut found: HashMap<i64, Vec<DefinitionRow>> = HashMap::new();
    if let Some(name) = queried(&query.ranking_text()).filter(|_| query.similar_to.is_none()) {
        for (_, definition) in name.definitions(reads, selection, repositories).await? {
            found.entry(definition.chunk_id).or_default().push(definition);
        }
    }
    Ok(found)
}

/// Returns the name that a query consists of: by itself, or as a name with white space.
pub(in crate::search) fn queried(text: &str) -> Option<QueriedName> {
    let whole = QueriedName::whole_text(text);
    match QueriedName::parse(text) {
        Some(name) => Some(QueriedName { whole: whole.and_then(|whole| whole.whole), ..name }),
        None => whole,
    }
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
    (is_quoted && split_name(callee).is_some()).then(|| text.to_owned())
}

/// Returns whether a name has parts with white space, or is that of a literal of C++, whose quotes may be apart: `operator "" _km`.
pub(in crate::search) fn may_have_space(named: &QuestionName) -> bool {
    named.name.contains("\"\"")
        || named.container.iter().chain([&named.name]).any(|name| name.contains(char::is_whitespace))
}

/// Returns whether quotes in a text are those of single names in it: "`a b`.`c`", but not "`.c`".
pub(in crate::search) fn quotes_parts(text: &str, quote: char) -> bool {
    let marks = ['.', ':', '#'];
    text.match_indices(quote).enumerate().any(|(number, (at, quote))| match number % 2 == 0 {
        true => text[..at].ends_with(marks),
        false => text[at + quote.len()..].starts_with(marks),
    })
}

/// Removes what is written around a text: white space, quotes and punctuation.
fn unquoted(text: &str) -> &str {
    let text = text.trim().trim_end_matches([';', ',']).trim_end();
    if quotes_parts(text, '`') {
        return text;
    }
    let text = text.trim_start_matches([';', ',', '"', '`']).trim_end_matches(['"', '`']).trim();
    // A name may end with a prime.
    text.strip_prefix('\'').map_or(text, |rest| rest.trim_end_matches('\'')).trim()
}

/// Removes quotes and punctuation around a word.
fn bare_word(word: &str) -> &str {
    let word = word.trim_start_matches(['"', '`']).trim_end_matches(['"', '`', ',', ';']);
    word.strip_prefix('\'').map_or(word, |rest| rest.trim_end_matches('\''))
}

/// Returns a name within another.
fn joined(outer: QuestionName, inner: QuestionName) -> QuestionName {
    let mut container = outer.container;
    container.push(outer.name);
    container.extend(inner.container);
    QuestionName { container, name: inner.name }
}

/// Removes arguments, type arguments and a parenthesised receiver, and the white space after the word `operator`.
fn without_arguments(text: &str) -> Option<String> {
    // `func (c *Context) JSON`.
    let text = match text.strip_prefix("func (").and_then(|rest| rest.split_once(')')) {
        Some((receiver, rest)) => {
            let receiver = receiver.rsplit([' ', '*']).next().unwrap_or_default();
            format!("func {receiver}.{}", rest.trim_start())
        }
        None => text.to_owned(),
    };
    let is_sign = |c: char| !c.is_alphanumeric() && c != '_' && !c.is_whitespace();
    if let Some((before, signs)) =
        text.split_once("operator ").filter(|(_, signs)| signs.starts_with(is_sign))
    {
        return Some(format!("{before}operator{}", signs.split_whitespace().collect::<String>()));
    }
    let mut plain = String::with_capacity(text.len());
    let mut depth = 0usize;
    for c in text.chars() {
        // Brackets after a name are those of its arguments; others are signs of an operator.
        let is_behind_name = plain.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '!' | '?'));
        match c {
            '(' if depth == 0 && is_behind_name => break,
            '(' if plain.is_empty() => return None,
            '<' if depth > 0 || is_behind_name => depth += 1,
            '>' if depth > 0 => depth -= 1,
            _ if depth > 0 => {}
            c => plain.push(c),
        }
    }
    Some(plain)
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

#[cfg(test)]
mod tests;
