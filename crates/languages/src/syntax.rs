//! Parses a file, and finds its outline, the definitions, with the language's query.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ops::{ControlFlow, Range};

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use super::defined::DEFINITIONS_MAX;
use super::grammar::Grammar;
use super::innermost::Innermost;
use super::limits::ChunkLimits;
use super::lines::node_rows;
use super::query::{self, FoundDefinition, Wrappers};
use super::stop::{Stop, Stopped};
use super::tree_query::Nodes;

/// Longer names are truncated, because headings and CSS selectors can have any length.
const NAME_CHARS_MAX: usize = 120;
/// Most bytes that are read for a name, because many names can share one long text, such as the calls of a chain.
const NAME_BYTES_MAX: usize = 4096;

/// A definition of the file, with its wrappers (decorators, `export`).
pub(super) struct Definition {
    /// First byte including wrappers, and one past the last.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) first_row: usize,
    pub(super) last_row: usize,
    /// Where the definition itself starts, without wrappers; the signature runs from here …
    pub(super) head: usize,
    /// … to here: the start of the body, or the end of the definition.
    pub(super) body: usize,
    /// Where the simple name stands …
    pub(super) name_row: usize,
    pub(super) name_start: usize,
    /// … and where the name begins as it is written: `a` of `a::b`.
    pub(super) written_start: usize,
    /// Row and byte where the attributes above it begin; its own start if there are none.
    pub(super) begin: (usize, usize),
    pub(super) kind: &'static str,
    pub(super) name: String,
    pub(super) qualified: String,
    /// Number of the enclosing definition.
    pub(super) parent: Option<usize>,
    /// Whether it contains definitions other than fields and constants, small ones apart.
    pub(super) has_inner: bool,
    /// Whether it is inside of something on one line, and too small to affect chunk borders or to name a chunk.
    pub(super) small: bool,
    /// Whether it is a member that is only listed: it owns no facts, encloses nothing, and its name is not among those that a chunk
    /// defines. It is small as well.
    pub(super) member: bool,
}

impl Definition {
    /// Whether it is of a kind whose members are definitions: a class or a similar type, an `impl`, a module, a section.
    pub(super) fn is_container(&self) -> bool {
        !matches!(self.kind, "function" | "method" | "variable" | "type")
    }

    /// Whether it is large enough for a chunk of its own, a third of the target size. Constants and fields stay together.
    pub(super) fn stands_alone(&self, chars: usize, limits: &ChunkLimits) -> bool {
        self.kind != "variable" && 3 * chars >= limits.chars_target
    }

    /// Whether it is a function or a method.
    pub(super) fn is_callable(&self) -> bool {
        matches!(self.kind, "function" | "method") && !self.member
    }

    /// Whether functions inside it are methods.
    fn is_type(&self) -> bool {
        matches!(self.kind, "class" | "struct" | "interface" | "trait" | "enum" | "impl")
    }
}

/// The outline of a file: what the splitter needs besides the tree.
pub(super) struct Outline<'t> {
    pub(super) text: &'t str,
    /// Sorted by start; an outer definition precedes its inner ones.
    pub(super) definitions: Vec<Definition>,
    /// Anonymous functions that are passed to a call, such as the handlers of a web server; sorted by start. They do not affect
    /// chunk borders.
    pub(super) handlers: Vec<Definition>,
    /// Ids of nodes that belong to what follows them: comments, attributes.
    pub(super) leading: HashSet<usize>,
    /// The definitions that are not small: their numbers.
    large: Vec<usize>,
    /// Definitions and handlers in the order of their names: the row of the name, and the number.
    names: Vec<(usize, usize)>,
    /// The innermost definition, and the innermost handler, around a byte.
    inner: Innermost,
    inner_handlers: Innermost,
    /// By number: the innermost callable definition that encloses it, possibly itself.
    callables: Vec<Option<usize>>,
    /// By number of a definition: one past the number of the last definition inside it.
    ends: Vec<usize>,
}

