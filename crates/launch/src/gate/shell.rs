//! Commands in code blocks: enough shell syntax to find the programs that readers are asked to run.

use crate::site::CodeBlock;

/// A command with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Command {
    /// The program and its arguments, without quotes.
    pub(super) words: Vec<String>,
    /// Line in the page.
    pub(super) line: u32,
}

/// Languages of blocks that are scripts, and of blocks that show a terminal, in which only lines with a prompt are commands.
const SCRIPTS: &[&str] = &["sh", "bash", "shell", "zsh"];
const TERMINALS: &[&str] = &["console", "shell-session", "shellsession", "terminal"];

/// Returns the commands of a code block; empty if it is not a shell block.
pub(super) fn commands(block: &CodeBlock) -> Vec<Command> {
    let language = block.language().unwrap_or_default();
    let is_terminal = TERMINALS.contains(&language.as_str());
    if !is_terminal && !SCRIPTS.contains(&language.as_str()) {
        return Vec::new();
    }
    let has_prompts = is_terminal || block.code.lines().any(|line| line.starts_with("$ "));
    let mut found = Vec::new();
    let mut continued: Option<(String, u32)> = None;
    let mut here_document: Option<String> = None;
    for (line, number) in block.code.lines().zip(block.code_line..) {
        if let Some(end) = &here_document {
            if line.trim() == end {
                here_document = None;
            }
            continue;
        }
        let (text, first) = match continued.take() {
            Some((before, first)) => (format!("{before} {}", line.trim_start()), first),
            None => match line.strip_prefix("$ ").or_else(|| (!has_prompts).then_some(line)) {
                Some(text) => (text.to_owned(), number),
                None => continue,
            },
        };
        match text.strip_suffix('\\') {
            Some(text) => continued = Some((text.to_owned(), first)),
            None => {
                here_document = here_document_end(&text);
                found.extend(of_line(&text).into_iter().map(|words| Command { words, line: first }));
            }
        }
    }
    found
}

/// Returns the delimiter of the here-document that a line begins: `<<EOF`.
fn here_document_end(line: &str) -> Option<String> {
    let (_, word) = line.split_once("<<")?;
    let word = word.trim_start_matches('-').split_whitespace().next()?.trim_matches(['\'', '"']);
    let is_word = !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_word.then(|| word.to_owned())
}

/// Splits a line into its commands at `&&`, `||`, `;` and `|`, without leading assignments and `sudo`.
pub(super) fn of_line(line: &str) -> Vec<Vec<String>> {
    let (mut commands, mut words, mut word) = (Vec::new(), Vec::new(), None::<String>);
    let mut quote = None;
    let mut chars = line.chars().peekable();
    while let Some(char) = chars.next() {
        match (quote, char) {
            (Some(open), close) if open == close => quote = None,
            (None, '\'' | '"') => {
                quote = Some(char);
                word.get_or_insert_default();
            }
            (None, '\\') => word.get_or_insert_default().extend(chars.next()),
            (None, '#') if word.is_none() => break,
            (None, '&' | '|' | ';' | '(' | ')') => {
                words.extend(word.take());
                commands.push(std::mem::take(&mut words));
            }
            (None, space) if space.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(char),
        }
    }
    words.extend(word);
    commands.push(words);
    commands.into_iter().map(without_prefix).filter(|words| !words.is_empty()).collect()
}

fn without_prefix(words: Vec<String>) -> Vec<String> {
    let is_prefix = |word: &String| {
        let is_assignment = word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        });
        is_assignment || matches!(word.as_str(), "sudo" | "env" | "time" | "exec" | "command")
    };
    words.into_iter().skip_while(is_prefix).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(info: &str, code: &str) -> CodeBlock {
        let info = Some(info.to_owned());
        CodeBlock { info, code: code.to_owned(), line: 3, code_line: 4, is_closed: true }
    }

    fn shown(info: &str, code: &str) -> Vec<(u32, String)> {
        commands(&block(info, code))
            .into_iter()
            .map(|command| (command.line, command.words.join(" ")))
            .collect()
    }

    #[test]
    fn commands_are_split_and_joined() {
        let code = "A=1 npm run 'a b' && make x # comment\ncurl x \\\n  -d y | sh\n\ncat <<EOF\nnot a command\nEOF\nls\n";
        let expected =
            [(4, "npm run a b"), (4, "make x"), (5, "curl x -d y"), (5, "sh"), (8, "cat <<EOF"), (11, "ls")];
        assert_eq!(shown("sh", code), expected.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn in_a_terminal_only_lines_with_a_prompt_are_commands() {
        assert_eq!(shown("console", "$ make x\nmade x\n"), [(4, "make x".to_owned())]);
        assert_eq!(shown("sh", "$ make x\nmade x\n"), [(4, "make x".to_owned())]);
        assert!(shown("console", "make x\n").is_empty() && shown("rust", "make x\n").is_empty());
    }

    #[test]
    fn quotes_hide_separators() {
        assert_eq!(
            of_line("echo \"a; b\" 'c | d' e\\;f; sudo g"),
            [vec!["echo", "a; b", "c | d", "e;f"], vec!["g"]]
        );
    }
}
