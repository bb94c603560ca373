//! Names chunks: the main definition, all defined names, and the signature of each.

use super::chunk::Chunk;
use super::defined::ChunkDefinition;
use super::facts::Facts;
use super::lines::{Lines, Piece};
use super::outline::{Definition, Outline};
use super::stop::{Stop, Stopped};

/// Longest signature in characters.
const SIGNATURE_CHARS_MAX: usize = 200;
/// Maximum number of bytes, including whitespace, that are read for a signature.
const SIGNATURE_BYTES_MAX: usize = 4096;
/// Maximum number of names of one chunk: a table of constants has no bound of its own.
const DEFINES_MAX: usize = 64;

/// Chunks of a file with an outline.
pub(super) fn chunks(
    pieces: &[Piece],
    outline: &Outline<'_>,
    lines: &Lines<'_>,
    stop: &Stop<'_>,
) -> Result<Vec<Chunk>, Stopped> {
    let mut names = Names { outline, lines, stop, column: (0, 0, 0), signed: None };
    let chunks = pieces.iter().map(|piece| names.chunk(piece));
    chunks.filter_map(Result::transpose).collect()
}

/// Chunks of a file without one.
pub(super) fn blocks(pieces: &[Piece], lines: &Lines<'_>) -> Vec<Chunk> {
    pieces.iter().filter_map(|piece| block(piece, lines)).collect()
}

fn block(piece: &Piece, lines: &Lines<'_>) -> Option<Chunk> {
    let (first, last) = lines.trim(piece.first, piece.last)?;
    Some(Chunk {
        start_line: line_number(first),
        end_line: line_number(last),
        kind: "block",
        name: None,
        defines: Vec::new(),
        line: None,
        signature: None,
        definitions: Vec::new(),
        text: lines.text(first, last).to_owned(),
        facts: Facts::default(),
        comments: Vec::new(),
    })
}

/// Names the chunks of a file in order, with caches that make use of the order.
struct Names<'n> {
    outline: &'n Outline<'n>,
    lines: &'n Lines<'n>,
    stop: &'n Stop<'n>,
    /// Position up to which a column was counted: the row, the byte, and the number of characters before it in the row.
    column: (usize, usize, usize),
    /// The last signature, with its byte range: names of one declaration share it.
    signed: Option<((usize, usize), String)>,
}

impl Names<'_> {
    fn chunk(&mut self, piece: &Piece) -> Result<Option<Chunk>, Stopped> {
        let (outline, lines, stop) = (self.outline, self.lines, self.stop);
        stop.step(1 + piece.last - piece.first)?;
        let Some(mut chunk) = block(piece, lines) else { return Ok(None) };
        let definitions = &outline.definitions;
        let starting = outline.starting(piece.first, piece.last);
        let from = starting.start;
        stop.step(starting.len())?;
        if let Some(main) = main(piece, outline, lines, from) {
            let definition = &definitions[main];
            chunk.kind = definition.kind;
            chunk.name = Some(definition.qualified.clone());
            chunk.line = Some(line_number(definition.name_row));
            // The signature of a section would only repeat its name.
            let signed = main >= from && definition.kind != "section";
            chunk.signature = signed.then(|| self.signature(definition));
        }
        // A name can be rows below the start of its definition (after attributes), so enclosing definitions count as well.
        let encloses =
            |at: usize| at < from && piece.parent.is_some_and(|parent| outline.is_within(parent, at));
        // Callbacks and the like, on one line inside of a function, do not have names that anyone searches for.
        let is_inner = |d: &Definition| d.small && d.parent.is_some_and(|of| definitions[of].is_callable());
        let counts = |d: &Definition| !d.member && !is_inner(d);
        let here = outline.named_in(piece.first, piece.last);
        let here = here.filter(|&at| definitions.get(at).is_some_and(counts));
        let mut here: Vec<usize> = here.filter(|&at| starting.contains(&at) || encloses(at)).collect();
        here.sort_unstable();
        for definition in here.into_iter().map(|at| &definitions[at]) {
            stop.step(1)?;
            if definition.kind != "impl" && !chunk.defines.contains(&definition.name) {
                chunk.defines.push(definition.name.clone());
                if chunk.defines.len() == DEFINES_MAX {
                    break;
                }
            }
        }
        for number in outline.listed_in(piece.first, piece.last) {
            stop.step(1)?;
            chunk.definitions.push(self.defined(outline.get(number)));
        }
        Ok(Some(chunk))
    }

    /// The entry of a definition in the chunk; its facts are added later.
    fn defined(&mut self, definition: &Definition) -> ChunkDefinition {
        ChunkDefinition {
            name: definition.name.clone(),
            qualified: definition.qualified.clone(),
            kind: definition.kind,
            // The signature of a section would only repeat its name.
            signature: (definition.kind != "section").then(|| self.signature(definition)),
            line: line_number(definition.name_row),
            column: u32::try_from(self.column(definition)).unwrap_or(u32::MAX),
            start_line: line_number(definition.begin.0),
            end_line: line_number(definition.last_row),
            exported: None,
            facts: Vec::new(),
        }
    }

    /// The column of a definition's name, 1-based. Names are processed in text order, so that a long row is read only once.
    fn column(&mut self, definition: &Definition) -> usize {
        let (row, at) = (definition.name_row, definition.name_start);
        if self.column.0 != row || self.column.1 > at {
            self.column = (row, self.lines.start(row), 0);
        }
        let (_, counted, chars) = self.column;
        self.stop.count(at - counted);
        self.column = (row, at, chars + self.outline.text[counted..at].chars().count());
        self.column.2 + 1
    }

    fn signature(&mut self, definition: &Definition) -> String {
        let body = definition.body;
        let end = if body > definition.head { body } else { definition.end };
        let of = (definition.head, end);
        if let Some((_, signature)) = self.signed.as_ref().filter(|(last, _)| *last == of) {
            return signature.clone();
        }
        let signature = signature(self.outline.without_attributes(of.0..of.1), self.stop);
        self.signed = Some((of, signature.clone()));
        signature
    }
}