impl Outline<'_> {
    /// A definition by its number; handlers are counted after the definitions.
    pub(super) fn get(&self, number: usize) -> &Definition {
        let count = self.definitions.len();
        if number < count { &self.definitions[number] } else { &self.handlers[number - count] }
    }

    /// Numbers of the definitions whose names are in some rows, in text order.
    pub(super) fn named_in(&self, first: usize, last: usize) -> impl Iterator<Item = usize> {
        let from = self.names.partition_point(|(row, _)| *row < first);
        let here = self.names[from..].iter().take_while(move |(row, _)| *row <= last);
        here.map(|(_, number)| *number)
    }

    /// As [`named_in`](Self::named_in), at most [`DEFINITIONS_MAX`].
    pub(super) fn listed_in(&self, first: usize, last: usize) -> impl Iterator<Item = usize> {
        self.named_in(first, last).take(DEFINITIONS_MAX)
    }

    /// Whether a definition is the same as another one or inside it.
    pub(super) fn is_within(&self, inner: usize, outer: usize) -> bool {
        (outer..self.ends[outer]).contains(&inner)
    }

    /// The number of the innermost definition around a byte, where attributes count as part of a definition.
    pub(super) fn around(&self, at: usize) -> Option<usize> {
        let after = self.definitions.partition_point(|d| d.start <= at);
        let next =
            self.definitions.get(after).filter(|next| next.begin.1 <= at && !next.member).map(|_| after);
        let found = next.or_else(|| self.inner.at(at));
        let count = self.definitions.len();
        match (found, self.inner_handlers.at(at)) {
            (Some(found), Some(handler)) if self.definitions[found].start >= self.handlers[handler].start => {
                Some(found)
            }
            (_, Some(handler)) => Some(count + handler),
            (found, None) => found,
        }
    }

    /// The number of the innermost definition around a byte, without handlers.
    pub(super) fn definition_around(&self, at: usize) -> Option<usize> {
        self.inner.at(at)
    }

    /// The number of the innermost function, method or handler around a byte, where attributes do not count as part of it.
    pub(super) fn callable(&self, at: usize) -> Option<usize> {
        let around = self.around(at)?;
        // Only the attributes of a definition reach before its start.
        let within = if self.get(around).start > at { self.get(around).parent } else { Some(around) };
        self.callables[within?]
    }

    /// The definitions that start in some rows, outer ones first.
    pub(super) fn starting(&self, first: usize, last: usize) -> std::ops::Range<usize> {
        let from = self.definitions.partition_point(|d| d.first_row < first);
        let to = self.definitions.partition_point(|d| d.first_row <= last);
        from..to.max(from)
    }

    /// As [`starting`](Self::starting), without the small ones.
    pub(super) fn large_starting(&self, first: usize, last: usize) -> &[usize] {
        let row = |at: &usize| self.definitions[*at].first_row;
        let from = self.large.partition_point(|at| row(at) < first);
        let to = self.large.partition_point(|at| row(at) <= last);
        &self.large[from..to.max(from)]
    }

    /// The first definition that starts at a byte or after it, without the small ones.
    pub(super) fn large_from(&self, byte: usize) -> Option<&Definition> {
        let next = self.large.partition_point(|at| self.definitions[*at].start < byte);
        self.large.get(next).map(|at| &self.definitions[*at])
    }
}

thread_local! {
    static PARSER: RefCell<Parser> = RefCell::new(Parser::new());
}

/// Parses `text` and calls `then` with the outline and the nodes of the tree. The time limit starts after the language's
/// queries were compiled. The error is the reason why there is no tree.
pub(super) fn with_outline<R>(
    text: &str,
    separator: &'static str,
    grammar: &Grammar,
    stop: &Stop<'_>,
    then: impl FnOnce(&Outline<'_>, &Nodes<'_>) -> R,
) -> Result<R, &'static str> {
    let compiled = grammar.definitions().map_err(|_| "bad_query")?;
    // Compile the query now, before the time limit starts. A defect in it does not affect the tree.
    let _ = grammar.facts();
    stop.begin();
    let tree = parse(text, grammar, stop)?;
    let nodes = Nodes::new(tree.root_node(), stop.deadline()).ok_or("parse_timeout")?;
    let matches =
        query::find(text, compiled, &nodes, stop).and_then(|matches| outline(text, separator, matches, stop));
    let outline = matches.map_err(|Stopped| "parse_timeout")?;
    Ok(then(&outline, &nodes))
}

