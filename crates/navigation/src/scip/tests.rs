//! Tests of the SCIP reader: sound files, broken ones, and texts of symbols.

mod samples;

mod given;
mod lines;
mod read;
mod symbols;
mod write;
