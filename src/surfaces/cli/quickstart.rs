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
    let question = readme(Path::new(&args.path)).as_deref().and_then(first_sentence);
    let question = question.unwrap_or_else(|| GENERAL_QUESTION.to_owned());
    session.output.line(&format!(
        "\n{} {}",
        styled(BOLD, "Example:"),
        styled(DIM, &format!("search \"{question}\""))
    ));
    let mut search = search::Args::about(question, &args.path, args.project.as_deref());
    search.top = Some(EXAMPLE_TOP);
    answer(session, search, behind).await;
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

/// The first sentence of prose: what the repository says it is about.
fn first_sentence(readme: &str) -> Option<String> {
    let prose = readme.lines().map(str::trim).find(|line| {
        line.split_whitespace().count() >= 4
            && line.starts_with(|first: char| first.is_alphabetic() || first == '*')
    })?;
    let sentence = prose.split_once(". ").map_or(prose, |(first, _)| first);
    let words: String = sentence.chars().filter(|char| !"*_`\"[]()<>#".contains(*char)).collect();
    let words = words.trim_end_matches('.').trim();
    let cut = words.char_indices().nth(QUESTION_CHARS_MAX).map_or(words, |(end, _)| &words[..end]);
    (!cut.is_empty()).then(|| cut.to_owned())
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
