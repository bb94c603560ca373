//! A query's text to patterns.

use std::collections::BTreeSet;

use tree_sitter::Language;

use super::predicates::{Predicate, Test};
use super::words::{Word, words};

/// Alternatives in alternatives, nodes in nodes.
const DEPTH_MAX: usize = 64;

/// A query, ready to be matched.
pub(in crate::languages) struct Query {
    pub(super) patterns: Vec<Pattern>,
    captures: Vec<String>,
    /// Patterns that a node of a kind can begin, by kind id, each in order.
    pub(super) by_kind: Vec<Vec<u16>>,
    /// Patterns that any node can begin.
    pub(super) anywhere: Vec<u16>,
}

/// One pattern of a query.
pub(super) struct Pattern {
    /// One item, or the neighbours of a group.
    pub(super) items: Vec<Item>,
    /// Conditions that the text of its captures fulfils.
    pub(super) predicates: Vec<Predicate>,
    /// `#set!`, by key.
    settings: Vec<(String, String)>,
    /// Whether one match of it can have captured a part of what another one did.
    pub(super) varies: bool,
}

/// A part of a pattern, in the order of siblings.
pub(super) enum Item {
    /// One node.
    Node(Box<NodeItem>),
    /// Any one of these.
    Any(Vec<Self>),
    /// All of these, one after the other.
    All(Vec<Self>),
    /// An item that may be missing, or stand there several times.
    Times {
        item: Box<Self>,
        /// Whether it may be missing.
        optional: bool,
        /// Whether there may be more than one.
        many: bool,
    },
}

/// What a node has to be.
pub(super) struct NodeItem {
    pub(super) kind: Kind,
    /// Id of its field; 0 for any or none.
    pub(super) field: u16,
    /// Fields of which it has none.
    pub(super) without: Vec<u16>,
    pub(super) captures: Vec<u16>,
    /// No named sibling stands between it and what precedes.
    pub(super) anchored: bool,
    /// No named sibling follows it.
    pub(super) last: bool,
    pub(super) children: Vec<Item>,
    /// Whether it or something in it is captured.
    pub(super) tells: bool,
}

/// Kinds of node.
pub(super) enum Kind {
    /// `_`: any.
    Any,
    /// `(_)`: any with a name of its own.
    Named,
    /// This one.
    Is(u16),
    /// One of a supertype's, sorted.
    Of(Vec<u16>),
}

impl Query {
    /// Reads a query for a grammar.
    ///
    /// # Errors
    /// What is wrong with it, for its maintainer.
    pub(in crate::languages) fn new(language: &Language, text: &str) -> Result<Self, String> {
        let words = words(text)?;
        let mut reader = Reader { language, text, words: &words, at: 0, captures: Vec::new(), depth: 0 };
        let mut patterns = Vec::new();
        while reader.at < words.len() {
            patterns
                .push(reader.pattern().map_err(|error| format!("pattern {}: {error}", patterns.len() + 1))?);
        }
        let mut query = Self {
            patterns,
            captures: reader.captures,
            by_kind: vec![Vec::new(); language.node_kind_count()],
            anywhere: Vec::new(),
        };
        query.sort_by_first_kind()?;
        Ok(query)
    }

    /// Names of the captures; a capture's number is its place here.
    pub(in crate::languages) fn capture_names(&self) -> impl Iterator<Item = &str> {
        self.captures.iter().map(String::as_str)
    }

    /// How many patterns there are.
    pub(in crate::languages) fn pattern_count(&self) -> usize {
        self.patterns.len()
    }

