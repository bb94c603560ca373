//! Parses a file, and finds its outline, the definitions, with the language's query.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::{ControlFlow, Range};

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use super::attributes::{self, Head};
use super::grammar::Grammar;
use super::identifier::{Marks, nfc};
use super::language::Language;
use super::lines::node_rows;
use super::outline::{Definition, NAME_CHARS_MAX, Outline, cut, nest, nest_handlers};
use super::query::{self, FoundDefinition, Wrappers};
use super::stop::{Stop, Stopped};
use super::tree_query::Nodes;

/// Maximum number of bytes that are read for a name, because many names can share one long text, such as the calls of a chain.
const NAME_BYTES_MAX: usize = 4096;
/// Maximum number of parts of a name with quoted parts.
const PARTS_MAX: usize = 16;

thread_local! {
    static PARSER: RefCell<Parser> = RefCell::new(Parser::new());
}

/// Parses `text` and calls `then` with the outline and the nodes of the tree. The time limit starts after the language's
/// queries were compiled. The error is the reason why there is no tree.
pub(super) fn with_outline<R>(
    text: &str,
    language: &Language,
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
        query::find(text, compiled, &nodes, stop).and_then(|matches| outline(text, language, matches, stop));
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

/// The line of the first node below `root` that is an error or missing, 1-based.
pub(super) fn first_error(root: Node<'_>) -> Option<u32> {
    let mut node = root.has_error().then_some(root)?;
    while !node.is_error() && !node.is_missing() {
        let mut cursor = node.walk();
        let inner = node.children(&mut cursor).find(|child| child.has_error() || child.is_missing());
        match inner {
            Some(inner) => node = inner,
            None => break,
        }
    }
    u32::try_from(node_rows(node).0).ok()?.checked_add(1)
}

fn outline<'t>(
    text: &'t str,
    language: &Language,
    mut matches: query::Matches<'t>,
    stop: &Stop<'_>,
) -> Result<Outline<'t>, Stopped> {
    let handlers = matches.found.extract_if(.., |found| found.handler).collect();
    let wrappers = &mut matches.wrappers;
    let writing = (language.separator, Marks::of(language.id));
    let (separator, marks) = writing;
    let mut heads = HashMap::new();
    let definitions = to_definitions(text, writing, matches.found, (wrappers, &mut heads), stop)?;
    let mut definitions = nest(definitions, separator, stop)?;
    let handlers = to_definitions(text, writing, handlers, (wrappers, &mut heads), stop)?;
    let mut handlers = nest_handlers(handlers);
    let attributes = attribute_runs(matches.attributes);
    for definition in definitions.iter_mut().chain(&mut handlers) {
        stop.step(1)?;
        let above = definition.begin.0.checked_sub(1).and_then(|row| attributes.get(&row));
        definition.begin = above.copied().unwrap_or(definition.begin);
    }
    stop.step(1)?;
    let mut in_heads: Vec<Range<usize>> = heads.into_values().flat_map(|head| head.attributes).collect();
    in_heads.sort_unstable_by_key(|range| (range.start, range.end));
    in_heads.dedup();
    Ok(Outline::new((text, marks), definitions, handlers, matches.leading, in_heads))
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
    writing: (&str, &Marks),
    mut found: Vec<FoundDefinition<'t>>,
    (wrappers, heads): (&mut Wrappers<'t>, &mut HashMap<usize, Head>),
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
        let body = body.map_or(f.node.end_byte(), |body| body.start_byte());
        // Names of one declaration share its head.
        let head = heads.entry(f.node.id()).or_insert_with(|| attributes::head(outer, body, stop));
        definitions.extend(definition(text, writing, f, outer, (body, head.row)));
    }
    definitions.sort_by_key(|d| (d.start, std::cmp::Reverse(d.end), d.head));
    Ok(definitions)
}

/// The body of a definition. Counts a step for each child.
fn body<'t>(node: Node<'t>, stop: &Stop<'_>) -> Option<Node<'t>> {
    stop.count(node.child_count() as usize);
    node.child_by_field_name("body")
}

