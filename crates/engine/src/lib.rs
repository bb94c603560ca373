//! Indexes files and answers questions over one project at a time, independent of the transport.

pub mod indexing;
pub mod jobs;
pub mod search;

pub mod navigation;

pub mod highlighting;

pub mod left_out;