/// Parses a text.
///
/// # Errors
/// The reason, `parse_timeout` if the time limit passed.
pub(super) fn parse(text: &str, grammar: &Grammar, stop: &Stop<'_>) -> Result<Tree, &'static str> {
    PARSER.with_borrow_mut(|parser| {
        parser.set_language(&(grammar.language)()).map_err(|_| "bad_grammar")?;
        let masked = grammar.mask.and_then(|mask| mask(text));
        let bytes = masked.as_deref().unwrap_or(text).as_bytes();
        let mut late = |_: &tree_sitter::ParseState| match stop.check() {
            Ok(()) => ControlFlow::Continue(()),
            Err(Stopped) => ControlFlow::Break(()),
        };
        let options = ParseOptions::new().progress_callback(&mut late);
        let tree =
            parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options));
        // Without the reset, the next parse would resume a cancelled one.
        parser.reset();
        tree.ok_or("parse_timeout")
    })
}

fn outline<'t>(
    text: &'t str,
    separator: &str,
    mut matches: query::Matches<'t>,
    stop: &Stop<'_>,
) -> Result<Outline<'t>, Stopped> {
    let handlers = matches.found.extract_if(.., |found| found.handler).collect();
    let wrappers = &mut matches.wrappers;
    let mut definitions =
        nest(to_definitions(text, separator, matches.found, wrappers, stop)?, separator, stop)?;
    let mut handlers = nest_handlers(to_definitions(text, separator, handlers, wrappers, stop)?);
    let attributes = attribute_runs(matches.attributes);
    for definition in definitions.iter_mut().chain(&mut handlers) {
        stop.step(1)?;
        let above = definition.begin.0.checked_sub(1).and_then(|row| attributes.get(&row));
        definition.begin = above.copied().unwrap_or(definition.begin);
    }
    let ranges = |all: &[Definition]| {
        let end = |d: &Definition| if d.member { d.start } else { d.end };
        all.iter().map(|d| (d.start..end(d), d.parent)).collect::<Vec<(Range<usize>, _)>>()
    };
    let (inner, inner_handlers) = (Innermost::new(&ranges(&definitions)), Innermost::new(&ranges(&handlers)));
    let (callables, ends) = (callables(&definitions, handlers.len()), ends(&definitions));
    stop.step(1)?;
    let all = definitions.iter().chain(&handlers);
    let mut names: Vec<_> = all.enumerate().map(|(at, d)| (d.name_row, d.name_start, at)).collect();
    names.sort_unstable();
    let names = names.into_iter().map(|(row, _, number)| (row, number)).collect();
    let leading = matches.leading;
    let large = (0..definitions.len()).filter(|at| !definitions[*at].small).collect();
    Ok(Outline { text, definitions, handlers, leading, large, names, inner, inner_handlers, callables, ends })
}

/// For each last row of an attribute, the beginning of the run of adjacent attributes that ends there.
fn attribute_runs(attributes: HashMap<usize, (usize, usize)>) -> HashMap<usize, (usize, usize)> {
    let mut rows: Vec<usize> = attributes.keys().copied().collect();
    rows.sort_unstable();
    let mut joined: HashMap<usize, (usize, usize)> = HashMap::with_capacity(rows.len());
    for row in rows {
        let own = attributes[&row];
        let above = own.0.checked_sub(1).and_then(|above| joined.get(&above)).copied();
        joined.insert(row, above.unwrap_or(own));
    }
    joined
}

/// For each definition and then each handler, the innermost callable definition that encloses it, possibly itself. All handlers
/// are callable.
fn callables(definitions: &[Definition], handlers: usize) -> Vec<Option<usize>> {
    let mut callables: Vec<Option<usize>> = Vec::with_capacity(definitions.len() + handlers);
    for (number, definition) in definitions.iter().enumerate() {
        let outer = definition.parent.and_then(|parent| callables[parent]);
        callables.push(if definition.is_callable() { Some(number) } else { outer });
    }
    callables.extend((definitions.len()..definitions.len() + handlers).map(Some));
    callables
}

