//! Converts the symbols of a file to their row, and its body back; [`Interfaces`](super::interfaces::Interfaces) reads the other half.

use languages::symbols::{Body, FileSymbols, Interface};
use navigation::incremental::{mentions, offers};
use store::SymbolsWrite;

/// Returns the row of the symbols of the file at `path`. If they take more than `bytes_max` bytes, the row only records that.
pub(super) fn symbols_write(path: &str, symbols: &FileSymbols, bytes_max: usize) -> SymbolsWrite {
    let halves = (postcard::to_stdvec(&symbols.interface), postcard::to_stdvec(&symbols.body));
    match halves {
        (Ok(interface), Ok(body)) if interface.len() + body.len() <= bytes_max => SymbolsWrite {
            halves: Some((interface, body)),
            offers: offers(path, &symbols.interface).into_iter().map(u64::cast_signed).collect(),
            mentions: mentions(symbols).into_iter().map(u32::cast_signed).collect(),
            truncated: symbols.truncated,
        },
        _ => SymbolsWrite::default(),
    }
}

/// Reads a body; `None` if it does not belong to the interface.
pub(crate) fn read_body(bytes: &[u8], interface: &Interface) -> Option<Body> {
    postcard::from_bytes::<Body>(bytes).ok().filter(|body| body.is_sound(interface))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::indexing::interfaces::read_interface;
    use languages::{ChunkLimits, by_name, chunk};

    fn symbols(text: &str) -> FileSymbols {
        let limits = ChunkLimits { facts: true, ..ChunkLimits::default() };
        chunk(text, by_name("python"), &limits).symbols.expect("Python has symbols")
    }

    #[test]
    fn rows_are_read_as_they_were_written_and_foreign_ones_are_harmless() {
        let symbols = symbols("from a import b\n\nclass C(b):\n    def f(self):\n        return b(self)\n");
        let written = symbols_write("x.py", &symbols, 1 << 20);
        let (interface, body) = written.halves.as_ref().expect("it is small");
        assert_eq!(read_interface(interface), symbols.interface);
        assert_eq!(read_body(body, &symbols.interface).as_ref(), Some(&symbols.body));
        // A body of another file names scopes that this one does not have.
        assert_eq!(read_body(body, &read_interface(&[])), None);
        for cut in 0..interface.len() {
            assert!(read_interface(&interface[..cut]).is_sound());
        }
        let none = symbols_write("x.py", &symbols, interface.len() + body.len() - 1);
        assert_eq!(none, SymbolsWrite::default());
    }
}
