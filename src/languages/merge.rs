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

/// Puts pieces that say too little onto the next piece of the same parent or a part of it, else onto the one before.
fn glue(pieces: Vec<Piece>, outline: &Outline<'_>, limits: &ChunkLimits) -> Vec<Piece> {
    let tiny = |piece: &Piece| piece.chars * SAYS_NOTHING < limits.chars_target;
    let fits = |a: &Piece, b: &Piece| a.chars + b.chars <= limits.chars_max;
    let inside = |inner: &Piece, outer: &Piece| {
        inner.parent == outer.parent
            || inner.parent.is_some_and(|parent| outline.definitions[parent].parent == outer.parent)
    };
    let mut glued: Vec<Piece> = Vec::with_capacity(pieces.len());
    for mut piece in pieces {
        match glued.last_mut() {
            Some(last) if tiny(last) && fits(last, &piece) && inside(&piece, last) => {
                let mut whole = std::mem::replace(last, piece.clone());
                join(&mut whole, &piece);
                whole.parent = piece.parent;
                *last = whole;
            }
            Some(last) if tiny(&piece) && fits(last, &piece) && inside(last, &piece) => {
                join(last, &piece);
            }
            _ => {
                piece.last = piece.last.max(piece.first);
                glued.push(piece);
            }
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
