//! A set of rules: the built-in ones and those of a repository, with an index by name.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};
use serde::Deserialize;

use super::pattern::ChainPattern;
use super::rule::{Kind, Rule};

/// The built-in rules, by subject.
static DEFAULTS: &[&str] = &[
    include_str!("rules/sources.toml"),
    include_str!("rules/commands.toml"),
    include_str!("rules/queries.toml"),
    include_str!("rules/files.toml"),
    include_str!("rules/network.toml"),
    include_str!("rules/markup.toml"),
    include_str!("rules/objects.toml"),
    include_str!("rules/crypto.toml"),
    include_str!("rules/sanitizers.toml"),
];

/// Increase when the analysis yields other findings with the same rules.
const ENGINE_VERSION: u32 = 2;
/// Size classes in bytes of a compiled `pattern`: it counts as the smallest class that it fits in, and is rejected if it
/// exceeds the last.
const PATTERN_SIZES: [usize; 3] = [1 << 16, 1 << 18, 1 << 20];
/// Maximum size of all compiled patterns together in bytes, because rules come with untrusted repositories.
const PATTERNS_SIZE_MAX: usize = 64 << 20;
/// Size limit in bytes of a pattern's search cache, for each thread.
const PATTERN_CACHE_MAX: usize = 1 << 18;
/// Size limit in bytes of the compiled names of a language.
const WORDS_SIZE_MAX: usize = 2 << 20;
/// Maximum number of categories: a set of them is a machine word.
const CATEGORIES_MAX: usize = 64;

/// A checked set of rules.
#[derive(Debug, Clone)]
pub struct RuleSet {
    rules: Vec<Rule>,
    patterns: Vec<Option<Regex>>,
    unless: Vec<Option<Regex>>,
    /// For each rule, a bit set of categories: that of a sink, or those that a sanitizer clears.
    categories: Vec<u64>,
    /// Names of the categories, by bit.
    names: Vec<String>,
    by_language: HashMap<&'static str, Index>,
    fingerprint: [u8; 32],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Document {
    #[serde(default = "yes")]
    pub(super) include_defaults: bool,
    #[serde(default)]
    pub(super) rule: Vec<Rule>,
}

fn yes() -> bool {
    true
}

impl RuleSet {
    /// The built-in rules.
    ///
    /// # Panics
    ///
    /// Never in a build whose tests pass: the rules are part of it.
    #[must_use]
    #[expect(clippy::panic, reason = "embedded data; a test loads it")]
    pub fn defaults() -> &'static Self {
        static SET: LazyLock<RuleSet> = LazyLock::new(|| {
            let mut rules = Vec::new();
            for text in DEFAULTS {
                rules.extend(read(text).unwrap_or_else(|error| panic!("{error}")).rule);
            }
            RuleSet::new(rules).unwrap_or_else(|error| panic!("{error}"))
        });
        &SET
    }

    /// The rules, in order.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// A hash that changes whenever the same file could yield other findings.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 32] {
        self.fingerprint
    }

    pub(super) fn new(rules: Vec<Rule>) -> Result<Self, String> {
        let mut names: Vec<String> = Vec::new();
        for rule in &rules {
            check(rule)?;
            for category in rule.clears.iter().chain((rule.kind == Kind::Sink).then_some(&rule.category)) {
                if !names.contains(category) {
                    names.push(category.clone());
                }
            }
        }
        if let Some(twice) =
            rules.iter().enumerate().find(|(at, rule)| rules[..*at].iter().any(|r| r.id == rule.id))
        {
            return Err(format!("two rules are called `{}`", twice.1.id));
        }
        if names.len() > CATEGORIES_MAX {
            return Err(format!(
                "{} categories of sinks, at most {CATEGORIES_MAX} are possible",
                names.len()
            ));
        }
        let bit = |category: &String| names.iter().position(|n| n == category).map_or(0, |at| 1u64 << at);
        let categories = rules.iter().map(|rule| match rule.kind {
            Kind::Sink => bit(&rule.category),
            Kind::Sanitizer if rule.clears.is_empty() => u64::MAX,
            _ => rule.clears.iter().map(bit).fold(0, |all, one| all | one),
        });
        let categories = categories.collect();
        let mut room = PATTERNS_SIZE_MAX;
        let mut compiled = |of: fn(&Rule) -> Option<&str>| -> Result<Vec<Option<Regex>>, String> {
            rules.iter().map(|rule| compile(rule, of(rule), &mut room)).collect()
        };
        let patterns = compiled(|rule| rule.pattern.as_deref())?;
        let unless = compiled(|rule| rule.unless.as_deref())?;
        let parsed = crate::all().filter(|language| language.has_grammar());
        let by_language = parsed.map(|language| Ok((language.id, Index::new(&rules, language.id)?)));
        let by_language = by_language.collect::<Result<_, String>>()?;
        let fingerprint = fingerprint(&rules)?;
        Ok(Self { rules, patterns, unless, categories, names, by_language, fingerprint })
    }

    pub(super) fn rule(&self, at: usize) -> &Rule {
        &self.rules[at]
    }

    /// The bit set of categories that a sink has or a sanitizer clears.
    pub(super) fn categories(&self, at: usize) -> u64 {
        self.categories[at]
    }

    /// The names of a set of categories.
    pub(super) fn category_names(&self, set: u64) -> Vec<String> {
        let held = self.names.iter().enumerate().filter(|(at, _)| set & (1 << at) != 0);
        held.map(|(_, name)| name.clone()).collect()
    }

    pub(super) fn pattern(&self, at: usize) -> Option<&Regex> {
        self.patterns[at].as_ref()
    }

    pub(super) fn unless(&self, at: usize) -> Option<&Regex> {
        self.unless[at].as_ref()
    }

    pub(super) fn index(&self, language: &str) -> Option<&Index> {
        self.by_language.get(language)
    }
}

