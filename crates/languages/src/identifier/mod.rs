//! The one definition of a name. What is indexed and what is asked are both read by it, so that they agree: which marks around and in
//! an identifier belong to it in which language, which spellings mean the same, and which letters are equal.

mod marks;
mod normal;
mod operator;
mod place;
mod question;

pub(crate) use marks::Marks;
pub use marks::{Closeness, bare, closeness, fold, near_spellings, spelled, spellings_of_name};
pub use normal::{Mapped, nfc};
pub use place::{IdentifierAt, identifier_at};
pub use question::{QuestionName, split_name};

#[cfg(test)]
mod tests;
