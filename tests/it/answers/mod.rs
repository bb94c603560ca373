//! Answers are accurate: a hit shows what matched, a suggestion exists, and a part of a query that was not understood gives a
//! warning.

mod left_out;
mod matched_lines;
mod missing_files;
mod pages;
mod suggestions;
mod unknown_fields;