/// For each definition, one past the number of the last definition inside it.
fn ends(definitions: &[Definition]) -> Vec<usize> {
    let mut ends: Vec<usize> = (1..=definitions.len()).collect();
    for (number, definition) in definitions.iter().enumerate().rev() {
        if let Some(parent) = definition.parent {
            ends[parent] = ends[parent].max(ends[number]);
        }
    }
    ends
}

/// The outermost wrapper of a node, or the node itself. Shortens the path in `wrappers`, so that it is climbed only once.
fn outermost<'t>(node: Node<'t>, wrappers: &mut Wrappers<'t>, stop: &Stop<'_>) -> Node<'t> {
    let (mut outer, mut climbed) = (node, Vec::new());
    while let Some(wrapper) = wrappers.get(&outer.id()).filter(|wrapper| wrapper.id() != outer.id()) {
        climbed.push(outer.id());
        outer = *wrapper;
    }
    stop.count(climbed.len());
    for id in climbed {
        wrappers.insert(id, outer);
    }
    outer
}

/// Converts matches to definitions, one for each name node: the earliest pattern of the query wins.
fn to_definitions<'t>(
    text: &str,
    separator: &str,
    mut found: Vec<FoundDefinition<'t>>,
    wrappers: &mut Wrappers<'t>,
    stop: &Stop<'_>,
) -> Result<Vec<Definition>, Stopped> {
    found.sort_by_key(|f| (f.name.start_byte(), f.pattern));
    found.dedup_by_key(|f| f.name.start_byte());
    let mut definitions = Vec::with_capacity(found.len());
    // Look up the body of a declaration with many names only once.
    let mut bodies: HashMap<usize, Option<Node<'t>>> = HashMap::new();
    for f in &found {
        stop.step(1)?;
        let outer = outermost(f.node, wrappers, stop);
        let body = f.body.or_else(|| *bodies.entry(f.node.id()).or_insert_with(|| body(f.node, stop)));
        definitions.extend(definition(text, separator, f, outer, body));
    }
    definitions.sort_by_key(|d| (d.start, std::cmp::Reverse(d.end), d.head));
    Ok(definitions)
}

/// The body of a definition. Counts a step for each child.
fn body<'t>(node: Node<'t>, stop: &Stop<'_>) -> Option<Node<'t>> {
    stop.count(node.child_count() as usize);
    node.child_by_field_name("body")
}

/// The definition for a match; `None` if its name is empty. `outer` is its extent.
fn definition(
    text: &str,
    separator: &str,
    f: &FoundDefinition<'_>,
    outer: Node<'_>,
    body: Option<Node<'_>>,
) -> Option<Definition> {
    let written = &text[f.name.byte_range()];
    let full = match f.handler {
        true => {
            let callee = f.receiver.unwrap_or(f.name).start_byte()..f.name.end_byte();
            let argument = f.argument.map(|node| &text[node.byte_range()]);
            handler_name(text.get(callee).unwrap_or_default(), argument)
        }
        false => clean_name(written),
    };
    // Headings, keys and selectors are not split at separators.
    let whole = f.handler || f.kind == "section";
    let last = match written.strip_prefix(':') {
        // A symbol of Ruby that names a method.
        Some(_) if f.member => 1,
        _ if whole => 0,
        _ => last_name(beginning(written), separator),
    };
    let name = if last == 0 { full.clone() } else { clean_name(&written[last..]) };
    let before = written[..last].bytes();
    let receiver = f.receiver.filter(|_| !f.handler).map(|node| clean_name(&text[node.byte_range()]));
    let (first_row, last_row) = node_rows(outer);
    // `declare module '../..'` has no name by which anybody would look for it.
    let is_name = !is_quoted(written) || name.contains(char::is_alphanumeric);
    (!name.is_empty() && is_name).then(|| Definition {
        start: outer.start_byte(),
        end: outer.end_byte(),
        first_row,
        last_row,
        // `export` and `template <…>` on the same line belong to the signature; decorators above do not.
        head: if first_row == node_rows(f.node).0 { outer.start_byte() } else { f.node.start_byte() },
        body: body.map_or(f.node.end_byte(), |body| body.start_byte()),
        name_row: f.name.start_position().row + before.filter(|byte| *byte == b'\n').count(),
        name_start: f.name.start_byte() + last,
        written_start: f.name.start_byte(),
        begin: (first_row, outer.start_byte()),
        kind: f.kind,
        qualified: receiver.map_or(if f.member { name.clone() } else { full }, |receiver| {
            format!("{receiver}{separator}{name}")
        }),
        name,
        parent: None,
        has_inner: false,
        small: f.small,
        member: f.member,
    })
}

