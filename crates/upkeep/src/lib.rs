//! Maintains an installation: installs runtime assets, dictionaries and extensions; writes portable index files;
//! exports and imports projects; removes data.

pub mod install;

pub mod portable;

pub mod archive;

pub mod scip;

pub mod retention;

mod disk;
mod partial_file;
