//! Symbols are replaced and removed with their file, in the same transaction; uses are found from both ends.

use contract::Fault;
use store::method_sets::{self, NamedOfKinds, Package};
use store::navigation::NamedDefinitions;
use store::symbols::{file_symbol_id, symbol_id, used_name_id};
use store::use_places::{self, WantedEdges};
use store::uses::{self, UsedBy};
use store::{
    Certainty, DefinitionWrite, Fence, FileWrite, Project, Store, SymbolsWrite, UsePlace, UseTarget,
    UseWrite, UsedFor, Uses, navigation, symbols,
};

use crate::storage::database::{Fresh, file, repository, searching, write, writing};

/// Ids of the names that the definitions of these tests have.
const ANT: i64 = 11;
const BEE: i64 = 12;

fn definition(name: &str, name_id: i64, line: u32) -> DefinitionWrite {
    DefinitionWrite {
        name: name.to_owned(),
        qualified: format!("Outer.{name}"),
        kind: "function",
        name_id: Some(name_id),
        line,
        column: 4,
        start_line: line,
        end_line: line,
        ..DefinitionWrite::default()
    }
}

fn offer(name: i32, meaning: i64) -> i64 {
    (i64::from(name) << 32) | meaning
}

/// A file with one function on each line; it offers `offers` and mentions the names 1 and 2.
fn with_symbols(path: &str, functions: &[(&str, i64)], offers: &[i64]) -> FileWrite {
    let lines: Vec<String> = functions.iter().map(|(name, _)| format!("fn {name}")).collect();
    let mut file = file(path, &lines.iter().map(String::as_str).collect::<Vec<_>>());
    for ((chunk, (name, id)), line) in file.chunks.iter_mut().zip(functions).zip(1..) {
        chunk.definitions = vec![definition(name, *id, line)];
    }
    file.symbols = Some(SymbolsWrite {
        halves: Some((vec![1, 2], vec![3])),
        offers: offers.to_vec(),
        mentions: vec![1, 2],
        truncated: false,
    });
    file
}

fn call(line: u32) -> UsePlace {
    UsePlace { line, column: 9, kind: UsedFor::Call }
}

fn used(source: i64, target: UseTarget, certainty: Certainty, places: &[UsePlace]) -> UseWrite {
    UseWrite { source, target, certainty, places: places.to_vec() }
}

const ALL: Uses = Uses { kinds: UsedFor::ANY, certainty: Certainty::Name, limit: 100 };

