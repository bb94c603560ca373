//! Tests which symbols a builder exposes outside of functions.

use std::time::Duration;

use super::*;

#[test]
fn what_is_inside_functions_is_not_seen_outside() {
    let text = "class A:\n  def é(x): return x.b\n";
    let tree = {
        let mut parser = tree_sitter::Parser::new();
        parser.set_language(&tree_sitter_python::LANGUAGE.into()).unwrap();
        parser.parse(text, None).unwrap()
    };
    let stop = Stop::new(Duration::from_secs(60), &|| false);
    let mut builder = Builder::new((text, Marks::of("python")), &stop);
    let node = |from: usize, to: usize| tree.root_node().descendant_for_byte_range(from, to).unwrap();
    let class = builder.define(node(6, 7), SymbolKind::Type, New::default());
    builder.within(ScopeKind::Type, class, |builder| {
        let method = builder.define(node(15, 17), SymbolKind::Function, New::default());
        builder.within(ScopeKind::Function, method, |builder| {
            builder.define(node(18, 19), SymbolKind::Parameter, New::default());
            let x = builder.name("x");
            let member = builder.member(x, "b");
            builder.used(UseKind::Read, member, node(31, 32));
        });
    });
    let symbols = builder.finish().unwrap();
    assert!(symbols.is_sound());
    let names = |arena: &Arena, symbols: &[Symbol]| {
        symbols.iter().map(|symbol| arena.text(symbol.name).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&symbols.interface.arena, &symbols.interface.symbols), ["A", "é"]);
    assert_eq!(names(&symbols.body.arena, &symbols.body.symbols), ["x"]);
    assert_eq!((symbols.interface.scopes.len(), symbols.body.scopes.len()), (2, 1));
    assert_eq!(symbols.interface.symbols[1].inside, Some(2));
    assert_eq!(symbols.body.uses[0].place, Place { line: 2, column: 22 });
    assert_eq!(symbols.body.scopes[0].parent, 1);
}
