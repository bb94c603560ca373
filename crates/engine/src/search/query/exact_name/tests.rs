//! Checks which queries are names, and how well definitions match them.

use super::*;

fn parse(text: &str) -> Option<(String, String, &'static str)> {
    QueriedName::parse(text).map(|queried| {
        (queried.container.join("."), queried.name, queried.kinds.first().copied().unwrap_or_default())
    })
}

fn assert_parses(text: &str, container: &str, name: &str, kind: &str) {
    let parsed = parse(text);
    let parsed = parsed.as_ref().map(|(container, name, kind)| (container.as_str(), name.as_str(), *kind));
    assert_eq!(parsed, Some((container, name, kind)), "{text}");
}

#[test]
fn a_name_is_parsed_in_every_spelling() {
    for text in
        ["Context.json", "Context#json", "Context::json", "Context->json", "Context.json()", "`Context.json`"]
    {
        assert_parses(text, "Context", "json", "");
    }
    assert_parses("context.json(data, 200)", "context", "json", "");
    assert_parses("Context json", "Context", "json", "");
    assert_parses("json in Context", "Context", "json", "");
    assert_parses("Context json method", "Context", "json", "method");
    assert_parses("func (c *Context) JSON(code int)", "Context", "JSON", "function");
    for text in
        ["interface Env", "Env interface", "export interface Env", "the Env interface", "interface Env<T>"]
    {
        assert_parses(text, "", "Env", "interface");
    }
    assert_parses("type Env", "", "Env", "type");
    assert_parses("fn foo", "", "foo", "function");
    assert_parses("pub async fn foo(x: u32) -> bool", "", "foo", "function");
    assert_parses("function cors", "", "cors", "function");
    assert_parses("class Foo", "", "Foo", "class");
    assert_parses("impl Foo", "", "Foo", "");
    assert_parses("def bar(self):", "", "bar", "function");
    assert_parses("AppContext.push()", "AppContext", "push", "");
    assert_parses("crate::search::rank", "crate.search", "rank", "");
    assert_parses("where is AppContext.push defined?", "AppContext", "push", "");
    assert_parses("foo()", "", "foo", "");
    assert_parses("type", "", "type", "");
    assert_parses("app.get('/x')", "", "app.get('/x')", "");
}

#[test]
fn a_name_keeps_its_marks_unless_a_sentence_has_them() {
    assert_parses("get!", "", "get!", "");
    assert_parses("Repo.get!", "Repo", "get!", "");
    assert_parses("def valid?", "", "valid?", "function");
    assert_parses("where is valid? defined", "", "valid?", "");
    assert_parses("where is Repo.get?", "Repo", "get", "");
    assert_parses("where is Repo.get! defined?", "Repo", "get!", "");
    assert_parses("definition of save!", "", "save!", "");
    assert_parses("where is save! used", "", "save!", "");
    assert_parses("how does Rec.valid? work", "Rec", "valid?", "");
    assert_eq!(parse("how is a user saved!"), None);
    assert_parses("Vec#<=>", "Vec", "<=>", "");
    assert_parses("def <=>(other)", "", "<=>", "function");
    assert_parses("operator +", "", "operator+", "");
    for text in
        ["operator\"\"_json", "operator \"\" _json", "operator _json", "operator\"\" _json(const char* s)"]
    {
        assert_parses(text, "", "operator\"\"_json", "");
    }
    assert_parses("operator\"\"_mm", "", "operator\"\"_mm", "");
    assert_parses("S::operator const char *() const", "S", "operator const char*", "");
    assert_parses("operator new[]", "", "operator new[]", "");
    assert_parses("operator new", "", "operator new", "");
    assert_parses("operator precedence", "operator", "precedence", "");
    assert_parses("`weird class`.`is`", "weird class", "is", "");
    assert_parses("Sum.`adds two numbers`", "Sum", "adds two numbers", "");
    assert_parses("`.field`", "", "field", "");
    assert_parses("`foldl'`", "", "foldl'", "");
    assert_parses("'json'", "", "json", "");
    assert_eq!(parse("where is get?"), None);
    assert_eq!(parse("adds two numbers"), None);
    let text = QueriedName::whole_text("`adds two numbers`").unwrap();
    let row = |name: &str| DefinitionRow { name: name.to_owned(), ..DefinitionRow::default() };
    assert!(text.is_name_of(&row("Adds two numbers")) && !text.is_name_of(&row("addsTwoNumbers")));
    assert_eq!(QueriedName::whole_text("adds"), None);
    let within = |text: &str, qualified: &str| {
        let name = qualified.rsplit(['.', ':']).next().unwrap().to_owned();
        let row = DefinitionRow { name, qualified: qualified.to_owned(), ..DefinitionRow::default() };
        queried(text).unwrap().is_whole(&row)
    };
    assert!(within("weird class.is", "weird class.is") && within("`weird class`.`is`", "weird class.is"));
    assert!(within("operator new", "operator new") && !within("operator new", "operator new[]"));
}

