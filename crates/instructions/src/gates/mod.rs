//! Gates: conditions on the catalog that continuous integration can fail on, such as "there is a mandatory entry".

mod evaluate;
mod filter;
mod parse;

pub use evaluate::{GatePart, GateReport, GateResult, GateSummary, evaluate};
pub use parse::{GateSeverity, Gates};
