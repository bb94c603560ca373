//! Files to rows and questions to answers, over one project at a time; nothing here knows a transport.

pub mod indexing;
pub mod jobs;
pub mod search;

pub mod navigation;

pub mod highlighting;

pub mod left_out;

pub mod triage;