/// Finds each definition's parent, completes qualified names, and turns functions inside types into methods.
fn nest(
    mut definitions: Vec<Definition>,
    separator: &str,
    stop: &Stop<'_>,
) -> Result<Vec<Definition>, Stopped> {
    let mut open: Vec<usize> = Vec::new();
    for at in 0..definitions.len() {
        stop.step(1)?;
        let (start, end) = (definitions[at].start, definitions[at].end);
        // Names of one declaration (`let a, b`) share its extent and are siblings.
        while open.last().is_some_and(|&o| {
            definitions[o].end < end
                || definitions[o].end <= start
                || (definitions[o].start == start && definitions[o].end == end)
        }) {
            open.pop();
        }
        if let Some(&parent) = open.last() {
            definitions[parent].has_inner |= definitions[at].kind != "variable" && !definitions[at].small;
            let outer = &definitions[parent];
            let qualified = cut(
                format!("{}{separator}{}", outer.qualified, definitions[at].qualified),
                2 * NAME_CHARS_MAX,
            );
            let is_method = outer.is_type() && definitions[at].kind == "function";
            let definition = &mut definitions[at];
            definition.parent = Some(parent);
            definition.qualified = qualified;
            if is_method {
                definition.kind = "method";
            }
        }
        if !definitions[at].member {
            open.push(at);
        }
    }
    Ok(definitions)
}

/// Finds each handler's enclosing handler; their names are not qualified.
fn nest_handlers(mut handlers: Vec<Definition>) -> Vec<Definition> {
    let mut open: Vec<usize> = Vec::new();
    for at in 0..handlers.len() {
        while open.last().is_some_and(|&o| handlers[o].end <= handlers[at].start) {
            open.pop();
        }
        handlers[at].parent = open.last().copied();
        open.push(at);
    }
    handlers
}

/// The name of a handler: the call that it is passed to, such as `app.get('/x')`.
fn handler_name(callee: &str, argument: Option<&str>) -> String {
    let callee = beginning(callee).split_whitespace().collect::<String>();
    let argument = argument.map(|text| beginning(text).split_whitespace().collect::<Vec<_>>().join(" "));
    cut(argument.map_or(callee.clone(), |text| format!("{callee}({text})")), NAME_CHARS_MAX)
}

fn is_quoted(written: &str) -> bool {
    written.starts_with(['"', '\'', '`'])
}

/// Where the last part of a qualified name begins. What is quoted or between brackets is not divided.
pub(crate) fn last_name(written: &str, separator: &str) -> usize {
    let (mut last, mut depth, mut at) = (0, 0_usize, 0);
    if is_quoted(written) {
        return 0;
    }
    while let Some(c) = written[at..].chars().next() {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            _ if depth == 0 && written[at..].starts_with(separator) => {
                let part = written[at + separator.len()..].trim_start();
                if !part.is_empty() {
                    last = written.len() - part.len();
                }
            }
            _ => {}
        }
        at += c.len_utf8();
    }
    last
}

/// Folds whitespace in a name and removes the quotes around it.
fn clean_name(raw: &str) -> String {
    let folded = beginning(raw).split_whitespace().collect::<Vec<_>>().join(" ");
    cut(folded.trim_matches(['"', '\'', '`']).trim().to_owned(), NAME_CHARS_MAX)
}

/// The beginning of a text, as much as is read for a name.
fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(NAME_BYTES_MAX)]
}

/// At most `chars_max` characters of a text.
fn cut(mut text: String, chars_max: usize) -> String {
    if let Some((at, _)) = text.char_indices().nth(chars_max) {
        text.truncate(at);
    }
    text
}
