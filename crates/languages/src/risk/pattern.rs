//! Patterns of rules for chains of names: `os.system`, `subprocess.*`, `*.execute`.

/// A pattern of names with `.` between them; `*` matches one or more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChainPattern {
    parts: Vec<Box<str>>,
}

/// Maximum number of `*` in a pattern, so that matching stays linear in practice.
const STARS_MAX: usize = 2;

impl ChainPattern {
    /// Parses a pattern.
    ///
    /// # Errors
    ///
    /// A message for the author of the rule.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let parts: Vec<Box<str>> = text.split('.').map(Into::into).collect();
        let is_name = |part: &str| {
            part.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '~')) && !part.is_empty()
        };
        if let Some(part) = parts.iter().find(|part| &***part != "*" && !is_name(part)) {
            return Err(format!("`{part}` in the pattern `{text}` is not a name"));
        }
        let stars = parts.iter().filter(|part| &***part == "*").count();
        if stars == parts.len() || stars > STARS_MAX {
            return Err(format!("the pattern `{text}` needs a name, and at most {STARS_MAX} `*`"));
        }
        Ok(Self { parts })
    }

    /// The key of the pattern in an index: its last name, and whether more names must follow.
    pub(super) fn key(&self) -> (&str, bool) {
        let last = self.parts.iter().rposition(|part| &**part != "*").unwrap_or(0);
        (&self.parts[last], last + 1 < self.parts.len())
    }

    /// The longest of its names, which is probably the rarest in a text.
    pub(super) fn longest(&self) -> &str {
        let names = self.parts.iter().filter(|part| &***part != "*");
        names.max_by_key(|part| part.len()).map_or("", |part| part)
    }

    /// The number of its parts.
    pub(super) fn len(&self) -> usize {
        self.parts.len()
    }

    /// Returns `true` if it is a single name.
    pub(super) fn is_single(&self) -> bool {
        self.parts.len() == 1
    }

    /// Checks whether a chain, given from its last part to its first, matches the pattern or ends with a match. A single name matches only
    /// a chain of that single name: `exec` does not match `pattern.exec`.
    pub(super) fn matches<'c>(&self, mut reversed: impl Iterator<Item = &'c str> + Clone) -> bool {
        if self.is_single() {
            return reversed.next() == Some(&*self.parts[0]) && reversed.next().is_none();
        }
        ends(&self.parts, reversed)
    }
}

fn ends<'c>(parts: &[Box<str>], mut reversed: impl Iterator<Item = &'c str> + Clone) -> bool {
    let Some((last, rest)) = parts.split_last() else { return true };
    if &**last != "*" {
        return reversed.next() == Some(last) && ends(rest, reversed);
    }
    while reversed.next().is_some() {
        if ends(rest, reversed.clone()) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_the_whole_chain_or_its_tail() {
        for (pattern, chain, expected) in [
            ("os.system", "os.system", true),
            ("os.system", "self.os.system", true),
            ("os.system", "cos.system", false),
            ("os.system", "os.system.x", false),
            ("subprocess.*", "subprocess.run", true),
            ("subprocess.*", "subprocess", false),
            ("*.execute", "cursor.execute", true),
            ("*.execute", "execute", false),
            ("exec", "exec", true),
            ("exec", "pattern.exec", false),
            ("Command.*.arg", "Command.new.env.arg", true),
            ("Command.*.arg", "Command.arg", false),
        ] {
            let parsed = ChainPattern::parse(pattern).unwrap();
            assert_eq!(parsed.matches(chain.rsplit('.')), expected, "{pattern} on {chain}");
        }
    }

    #[test]
    fn the_longest_name_is_never_a_star() {
        for (pattern, longest) in [("q.*", "q"), ("*.q", "q"), ("os.system", "system")] {
            assert_eq!(ChainPattern::parse(pattern).unwrap().longest(), longest, "{pattern}");
        }
    }

    #[test]
    fn patterns_without_a_name_are_rejected() {
        for pattern in ["", "*", "*.*", "a..b", "a b", "a.*.b.*.c.*"] {
            assert!(ChainPattern::parse(pattern).is_err(), "{pattern}");
        }
    }
}