/// The main definition of a chunk: the largest outermost one that starts in it. If that continues after the
/// chunk (the head of a class with its first method), a member that makes up most of the chunk; if the chunk is a part of a
/// split definition and those that start in it are small, the split one.
fn main(piece: &Piece, outline: &Outline<'_>, lines: &Lines<'_>, from: usize) -> Option<usize> {
    let definitions = &outline.definitions;
    let starting = || outline.large_starting(piece.first, piece.last).iter().copied();
    let clipped =
        |at: usize| lines.chars(definitions[at].first_row, definitions[at].last_row.min(piece.last));
    // Prefer functions and types to constants.
    let weight = |at: usize| clipped(at) * if definitions[at].kind == "variable" { 1 } else { 4 };
    let outermost = starting().filter(|&at| definitions[at].parent.is_none_or(|parent| parent < from));
    // The first of equals: `rev`, because `max_by_key` takes the last.
    let largest = outermost.rev().max_by_key(|&at| weight(at));
    let Some(largest) = largest else { return piece.parent };
    if definitions[largest].last_row > piece.last {
        let member = starting()
            .rev()
            .filter(|&at| definitions[at].parent == Some(largest) && definitions[at].last_row <= piece.last)
            .max_by_key(|&at| clipped(at))
            .filter(|&at| {
                definitions[at].is_container() || matches!(definitions[at].kind, "function" | "method")
            });
        if let Some(member) = member.filter(|&at| 5 * clipped(at) >= 3 * piece.chars) {
            return Some(member);
        }
    }
    match piece.parent {
        Some(parent) if largest != parent && 2 * clipped(largest) < piece.chars => Some(parent),
        _ => Some(largest),
    }
}

/// The head of a definition, given in parts, on one line, without trailing braces, `=` and `:`.
fn signature<'h>(head: impl Iterator<Item = &'h str>, stop: &Stop<'_>) -> String {
    let mut signature = String::new();
    let mut left = SIGNATURE_CHARS_MAX;
    let mut spaced = false;
    let mut bytes = SIGNATURE_BYTES_MAX;
    let head = head.map_while(|part| {
        let read = &part[..part.floor_char_boundary(bytes)];
        let is_any = bytes > 0;
        bytes -= read.len();
        is_any.then_some(read)
    });
    for c in head.flat_map(str::chars) {
        stop.count(1);
        if c.is_whitespace() {
            spaced = true;
            continue;
        }
        if spaced && !signature.is_empty() {
            signature.push(' ');
            left -= 1;
        }
        spaced = false;
        if left > 0 {
            signature.push(c);
            left -= 1;
        }
        if left == 0 {
            break;
        }
    }
    signature.truncate(signature.trim_end_matches([' ', '{', '=', ':']).len());
    signature
}

/// The 1-based line number of a row. Files are far smaller than `u32::MAX` bytes, so it does not saturate in practice.
fn line_number(row: usize) -> u32 {
    u32::try_from(row + 1).unwrap_or(u32::MAX)
}