/// The definition for a match; `None` if its name is empty. `outer` is its extent; the last argument has the byte where its body
/// starts and the row where its code does.
fn definition(
    text: &str,
    (separator, marks): (&str, &Marks),
    f: &FoundDefinition<'_>,
    outer: Node<'_>,
    (body, code_row): (usize, usize),
) -> Option<Definition> {
    let written = &text[f.name.byte_range()];
    let full = match f.handler {
        true => {
            let callee = f.receiver.unwrap_or(f.name).start_byte()..f.name.end_byte();
            let argument = f.argument.map(|node| &text[node.byte_range()]);
            handler_name(text.get(callee).unwrap_or_default(), argument)
        }
        false => qualified_name(written, separator, marks),
    };
    // Headings, keys and selectors are not split at separators.
    let whole = f.handler || f.kind == "section";
    let last = match written.strip_prefix(':') {
        // A symbol of Ruby that names a method.
        Some(_) if f.member => 1,
        _ if whole => 0,
        _ => last_name(beginning(written), separator),
    };
    let name = if last == 0 { full.clone() } else { clean_name(&written[last..], marks) };
    let before = written[..last].bytes();
    let receiver = f.receiver.filter(|_| !f.handler).map(|node| clean_name(&text[node.byte_range()], marks));
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
        body,
        code_row,
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

/// The name of a handler: the call that it is passed to, such as `app.get('/x')`.
fn handler_name(callee: &str, argument: Option<&str>) -> String {
    let callee = beginning(callee).split_whitespace().collect::<String>();
    let argument = argument.map(|text| beginning(text).split_whitespace().collect::<Vec<_>>().join(" "));
    let name = argument.map_or(callee.clone(), |text| format!("{callee}({text})"));
    cut(nfc(&name).into_owned(), NAME_CHARS_MAX)
}

fn is_quoted(written: &str) -> bool {
    written.starts_with(['"', '\'', '`'])
}

/// Returns the start of the last part of a qualified name. Text in quotes or brackets is not divided.
pub(crate) fn last_name(written: &str, separator: &str) -> usize {
    let (mut last, mut depth, mut at) = (0, 0_usize, 0);
    while let Some(c) = written[at..].chars().next() {
        match c {
            // The type behind the word has separators of its own: `S::operator std::string`.
            _ if at == last && begins_conversion(&written[at..]) => return last,
            // `"a"."b"`, `@"a.b"`: the text between quotes is one part.
            '"' | '\'' | '`' if at == last || written[..at].ends_with('@') => {
                at += written[at + 1..].find(c).map_or(0, |length| length + 1);
            }
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

/// Checks whether a text begins with an operator of C++ that converts to a type.
fn begins_conversion(written: &str) -> bool {
    let behind = written.strip_prefix("operator").filter(|behind| behind.starts_with(char::is_whitespace));
    behind.is_some_and(|behind| {
        behind.trim_start().starts_with(|c: char| c.is_alphabetic() || "_:".contains(c))
    })
}

/// The parts of a name as it is written, if one of them is quoted; else the whole name.
fn qualified_name(written: &str, separator: &str, marks: &Marks) -> String {
    let mut rest = beginning(written);
    if !rest.contains(['"', '`']) {
        return clean_name(rest, marks);
    }
    let mut parts = Vec::new();
    while parts.len() < PARTS_MAX {
        let last = last_name(rest, separator);
        parts.push(clean_name(&rest[last..], marks));
        rest = rest[..last].trim_end().trim_end_matches(separator);
        if rest.is_empty() {
            parts.reverse();
            return cut(parts.join(separator), NAME_CHARS_MAX);
        }
    }
    clean_name(written, marks)
}

/// Folds whitespace in a name and removes what is only written around it.
fn clean_name(raw: &str, marks: &Marks) -> String {
    let folded = beginning(raw).split_whitespace().collect::<Vec<_>>().join(" ");
    cut(marks.stored(&folded), NAME_CHARS_MAX)
}

/// The beginning of a text, as much as is read for a name.
fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(NAME_BYTES_MAX)]
}
