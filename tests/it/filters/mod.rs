//! Filters, the query language, modes and answers, searched over real rows.

pub(crate) mod corpus;
pub(crate) mod shop;

pub(crate) mod fields;
mod values;

mod answers;
mod modes;
mod query_language;
mod recall;
pub(crate) mod risk;

mod commands;
mod missing_facts;
mod upgrade;
