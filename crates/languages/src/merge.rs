//! Small pieces to pieces of about the target size, without mixing what should be found apart.

use super::chunk::ChunkLimits;
use super::lines::Lines;
use super::split::Piece;
use super::syntax::Outline;

/// Less than an eighth of the target says too little to be one.
const SAYS_NOTHING: usize = 8;
/// Closing brackets and `end`: they belong to what they close.
const CLOSER_CHARS_MAX: usize = 6;

/// Joins neighbours; the order and the cover of the rows stay.
pub(super) fn merge(
    pieces: Vec<Piece>,
    outline: &Outline<'_>,
    lines: &Lines<'_>,
    limits: &ChunkLimits,
) -> Vec<Piece> {
    let stands = |piece: &Piece| {
        piece.whole.is_some_and(|at| outline.definitions[at].stands_alone(piece.chars, limits))
    };
    let mut merged: Vec<Piece> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match merged.last_mut() {
            Some(last) if is_closer(&piece, lines) => join(last, &piece),
            Some(last)
                if last.parent == piece.parent
                    && last.chars + piece.chars <= limits.chars_target
                    && !stands(last)
                    && !stands(&piece) =>
            {
                join(last, &piece);
            }
            _ => merged.push(piece),
        }
    }
    bound(glue(merged, outline, limits), limits)
}

/// Puts a piece that says too little onto the next one, else onto the one before, where they are of one parent
/// or one is a part of the other's sibling.
fn glue(pieces: Vec<Piece>, outline: &Outline<'_>, limits: &ChunkLimits) -> Vec<Piece> {
    let tiny = |piece: &Piece| piece.chars * SAYS_NOTHING < limits.chars_target;
    let inside = |inner: &Piece, outer: &Piece| {
        inner.parent == outer.parent
            || inner.parent.is_some_and(|parent| outline.definitions[parent].parent == outer.parent)
    };
    let mut glued: Vec<Piece> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match glued.last_mut() {
            Some(last) if last.chars + piece.chars <= limits.chars_max => {
                if tiny(last) && inside(&piece, last) {
                    join(last, &piece);
                    // The larger part says what it is part of.
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

/// Joins neighbours evenly until no more than `chunks_max` are left: a file is covered whatever its size.
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
