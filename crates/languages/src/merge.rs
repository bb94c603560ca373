//! Merges small pieces into pieces of about the target size, without mixing definitions that should be separate hits, or the cells
//! of a notebook.

use super::cells::Cells;
use super::limits::ChunkLimits;
use super::lines::{Lines, Piece};
use super::outline::Outline;

/// Pieces smaller than the target size divided by this are too small to be a chunk.
const TINY_DIVISOR: usize = 8;
/// Maximum number of characters of a closing piece (brackets or `end`), which belongs to the piece that it closes.
const CLOSER_CHARS_MAX: usize = 6;

/// Merges neighbouring pieces; keeps their order, and every row stays in a piece.
pub(super) fn merge(
    pieces: Vec<Piece>,
    outline: &Outline<'_>,
    (lines, cells): (&Lines<'_>, &Cells),
    limits: &ChunkLimits,
) -> Vec<Piece> {
    let stands_alone = |piece: &Piece| {
        piece.whole.is_some_and(|at| outline.definitions[at].stands_alone(piece.chars, limits))
    };
    let mut merged: Vec<Piece> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match merged.last_mut() {
            _ if cells.begin_at(piece.first) => merged.push(piece),
            Some(last) if is_closer(&piece, lines) => join(last, &piece),
            Some(last)
                if last.parent == piece.parent
                    && last.chars + piece.chars <= limits.chars_target
                    && !stands_alone(last)
                    && !stands_alone(&piece) =>
            {
                join(last, &piece);
            }
            _ => merged.push(piece),
        }
    }
    bound(merge_tiny(merged, outline, cells, limits), limits)
}

/// Merges a tiny piece with the next one, else with the previous one, if both have the same parent, or one is inside a sibling
/// of the other.
fn merge_tiny(pieces: Vec<Piece>, outline: &Outline<'_>, cells: &Cells, limits: &ChunkLimits) -> Vec<Piece> {
    let tiny = |piece: &Piece| piece.chars * TINY_DIVISOR < limits.chars_target;
    let inside = |inner: &Piece, outer: &Piece| {
        inner.parent == outer.parent
            || inner.parent.is_some_and(|parent| outline.definitions[parent].parent == outer.parent)
    };
    let mut glued: Vec<Piece> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match glued.last_mut() {
            Some(last) if last.chars + piece.chars <= limits.chars_max && !cells.begin_at(piece.first) => {
                if tiny(last) && inside(&piece, last) {
                    join(last, &piece);
                    // The larger piece determines the parent.
                    last.parent = piece.parent;
                } else if tiny(&piece) && inside(last, &piece) {
                    join(last, &piece);
                } else {
                    glued.push(piece);
                }
            }
            _ => glued.push(piece),
        }
    }
    glued
}

/// Merges neighbours evenly until at most `chunks_max` are left, so that a file of any size is covered. Only here a piece can get
/// lines of two cells.
pub(super) fn bound(pieces: Vec<Piece>, limits: &ChunkLimits) -> Vec<Piece> {
    let at_a_time = pieces.len().div_ceil(limits.chunks_max.max(1)).max(1);
    if at_a_time == 1 {
        return pieces;
    }
    pieces
        .chunks(at_a_time)
        .map(|run| {
            let mut first = run[0].clone();
            run[1..].iter().for_each(|piece| join(&mut first, piece));
            first
        })
        .collect()
}

fn join(piece: &mut Piece, next: &Piece) {
    piece.last = next.last;
    piece.chars += next.chars;
    piece.whole = None;
}

fn is_closer(piece: &Piece, lines: &Lines<'_>) -> bool {
    piece.whole.is_none() && piece.chars <= CLOSER_CHARS_MAX && {
        let text = lines.text(piece.first, piece.last).trim();
        text == "end" || !text.contains(|c: char| c.is_alphanumeric())
    }
}
