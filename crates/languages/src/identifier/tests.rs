//! Checks how names are split, stored and compared.

use super::*;
use proptest::prelude::*;

#[test]
fn a_name_is_split_at_its_separators_and_keeps_its_marks() {
    for (text, container, name) in [
        ("get!", "", "get!"),
        ("Repo.get!", "Repo", "get!"),
        ("Repo.get!/2", "Repo", "get!"),
        ("Repo.get!(Post, 1)", "Repo", "get!"),
        ("valid?", "", "valid?"),
        ("User#valid?", "User", "valid?"),
        ("User#name=", "User", "name="),
        ("user?.name", "user", "name"),
        ("user!.name", "user", "name"),
        ("foldl'", "", "foldl'"),
        ("Data.List.foldl'", "Data List", "foldl'"),
        ("item$", "", "item$"),
        ("$item", "", "$item"),
        ("#load", "", "#load"),
        ("Box.#load", "Box", "#load"),
        ("Box#load", "Box", "load"),
        ("r#match", "", "r#match"),
        ("a::r#match", "a", "r#match"),
        ("@class", "", "@class"),
        ("`adds two numbers`", "", "adds two numbers"),
        ("Sum.`adds two numbers`()", "Sum", "adds two numbers"),
        ("<+>", "", "<+>"),
        ("(<+>)", "", "(<+>)"),
        ("==", "", "=="),
        ("::", "", "::"),
        ("Vec#<=>", "Vec", "<=>"),
        ("Vec.<=>", "Vec", "<=>"),
        ("Vec::<=>", "Vec", "<=>"),
        ("Vec#[]=", "Vec", "[]="),
        ("Vec#==(other)", "Vec", "=="),
        ("operator+", "", "operator+"),
        ("operator +", "", "operator+"),
        ("Vec::operator+", "Vec", "operator+"),
        ("Vec::operator()", "Vec", "operator()"),
        ("Vec::operator()(int)", "Vec", "operator()"),
        ("Vec::operator->", "Vec", "operator->"),
        ("Vec::operator<", "Vec", "operator<"),
        ("operators.add", "operators", "add"),
        ("operator.add", "operator", "add"),
        ("operator", "", "operator"),
        ("operator bool", "", "operator bool"),
        ("S::operator  unsigned long () const", "S", "operator unsigned long"),
        ("operator int *", "", "operator int*"),
        ("ns::S::operator std :: vector< T > &", "ns S", "operator std::vector<T>&"),
        ("operator T&", "", "operator T&"),
        ("operator new", "", "operator new"),
        ("operator new []", "", "operator new[]"),
        ("operator delete(void* p)", "", "operator delete"),
        ("operator\"\"_json", "", "operator\"\"_json"),
        ("operator \"\" _json", "", "operator\"\"_json"),
        ("ns::operator\"\"_mm(long double)", "ns", "operator\"\"_mm"),
        ("operator _json", "", "operator\"\"_json"),
        ("`weird class`.`is`", "weird class", "is"),
        ("\u{1f680}", "", "\u{1f680}"),
        ("launch\u{1f680}()", "", "launch\u{1f680}"),
        ("std::mem::take", "std mem", "take"),
        ("Box<a::b>::get", "Box", "get"),
        ("a->b", "a", "b"),
        ("my-cmd", "", "my-cmd"),
        ("~Circle", "", "~Circle"),
        ("App\\Models\\User", "App Models", "User"),
        ("$this->db", "$this", "db"),
        ("json.", "", "json"),
    ] {
        let found = split_name(text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!((found.container.join(" ").as_str(), found.name.as_str()), (container, name), "{text}");
    }
}

#[test]
fn text_that_is_not_a_name_is_not_split() {
    for text in [
        "", "a b", "(x)", "a+b", "2", "a.2", "a[0].b", "x = 1", "Box<a", "operator Foo",
        "operator precedence", "operator new syntax", "operator std::move semantics",
        "operator long division", "weird class.is",
    ] {
        assert_eq!(split_name(text), None, "{text}");
    }
}

#[test]
fn names_are_stored_without_what_is_written_beside_them() {
    for (language, written, stored) in [
        ("csharp", "@class", "class"),
        ("csharp", "+", "+"),
        ("php", "$name", "$name"),
        ("rust", "r#match", "match"),
        ("kotlin", "`adds two numbers`", "adds two numbers"),
        ("kotlin", "`is 1.5`", "is 1.5"),
        ("haskell", "foldl'", "foldl'"),
        ("haskell", "(<+>)", "<+>"),
        ("haskell", "`div`", "div"),
        ("elixir", "get!", "get!"),
        ("elixir", "&&&", "&&&"),
        ("ruby", "valid?", "valid?"),
        ("ruby", "name=", "name="),
        ("ruby", "-@", "-@"),
        ("javascript", "#load", "#load"),
        ("javascript", "item$", "item$"),
        ("typescript", "'a.b'", "a.b"),
        ("cpp", "operator  ==", "operator=="),
        ("cpp", "operator new", "operator new"),
        ("cpp", "operator  new []", "operator new[]"),
        ("cpp", "operator bool() const", "operator bool"),
        ("cpp", "operator const char *() const", "operator const char*"),
        ("cpp", "a::S::operator std :: string()", "a::S::operator std::string"),
        ("cpp", "operator std::function<void(int)>&()", "operator std::function<void(int)>&"),
        ("cpp", "operator ::a::B()", "operator ::a::B"),
        ("cpp", "Vec::operator  +", "Vec::operator+"),
        ("cpp", "operator \"\" _km", "operator\"\"_km"),
        ("cpp", "operators::run", "operators::run"),
        ("markdown", "operator precedence (C)", "operator precedence (C)"),
        ("sql", "\"Order\"", "Order"),
        ("sql", "[Order Details]", "Order Details"),
        ("zig", "@\"a name\"", "a name"),
        ("toml", "\"a\".\"b\"", "\"a\".\"b\""),
        ("python", "Gro\u{308}\u{df}e", "Gr\u{f6}\u{df}e"),
    ] {
        assert_eq!(Marks::of(language).stored(written), stored, "{language} {written}");
        assert_eq!(Marks::of(language).stored(stored), stored, "{language} {written}");
    }
}

#[test]
fn a_spelling_is_the_name_its_letters_or_another_name() {
    let same = Some(Closeness::Same);
    let bare = Some(Closeness::Bare);
    for (language, asked, name, expected) in [
        ("elixir", "get!", "get!", same),
        ("elixir", "get!", "get", bare),
        ("elixir", "get", "get!", bare),
        ("ruby", "valid", "valid?", bare),
        ("ruby", ":save", "save", same),
        ("ruby", "save", "saves", None),
        ("rust", "vec!", "vec", same),
        ("rust", "r#match", "match", same),
        ("rust", "match", "match", same),
        ("csharp", "@class", "class", same),
        ("csharp", "operator ==", "==", same),
        ("csharp", "operator==", "==", same),
        ("java", "@class", "class", same),
        ("go", "@class", "class", bare),
        ("kotlin", "`adds two numbers`", "adds two numbers", same),
        ("kotlin", "adds two numbers", "adds two numbers", same),
        ("haskell", "(<+>)", "<+>", same),
        ("haskell", "foldl", "foldl'", bare),
        ("haskell", "<+>", "<->", None),
        ("cpp", "==", "operator==", same),
        ("cpp", "operator+", "operator-", None),
        ("cpp", "operator+", "operator", None),
        ("cpp", "operator  int *", "operator int*", same),
        ("cpp", "operator int", "operator int*", None),
        ("cpp", "operator new", "operator new[]", None),
        ("php", "$name", "name", same),
        ("javascript", "$name", "name", bare),
        ("javascript", "load", "#load", bare),
        ("zig", "@\"a name\"", "a name", same),
        ("python", "Gro\u{308}\u{df}e", "Gr\u{f6}\u{df}e", same),
        ("python", "JSON", "json", None),
    ] {
        assert_eq!(closeness(Some(language), asked, name), expected, "{language} {asked} {name}");
    }
}

#[test]
fn keys_and_spellings_of_operators_are_their_signs() {
    assert_eq!((fold("get!").as_str(), fold("set_Name").as_str()), ("get", "setname"));
    assert_eq!((fold("<+>").as_str(), fold("operator +").as_str()), ("<+>", "operator+"));
    assert_eq!(fold("Gro\u{308}\u{df}e"), fold("Gr\u{f6}\u{df}e"));
    assert_eq!((spelled("set_Name!"), spelled("setname!")), ("setname!".to_owned(), "setname!".to_owned()));
    assert_ne!(spelled("get"), spelled("get!"));
    assert_eq!(spelled("__"), "__");
    assert_ne!(spelled("operator->"), spelled("operator>"));
    assert_ne!(spelled("<->"), spelled("<>"));
    assert!(
        near_spellings("get!").contains(&"get".to_owned())
            && near_spellings("get").contains(&"get!".to_owned())
    );
    assert!(near_spellings("<+>").is_empty());
}

proptest! {
    #[test]
    fn nothing_panics_and_what_is_stored_is_found(text in "\\PC{0,24}") {
        let _ = (split_name(&text), near_spellings(&text), spelled(&text), fold(&text), bare(&text));
        for marks in Marks::all() {
            let stored = marks.stored(&text);
            let language = marks.languages().first().copied();
            prop_assert_eq!(closeness(language, &text, &stored), Some(Closeness::Same));
        }
    }
}