/// Runs every statement of symbols and uses in a repository of its own, and removes what it wrote.
#[expect(clippy::too_many_lines, reason = "a list of statements")]
pub(crate) async fn run_statements(store: &Store, project: &Project, fence: Fence) -> Result<(), Fault> {
    let mut tx = writing(store, project).await;
    let repo =
        store::repositories::ensure(&mut tx, fence, "/graph", "graph", super::database::VERSIONS).await?;
    tx.commit().await?;
    let files = [
        with_symbols("src/a.rs", &[("ant", ANT)], &[offer(7, 1)]),
        with_symbols("src/b.rs", &[("bee", BEE), ("ant", ANT)], &[offer(-8, 1)]),
    ];
    write(store, project, fence, repo, &files).await;
    let mut tx = writing(store, project).await;
    let rows = store::files::manifest(&mut tx, repo).await?;
    let (a, b) = (rows[0].id, rows[1].id);

    let due = symbols::unresolved(&mut tx, repo).await?;
    let both: Vec<(String, i64)> = [a, b].map(|id| ("rust".to_owned(), id)).to_vec();
    assert_eq!((due.version, due.files, due.names), (0, both, Vec::new()));
    assert_eq!(navigation::due(&mut tx, &[repo], 1).await?, [repo]);
    assert_eq!(symbols::interface_bytes(&mut tx, repo).await?, [("rust".to_owned(), 4)]);
    let interfaces = symbols::interfaces(&mut tx, repo, &["rust"], "src/a.rs", 10).await?;
    assert_eq!(
        (interfaces.len(), interfaces[0].file_id, interfaces[0].interface.as_slice()),
        (1, b, &[1, 2][..])
    );
    assert_eq!(symbols::interfaces_of(&mut tx, &[a]).await?, [(a, vec![1, 2])]);
    assert_eq!(symbols::bodies(&mut tx, &[a]).await?, [(a, vec![3])]);
    assert_eq!(symbols::mentioning(&mut tx, repo, &[2, 5]).await?, [a, b]);
    assert!(symbols::mentioning(&mut tx, repo, &[5]).await?.is_empty());
    let placed = symbols::placed(&mut tx, &[a, b]).await?;
    assert_eq!((placed[&a].len(), placed[&b].len(), placed[&b][1].line), (1, 2, 2));

    let (ant, whole) = (symbol_id(repo, "src/a.rs", "Outer.ant", 0), file_symbol_id(repo, "src/b.rs"));
    let bee = symbol_id(repo, "src/b.rs", "Outer.bee", 0);
    assert_eq!(placed[&a][0].symbol, ant);
    let name = used_name_id(repo, "rust", "cat");
    let of_b = vec![
        used(bee, UseTarget::Symbol(ant), Certainty::Resolved, &[call(1), call(2)]),
        used(
            whole,
            UseTarget::Symbol(ant),
            Certainty::Scip,
            &[UsePlace { kind: UsedFor::Import, ..call(1) }],
        ),
        used(bee, UseTarget::Name(name), Certainty::Name, &[call(2)]),
    ];
    uses::replace(&mut tx, fence, &[(a, Vec::new()), (b, of_b)]).await?;
    symbols::set_resolved(&mut tx, fence, repo, 1).await?;
    tx.commit().await?;

    let mut tx = searching(store, project).await;
    assert!(navigation::due(&mut tx, &[repo], 1).await?.is_empty());
    let found = uses::of_targets(&mut tx, &[ant], ALL).await?;
    let seen: Vec<_> = found.iter().map(|one| (one.source, one.certainty, one.count)).collect();
    assert_eq!(seen, [(whole, Certainty::Scip, 1), (bee, Certainty::Resolved, 2)]);
    assert_eq!((found[1].places.as_slice(), found[1].path.as_str()), (&[call(1), call(2)][..], "src/b.rs"));
    let calls = Uses { kinds: UsedFor::Call.bit(), ..ALL };
    assert_eq!(uses::of_targets(&mut tx, &[ant], calls).await?.len(), 1);
    let certain = Uses { certainty: Certainty::Scip, ..ALL };
    assert_eq!(uses::of_targets(&mut tx, &[ant], certain).await?.len(), 1);
    let named = uses::of_names(&mut tx, &[name], UsedFor::ANY, 5).await?;
    assert_eq!((named.len(), named[0].target), (1, UseTarget::Name(name)));
    assert_eq!(uses::of_sources(&mut tx, b, &[], ALL).await?.len(), 3);
    assert_eq!(uses::of_sources(&mut tx, b, &[whole], ALL).await?.len(), 1);
    let by = UsedBy { source: bee, file_id: b, target: ant, certainty: Certainty::Resolved };
    assert_eq!(uses::sources_of(&mut tx, &[ant], calls).await?, [by]);
    let counts = uses::count(&mut tx, &[ant], &[name], UsedFor::ANY).await?;
    let seen: Vec<_> = counts.iter().map(|one| (one.target, one.sources, one.files, one.places)).collect();
    let expected = [
        (UseTarget::Symbol(ant), 1, 1, 1),
        (UseTarget::Symbol(ant), 1, 1, 2),
        (UseTarget::Name(name), 1, 1, 1),
    ];
    assert_eq!(seen, expected);
    let covered = navigation::coverage(&mut tx, &[repo]).await?;
    assert_eq!((covered[0].files, covered[0].unresolved, covered[0].too_large), (2, 0, 0));
    assert_eq!((covered[0].scip_uses, covered[0].resolved_uses, covered[0].name_uses), (1, 1, 1));

    let of_name = NamedDefinitions { name_id: ANT, repositories: &[repo], ..NamedDefinitions::default() };
    let found = navigation::find_definitions(&mut tx, of_name, 10).await?.rows;
    let seen: Vec<_> = found.iter().map(|one| (one.path.as_str(), one.line, one.symbol)).collect();
    let other = symbol_id(repo, "src/b.rs", "Outer.ant", 0);
    assert_eq!(seen, [("src/a.rs", 1, Some(ant)), ("src/b.rs", 2, Some(other))]);
    let elsewhere = NamedDefinitions { repositories: &[repo + 1], ..of_name };
    assert_eq!(navigation::find_definitions(&mut tx, elsewhere, 10).await?.rows, []);
    // Each condition comes before the limit.
    let file = ["b".to_owned()];
    for narrowed in [
        NamedDefinitions { paths: &["b.rs"], ..of_name },
        NamedDefinitions { paths: &["src/b.rs", "b.rs"], ..of_name },
        NamedDefinitions { around: &file, ..of_name },
        NamedDefinitions { line: Some(2), ..of_name },
    ] {
        assert_eq!(navigation::find_definitions(&mut tx, narrowed, 1).await?.rows, [found[1].clone()]);
    }
    for other in [["ab.rs"], ["rc/b.rs"], ["src/src/b.rs"]] {
        let elsewhere = NamedDefinitions { paths: &other, ..of_name };
        assert_eq!(navigation::find_definitions(&mut tx, elsewhere, 10).await?.rows, [], "{other:?}");
    }
    let misspelled = NamedDefinitions { spelling: Some("Ant"), ..of_name };
    assert_eq!(navigation::find_definitions(&mut tx, misspelled, 10).await?.rows, []);
    assert_eq!(navigation::definitions_at(&mut tx, b, 2).await?, [found[1].clone()]);
    assert_eq!(navigation::definitions_by_symbols(&mut tx, &[ant, whole]).await?, [found[0].clone()]);
    assert_eq!(navigation::definitions_of_file(&mut tx, b, 1).await?[0].name, "bee");
    let wanted = NamedOfKinds {
        repository_id: repo,
        language: "rust",
        kinds: &["function"],
        names: &[(ANT, "ant"), (BEE, "bee")],
        unlike: Some("func ("),
    };
    let several = method_sets::named(&mut tx, wanted, 10).await?;
    let seen: Vec<_> = several.iter().map(|one| (one.path.as_str(), one.line, one.symbol)).collect();
    assert_eq!(seen, [("src/a.rs", 1, Some(ant)), ("src/b.rs", 1, Some(bee)), ("src/b.rs", 2, Some(other))]);
    assert_eq!(method_sets::named(&mut tx, wanted, 1).await?, [found[0].clone()]);
    for other in [
        NamedOfKinds { language: "go", ..wanted },
        NamedOfKinds { kinds: &["method"], ..wanted },
        NamedOfKinds { repository_id: repo + 1, ..wanted },
        // Every signature begins with nothing.
        NamedOfKinds { unlike: Some(""), ..wanted },
    ] {
        assert_eq!(method_sets::named(&mut tx, other, 10).await?, []);
    }
    assert_eq!(method_sets::in_files(&mut tx, &[a, b], 10).await?, []);
    let package = Package { repository_id: repo, language: "rust", folder: "src/" };
    assert_eq!(method_sets::of_types(&mut tx, package, &["Outer".to_owned()], 10).await?, []);
    let lines = navigation::lines_of(&mut tx, &[(b, 2), (b, 3)]).await?;
    assert_eq!(lines, [(b, 2, "fn ant".to_owned())]);
    let around = navigation::names_around(&mut tx, &[(b, 2), (b, 9)]).await?;
    assert_eq!(around, [(b, 2, "Outer.ant".to_owned())]);
    assert_eq!(uses::count_names(&mut tx, &[name], UsedFor::Call.bit()).await?, [(name, 1)]);
    assert!(uses::count_names(&mut tx, &[name], UsedFor::Read.bit()).await?.is_empty());
    let halves = symbols::halves(&mut tx, &[a]).await?;
    assert_eq!((halves.len(), halves[0].path.as_str(), halves[0].body.as_slice()), (1, "src/a.rs", &[3][..]));
    let of = (halves[0].file_id, halves[0].repository_id, halves[0].language.as_str());
    assert_eq!(of, (a, repo, "rust"));
    let edges = WantedEdges { kinds: UsedFor::ANY, certainty: Certainty::Resolved, limit: 10 };
    let outside = use_places::edges_without_source(&mut tx, &[ant], edges).await?;
    let seen: Vec<_> = outside.iter().map(|one| (one.source, one.target, one.kinds)).collect();
    assert_eq!(seen, [(whole, ant, UsedFor::Import.bit())]);
    tx.commit().await?;

    let mut tx = writing(store, project).await;
    store::repositories::delete(&mut tx, fence, repo).await?;
    tx.commit().await
}

