//! Pieces to chunks: which definition a chunk is about, what it defines, its signature.

use super::chunk::Chunk;
use super::defined::Defined;
use super::facts::Facts;
use super::lines::Lines;
use super::split::Piece;
use super::syntax::{Definition, Outline};

/// Longest signature in characters.
const SIGNATURE_CHARS_MAX: usize = 200;
/// Most names of one chunk: a table of constants has no bound of its own.
const DEFINES_MAX: usize = 64;

/// Chunks of a file with an outline.
pub(super) fn chunks(pieces: &[Piece], outline: &Outline<'_>, lines: &Lines<'_>) -> Vec<Chunk> {
    pieces.iter().filter_map(|piece| chunk(piece, outline, lines)).collect()
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

fn chunk(piece: &Piece, outline: &Outline<'_>, lines: &Lines<'_>) -> Option<Chunk> {
    let mut chunk = block(piece, lines)?;
    let definitions = &outline.definitions;
    let starting = outline.starting(piece.first, piece.last);
    let from = starting.start;
    if let Some(main) = main(piece, outline, lines, starting.clone()) {
        let definition = &definitions[main];
        chunk.kind = definition.kind;
        chunk.name = Some(definition.qualified.clone());
        chunk.line = Some(line_number(definition.name_row));
        // A section's head says no more than its name.
        let signed = main >= from && definition.kind != "section";
        chunk.signature = signed.then(|| signature(definition, outline.text));
    }
    // A name can stand rows below its definition's start (attributes): look back to the enclosing ones.
    let enclosing = std::iter::successors(piece.parent, |&at| definitions[at].parent);
    let mut candidates: Vec<usize> = enclosing.filter(|&at| at < from).chain(starting).collect();
    candidates.sort_unstable();
    for definition in candidates.into_iter().map(|at| &definitions[at]) {
        let here = (piece.first..=piece.last).contains(&definition.name_row);
        if here && definition.kind != "impl" && !chunk.defines.contains(&definition.name) {
            chunk.defines.push(definition.name.clone());
            if chunk.defines.len() == DEFINES_MAX {
                break;
            }
        }
    }
    let here = outline.named_in(piece.first, piece.last).map(|number| outline.get(number));
    chunk.definitions = here.map(|definition| defined(definition, outline.text)).collect();
    Some(chunk)
}

/// A definition as it is listed; its facts are not known yet.
fn defined(definition: &Definition, text: &str) -> Defined {
    let line_start = text[..definition.name_start].rfind('\n').map_or(0, |end| end + 1);
    let column = text[line_start..definition.name_start].chars().count() + 1;
    Defined {
        name: definition.name.clone(),
        qualified: definition.qualified.clone(),
        kind: definition.kind,
        // A section's head says no more than its name.
        signature: (definition.kind != "section").then(|| signature(definition, text)),
        line: line_number(definition.name_row),
        column: u32::try_from(column).unwrap_or(u32::MAX),
        start_line: line_number(definition.begin.0),
        end_line: line_number(definition.last_row),
        exported: None,
        facts: Vec::new(),
    }
}

/// The definition a chunk is about: the largest outermost one that starts in it. Where that reaches out of
/// the chunk (a class's head with its first method), a member that is most of the chunk; where a definition
/// was split and the ones that start here are only a small part, the split one.
fn main(
    piece: &Piece,
    outline: &Outline<'_>,
    lines: &Lines<'_>,
    starting: std::ops::Range<usize>,
) -> Option<usize> {
    let definitions = &outline.definitions;
    let clipped =
        |at: usize| lines.chars(definitions[at].first_row, definitions[at].last_row.min(piece.last));
    // Among constants, a function or a type is what the chunk is about.
    let weight = |at: usize| clipped(at) * if definitions[at].kind == "variable" { 1 } else { 4 };
    let outermost =
        starting.clone().filter(|&at| definitions[at].parent.is_none_or(|parent| parent < starting.start));
    // The first of equals: `rev`, because `max_by_key` takes the last.
    let largest = outermost.rev().max_by_key(|&at| weight(at));
    let Some(largest) = largest else { return piece.parent };
    if definitions[largest].last_row > piece.last {
        let member = starting
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

/// From the definition's start to its body on one line.
fn signature(definition: &Definition, text: &str) -> String {
    let end = if definition.body > definition.head { definition.body } else { definition.end };
    let mut signature = String::new();
    let mut left = SIGNATURE_CHARS_MAX;
    for word in text[definition.head..end].split_whitespace() {
        if !signature.is_empty() && left > 0 {
            signature.push(' ');
            left -= 1;
        }
        signature.extend(word.chars().take(left));
        left = left.saturating_sub(word.chars().count());
        if left == 0 {
            break;
        }
    }
    signature.truncate(signature.trim_end_matches([' ', '{', '=', ':']).len());
    signature
}

/// Rows fit: a file is bounded by far less than `u32::MAX` bytes; a larger one would saturate.
fn line_number(row: usize) -> u32 {
    u32::try_from(row + 1).unwrap_or(u32::MAX)
}
