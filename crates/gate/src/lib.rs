//! The gate that every call passes, the tools that it reaches, and the state that all surfaces share.
//!
//! | module | contents |
//! |---|---|
//! | [`tools`] | what clients can do: one list, with one entry and one file per operation |
//! | [`app`] | the state that all surfaces share; start and stop of the server |
//! | [`catalog`] | the instruction catalog in the database |

pub mod tools;

pub mod app;

pub mod catalog;
