//! Asks the user at the terminal.

use std::io::{self, BufRead, ErrorKind, IsTerminal, Write as _};

/// Returns `true` if a user can answer.
pub(super) fn can_ask() -> bool {
    io::stdin().is_terminal()
}

/// Prints a question on stderr, and returns the answer without surrounding white space. The end of the input is an error, not an answer.
pub(super) fn ask(question: &str) -> io::Result<String> {
    let mut stderr = anstream::stderr();
    write!(stderr, "{question}")?;
    stderr.flush()?;
    let mut typed = String::new();
    match io::stdin().lock().read_line(&mut typed)? {
        0 => Err(ErrorKind::UnexpectedEof.into()),
        _ => Ok(typed.trim().to_owned()),
    }
}

/// Asks a yes-or-no question. `by_default` is the meaning of an empty answer.
pub(super) fn agrees(question: &str, by_default: bool) -> bool {
    let choice = if by_default { "[Y/n]" } else { "[y/N]" };
    ask(&format!("{question} {choice} ")).is_ok_and(|typed| match typed.to_ascii_lowercase().as_str() {
        "" => by_default,
        typed => ["y", "yes"].contains(&typed),
    })
}
