//! The part of a file that others can see, with what is derived from it. Both depend on nothing else, so that they can be kept as long as
//! the file does not change.

use std::ops::Deref;
use std::sync::OnceLock;

use languages::symbols::Interface;

use super::index::{Half, Index};
use super::name_hash::{NameHash, names_in};

/// The part of a file that others can see.
#[derive(Debug, Default)]
pub struct KnownInterface {
    interface: Interface,
    /// Its rows by name, built on first use.
    index: OnceLock<Index>,
    /// The names in each of its texts, built when the effect of a changed name is first computed.
    names: OnceLock<TextNames>,
}

/// The hashes of the names in each text of an interface.
#[derive(Debug)]
pub(crate) struct TextNames {
    names: Vec<NameHash>,
    /// The end of the names of each text.
    ends: Vec<u32>,
}

impl TextNames {
    fn new(texts: &[String]) -> Self {
        let (mut names, mut ends) = (Vec::with_capacity(texts.len()), Vec::with_capacity(texts.len()));
        for text in texts {
            names.extend(names_in(text));
            ends.push(names.len() as u32);
        }
        Self { names, ends }
    }

    /// Returns the names in the text with this number.
    pub(crate) fn of(&self, text: u32) -> &[NameHash] {
        let text = text as usize;
        let start = text.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(text).copied().unwrap_or(start);
        self.names.get(start as usize..end as usize).unwrap_or_default()
    }

    /// Iterates over the names of each text, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[NameHash]> {
        (0..self.ends.len() as u32).map(|text| self.of(text))
    }
}

impl From<Interface> for KnownInterface {
    fn from(interface: Interface) -> Self {
        Self { interface, ..Self::default() }
    }
}

impl Deref for KnownInterface {
    type Target = Interface;

    fn deref(&self) -> &Interface {
        &self.interface
    }
}

impl KnownInterface {
    pub(crate) fn index(&self) -> &Index {
        self.index.get_or_init(|| Index::new(Half::interface(&self.interface)))
    }

    pub(crate) fn names(&self) -> &TextNames {
        self.names.get_or_init(|| TextNames::new(&self.interface.arena.texts))
    }
}
