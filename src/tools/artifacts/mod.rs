//! Models, dictionaries, extensions and portable index files.

pub(super) mod download_models;
