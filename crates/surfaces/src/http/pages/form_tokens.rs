//! The tokens that forms carry, and signatures of other data that only this process may create.

use super::single_use::OneForm;

/// Creates the tokens of forms, and signs other data that only this process may create; the key is random and lives as long as
/// the process.
pub(super) struct FormTokens(Option<[u8; 32]>);

impl FormTokens {
    /// Creates tokens under a key derived from `secret`; without a secret no form is accepted.
    pub(super) fn new(secret: Option<&str>) -> Self {
        Self(secret.map(|secret| *blake3::hash(secret.as_bytes()).as_bytes()))
    }

    /// Returns the token of a principal, by its id, in a session; `None` represents principals that need no session.
    pub(super) fn of(&self, session: Option<blake3::Hash>, principal_id: &str) -> Option<FormToken> {
        let session = session.map_or([0; 32], |session| *session.as_bytes());
        let whose = [session.as_slice(), principal_id.as_bytes()].concat();
        self.0.as_ref().map(|key| FormToken(blake3::keyed_hash(key, &whose)))
    }

    /// Signs the data that a browser keeps for this process, under a key of its own; without a secret nothing can be signed.
    pub(super) fn signature(&self, text: &str) -> Option<blake3::Hash> {
        let key = blake3::derive_key("PairOfCleats: what a browser keeps", self.0.as_ref()?);
        Some(blake3::keyed_hash(&key, text.as_bytes()))
    }

    /// Checks whether [`Self::signature`] made the signature of the text. Compares in constant time.
    pub(super) fn is_signed(&self, text: &str, signature: &str) -> bool {
        let expected = self.signature(text);
        blake3::Hash::from_hex(signature).is_ok_and(|sent| expected.is_some_and(|expected| sent == expected))
    }
}

/// The token that a form must carry.
#[derive(Debug, Clone, Copy)]
pub(super) struct FormToken(pub(super) blake3::Hash);

impl FormToken {
    /// Compares the token with the sent one in constant time.
    pub(super) fn is(self, sent: &str) -> bool {
        blake3::Hash::from_hex(sent).is_ok_and(|sent| sent == self.0)
    }

    /// Returns the identity of a form of this session that carries a value of its own.
    pub(super) fn of_form(self, value: &str) -> OneForm {
        OneForm { session: self.0, value: blake3::keyed_hash(self.0.as_bytes(), value.as_bytes()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_fits_one_session_of_one_process() {
        let (tokens, others) = (FormTokens::new(Some("secret")), FormTokens::new(Some("other")));
        let (session, foreign) = (Some(blake3::hash(b"a")), Some(blake3::hash(b"b")));
        let token = tokens.of(session, "ann").unwrap();
        let text = token.0.to_hex();
        assert!(token.is(&text) && tokens.of(session, "ann").unwrap().is(&text));
        for other in [
            tokens.of(foreign, "ann"),
            tokens.of(None, "ann"),
            tokens.of(session, "bob"),
            others.of(session, "ann"),
        ] {
            assert!(!other.unwrap().is(&text));
        }
        assert!(!tokens.of(None, "bob").unwrap().is(&tokens.of(None, "ann").unwrap().0.to_hex()));
        for bad in ["", "0", &"0".repeat(64), &text[1..]] {
            assert!(!token.is(bad), "{bad}");
        }
        assert!(FormTokens::new(None).of(session, "ann").is_none());
    }

    #[test]
    fn only_this_process_signs_what_a_browser_keeps() {
        let (tokens, others) = (FormTokens::new(Some("secret")), FormTokens::new(Some("other")));
        let signature = tokens.signature("text").unwrap().to_hex();
        assert!(tokens.is_signed("text", &signature));
        assert!(!tokens.is_signed("texts", &signature) && !others.is_signed("text", &signature));
        let token = tokens.of(None, "text").unwrap().0.to_hex();
        for bad in ["", "0", &"0".repeat(64), token.as_str()] {
            assert!(!tokens.is_signed("text", bad), "{bad}");
        }
        let without_secret = FormTokens::new(None);
        assert!(without_secret.signature("text").is_none() && !without_secret.is_signed("text", &signature));
    }
}
