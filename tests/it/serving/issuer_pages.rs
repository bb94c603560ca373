//! Signing in at a real OpenID Connect issuer: the code flow with PKCE, and what is not taken for its end.

use std::collections::BTreeMap;
use std::process::Stdio;

use contract::config::Required;
use reqwest::{Response, StatusCode, Url, header};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::TestServer;
use super::pages::browser;
use crate::clients::{client_sources, node, npm_packages};
use crate::harness::{Repository, project, result};

const AUDIENCE: &str = "https://code.example.com/mcp";
const CALLBACK: &str = "/sign-in/callback";

/// The issuer of `tests/clients/issuer`, for people who may use one project.
struct Issuer {
    url: String,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    _process: Child,
}

impl Issuer {
    async fn start(project: &str) -> Self {
        let mut command = Command::from(node());
        command.arg(client_sources().join("issuer/issuer.mjs")).arg(npm_packages("issuer"));
        command.args([AUDIENCE, project]).kill_on_drop(true);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let url = lines.next_line().await.unwrap().expect("the address of the issuer");
        Self { url, input: process.stdin.take().unwrap(), lines, _process: process }
    }

    /// Lets the issuer send browsers back to `redirect`.
    async fn serve(&mut self, redirect: &str) {
        self.input.write_all(format!("{redirect}\n").as_bytes()).await.unwrap();
        assert_eq!(self.lines.next_line().await.unwrap().as_deref(), Some("ready"));
    }
}

/// A browser that keeps the cookies of each origin.
#[derive(Default)]
struct Cookies(BTreeMap<String, BTreeMap<String, String>>);

impl Cookies {
    async fn get(&mut self, url: &Url) -> Response {
        let origin = url.origin().ascii_serialization();
        let kept = self.0.entry(origin).or_default();
        let sent: Vec<String> = kept.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let response =
            browser().get(url.clone()).header(header::COOKIE, sent.join("; ")).send().await.unwrap();
        for cookie in response.headers().get_all(header::SET_COOKIE) {
            let (pair, _) = cookie.to_str().unwrap().split_once(';').unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            kept.insert(name.to_owned(), value.to_owned());
        }
        response
    }

    /// Follows redirects to the end, or to one that leads to `until`, which is returned unvisited.
    async fn follow(&mut self, url: &str, until: &str) -> Url {
        let mut url = Url::parse(url).unwrap();
        for _ in 0..20 {
            let response = self.get(&url).await;
            let Some(next) = response.headers().get(header::LOCATION) else {
                panic!("{url}: {} {}", response.status(), response.text().await.unwrap());
            };
            url = url.join(next.to_str().unwrap()).unwrap();
            if url.path() == until {
                return url;
            }
        }
        panic!("too many redirects: {url}");
    }
}