#[test]
fn a_definition_in_another_spelling_causes_a_warning() {
    let row = |language: &str, name: &str| DefinitionRow {
        name: name.to_owned(),
        language: Some(language.to_owned()),
        ..DefinitionRow::default()
    };
    let said = |language: &str, asked: &str, names: &[&str]| {
        let rows: Vec<DefinitionRow> = names.iter().map(|name| row(language, name)).collect();
        QueriedName::parse(asked).unwrap().other_spelling(rows.iter()).map(|warning| warning.message)
    };
    for language in ["elixir", "ruby"] {
        let message = said(language, "get!", &["get"]).unwrap();
        assert!(message.contains("`get!`") && message.contains("about `get`"), "{message}");
    }
    for (language, asked, names) in [
        ("elixir", "get!", &["get!"][..]),
        ("elixir", "get!", &["get", "get!"]),
        ("rust", "vec!", &["vec"]),
        ("python", "SetName", &["set_name"]),
        ("python", "@app", &["app"]),
        ("python", "get", &[]),
    ] {
        assert_eq!(said(language, asked, names), None, "{language}: {asked}");
    }
}

#[test]
fn other_queries_are_not_names() {
    for text in [
        "how are sessions refreshed",
        "where is the router",
        "rate limiting middleware for requests",
        "a + b",
        "",
        "(x)",
        "first line\nsecond",
    ] {
        assert_eq!(parse(text), None, "{text}");
    }
    // Two words may be a description, so a definition must match both.
    assert!(QueriedName::parse("session refresh").unwrap().requires_container);
}

fn row(qualified: &str, kind: &str) -> DefinitionRow {
    let name = qualified.rsplit(['.', ':']).next().unwrap_or_default().to_owned();
    DefinitionRow { name, qualified: qualified.to_owned(), kind: kind.to_owned(), ..DefinitionRow::default() }
}

#[test]
fn more_exact_matches_have_higher_boosts() {
    let ranking = Ranking::default();
    let boost = |text: &str, qualified: &str, kind: &str, path: &str| {
        QueriedName::parse(text).unwrap().boost(&row(qualified, kind), path, &ranking)
    };
    let method = |text| boost(text, "Context.json", "method", "src/context.ts");
    assert!(method("Context.json") > method("context.json"));
    assert!(method("context.json") > boost("Context.json", "json", "function", "src/Context.ts"));
    assert!(boost("Context.json", "json", "function", "src/context.ts") > 0.0, "a file as a module");
    assert!(boost("Context.json", "Other.json", "method", "src/other.ts").abs() < f32::EPSILON);
    assert!(method("session json").abs() < f32::EPSILON, "two words need both");
    let env = |kind| boost("interface Env", "Env", kind, "src/types.ts");
    assert!(env("interface") > env("type") && env("type") > env("variable"));
    assert!(method("text").abs() < f32::EPSILON);
}
