//! Filters, the query language, modes and answers over real rows.

pub(crate) mod corpus;
pub(crate) mod shop;

pub(crate) mod effect;
mod values;

mod answers;
mod modes;
mod questions;
mod recall;
pub(crate) mod risk;

mod commands;
mod missing;
mod upgrade;
