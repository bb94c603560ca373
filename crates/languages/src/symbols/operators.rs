//! Determines which uses of operators are known. They are written between values and not as calls of a name, and few extractors see them.

use crate::identifier::Marks;

/// Checks whether uses of a definition are reported even if its name does not appear as a word, as in uses of an operator: `a + b`. `true`
/// for every definition that is not an operator.
#[must_use]
pub fn reports_uses(language: &str, name: &str, signature: Option<&str>) -> bool {
    let marks = Marks::of(language);
    match language {
        // `operator fun plus`, which `+` calls.
        "kotlin" => !signature.is_some_and(is_operator_of_kotlin),
        _ => !marks.is_operator(name) || marks.reports_operator(name),
    }
}

/// Checks whether a function of Kotlin has the modifier of operators.
fn is_operator_of_kotlin(signature: &str) -> bool {
    signature.split_whitespace().take_while(|word| *word != "fun").any(|word| word == "operator")
}

#[cfg(test)]
mod tests {
    use super::reports_uses;

    #[test]
    fn uses_of_operators_are_reported_in_few_languages() {
        for (language, name, signature, expected) in [
            ("haskell", "<+>", None, true),
            ("haskell", "==", None, false),
            ("haskell", "foldl'", None, true),
            ("elixir", "~>", None, false),
            ("elixir", "get!", None, true),
            ("ruby", "+", None, false),
            ("ruby", "[]=", None, false),
            ("ruby", "name=", None, true),
            ("scala", "+++", None, false),
            ("swift", "|>", None, false),
            ("swift", "\u{1f680}", None, true),
            ("csharp", "==", None, false),
            ("cpp", "operator+", None, false),
            ("cpp", "operator bool", None, false),
            ("cpp", "operator new[]", None, false),
            ("cpp", "~Circle", None, true),
            ("cpp", "operators", None, true),
            ("javascript", "$", None, true),
            ("kotlin", "plus", Some("override operator fun plus(o: V): V"), false),
            ("kotlin", "plus", Some("fun plus(operator: V): V"), true),
            ("kotlin", "plus", None, true),
        ] {
            assert_eq!(reports_uses(language, name, signature), expected, "{language} {name} {signature:?}");
        }
    }
}
