//! `quickstart`: from a fresh checkout to answers in one command.

use std::io::Read;
use std::path::Path;

use super::arguments::absolute;
use super::behind::Behind;
use super::clients::{CLIENTS, Reach, Setup, TOOLSETS};
use super::index::{self, BuildIndex};
use super::install::install;
use super::mcp_config::Installation;
use super::output::{BOLD, DIM, PATH, styled};
use super::search::{self, ask};
use super::session::{Exit, Ran, Session};
use super::{hits, serve};
use crate::surfaces::{answer as answers, http};
use contract::visible_line;
use platform::beneath::Folder;
use tenancy::AllowedRoots;

/// Asked when the repository does not say what it is.
const GENERAL_QUESTION: &str = "where does the program start";
/// Clients whose set-up is shown: the most used one, and the shape that most take.
const GREETED: [&str; 2] = ["claude-code", "generic"];
/// Hits of the example search.
const EXAMPLE_TOP: i64 = 3;
/// Longest README sentence that serves as a question, in characters.
const QUESTION_CHARS_MAX: usize = 160;

/// Arguments of `quickstart`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The repository
    #[arg(default_value = ".", value_parser = absolute)]
    path: String,
    /// Print the answer to this question and exit instead of serving
    #[arg(long, value_name = "QUERY")]
    once: Option<String>,
    /// Project to index into
    #[arg(long, value_name = "ID")]
    project: Option<String>,
    #[command(flatten)]
    serve: serve::Args,
}

impl Args {
    /// The flags as settings.
    pub(super) fn settings(&self) -> Vec<(String, String)> {
        self.serve.settings()
    }
}

/// Runs the command.
pub(super) async fn run(session: &Session, args: Args) -> Ran {
    let output = session.output;
    // A mistyped path is told before anything is fetched.
    AllowedRoots::common(&session.app.config.indexing).check(Path::new(&args.path))?;
    // So is an address that somebody else has.
    let already = match args.once {
        None => http::look_at_address(&session.app)?,
        Some(_) => None,
    };
    install(session, None, false).await?;
    let arguments = BuildIndex {
        repo_path: &args.path,
        project_id: args.project.as_deref(),
        wait: Some("words"),
        ..BuildIndex::default()
    };
    let built = index::build(session, &arguments).await;
    if built.exit != Exit::Ok || (!output.json && !output.quiet) {
        output.answer(&built, index::render);
    }
    if built.exit != Exit::Ok {
        return Ok(built.exit);
    }

    let behind = Behind::of(session, &built, &arguments);
    if let Some(query) = &args.once {
        let search = search::Args::about(query.clone(), &args.path, args.project.as_deref());
        let exit = answer(session, search, behind.as_ref()).await;
        if let Some(behind) = &behind {
            behind.hand_over().await;
        }
        return Ok(exit);
    }
    if !output.json {
        show_example(session, &args, behind.as_ref()).await;
    }
    if let Some(url) = already {
        let reachable = serve::Reachable::of(url);
        if let Some(behind) = &behind {
            behind.hand_over().await;
        }
        if output.json {
            let result = serde_json::to_value(&reachable).unwrap_or_default();
            output.line(&answers::json(&answers::succeeded(&session.app, result, None)).to_string());
        } else {
            output.text(&format!(
                "{} at {}  MCP: {}\n",
                styled(BOLD, "Already serving"),
                styled(PATH, &reachable.url),
                reachable.mcp
            ));
        }
        return Ok(Exit::Ok);
    }
    let serving = serve::serve(session, |reachable| {
        greeting(Installation::of(session).reach(), args.project.as_deref(), reachable)
    });
    let telling = async {
        if let Some(behind) = &behind {
            behind.tell().await;
        }
        // The server's end is the command's.
        std::future::pending().await
    };
    tokio::select! {
        ran = serving => ran,
        ran = telling => ran,
    }
}