async fn server_with(issuer: &mut Issuer) -> TestServer {
    let url = issuer.url.clone();
    let server = TestServer::start(|config| {
        config.access.required = Required::Always;
        config.oauth.issuer = Some(url);
        config.oauth.audience = Some(AUDIENCE.to_owned());
        config.oauth.client_id = Some("pages".to_owned());
        config.oauth.client_secret = Some("hush".to_owned());
    })
    .await;
    issuer.serve(&server.url_of(CALLBACK)).await;
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_signs_in_at_the_issuer_and_sees_their_project() {
    let id = project("issuer");
    let mut issuer = Issuer::start(&id).await;
    let server = server_with(&mut issuer).await;
    let repository = Repository::new(&[("cash.py", "def drawer(coins):\n    return sum(coins)\n")]);
    result(&server.app, "build_index", json!({ "repoPath": repository.root(), "project_id": id })).await;

    let mut cookies = Cookies::default();
    let asked = format!("/?project={id}&q=drawer");
    let form = cookies.get(&Url::parse(&server.url_of(&asked)).unwrap()).await;
    let form = server.url_of(form.headers()[header::LOCATION].to_str().unwrap());
    let html = cookies.get(&Url::parse(&form).unwrap()).await.text().await.unwrap();
    let link = html
        .split("href=\"")
        .find(|part| part.starts_with("/sign-in/issuer"))
        .unwrap_or_else(|| panic!("{html}"));
    let link = link.split('"').next().unwrap().replace("&amp;", "&");
    let back = cookies.follow(&server.url_of(&link), CALLBACK).await;
    let signed_in = cookies.get(&back).await;
    assert_eq!(signed_in.status(), StatusCode::SEE_OTHER, "{}", signed_in.text().await.unwrap());
    assert_eq!(signed_in.headers()[header::LOCATION], asked.as_str());
    let page = cookies.get(&Url::parse(&server.url_of(&asked)).unwrap()).await;
    assert_eq!(page.status(), StatusCode::OK);
    let html = page.text().await.unwrap();
    assert!(html.contains("cash.py") && html.contains("Sign out"), "{html}");
    let other = cookies.get(&Url::parse(&server.url_of("/?project=other&q=drawer")).unwrap()).await;
    assert!(!other.text().await.unwrap().contains("cash.py"));

    // A code is for once, and for the browser that asked for it.
    let again = cookies.get(&back).await;
    assert_eq!(again.status(), StatusCode::UNAUTHORIZED);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_for_another_attempt_does_not_sign_in() {
    let mut issuer = Issuer::start("issuer-none").await;
    let server = server_with(&mut issuer).await;
    let begin = server.url_of("/sign-in/issuer?next=%2F%2Fevil.example%2F");
    let (mut ours, mut theirs) = (Cookies::default(), Cookies::default());
    let back = ours.follow(&begin, CALLBACK).await;
    let foreign = theirs.follow(&begin, CALLBACK).await;
    let with = |name: &str, value: &str| {
        let mut url = back.clone();
        let pairs: Vec<(String, String)> =
            url.query_pairs().into_owned().filter(|(known, _)| known != name).collect();
        url.query_pairs_mut().clear().extend_pairs(pairs).append_pair(name, value);
        url
    };
    for (what, url) in [
        (
            "the code of another browser",
            with("code", &foreign.query_pairs().find(|(name, _)| name == "code").unwrap().1),
        ),
        ("another state", with("state", "0")),
        ("another issuer", with("iss", "https://evil.example")),
    ] {
        let mut browser = Cookies(ours.0.clone());
        let response = browser.get(&url).await;
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{what}");
        let mut names = browser.0.values().flat_map(BTreeMap::keys);
        assert!(!names.any(|name| name.starts_with("pairofcleats_session")), "{what}: {:?}", browser.0);
    }
    let mut without_cookie = Cookies::default();
    assert_eq!(without_cookie.get(&back).await.status(), StatusCode::UNAUTHORIZED);
    // The address to return to is never on another host.
    let signed_in = ours.get(&back).await;
    assert_eq!(
        (signed_in.status(), signed_in.headers()[header::LOCATION].to_str().unwrap()),
        (StatusCode::SEE_OTHER, "/")
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_an_issuer_offers_no_sign_in_and_an_unreachable_issuer_is_reported() {
    let server = TestServer::start(|config| config.access.required = Required::Always).await;
    let html = browser().get(server.url_of("/sign-in")).send().await.unwrap().text().await.unwrap();
    assert!(!html.contains("/sign-in/issuer"), "{html}");
    assert_eq!(
        browser().get(server.url_of("/sign-in/issuer")).send().await.unwrap().status(),
        StatusCode::NOT_FOUND
    );
    server.stop().await;

    let refusing = crate::loopback::refusing_url().await;
    let server = TestServer::start(|config| {
        config.access.required = Required::Always;
        config.oauth.issuer = Some(refusing);
        config.oauth.audience = Some(AUDIENCE.to_owned());
        config.oauth.client_id = Some("pages".to_owned());
    })
    .await;
    let response = browser().get(server.url_of("/sign-in/issuer")).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(response.text().await.unwrap().contains("does not answer"));
    server.stop().await;
}
