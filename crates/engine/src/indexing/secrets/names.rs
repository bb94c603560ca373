//! What a name says of its value.

use std::collections::HashMap;

use super::rules::RULES;

/// What the value of a name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// A password: people choose them, so that they may look like a word.
    Password,
    /// A token, a key of a service: made by machines.
    Secret,
    /// The value of the `Authorization` header, after its scheme.
    Header,
    /// A key of something: only a long random value is a secret.
    Key,
}

/// Most words of a name that are looked at.
const WORDS_MAX: usize = 16;

/// What the names of a text are: the same few come again and again.
#[derive(Debug, Default)]
pub(super) struct Classes<'t>(HashMap<&'t str, Option<Class>>);

/// Most names that are kept.
const NAMES_MAX: usize = 1024;

impl<'t> Classes<'t> {
    /// As [`class`].
    pub(super) fn of(&mut self, name: &'t str) -> Option<Class> {
        if self.0.len() == NAMES_MAX {
            self.0.clear();
        }
        *self.0.entry(name).or_insert_with(|| class(name))
    }
}

/// What the value of a name is; none where it is no secret.
pub(super) fn class(name: &str) -> Option<Class> {
    let names = &RULES.names;
    let words = words(name);
    let mut found = None;
    for (at, word) in words.iter().enumerate() {
        let word = word.as_str();
        let before = at.checked_sub(1).map(|at| words[at].as_str());
        let class = if names.password.contains(word) {
            Class::Password
        } else if word == "authorization" {
            Class::Header
        } else if names.secret.contains(word) {
            Class::Secret
        } else if matches!(word, "key" | "keys") {
            match before {
                Some(before) if names.key_of.contains(before) => Class::Secret,
                Some(_) => Class::Key,
                None => continue,
            }
        } else {
            continue;
        };
        // `publicKeyToken` is as public as `publicKey`.
        let public = words[..at].iter().any(|word| word == "public");
        if public || before.is_some_and(|before| names.about_before.contains(before)) {
            found = None;
            continue;
        }
        found = Some((at, class));
    }
    let (at, class) = found?;
    let after = &words[at + 1..];
    (!after.iter().any(|word| names.about.contains(word))).then_some(class)
}

/// The words of a name in lower case: `dbPassword`, `DB_PASSWORD` and `db.password` are `db`, `password`.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let letters: Vec<char> = name.chars().collect();
    for (at, &letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| letters[at]);
        let after = letters.get(at + 1);
        // `dbPassword`, and the last capital of `APIKey`.
        let starts = letter.is_uppercase()
            && (before.is_some_and(|before| before.is_lowercase() || before.is_ascii_digit())
                || (before.is_some_and(char::is_uppercase)
                    && after.is_some_and(|after| after.is_lowercase())));
        if (starts || !letter.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if words.len() == WORDS_MAX {
            return words;
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    // `password2` is `password`; `oauth2` stays.
    for word in &mut words {
        let plain = word.trim_end_matches(|letter: char| letter.is_ascii_digit());
        if plain.len() < word.len() && plain.len() > 3 {
            *word = plain.to_owned();
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_their_values_are() {
        for (name, expected) in [
            ("password", Some(Class::Password)),
            ("DB_PASSWORD", Some(Class::Password)),
            ("spring.datasource.password", Some(Class::Password)),
            ("dbPass", Some(Class::Password)),
            ("password2", Some(Class::Password)),
            ("clientSecret", Some(Class::Secret)),
            ("STRIPE_KEY", Some(Class::Secret)),
            ("x-api-key", Some(Class::Secret)),
            ("APIKey", Some(Class::Secret)),
            ("apikey", Some(Class::Secret)),
            ("_authToken", Some(Class::Secret)),
            ("Authorization", Some(Class::Header)),
            ("fooKey", Some(Class::Key)),
            ("key", None),
            ("publicKey", None),
            ("csrfToken", None),
            ("publicKeyToken", None),
            ("passwordHint", None),
            ("secretName", None),
            ("access_key_id", None),
            ("token_url", None),
            ("bypass", None),
            ("author", None),
            ("keyboard", None),
            ("max_tokens", None),
            ("passed", None),
        ] {
            assert_eq!(class(name), expected, "{name}");
        }
    }
}