/// Searches and prints the answer; by words alone while the vectors are being made.
async fn answer(session: &Session, search: search::Args, behind: Option<&Behind<'_>>) -> Exit {
    let Some(behind) = behind else {
        return session.output.answer(&ask(session, &search).await, hits::render);
    };
    let found = ask(session, &search.by_words()).await;
    session.output.answer(&behind.without_warnings(found), hits::render)
}

/// A search that fits the repository, so that the first thing to see is an answer.
async fn show_example(session: &Session, args: &Args, behind: Option<&Behind<'_>>) {
    let question = match readme(Path::new(&args.path)).as_deref().and_then(first_sentence) {
        Some(sentence) => sentence,
        None => a_definition(session, args).await.unwrap_or_else(|| GENERAL_QUESTION.to_owned()),
    };
    session.output.line(&format!(
        "\n{} {}",
        styled(BOLD, "Example:"),
        styled(DIM, &format!("search \"{question}\""))
    ));
    let mut search = search::Args::about(question, &args.path, args.project.as_deref());
    search.top = Some(EXAMPLE_TOP);
    answer(session, search, behind).await;
}

/// The name of something that the repository defines.
async fn a_definition(session: &Session, args: &Args) -> Option<String> {
    let mut search = search::Args::about(
        "type:function OR type:class OR type:struct".to_owned(),
        &args.path,
        args.project.as_deref(),
    );
    search.top = Some(1);
    let found = ask(session, &search.by_words()).await.envelope.result?;
    found["hits"][0]["name"].as_str().map(visible_line)
}

fn greeting(reach: Reach<'_>, project: Option<&str>, reachable: &serve::Reachable) -> String {
    let setup = Setup { reach, project, toolsets: Some(TOOLSETS), read_only: false };
    let mut shown = format!("{}\n\n", styled(BOLD, "Connect a client (paste one of these):"));
    for client in CLIENTS.iter().filter(|client| GREETED.contains(&client.id)) {
        let title = styled(DIM, &format!("# {}", client.name));
        shown.push_str(&format!("{title}\n{}\n\n", client.block(&setup)));
    }
    shown.push_str(&format!(
        "pairofcleats mcp-config --help lists the others; --http {} connects them to this server.\n\n",
        reachable.mcp
    ));
    shown.push_str(&format!(
        "{}\ncurl -s {}/search -H 'Content-Type: application/json' -d '{{\"query\": \"{GENERAL_QUESTION}\"}}'\n\n",
        styled(DIM, "# HTTP"),
        reachable.url,
    ));
    shown.push_str(&format!(
        "{} on {}  MCP: {}  stop: Ctrl-C\n",
        styled(BOLD, "Serving"),
        styled(PATH, &reachable.url),
        reachable.mcp
    ));
    shown
}

