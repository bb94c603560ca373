//! Filters and scope: which repositories, revisions, files and definitions a search covers.
//!
//! [`fields`] is the list of all filter fields; the schema, the flags, the query language, the documentation and the SQL are derived from
//! it. [`request_filter`] reads the fields of a request, [`filter_value`] converts the forms that people write to the stored ones, and
//! [`pattern`] and [`regex_filter`] translate patterns. [`resolve`] joins the filters of a request and of its query to one
//! [`store::Filter`]. [`scope`] finds the repositories and the state of their index, [`revisions`] the files of a revision.
//! [`name_filter`] and [`graph_filter`] look up the definitions that a filter names, [`revision_filter`] the revisions; [`field_hints`] and
//! [`unknown_facts`] explain what was meant or is missing.

pub(super) mod field_hints;
pub mod fields;
pub(super) mod filter_value;
pub(super) mod graph_filter;
pub(super) mod name_filter;
pub(super) mod narrowed_name;
pub(super) mod newer_index;
pub(super) mod pattern;
pub(super) mod regex_filter;
pub(super) mod request_filter;
pub(super) mod resolve;
pub(super) mod resolver;
pub(super) mod revision_filter;
pub(super) mod revision_names;
pub(super) mod revisions;
pub(super) mod scope;
pub(super) mod unknown_facts;
