//! What others can see of a file, with what is derived from it. Both depend on nothing else, so that they can be kept as long as
//! the file does not change.

use std::ops::Deref;
use std::sync::OnceLock;

use languages::symbols::Interface;

use super::incremental::{NameHash, names_in};
use super::index::{Half, Index};

/// What others can see of a file.
#[derive(Debug, Default)]
pub struct KnownInterface {
    interface: Interface,
    /// Its rows by name, once somebody looks into it.
    index: OnceLock<Index>,
    /// The names in each of its texts, once somebody asks what a changed name affects.
    names: OnceLock<TextNames>,
}

/// The hashes of the names in each text of an interface.
#[derive(Debug)]
pub(crate) struct TextNames {
    names: Vec<NameHash>,
    /// Where the names of each text end.
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

    /// The names in the text with this number.
    pub(crate) fn of(&self, text: u32) -> &[NameHash] {
        let text = text as usize;
        let start = text.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(text).copied().unwrap_or(start);
        self.names.get(start as usize..end as usize).unwrap_or_default()
    }

    /// Those of each text, in order.
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
