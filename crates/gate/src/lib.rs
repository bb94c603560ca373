//! The gate that every call passes, the tools that it reaches, and the state that all surfaces share.
//!
//! | module | contents |
//! |---|---|
//! | [`module`] | a subsystem as one value, and the table of them |
//! | [`modules`] | the values of the subsystems in this package |
//! | [`tools`] | what clients can do: one file per operation, and the gate that runs them |
//! | [`app`] | the state that all surfaces share; start and stop of the server |

pub mod module;
pub mod modules;

pub mod tools;

pub mod app;
