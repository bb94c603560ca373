//! The syntax tree of a query in normal form, so that equivalent queries are equal and print equally.

/// A parsed query. `Display` prints the normal form, which parses to the same query.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SearchQuery {
    /// Plain words in order, with folded whitespace. They rank and do not filter.
    pub text: String,
    /// The condition that hits must fulfil, if any.
    pub filter: Option<FilterClause>,
    /// `chunk:12`: rank by similarity to this chunk.
    pub similar_to: Option<i64>,
}

/// A condition on a hit.
///
/// The parser builds the normal form: `All` and `Any` have at least two members, none of the same kind; a `Not` contains no
/// `Not`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilterClause {
    /// Every member holds.
    All(Vec<FilterClause>),
    /// At least one member holds.
    Any(Vec<FilterClause>),
    /// The condition does not hold.
    Not(Box<FilterClause>),
    /// The hit contains this word; no whitespace, balanced brackets.
    Word(String),
    /// The hit contains this phrase; whitespace folded, not empty.
    Phrase(String),
    /// The hit's field has this value.
    Field {
        /// The field's canonical name.
        name: &'static str,
        /// As typed, not blank.
        value: String,
    },
}

impl SearchQuery {
    /// Returns the words that rank: the plain words, then those of filtering words and phrases that are not negated.
    #[must_use]
    pub fn ranking_text(&self) -> String {
        let mut words = Vec::new();
        if !self.text.is_empty() {
            words.push(self.text.as_str());
        }
        if let Some(clause) = &self.filter {
            clause.ranking_words(false, &mut words);
        }
        words.join(" ")
    }
}

impl FilterClause {
    /// Returns the conjunction of `clauses`; `None` if there are none.
    pub(super) fn all(clauses: Vec<FilterClause>) -> Option<FilterClause> {
        let members = clauses.into_iter().flat_map(|clause| match clause {
            FilterClause::All(members) => members,
            clause => vec![clause],
        });
        one_or(members.collect(), FilterClause::All)
    }

    /// Returns the disjunction of `clauses`; `None` if there are none.
    pub(super) fn any(clauses: Vec<FilterClause>) -> Option<FilterClause> {
        let members = clauses.into_iter().flat_map(|clause| match clause {
            FilterClause::Any(members) => members,
            clause => vec![clause],
        });
        one_or(members.collect(), FilterClause::Any)
    }

    /// Returns the negation.
    pub(super) fn negated(self) -> FilterClause {
        match self {
            FilterClause::Not(clause) => *clause,
            clause => FilterClause::Not(Box::new(clause)),
        }
    }

    fn ranking_words<'a>(&'a self, negated: bool, words: &mut Vec<&'a str>) {
        match self {
            FilterClause::All(members) | FilterClause::Any(members) => {
                members.iter().for_each(|member| member.ranking_words(negated, words));
            }
            FilterClause::Not(clause) => clause.ranking_words(!negated, words),
            FilterClause::Word(text) | FilterClause::Phrase(text) if !negated => words.push(text),
            FilterClause::Word(_) | FilterClause::Phrase(_) | FilterClause::Field { .. } => {}
        }
    }
}

/// Joins several members with `join`; returns a single member unchanged.
fn one_or(
    mut members: Vec<FilterClause>,
    join: fn(Vec<FilterClause>) -> FilterClause,
) -> Option<FilterClause> {
    if members.len() > 1 { Some(join(members)) } else { members.pop() }
}

#[cfg(test)]
mod tests {
    use super::super::parse::TYPED_WORDS_MAX;
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[test]
    fn words_rank_wherever_they_occur() {
        let parsed =
            SearchQuery::parse("-z \"b c\" a a OR (b -(d NOT e)) x:y", &|name| (name == "x").then_some("x"));
        assert_eq!(parsed.query.ranking_text(), "a b c a b e");
    }

    /// The tree of a query; its leaves are numbered when it is printed.
    #[derive(Debug, Clone)]
    enum Tree {
        Leaf,
        Not(Box<Tree>),
        Joined(&'static str, Vec<Tree>),
    }

    impl Tree {
        fn write(&self, negated: bool, words: &mut Vec<(String, bool)>) -> String {
            match self {
                Tree::Leaf => {
                    let word = format!("w{}.", words.len());
                    words.push((word.clone(), negated));
                    if words.len().is_multiple_of(3) { format!("\"{word} x\"") } else { word }
                }
                Tree::Not(tree) => format!("NOT {}", tree.write(!negated, words)),
                Tree::Joined(by, trees) => {
                    let parts: Vec<_> = trees.iter().map(|tree| tree.write(negated, words)).collect();
                    format!("({})", parts.join(by))
                }
            }
        }
    }

    fn trees() -> impl Strategy<Value = Tree> {
        Just(Tree::Leaf).prop_recursive(6, 16, 3, |inner| {
            let several = vec(inner.clone(), 1..4);
            let joined = |by: &'static str| several.clone().prop_map(move |trees| Tree::Joined(by, trees));
            prop_oneof![
                inner.prop_map(|tree| Tree::Not(Box::new(tree))),
                joined(" "),
                joined(" AND "),
                joined(" OR "),
            ]
        })
    }

    proptest! {
        #[test]
        fn words_rank_unless_they_are_negated(tree in trees()) {
            let mut words = Vec::new();
            let parsed = SearchQuery::parse(&tree.write(false, &mut words), &|_| None);
            prop_assume!(words.len() <= TYPED_WORDS_MAX / 2);
            prop_assert_eq!(parsed.malformed, None);
            let ranking = parsed.query.ranking_text();
            let ranking: Vec<_> = ranking.split(' ').collect();
            for (word, negated) in words {
                prop_assert_eq!(ranking.contains(&word.as_str()), !negated, "{}", word);
            }
        }
    }
}
