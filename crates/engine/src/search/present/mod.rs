//! Presentation: from ranked candidates to an answer of a bounded size.
//!
//! [`hits`] reads the chunks that a page shows, with the lines around them ([`surroundings`]), the definition that matched
//! ([`matched_definition`]) and the other places of a text ([`other_places`]). [`answer`] is the result, independent of a format;
//! [`payload`] writes it in its public forms, [`presented_hit`] one hit, [`snippet`] the text of one, and [`budget`] fits all into a limit
//! that [`tokens`] counts. [`facets`] counts all hits by property, [`suggestions`] finds names that are spelled like unknown words, and
//! [`sources`] the whole texts that a page colours.

pub(super) mod answer;
pub(super) mod budget;
pub(super) mod facets;
pub(super) mod hits;
pub(super) mod matched_definition;
pub(super) mod other_places;
pub(super) mod payload;
pub(super) mod presented_hit;
pub(super) mod snippet;
pub(super) mod sources;
pub(super) mod suggestions;
pub(super) mod surroundings;
pub mod tokens;
pub(super) mod total_relation;