    /// What a pattern sets a key to.
    pub(in crate::languages) fn setting(&self, pattern: usize, key: &str) -> Option<&str> {
        let settings = &self.patterns.get(pattern)?.settings;
        settings.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// Whether a pattern can begin at a node of this kind.
    pub(in crate::languages) fn begins_at(&self, kind: u16) -> bool {
        self.begins_anywhere()
            || self.by_kind.get(usize::from(kind)).is_some_and(|patterns| !patterns.is_empty())
    }

    /// Whether a pattern can begin at a node of any kind.
    pub(in crate::languages) fn begins_anywhere(&self) -> bool {
        !self.anywhere.is_empty()
    }

    /// Whether a pattern has a capture.
    #[cfg(test)]
    pub(in crate::languages) fn captures(&self, pattern: usize, capture: usize) -> bool {
        self.patterns[pattern].items.iter().any(|item| item.captures(capture))
    }

    fn sort_by_first_kind(&mut self) -> Result<(), String> {
        for (at, pattern) in self.patterns.iter().enumerate() {
            let number = u16::try_from(at).map_err(|_| "too many patterns")?;
            let mut kinds = BTreeSet::new();
            let first = pattern.items.first().ok_or("an empty pattern")?;
            if !first.first_kinds(&mut kinds) {
                self.anywhere.push(number);
                continue;
            }
            for kind in kinds {
                self.by_kind.get_mut(usize::from(kind)).ok_or("a kind that the grammar lacks")?.push(number);
            }
        }
        Ok(())
    }
}

impl Item {
    /// Adds the kinds that its first node can be of; false where that is any.
    fn first_kinds(&self, kinds: &mut BTreeSet<u16>) -> bool {
        match self {
            Self::Node(node) => match &node.kind {
                Kind::Any | Kind::Named => return false,
                Kind::Is(kind) => _ = kinds.insert(*kind),
                Kind::Of(of) => kinds.extend(of),
            },
            Self::Any(items) => return items.iter().all(|item| item.first_kinds(kinds)),
            Self::All(items) => return items.first().is_some_and(|item| item.first_kinds(kinds)),
            Self::Times { item, .. } => return item.first_kinds(kinds),
        }
        true
    }

    /// Whether something in it is captured.
    pub(super) fn tells(&self) -> bool {
        match self {
            Self::Node(node) => node.tells,
            Self::Any(items) | Self::All(items) => items.iter().any(Self::tells),
            Self::Times { item, .. } => item.tells(),
        }
    }

    /// Whether a capture is in it.
    #[cfg(test)]
    fn captures(&self, capture: usize) -> bool {
        match self {
            Self::Node(node) => {
                node.captures.iter().any(|has| usize::from(*has) == capture)
                    || node.children.iter().any(|item| item.captures(capture))
            }
            Self::Any(items) | Self::All(items) => items.iter().any(|item| item.captures(capture)),
            Self::Times { item, .. } => item.captures(capture),
        }
    }

    /// Whether something in it may be missing, stand there several times, or be something else.
    fn varies(&self) -> bool {
        match self {
            Self::Node(node) => node.children.iter().any(Self::varies),
            Self::All(items) => items.iter().any(Self::varies),
            Self::Any(_) | Self::Times { .. } => self.tells(),
        }
    }

    /// Whether its first node is anchored to what precedes.
    pub(super) fn anchored(&self) -> bool {
        match self {
            Self::Node(node) => node.anchored,
            Self::Any(items) | Self::All(items) => items.first().is_some_and(Self::anchored),
            Self::Times { item, .. } => item.anchored(),
        }
    }

    /// Whether it ends a list of children.
    pub(super) fn last(&self) -> bool {
        match self {
            Self::Node(node) => node.last,
            Self::Any(items) | Self::All(items) => items.first().is_some_and(Self::last),
            Self::Times { item, .. } => item.last(),
        }
    }

    /// Changes the node that it begins with, in each alternative.
    fn on_first(&mut self, change: &mut impl FnMut(&mut NodeItem)) {
        match self {
            Self::Node(node) => change(node),
            Self::Any(items) => items.iter_mut().for_each(|item| item.on_first(change)),
            Self::All(items) => items.iter_mut().take(1).for_each(|item| item.on_first(change)),
            Self::Times { item, .. } => item.on_first(change),
        }
    }

