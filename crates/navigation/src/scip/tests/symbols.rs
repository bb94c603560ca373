//! The grammar of symbols' names.

use proptest::prelude::*;

use super::samples::REAL;
use crate::scip::{Descriptor, DescriptorKind, Limits, Reader, Symbol, SymbolError};

#[test]
fn every_kind_of_descriptor_is_parsed() {
    let text = "s  t m p  q 1.0 a/B#c.d(+1).e().[T](p)f:g!`h ``i`#";
    let Symbol::Global { scheme, manager, package, version, descriptors } = Symbol::parse(text).unwrap()
    else {
        panic!("not local");
    };
    assert_eq!([scheme, manager, package, version], ["s t", "m", "p q", "1.0"]);
    let parts = descriptors
        .iter()
        .map(|it| (it.name.as_str(), it.kind, it.disambiguator.as_str()))
        .collect::<Vec<_>>();
    assert_eq!(
        parts,
        [
            ("a", DescriptorKind::Namespace, ""),
            ("B", DescriptorKind::Type, ""),
            ("c", DescriptorKind::Term, ""),
            ("d", DescriptorKind::Method, "+1"),
            ("e", DescriptorKind::Method, ""),
            ("T", DescriptorKind::TypeParameter, ""),
            ("p", DescriptorKind::Parameter, ""),
            ("f", DescriptorKind::Meta, ""),
            ("g", DescriptorKind::Macro, ""),
            ("h `i", DescriptorKind::Type, ""),
        ]
    );
    assert_eq!(Symbol::parse(text).unwrap().to_string(), text);
}

#[test]
fn empty_fields_are_dots() {
    let text = "cxx . . $ `<file>/a.h:9:1`!";
    let Symbol::Global { manager, package, version, .. } = Symbol::parse(text).unwrap() else {
        panic!("not local");
    };
    assert_eq!([manager.as_str(), &package, &version], ["", "", "$"]);
    assert_eq!(Symbol::parse(text).unwrap().to_string(), text);
    assert_eq!(Symbol::parse("local a-1").unwrap(), Symbol::Local("a-1".to_owned()));
}

#[test]
fn texts_outside_the_grammar_are_refused() {
    for (text, error) in [
        ("", SymbolError::End),
        ("a b c d ", SymbolError::End),
        ("a b c d", SymbolError::End),
        (" b c d e.", SymbolError::Name),
        ("a b c d e", SymbolError::End),
        ("a b c d e@", SymbolError::Suffix),
        ("a b c d λ.", SymbolError::Name),
        ("a b c d ``.", SymbolError::Name),
        ("a b c d `e.", SymbolError::End),
        ("a b c d [e.", SymbolError::Suffix),
        ("a b c d (e", SymbolError::Suffix),
        ("a b c d e(.", SymbolError::Name),
        ("a b c d e()", SymbolError::Suffix),
        ("local ", SymbolError::LocalId),
        ("local é", SymbolError::LocalId),
    ] {
        assert_eq!(Symbol::parse(text), Err(error), "{text:?}");
    }
}

#[test]
fn symbols_of_real_indexers_are_printed_as_they_were() {
    for real in REAL {
        let mut reader = Reader::new(real, Limits::default()).unwrap();
        while let Some(document) = reader.next_document().unwrap() {
            for occurrence in document.occurrences {
                assert_eq!(Symbol::parse(occurrence.symbol).unwrap().to_string(), occurrence.symbol);
            }
        }
    }
}

fn kinds() -> impl Strategy<Value = DescriptorKind> {
    prop_oneof![
        Just(DescriptorKind::Namespace),
        Just(DescriptorKind::Type),
        Just(DescriptorKind::Term),
        Just(DescriptorKind::Method),
        Just(DescriptorKind::TypeParameter),
        Just(DescriptorKind::Parameter),
        Just(DescriptorKind::Meta),
        Just(DescriptorKind::Macro),
    ]
}

fn descriptors() -> impl Strategy<Value = Descriptor> {
    (".{1,6}|[ `]{1,4}", kinds(), "[a-z+]{0,3}").prop_map(|(name, kind, disambiguator)| Descriptor {
        name,
        kind,
        disambiguator: if kind == DescriptorKind::Method { disambiguator } else { String::new() },
    })
}

/// Generates a field; it cannot begin with a space, which would belong to the field before it, or be the sign for an empty one.
fn fields() -> impl Strategy<Value = String> {
    "([^ ].{0,4})?".prop_filter("a dot is an empty field", |field| field != ".")
}

proptest! {
    #[test]
    fn printed_symbols_parse_to_the_same_symbols(
        scheme in "[a-km-z][^ ]{0,5} ?",
        rest in [fields(), fields(), fields()],
        descriptors in prop::collection::vec(descriptors(), 1..6),
    ) {
        let [manager, package, version] = rest;
        let symbol = Symbol::Global { scheme, manager, package, version, descriptors };
        prop_assert_eq!(Symbol::parse(&symbol.to_string()), Ok(symbol));
    }

    #[test]
    fn parsed_symbols_print_to_texts_that_parse_again(text in "(a b c d )?[a-c`/#.()!: \\[\\]+]{0,12}") {
        if let Ok(symbol) = Symbol::parse(&text) {
            prop_assert_eq!(Symbol::parse(&symbol.to_string()), Ok(symbol));
        }
    }
}
