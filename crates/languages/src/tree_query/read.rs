//! Parses the text of a query into patterns.

use std::collections::BTreeSet;

use tree_sitter::Language;

use super::predicates::{Predicate, Test};
use super::shape::{Kind, NodeItem, Pattern, Slot};
use super::tokens::{Token, tokens};

/// Deepest nesting of a pattern. Matching recurses as deep.
const DEPTH_MAX: usize = 64;

/// A query, ready to be matched.
pub(crate) struct Query {
    pub(super) patterns: Vec<Pattern>,
    captures: Vec<String>,
    /// For each kind id, the patterns that can begin at a node of that kind, in order.
    pub(super) by_kind: Vec<Vec<u16>>,
    /// Patterns that can begin at any node.
    pub(super) anywhere: Vec<u16>,
}

impl Query {
    /// Parses a query for a grammar.
    ///
    /// # Errors
    /// A message for the maintainer of the query.
    pub(crate) fn new(language: &Language, text: &str) -> Result<Self, String> {
        let tokens = tokens(text)?;
        let mut reader = Reader { language, text, tokens: &tokens, at: 0, captures: Vec::new(), depth: 0 };
        let mut patterns = Vec::new();
        while reader.at < tokens.len() {
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
    pub(crate) fn capture_names(&self) -> impl Iterator<Item = &str> {
        self.captures.iter().map(String::as_str)
    }

    /// Checks whether a capture is only for predicates.
    pub(super) fn is_private(&self, capture: u16) -> bool {
        self.captures[usize::from(capture)].starts_with('_')
    }

    /// The number of patterns.
    pub(crate) fn pattern_count(&self) -> usize {
        self.patterns.len()
    }

    /// The value of a key that a pattern sets with `#set!`.
    pub(crate) fn setting(&self, pattern: usize, key: &str) -> Option<&str> {
        let settings = &self.patterns.get(pattern)?.settings;
        settings.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// Checks whether a pattern can begin at a node of this kind.
    pub(crate) fn begins_at(&self, kind: u16) -> bool {
        self.begins_anywhere()
            || self.by_kind.get(usize::from(kind)).is_some_and(|patterns| !patterns.is_empty())
    }

    /// Checks whether a pattern can begin at a node of any kind.
    pub(crate) fn begins_anywhere(&self) -> bool {
        !self.anywhere.is_empty()
    }

    /// Checks whether a pattern has a capture.
    #[cfg(test)]
    pub(crate) fn captures(&self, pattern: usize, capture: usize) -> bool {
        self.patterns[pattern].slots.iter().any(|slot| slot.captures(capture))
    }

    fn sort_by_first_kind(&mut self) -> Result<(), String> {
        for (at, pattern) in self.patterns.iter().enumerate() {
            let number = u16::try_from(at).map_err(|_| "too many patterns")?;
            let mut kinds = BTreeSet::new();
            let mut of = pattern.slots.first().ok_or("an empty pattern")?.nodes.iter();
            if !of.all(|node| node.kind.list(&mut kinds)) {
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

/// A parsed element of a query.
enum Item {
    One(Slot),
    /// Several next to each other.
    Group(Vec<Slot>),
}

impl Item {
    fn one(self) -> Result<Slot, String> {
        match self {
            Self::One(slot) => Ok(slot),
            Self::Group(_) => Err("a group in a place for a single node".to_owned()),
        }
    }

    fn node(kind: Kind, anchored: bool) -> Self {
        Self::One(Slot::new(vec![NodeItem::new(kind, anchored)]))
    }
}

/// Predicates and settings of the pattern that is being parsed.
#[derive(Default)]
struct Gathered {
    predicates: Vec<Predicate>,
    settings: Vec<(String, String)>,
}

struct Reader<'a> {
    language: &'a Language,
    text: &'a str,
    tokens: &'a [Token<'a>],
    at: usize,
    captures: Vec<String>,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn pattern(&mut self) -> Result<Pattern, String> {
        let mut gathered = Gathered::default();
        let slots = match self.item(false, &mut gathered)?.ok_or("a predicate without a pattern")? {
            Item::One(slot) => vec![slot],
            Item::Group(slots) => slots,
        };
        let Gathered { predicates, settings } = gathered;
        let is_private = |capture: u16| self.captures[usize::from(capture)].starts_with('_');
        Pattern::new(slots, predicates, settings, &is_private, self.language)
    }

    fn peek(&self) -> Option<&'a Token<'a>> {
        self.tokens.get(self.at)
    }

    fn next(&mut self) -> Result<&'a Token<'a>, String> {
        let word = self.peek().ok_or("unexpected end of the query")?;
        self.at += 1;
        Ok(word)
    }

    fn takes(&mut self, mark: char) -> bool {
        let found = self.peek() == Some(&Token::Mark(mark));
        self.at += usize::from(found);
        found
    }

    /// Parses one item with its suffixes; `None` for a predicate.
    fn item(&mut self, anchored: bool, gathered: &mut Gathered) -> Result<Option<Item>, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("nested too deeply".to_owned());
        }
        let item = match self.next()? {
            Token::Mark('[') => self.alternatives(anchored, gathered)?,
            Token::Mark('(') => match self.peek() {
                Some(Token::Mark('(' | '[') | Token::Text(_)) => self.group(anchored, gathered)?,
                Some(Token::Predicate(_)) => {
                    self.predicate(gathered)?;
                    self.depth -= 1;
                    return Ok(None);
                }
                _ => self.node(anchored, gathered)?,
            },
            Token::Text(kind) => Item::node(Kind::Is(self.kind(kind, false)?), anchored),
            Token::Name("_") => Item::node(Kind::Any, anchored),
            Token::Name(field) => {
                let id = self.field(field)?;
                if !self.takes(':') {
                    return Err(format!("`{field}` is neither a node nor a field"));
                }
                let mut slot = self.item(anchored, gathered)?.ok_or("a field without a node")?.one()?;
                slot.nodes.iter_mut().for_each(|node| node.field = id);
                Item::One(slot)
            }
            word => return Err(format!("a node cannot begin with {word:?}")),
        };
        self.depth -= 1;
        self.suffixes(item).map(Some)
    }

    fn suffixes(&mut self, item: Item) -> Result<Item, String> {
        if !matches!(self.peek(), Some(Token::Mark('?' | '*' | '+') | Token::Capture(_))) {
            return Ok(item);
        }
        let mut slot = item.one()?;
        loop {
            match self.peek() {
                Some(Token::Mark('?')) => slot.optional = true,
                Some(Token::Mark('*')) => (slot.optional, slot.many) = (true, true),
                Some(Token::Mark('+')) => slot.many = true,
                Some(Token::Capture(name)) => {
                    let capture = self.capture(name)?;
                    slot.nodes.iter_mut().for_each(|node| node.captures.push(capture));
                }
                _ => return Ok(Item::One(slot)),
            }
            self.at += 1;
        }
    }

    fn alternatives(&mut self, anchored: bool, gathered: &mut Gathered) -> Result<Item, String> {
        let mut nodes = Vec::new();
        while !self.takes(']') {
            let slot = self.item(anchored, gathered)?.ok_or("a predicate cannot be an alternative")?.one()?;
            if slot.optional || slot.many {
                return Err("an alternative that may be missing or repeated".to_owned());
            }
            nodes.extend(slot.nodes);
        }
        if nodes.is_empty() { Err("no alternatives".to_owned()) } else { Ok(Item::One(Slot::new(nodes))) }
    }

    fn group(&mut self, anchored: bool, gathered: &mut Gathered) -> Result<Item, String> {
        let (mut slots, mut anchored) = (Vec::new(), anchored);
        while !self.takes(')') {
            anchored |= self.takes('.');
            if let Some(item) = self.item(anchored, gathered)? {
                slots.push(item.one()?);
            }
            anchored = false;
        }
        // Parentheses around a single node and its predicates are equivalent to the node.
        Ok(if slots.len() == 1 { Item::One(slots.remove(0)) } else { Item::Group(slots) })
    }

    /// Parses a named node, after its opening parenthesis.
    fn node(&mut self, anchored: bool, gathered: &mut Gathered) -> Result<Item, String> {
        let Token::Name(name) = self.next()? else { return Err("a node without a kind".to_owned()) };
        let kind = match *name {
            "_" => Kind::Named,
            name => self.named(name)?,
        };
        let mut node = NodeItem::new(kind, anchored);
        loop {
            if self.takes('!') {
                let Token::Name(field) = self.next()? else { return Err("`!` without a field".to_owned()) };
                node.without.push(self.field(field)?);
                continue;
            }
            let anchored = self.takes('.');
            if self.takes(')') {
                match node.children.last_mut() {
                    Some(slot) if anchored => slot.nodes.iter_mut().for_each(|node| node.last = true),
                    None if anchored => return Err("`.` without a child".to_owned()),
                    _ => {}
                }
                return Ok(Item::One(Slot::new(vec![node])));
            }
            if let Some(item) = self.item(anchored, gathered)? {
                match item {
                    Item::One(slot) => node.children.push(slot),
                    Item::Group(slots) => node.children.extend(slots),
                }
            }
        }
    }

    /// Parses a predicate, after its opening parenthesis.
    fn predicate(&mut self, gathered: &mut Gathered) -> Result<(), String> {
        let Token::Predicate(name) = self.next()? else { return Err("no predicate".to_owned()) };
        let mut arguments = Vec::new();
        loop {
            match self.next()? {
                Token::Mark(')') => break,
                word => arguments.push(word),
            }
        }
        let error = || format!("`#{name}` does not take {arguments:?}");
        let (is, test) = match name.strip_prefix("not-") {
            Some(test) => (false, test),
            None => (true, *name),
        };
        if test == "set!" {
            let [Token::Name(key), Token::Text(value)] = arguments.as_slice() else { return Err(error()) };
            gathered.settings.push(((*key).to_owned(), value.clone()));
            return Ok(());
        }
        let [Token::Capture(capture), values @ ..] = arguments.as_slice() else { return Err(error()) };
        let capture = self.capture(capture)?;
        let test = match (test, values) {
            ("eq?", [Token::Text(text)]) => Test::Among(vec![text.clone()]),
            ("eq?", [Token::Capture(other)]) => Test::Same(self.capture(other)?),
            ("any-of?", texts) => {
                let text =
                    |word: &&Token<'_>| if let Token::Text(text) = word { Some(text.clone()) } else { None };
                Test::Among(texts.iter().map(text).collect::<Option<_>>().ok_or_else(error)?)
            }
            ("match?", [Token::Text(pattern)]) => {
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

    /// A kind by its name; for a supertype, all its kinds. Older grammars do not list them; then lines
    /// `;! supertype name kind kind …` of the query must.
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
        // Nodes always have a concrete kind, never a supertype.
        of.retain(|kind| !self.language.node_kind_is_supertype(*kind));
        if of.is_empty() {
            Err(format!("the grammar does not list the kinds of the supertype `{name}`"))
        } else {
            Ok(Kind::Of(of.into_iter().collect()))
        }
    }

    fn field(&self, name: &str) -> Result<u16, String> {
        let id = self.language.field_id_for_name(name).map(u16::from);
        id.ok_or_else(|| format!("no field is called `{name}`"))
    }
}