/// Parses a text of rules. The error for an unknown key suggests the nearest known one.
pub(super) fn read(text: &str) -> Result<Document, String> {
    let table: toml::Table = toml::from_str(text).map_err(|error| error.to_string())?;
    known(table.keys(), &["include_defaults", "rule"], "the rules")?;
    let no_rules = Vec::new();
    for rule in table.get("rule").and_then(toml::Value::as_array).unwrap_or(&no_rules) {
        let Some(rule) = rule.as_table() else { continue };
        let id = rule.get("id").and_then(toml::Value::as_str).unwrap_or("without an id");
        known(rule.keys(), Rule::KEYS, &format!("rule `{id}`"))?;
    }
    table.try_into().map_err(|error: toml::de::Error| error.to_string())
}

fn known<'k>(keys: impl IntoIterator<Item = &'k String>, all: &[&str], place: &str) -> Result<(), String> {
    let Some(key) = keys.into_iter().find(|key| !all.contains(&key.as_str())) else { return Ok(()) };
    let nearest = all.iter().max_by(|a, b| strsim::jaro(a, key).total_cmp(&strsim::jaro(b, key)));
    Err(format!("unknown key `{key}` in {place}; did you mean `{}`?", nearest.unwrap_or(&"rule")))
}

/// Checks constraints that the type of a rule does not express.
fn check(rule: &Rule) -> Result<(), String> {
    let wrong = |what: String| Err(format!("rule `{}`: {what}", rule.id));
    if rule.id.is_empty() || rule.name.is_empty() || rule.category.is_empty() {
        return wrong("id, name and category must not be empty".to_owned());
    }
    if !(0.0..=1.0).contains(&rule.confidence) {
        return wrong(format!("confidence {} is not between 0 and 1", rule.confidence));
    }
    for language in rule.languages.iter().chain(rule.examples.keys()) {
        if crate::by_name(language).is_none_or(|known| known.id != *language) {
            return wrong(format!(
                "unknown language `{language}`, the nearest are {:?}",
                crate::nearest(language)
            ));
        }
    }
    if let Some(language) = rule.examples.keys().find(|language| !rule.applies_to(language)) {
        return wrong(format!("it has an example in {language}, which is not among its languages"));
    }
    let only = |given: bool, key: &str, kinds: &[Kind]| match given && !kinds.contains(&rule.kind) {
        true => wrong(format!("`{key}` has no meaning here")),
        false => Ok(()),
    };
    only(!rule.reads.is_empty(), "reads", &[Kind::Source])?;
    only(!rule.targets.is_empty(), "targets", &[Kind::Sink])?;
    only(!rule.keywords.is_empty(), "keywords", &[Kind::Sink])?;
    only(rule.fills.is_some(), "fills", &[Kind::Source])?;
    only(rule.argument.is_some(), "argument", &[Kind::Sink])?;
    only(rule.receiver, "receiver", &[Kind::Sink])?;
    only(!rule.clears.is_empty(), "clears", &[Kind::Sanitizer])?;
    if [&rule.calls, &rule.reads, &rule.targets, &rule.keywords].iter().all(|patterns| patterns.is_empty()) {
        return wrong("it matches nothing: give `calls`, `reads`, `targets` or `keywords`".to_owned());
    }
    Ok(())
}

