//! STUB
/// x
pub struct Redacted { /// x
    pub text: String, /// x
    pub count: u64 }
/// x
pub fn redact(text: &str) -> Redacted { Redacted { text: text.to_owned(), count: 0 } }
