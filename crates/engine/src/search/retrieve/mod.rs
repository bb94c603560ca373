//! Retrieval: the candidates of each part of a search.
//!
//! [`several`] divides a search into parts, one for each repository, after [`choice`] has taken the best of many. [`plan`] chooses the
//! terms that select candidates and the vector that is compared. [`parts`] runs the two retrievers of [`retrievers`], lexical (BM25) and
//! dense (vectors), for all parts; small repositories share statements. [`statistics`] reads what BM25 needs, [`ties`] cuts lists
//! between equal scores by place. [`literal`] searches for the literal text if the measurements do not trust the answer,
//! [`symbol_lookup`] for definitions by name, and [`nearest`] measures the dense retriever by itself.

pub(super) mod choice;
pub(super) mod literal;
pub(super) mod nearest;
pub(super) mod part;
pub(super) mod parts;
pub(in crate::search) mod plan;
pub(super) mod retrievers;
pub(super) mod several;
pub(super) mod statistics;
pub(super) mod symbol_lookup;
pub(super) mod ties;