/// Compiles a pattern and subtracts its size from `room`.
fn compile(rule: &Rule, pattern: Option<&str>, room: &mut usize) -> Result<Option<Regex>, String> {
    let Some(pattern) = pattern else { return Ok(None) };
    let mut refused = String::new();
    for size in PATTERN_SIZES {
        let mut regex = RegexBuilder::new(pattern);
        regex.case_insensitive(true).size_limit(size).dfa_size_limit(PATTERN_CACHE_MAX);
        match regex.build() {
            Ok(regex) => {
                let left = room.checked_sub(size);
                *room =
                    left.ok_or_else(|| format!("rule `{}`: the patterns are too large together", rule.id))?;
                return Ok(Some(regex));
            }
            Err(error) => refused = format!("rule `{}`: {error}", rule.id),
        }
    }
    Err(refused)
}

fn fingerprint(rules: &[Rule]) -> Result<[u8; 32], String> {
    let canonical: BTreeMap<&str, &Rule> = rules.iter().map(|rule| (rule.id.as_str(), rule)).collect();
    let bytes = serde_json::to_vec(&(ENGINE_VERSION, canonical)).map_err(|error| error.to_string())?;
    Ok(*blake3::hash(&bytes).as_bytes())
}

/// An index of the rules that apply to a language, by name.
#[derive(Debug, Clone, Default)]
pub(super) struct Index {
    pub(super) calls: Names,
    pub(super) reads: Names,
    pub(super) targets: Names,
    /// Rules by keyword.
    pub(super) keywords: HashMap<Box<str>, Vec<usize>>,
    /// Matches texts that may contain a name of `reads` or a keyword.
    words: Option<Regex>,
}

/// Patterns by their keys ([`ChainPattern::key`]).
#[derive(Debug, Clone, Default)]
pub(super) struct Names(HashMap<Box<str>, Vec<Entry>>);

/// A pattern and its rule.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) rule: usize,
    pub(super) pattern: ChainPattern,
    /// `true` if it ends with `*`, so that its key is not the last name of a chain.
    open: bool,
}

impl Index {
    fn new(rules: &[Rule], language: &str) -> Result<Self, String> {
        let mut index = Self::default();
        let mut words: Vec<String> = Vec::new();
        for (at, rule) in rules.iter().enumerate().filter(|(_, rule)| rule.applies_to(language)) {
            let of = |error| format!("rule `{}`: {error}", rule.id);
            for text in &rule.calls {
                index.calls.add(at, text).map_err(of)?;
            }
            for text in &rule.targets {
                index.targets.add(at, text).map_err(of)?;
            }
            for text in &rule.reads {
                let pattern = index.reads.add(at, text).map_err(of)?;
                words.push(regex::escape(pattern.longest()));
            }
            for word in &rule.keywords {
                index.keywords.entry(word.as_str().into()).or_default().push(at);
                words.push(regex::escape(word));
            }
        }
        words.sort();
        words.dedup();
        if !words.is_empty() {
            let words = RegexBuilder::new(&words.join("|")).size_limit(WORDS_SIZE_MAX).build();
            index.words = Some(words.map_err(|error| format!("the names that are read: {error}"))?);
        }
        Ok(index)
    }

    /// A cheap test whether a text may contain a name of `reads` or a keyword.
    pub(super) fn may_read(&self, text: &str) -> bool {
        self.words.as_ref().is_some_and(|words| words.is_match(text))
    }
}

impl Names {
    fn add(&mut self, rule: usize, text: &str) -> Result<ChainPattern, String> {
        let pattern = ChainPattern::parse(text)?;
        let (key, open) = pattern.key();
        let entry = Entry { rule, pattern: pattern.clone(), open };
        self.0.entry(key.into()).or_default().push(entry);
        Ok(pattern)
    }

    /// The patterns with this key.
    pub(super) fn by(&self, name: &str) -> &[Entry] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// Adds the rules with a pattern that matches a chain with `.`, without duplicates.
    pub(super) fn of_chain(&self, chain: &str, found: &mut Vec<usize>) {
        for (nth, part) in chain.rsplit('.').enumerate() {
            for entry in self.by(part) {
                let fits = if nth == 0 { !entry.open } else { entry.open };
                if fits && !found.contains(&entry.rule) && entry.pattern.matches(chain.rsplit('.')) {
                    found.push(entry.rule);
                }
            }
        }
    }
}
