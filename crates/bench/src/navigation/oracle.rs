//! The content of a SCIP file: the symbol at each place, and the definition of each symbol.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use contract::Fault;
use languages::symbols::Place;
use navigation::scip::{Limits, Lines, Reader, Roles};

use super::tree::Sources;

/// A symbol: its text, and the document if it is local to one.
type Name = (String, Option<u32>);

/// The content of the file.
#[derive(Default)]
pub(super) struct Oracle {
    /// By file: the symbols that are used at each place.
    pub(super) used: Vec<HashMap<Place, Vec<u32>>>,
    /// By file: the symbols that are defined at each place.
    pub(super) defined: Vec<HashMap<Place, Vec<u32>>>,
    /// By symbol: where it is defined.
    pub(super) definitions: Vec<Vec<(u32, Place)>>,
    /// By symbol: what it implements.
    pub(super) implemented: HashMap<u32, Vec<u32>>,
    /// By symbol: its text.
    pub(super) names: Vec<String>,
    numbers: HashMap<Name, u32>,
}

impl Oracle {
    fn number(&mut self, symbol: &str, document: u32) -> u32 {
        let name = (symbol.to_owned(), symbol.starts_with("local ").then_some(document));
        if let Some(known) = self.numbers.get(&name) {
            return *known;
        }
        let number = self.names.len() as u32;
        self.names.push(symbol.to_owned());
        self.definitions.push(Vec::new());
        self.numbers.insert(name, number);
        number
    }
}

/// Reads a SCIP file.
pub(super) fn read(path: &Path, sources: &Sources) -> Result<Oracle, Fault> {
    let broken = |problem: String| Fault::internal(format!("{} cannot be read.", path.display()), problem);
    let file = File::open(path).map_err(|error| broken(error.to_string()))?;
    let mut reader = Reader::new(file, Limits::default()).map_err(|error| broken(error.to_string()))?;
    let metadata = reader.metadata().clone();
    let files: HashMap<&str, u32> =
        (0..).zip(&sources.files).map(|(at, file)| (file.path.as_str(), at)).collect();
    let mut oracle = Oracle {
        used: vec![HashMap::new(); sources.files.len()],
        defined: vec![HashMap::new(); sources.files.len()],
        ..Oracle::default()
    };
    while let Some(document) = reader.next_document().map_err(|error| broken(error.to_string()))? {
        let Some(&number) = files.get(document.path) else { continue };
        for information in &document.symbols {
            let symbol = oracle.number(information.symbol, number);
            for relation in information.relationships.iter().filter(|relation| relation.is_implementation) {
                let other = oracle.number(relation.symbol, number);
                oracle.implemented.entry(symbol).or_default().push(other);
            }
        }
        let encoding = document.encoding.or_of_tool(&metadata);
        let mut lines = Lines::new(&sources.files[number as usize].text, encoding);
        let mut occurrences: Vec<_> = document.occurrences.iter().collect();
        occurrences.sort_by_key(|occurrence| occurrence.range.start);
        for occurrence in occurrences {
            let Some(mut place) = lines.place(occurrence.range.start) else { continue };
            // A private name may be written with its mark or without.
            let symbol = oracle.number(occurrence.symbol, number);
            let file = number as usize;
            if occurrence.roles.contains(Roles::DEFINITION) {
                oracle.definitions[symbol as usize].push((number, place));
                oracle.defined[file].entry(place).or_default().push(symbol);
            } else {
                if lines.rest().starts_with('\n') {
                    place.column += 1;
                }
                oracle.used[file].entry(place).or_default().push(symbol);
            }
        }
    }
    Ok(oracle)
}
