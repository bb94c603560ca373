//! Keeps an installation whole: runtime assets, dictionaries and extensions; portable index files; archives of projects; what is
//! kept and what is removed.

pub mod install;

pub mod portable;

pub mod archive;

pub mod retention;

mod disk;
