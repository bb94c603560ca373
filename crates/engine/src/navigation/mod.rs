//! Answers where a symbol is defined and used, what it uses, and what a change of it affects.
//!
//! The edges between definitions are rows that an index run resolved; here they are only read. Guesses by name are counted and listed
//! separately.

mod answer;
mod callees;
mod fields;
mod find;
mod gaps;
mod grouping;
mod impact;
mod implementers;
mod implicit;
mod navigate;
mod navigator;
mod nearest;
mod places;
mod present;
mod request;
mod steps;
mod type_graph;
mod walk;

pub use answer::{
    FilePlaces, NavigationPayload, OmittedPlaces, Place, StepCount, StopReason, Stopped, SymbolInfo,
    Unresolved,
};
pub use navigate::navigate;
pub use navigator::Navigation;
pub use present::present;
pub use request::{Certainty, NavigationRequest, Relation, Subject, UsedAs};