/// The start of the repository's README.
fn readme(repository: &Path) -> Option<String> {
    const BYTES_MAX: u64 = 8192;
    let folder = Folder::open(repository).ok()?;
    let mut named = ["README.md", "README.rst", "README.txt", "README"].into_iter();
    let file = named.find_map(|name| folder.file(name).ok())?;
    let mut bytes = Vec::new();
    file.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Words of sentences that announce something and describe nothing.
const ANNOUNCES: [&str; 9] = [
    "announc",
    "excited",
    "released",
    "release ",
    "now available",
    "sponsor",
    "welcome",
    "breaking change",
    "deprecated",
];

/// The first sentence of prose that describes: what the repository says it is about. Headings, lists, badges, quotations and
/// whatever has an address in it are passed over, and so is news.
fn first_sentence(readme: &str) -> Option<String> {
    let mut fenced = false;
    let mut paragraphs = vec![String::new()];
    for line in readme.lines().map(str::trim) {
        let fence = line.starts_with("```") || line.starts_with("~~~");
        fenced ^= fence;
        let prose = line.starts_with(|first: char| first.is_alphanumeric() || "*_`[".contains(first))
            && !line.starts_with("* ");
        match paragraphs.last_mut() {
            Some(paragraph) if prose && !fenced && !fence => {
                paragraph.push_str(line);
                paragraph.push(' ');
            }
            _ => paragraphs.push(String::new()),
        }
    }
    paragraphs.iter().flat_map(|paragraph| sentences(paragraph)).find_map(described)
}

/// A paragraph's sentences, without their ends.
fn sentences(paragraph: &str) -> impl Iterator<Item = &str> {
    paragraph.split_inclusive(". ").flat_map(|part| part.split_inclusive("! "))
}

/// What a sentence says, if it describes something.
fn described(sentence: &str) -> Option<String> {
    let told = without_links(sentence);
    let plain: String = told.chars().filter(|char| !"*_`\"[]()<>#".contains(*char)).collect();
    let words = plain.trim().trim_end_matches('.').trim();
    let lower = words.to_lowercase();
    let is_news = words.ends_with('!') || ANNOUNCES.iter().any(|word| lower.contains(word));
    let many = words.split_whitespace().count() >= 4;
    let is_link = sentence.trim().starts_with('[') && sentence.trim().ends_with(')');
    if !many || is_news || is_link || lower.contains("://") || lower.contains("www.") {
        return None;
    }
    let cut = words.char_indices().nth(QUESTION_CHARS_MAX).map_or(words, |(end, _)| &words[..end]);
    Some(cut.to_owned())
}

/// Markdown without pictures, and with the texts of its links alone.
fn without_links(text: &str) -> String {
    let (mut plain, mut rest) = (String::new(), text);
    while let Some(start) = rest.find('[') {
        let picture = rest[..start].ends_with('!');
        let Some(middle) = rest[start..].find("](").map(|at| start + at) else { break };
        let Some(end) = rest[middle..].find(')').map(|at| middle + at) else { break };
        plain.push_str(rest[..start].trim_end_matches('!'));
        if !picture && !rest[start + 1..middle].contains('[') {
            plain.push_str(&rest[start + 1..middle]);
        }
        rest = &rest[end + 1..];
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_question_is_the_first_prose_of_the_readme() {
        let readme = "# Title of this thing here\n\n[![badge](x)](y)\n<p align=center>a b c d</p>\n\n\
                      **Fast** search over `code` you own. More text.\n";
        assert_eq!(first_sentence(readme).as_deref(), Some("Fast search over code you own"));
        assert_eq!(first_sentence("# Only\n\n- a list\n"), None);
        let news = "# Gin\n\n[![CI](https://x/y.svg)](https://x) [![Docs](b)](c)\n\n## News\n\nWe're excited to announce the release \
                    of **Gin 1.12.0**https://gin.example/blog! It brings many new features.\n\n---\n\n> Read the four words first.\n\n\
                    Gin is a high-performance HTTP web framework written in [Go](https://go.dev/). It has an API.\n";
        let told = first_sentence(
            &news.replace("It brings many new features.", "See www.gin.example for more details."),
        );
        assert_eq!(told.as_deref(), Some("Gin is a high-performance HTTP web framework written in Go"));
        assert_eq!(
            first_sentence("Version two is now available from us.\n\n[docs and more docs](https://x)\n"),
            None
        );
        let long = "word ".repeat(100);
        assert_eq!(first_sentence(&long).map(|question| question.chars().count()), Some(QUESTION_CHARS_MAX));
    }

    #[test]
    fn the_greeting_names_both_urls() {
        let reachable =
            serve::Reachable { url: "http://127.0.0.1:1".into(), mcp: "http://127.0.0.1:1/mcp".into() };
        let reach = Reach::Stdio { program: Path::new("/bin/pairofcleats"), home: None, config: None };
        let shown = greeting(reach, Some("shop"), &reachable);
        for part in [
            "claude mcp add pairofcleats -- /bin/pairofcleats mcp --project shop --toolsets search,index --text short",
            "mcpServers",
            "mcp-config --help",
            "curl",
            "http://127.0.0.1:1/mcp",
        ] {
            assert!(shown.contains(part), "{part}");
        }
    }
}
