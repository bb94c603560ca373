//! What a parsed question is made of, always in normal form: one way to say a thing, so that it can be printed and compared.

/// A parsed question. `Display` prints its normal form, and parsing that gives the same question again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Question {
    /// Plain words, which rank and do not gate: whitespace folded, in order.
    pub text: String,
    /// What a hit must fulfil, if the question demands something.
    pub gate: Option<Gate>,
    /// `chunk:12`: rank by likeness to this chunk.
    pub similar_to: Option<i64>,
}

/// A condition on a hit.
///
/// What the parser builds is in normal form: `All` and `Any` have two members or more and none of their own kind, a `Not`
/// holds no `Not`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gate {
    /// Every member holds.
    All(Vec<Gate>),
    /// At least one member holds.
    Any(Vec<Gate>),
    /// The condition does not hold.
    Not(Box<Gate>),
    /// The hit says this word: no whitespace in it, every bracket has its partner.
    Word(String),
    /// The hit says these words in a row: whitespace folded, not empty.
    Phrase(String),
    /// The hit's field has this value.
    Field {
        /// The field's canonical name.
        name: &'static str,
        /// As typed, not blank.
        value: String,
    },
}

impl Question {
    /// The words that rank: the plain ones, then those of the words and phrases that are not negated.
    #[must_use]
    pub fn ranking_text(&self) -> String {
        let mut words = Vec::new();
        if !self.text.is_empty() {
            words.push(self.text.as_str());
        }
        if let Some(gate) = &self.gate {
            gate.ranking_words(false, &mut words);
        }
        words.join(" ")
    }
}

impl Gate {
    /// All of these; none of them demands nothing.
    pub(super) fn all(gates: Vec<Gate>) -> Option<Gate> {
        let members = gates.into_iter().flat_map(|gate| match gate {
            Gate::All(members) => members,
            gate => vec![gate],
        });
        one_or(members.collect(), Gate::All)
    }

    /// Any of these; none of them demands nothing.
    pub(super) fn any(gates: Vec<Gate>) -> Option<Gate> {
        let members = gates.into_iter().flat_map(|gate| match gate {
            Gate::Any(members) => members,
            gate => vec![gate],
        });
        one_or(members.collect(), Gate::Any)
    }

    /// The opposite.
    pub(super) fn negated(self) -> Gate {
        match self {
            Gate::Not(gate) => *gate,
            gate => Gate::Not(Box::new(gate)),
        }
    }

    fn ranking_words<'a>(&'a self, negated: bool, words: &mut Vec<&'a str>) {
        match self {
            Gate::All(members) | Gate::Any(members) => {
                members.iter().for_each(|member| member.ranking_words(negated, words));
            }
            Gate::Not(gate) => gate.ranking_words(!negated, words),
            Gate::Word(said) | Gate::Phrase(said) if !negated => words.push(said),
            Gate::Word(_) | Gate::Phrase(_) | Gate::Field { .. } => {}
        }
    }
}

/// The only member itself, or `several` of them.
fn one_or(mut members: Vec<Gate>, several: fn(Vec<Gate>) -> Gate) -> Option<Gate> {
    if members.len() > 1 { Some(several(members)) } else { members.pop() }
}

#[cfg(test)]
mod tests {
    use super::super::parse::TYPED_WORDS_MAX;
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[test]
    fn each_place_of_a_word_ranks() {
        let parsed =
            Question::parse("-z \"b c\" a a OR (b -(d NOT e)) x:y", &|name| (name == "x").then_some("x"));
        assert_eq!(parsed.question.ranking_text(), "a b c a b e");
    }

    /// A question as its reader would draw it; leaves are numbered when it is written down.
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
            let parsed = Question::parse(&tree.write(false, &mut words), &|_| None);
            prop_assume!(words.len() <= TYPED_WORDS_MAX / 2);
            prop_assert_eq!(parsed.malformed, None);
            let ranking = parsed.question.ranking_text();
            let ranking: Vec<_> = ranking.split(' ').collect();
            for (word, negated) in words {
                prop_assert_eq!(ranking.contains(&word.as_str()), !negated, "{}", word);
            }
        }
    }
}