    /// Notes in each node whether something in it is captured.
    fn note(&mut self) -> bool {
        match self {
            Self::Node(node) => {
                // All of them are to be noted.
                let inside = node.children.iter_mut().fold(false, |tells, item| item.note() | tells);
                node.tells = inside || !node.captures.is_empty();
                node.tells
            }
            Self::Any(items) | Self::All(items) => {
                items.iter_mut().fold(false, |tells, item| item.note() | tells)
            }
            Self::Times { item, .. } => item.note(),
        }
    }
}

/// What is gathered while one pattern is read.
#[derive(Default)]
struct Gathered {
    predicates: Vec<Predicate>,
    settings: Vec<(String, String)>,
}

struct Reader<'a> {
    language: &'a Language,
    text: &'a str,
    words: &'a [Word<'a>],
    at: usize,
    captures: Vec<String>,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn pattern(&mut self) -> Result<Pattern, String> {
        let mut gathered = Gathered::default();
        let mut item = self.item(false, &mut gathered)?.ok_or("a predicate stands alone")?;
        item.note();
        let items = match item {
            Item::All(items) => items,
            item => vec![item],
        };
        let Gathered { predicates, settings } = gathered;
        let varies = items.iter().any(Item::varies);
        Ok(Pattern { items, predicates, settings, varies })
    }

    fn peek(&self) -> Option<&'a Word<'a>> {
        self.words.get(self.at)
    }

    fn next(&mut self) -> Result<&'a Word<'a>, String> {
        let word = self.peek().ok_or("it ends too early")?;
        self.at += 1;
        Ok(word)
    }

    fn takes(&mut self, mark: char) -> bool {
        let found = self.peek() == Some(&Word::Mark(mark));
        self.at += usize::from(found);
        found
    }

    /// One item with what follows it, or nothing where it is a predicate.
    fn item(&mut self, anchored: bool, gathered: &mut Gathered) -> Result<Option<Item>, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("it is too deep".to_owned());
        }
        let item = match self.next()? {
            Word::Mark('[') => self.alternatives(anchored, gathered)?,
            Word::Mark('(') => match self.peek() {
                Some(Word::Mark('(' | '[') | Word::Text(_)) => self.group(anchored, gathered)?,
                Some(Word::Predicate(_)) => {
                    self.predicate(gathered)?;
                    self.depth -= 1;
                    return Ok(None);
                }
                _ => self.node(anchored, gathered)?,
            },
            Word::Text(kind) => NodeItem::item(Kind::Is(self.kind(kind, false)?), anchored),
            Word::Name("_") => NodeItem::item(Kind::Any, anchored),
            Word::Name(field) => {
                let id = self.field(field)?;
                if !self.takes(':') {
                    return Err(format!("`{field}` is neither a node nor a field"));
                }
                let mut item = self.item(anchored, gathered)?.ok_or("a field without a node")?;
                item.on_first(&mut |node| node.field = id);
                item
            }
            word => return Err(format!("{word:?} begins no node")),
        };
        self.depth -= 1;
        self.suffixes(item).map(Some)
    }

    fn suffixes(&mut self, mut item: Item) -> Result<Item, String> {
        let (mut optional, mut many) = (false, false);
        loop {
            match self.peek() {
                Some(Word::Mark('?')) => optional = true,
                Some(Word::Mark('*')) => (optional, many) = (true, true),
                Some(Word::Mark('+')) => many = true,
                Some(Word::Capture(name)) => {
                    let capture = self.capture(name)?;
                    item.on_first(&mut |node| node.captures.push(capture));
                }
                _ => break,
            }
            self.at += 1;
        }
        Ok(if optional || many { Item::Times { item: Box::new(item), optional, many } } else { item })
    }

    fn alternatives(&mut self, anchored: bool, gathered: &mut Gathered) -> Result<Item, String> {
        let mut items = Vec::new();
        while !self.takes(']') {
            items.push(self.item(anchored, gathered)?.ok_or("a predicate is no alternative")?);
        }
        if items.is_empty() { Err("no alternatives".to_owned()) } else { Ok(Item::Any(items)) }
    }

    fn group(&mut self, anchored: bool, gathered: &mut Gathered) -> Result<Item, String> {
        let (mut items, mut anchored) = (Vec::new(), anchored);
        while !self.takes(')') {
            anchored |= self.takes('.');
            items.extend(self.item(anchored, gathered)?);
            anchored = false;
        }
        // Parentheses around one node and its predicates mean the node.
        Ok(if items.len() == 1 { items.remove(0) } else { Item::All(items) })
    }

    /// A named node, behind its parenthesis.
    fn node(&mut self, anchored: bool, gathered: &mut Gathered) -> Result<Item, String> {
        let Word::Name(name) = self.next()? else { return Err("a node without a kind".to_owned()) };
        let kind = match *name {
            "_" => Kind::Named,
            name => self.named(name)?,
        };
        let Item::Node(mut node) = NodeItem::item(kind, anchored) else { return Err("no node".to_owned()) };
        loop {
            if self.takes('!') {
                let Word::Name(field) = self.next()? else { return Err("`!` without a field".to_owned()) };
                node.without.push(self.field(field)?);
                continue;
            }
            let anchored = self.takes('.');
            if self.takes(')') {
                match node.children.last_mut() {
                    Some(last) if anchored => last.on_first(&mut |node| node.last = true),
                    None if anchored => return Err("`.` without a child".to_owned()),
                    _ => {}
                }
                return Ok(Item::Node(node));
            }
            node.children.extend(self.item(anchored, gathered)?);
        }
    }

    /// A predicate, behind its parenthesis.
    fn predicate(&mut self, gathered: &mut Gathered) -> Result<(), String> {
        let Word::Predicate(name) = self.next()? else { return Err("no predicate".to_owned()) };
        let mut arguments = Vec::new();
        loop {
            match self.next()? {
                Word::Mark(')') => break,
                word => arguments.push(word),
            }
        }
        let error = || format!("`#{name}` does not take {arguments:?}");
        let (is, test) = match name.strip_prefix("not-") {
            Some(test) => (false, test),
            None => (true, *name),
        };
        if test == "set!" {
            let [Word::Name(key), Word::Text(value)] = arguments.as_slice() else { return Err(error()) };
            gathered.settings.push(((*key).to_owned(), value.clone()));
            return Ok(());
        }
        let [Word::Capture(capture), values @ ..] = arguments.as_slice() else { return Err(error()) };
        let capture = self.capture(capture)?;
        let test = match (test, values) {
            ("eq?", [Word::Text(text)]) => Test::Among(vec![text.clone()]),
            ("eq?", [Word::Capture(other)]) => Test::Same(self.capture(other)?),
            ("any-of?", texts) => {
                let text =
                    |word: &&Word<'_>| if let Word::Text(text) = word { Some(text.clone()) } else { None };
                Test::Among(texts.iter().map(text).collect::<Option<_>>().ok_or_else(error)?)
            }
            ("match?", [Word::Text(pattern)]) => {
                Test::Matches(regex::Regex::new(pattern).map_err(|error| error.to_string())?)
            }
            _ => return Err(error()),
        };
        gathered.predicates.push(Predicate { capture, is, test });
        Ok(())
    }

    fn capture(&mut self, name: &str) -> Result<u16, String> {
        let known = self.captures.iter().position(|known| known == name);
        let at = known.unwrap_or_else(|| {
            self.captures.push(name.to_owned());
            self.captures.len() - 1
        });
        u16::try_from(at).map_err(|_| "too many captures".to_owned())
    }

    fn kind(&self, name: &str, named: bool) -> Result<u16, String> {
        match self.language.id_for_node_kind(name, named) {
            0 => Err(format!("no kind of node is called `{name}`")),
            id => Ok(id),
        }
    }

    /// A kind by its name; of a supertype, all that are of it. Older grammars do not list them: then lines
    /// `;! supertype name kind kind …` of the query do.
    fn named(&self, name: &str) -> Result<Kind, String> {
        let id = self.kind(name, true)?;
        if !self.language.node_kind_is_supertype(id) {
            return Ok(Kind::Is(id));
        }
        let (mut of, mut open) = (BTreeSet::from([id]), vec![id]);
        while let Some(id) = open.pop() {
            let kinds = self.language.subtypes_for_supertype(id).iter().copied();
            open.extend(kinds.filter(|kind| of.insert(*kind)));
        }
        let listed = self.text.lines().filter_map(|line| line.strip_prefix(";! supertype "));
        let mut listed = listed
            .map(str::split_whitespace)
            .filter_map(|mut kinds| (kinds.next() == Some(name)).then_some(kinds));
        of.extend(
            listed
                .by_ref()
                .flatten()
                .map(|kind| self.language.id_for_node_kind(kind, true))
                .filter(|id| *id != 0),
        );
        // No node is of a supertype itself.
        of.retain(|kind| !self.language.node_kind_is_supertype(*kind));
        if of.is_empty() {
            Err(format!("the grammar does not say what is a `{name}`"))
        } else {
            Ok(Kind::Of(of.into_iter().collect()))
        }
    }

    fn field(&self, name: &str) -> Result<u16, String> {
        let id = self.language.field_id_for_name(name).map(u16::from);
        id.ok_or_else(|| format!("no field is called `{name}`"))
    }
}

impl NodeItem {
    fn item(kind: Kind, anchored: bool) -> Item {
        Item::Node(Box::new(Self {
            kind,
            field: 0,
            without: Vec::new(),
            captures: Vec::new(),
            anchored,
            last: false,
            children: Vec::new(),
            tells: false,
        }))
    }
}
