//! Filters, the query language, modes and answers over real rows.

mod corpus;
mod shop;

mod effect;
mod values;

mod answers;
mod modes;
mod questions;
mod recall;
mod risk;

mod commands;
mod upgrade;
