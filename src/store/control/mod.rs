//! The control schema `pairofcleats`: what is kept once a database.

pub mod jobs;
pub mod projects;