#[tokio::test(flavor = "multi_thread")]
async fn methods_are_those_of_a_type_by_its_whole_name() {
    let fresh = Fresh::new().await;
    let (store, project) = (&fresh.store, fresh.project("p").await);
    let (fence, repo) = repository(store, &project).await;
    let mut methods = with_symbols("src/a.rs", &[("ant", ANT), ("bee", BEE)], &[]);
    for (chunk, qualified) in methods.chunks.iter_mut().zip(["Outer.ant", "Far.Outer.bee"]) {
        for one in &mut chunk.definitions {
            (one.kind, one.qualified) = ("method", qualified.to_owned());
        }
    }
    write(store, &project, fence, repo, &[methods]).await;
    let mut tx = searching(store, &project).await;
    let package = Package { repository_id: repo, language: "rust", folder: "src/" };
    for (of, expected) in [
        (&["Outer"][..], &["ant"][..]),
        (&["Far.Outer", "Other"], &["bee"]),
        (&["Outer", "Far.Outer"], &["ant", "bee"]),
        (&["Far", "uter", "", "Outer.ant"], &[]),
    ] {
        let types: Vec<String> = of.iter().map(|name| (*name).to_owned()).collect();
        let found = method_sets::of_types(&mut tx, package, &types, 10).await.unwrap();
        let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, expected, "{of:?}");
    }
    let below = Package { folder: "", ..package };
    assert_eq!(method_sets::of_types(&mut tx, below, &["Outer".to_owned()], 10).await.unwrap(), []);
    tx.commit().await.unwrap();
    fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_and_removed_files_say_which_names_changed() {
    let fresh = Fresh::new().await;
    let (store, project) = (&fresh.store, fresh.project("p").await);
    let (fence, repo) = repository(store, &project).await;
    let files = [
        with_symbols("a.rs", &[("ant", ANT)], &[offer(7, 1), offer(9, 1)]),
        with_symbols("b.rs", &[("bee", BEE)], &[offer(-8, 1)]),
    ];
    write(store, &project, fence, repo, &files).await;
    let mut tx = writing(store, &project).await;
    // Before the first time everything has to be resolved, so that nothing is recorded.
    assert_eq!(symbols::unresolved(&mut tx, repo).await.unwrap().names, []);
    let ids: Vec<i64> =
        store::files::manifest(&mut tx, repo).await.unwrap().iter().map(|row| row.id).collect();
    let place = [call(1)];
    let uses_of = |id: i64| (id, vec![used(1, UseTarget::Symbol(2), Certainty::Resolved, &place)]);
    let resolve: Vec<_> = ids.iter().copied().map(uses_of).collect();
    uses::replace(&mut tx, fence, &resolve).await.unwrap();
    symbols::set_resolved(&mut tx, fence, repo, 1).await.unwrap();
    tx.commit().await.unwrap();

    // A second function of another name does not change the symbol of the first.
    let edited = with_symbols("a.rs", &[("bee", BEE), ("ant", ANT)], &[offer(7, 2), offer(9, 1)]);
    write(store, &project, fence, repo, &[edited]).await;
    let mut tx = writing(store, &project).await;
    let due = symbols::unresolved(&mut tx, repo).await.unwrap();
    assert_eq!(
        (due.version, due.files.as_slice(), due.names.as_slice()),
        (1, &[("rust".to_owned(), ids[0])][..], &[("rust".to_owned(), 7)][..])
    );
    assert_eq!(
        uses::of_targets(&mut tx, &[2], ALL).await.unwrap().len(),
        1,
        "the uses of the old text are gone"
    );
    let placed = symbols::placed(&mut tx, &ids).await.unwrap();
    let symbol = symbol_id(repo, "a.rs", "Outer.ant", 0);
    assert_eq!((placed[&ids[0]][1].symbol, placed[&ids[0]][1].line), (symbol, 2));
    tx.commit().await.unwrap();

    // Until the uses are resolved, changes add up.
    let again = with_symbols("a.rs", &[("ant", ANT)], &[offer(7, 1)]);
    write(store, &project, fence, repo, &[again]).await;
    let mut tx = writing(store, &project).await;
    store::files::delete(&mut tx, fence, &ids[1..]).await.unwrap();
    let due = symbols::unresolved(&mut tx, repo).await.unwrap();
    let names: Vec<i32> = due.names.iter().map(|(_, name)| *name).collect();
    assert_eq!(names, [-8, 7, 9]);
    assert_eq!(uses::of_targets(&mut tx, &[2], ALL).await.unwrap(), []);
    assert_eq!(symbols::bodies(&mut tx, &ids).await.unwrap().len(), 1);
    symbols::set_resolved(&mut tx, fence, repo, 1).await.unwrap();
    assert_eq!(symbols::unresolved(&mut tx, repo).await.unwrap().names, []);
    tx.commit().await.unwrap();

    // A file whose symbols are too large has nothing to resolve; one that is skipped has none.
    let mut large = with_symbols("a.rs", &[("ant", ANT)], &[]);
    large.symbols = Some(SymbolsWrite::default());
    write(store, &project, fence, repo, &[large]).await;
    let mut tx = writing(store, &project).await;
    assert_eq!(symbols::unresolved(&mut tx, repo).await.unwrap().files, []);
    let covered = navigation::coverage(&mut tx, &[repo]).await.unwrap();
    assert_eq!((covered[0].files, covered[0].too_large), (0, 1));
    tx.commit().await.unwrap();
    let skipped = FileWrite { path: "a.rs".to_owned(), skipped: Some("binary"), ..FileWrite::default() };
    write(store, &project, fence, repo, &[skipped]).await;
    let mut tx = writing(store, &project).await;
    assert_eq!(navigation::coverage(&mut tx, &[repo]).await.unwrap(), []);
    let removed = store::files::measure(&mut tx, repo).await.unwrap();
    assert_eq!(store::files::remove_some(&mut tx, fence, repo, 100).await.unwrap().0, removed);
    tx.commit().await.unwrap();
    fresh.remove().await;
}
