//! A page in a browser that all journeys of this process share, driven over stdin and stdout of `tests/clients/browser/driver.mjs`.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::chromium;

type Answer = Result<Value, String>;
type Waiting = Arc<Mutex<HashMap<u64, oneshot::Sender<Answer>>>>;

/// The browser. It ends with this process, because its stdin then does.
struct Browser {
    commands: Mutex<ChildStdin>,
    waiting: Waiting,
}

impl Browser {
    fn shared() -> &'static Self {
        static BROWSER: OnceLock<Browser> = OnceLock::new();
        BROWSER.get_or_init(Self::start)
    }

    fn start() -> Self {
        let mut driver = chromium::driver();
        let mut driver = driver.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let commands = Mutex::new(driver.stdin.take().unwrap());
        let waiting = Waiting::default();
        let waiting_for_answers = Arc::clone(&waiting);
        std::thread::spawn(move || pass_on(driver, &waiting_for_answers));
        Self { commands, waiting }
    }

    async fn send(&self, page: u64, method: &str, arguments: Value) -> Answer {
        let id = unused_number();
        let (sender, answer) = oneshot::channel();
        self.waiting.lock().unwrap().insert(id, sender);
        let command = json!({ "id": id, "page": page, "method": method, "arguments": arguments });
        let sent = writeln!(self.commands.lock().unwrap(), "{command}");
        let ended = |_| "the browser has ended; its own messages are above".to_owned();
        sent.map_err(|error| error.to_string())?;
        answer.await.map_err(ended)?
    }
}

/// Passes each answer to the command that waits for it. When the browser ends, all waits end.
fn pass_on(mut driver: Child, waiting: &Waiting) {
    for line in BufReader::new(driver.stdout.take().unwrap()).lines().map_while(Result::ok) {
        let mut answer: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let sender = answer["id"].as_u64().and_then(|id| waiting.lock().unwrap().remove(&id));
        let answer = match answer["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(answer["value"].take()),
        };
        sender.and_then(|sender| sender.send(answer).ok());
    }
    let _ = driver.wait();
    waiting.lock().unwrap().clear();
}

fn unused_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A page of the browser, with cookies of its own. Selectors are Playwright's: CSS, `:has-text("…")`, `text=…`.
pub(super) struct Page {
    number: u64,
    /// The address of the server.
    server: String,
}

impl Page {
    /// Opens a page, with options of Playwright's `newContext`.
    pub(super) async fn open(server: &str, options: Value) -> Self {
        // The first one installs the browser.
        tokio::task::spawn_blocking(Browser::shared).await.unwrap();
        let page = Self { number: unused_number(), server: server.to_owned() };
        page.call("open", json!([options])).await;
        page
    }

    /// Closes the page. Fails if anything went wrong on it.
    pub(super) async fn close(self) {
        self.forgive(None).await;
        self.call("close", json!([])).await;
    }

    /// Closes the page. Fails if anything went wrong on it but what was expected, such as a status that the console mentions.
    pub(super) async fn close_despite(self, expected: &str) {
        self.forgive(Some(expected)).await;
        self.call("close", json!([])).await;
    }

    /// Forgets what has gone wrong. Fails if that was anything but what was expected.
    pub(super) async fn forgive(&self, expected: Option<&str>) {
        let mut problems = strings(self.call("problems", json!([])).await);
        problems.retain(|problem| expected.is_none_or(|expected| !problem.contains(expected)));
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }

    /// Calls a method of the driver or of Playwright's page.
    pub(super) async fn call(&self, method: &str, arguments: Value) -> Value {
        match self.try_call(method, arguments.clone()).await {
            Ok(value) => value,
            Err(error) => {
                let shown = self.try_call("innerText", json!(["body", { "timeout": 1000 }])).await;
                panic!(
                    "{method} {arguments}: {error}\nThe page shows: {}",
                    shown.unwrap_or_else(Value::String)
                )
            }
        }
    }

    /// The same, for calls that may fail.
    pub(super) async fn try_call(&self, method: &str, arguments: Value) -> Answer {
        Browser::shared().send(self.number, method, arguments).await
    }

    /// Loads a path of the server. Returns the status of the answer.
    pub(super) async fn go(&self, path: &str) -> u64 {
        self.call("go", json!([format!("{}{path}", self.server)])).await.as_u64().unwrap_or_default()
    }

    pub(super) async fn click(&self, selector: &str) {
        self.call("click", json!([selector])).await;
    }

    /// Presses a key, or several one after another.
    pub(super) async fn press(&self, keys: &[&str]) {
        for key in keys {
            self.call("keyboard.press", json!([key])).await;
        }
    }

    /// Types on the keyboard, wherever the focus is.
    pub(super) async fn type_text(&self, text: &str) {
        self.call("keyboard.type", json!([text])).await;
    }

    /// Waits until an element is visible.
    pub(super) async fn sees(&self, selector: &str) {
        self.call("waitForSelector", json!([selector])).await;
    }

    /// Waits until an expression is true, across loads of pages.
    pub(super) async fn waits_until(&self, expression: &str) {
        self.call("until", json!([expression])).await;
    }

    /// Waits until the field with this name has the focus.
    pub(super) async fn has_focus(&self, name: &str) {
        self.waits_until(&format!("document.activeElement.name === {}", json!(name))).await;
    }

    /// Waits until the address of the page contains a text and the page has loaded.
    pub(super) async fn arrives(&self, part: &str) {
        let part = json!(part);
        self.waits_until(&format!("location.href.includes({part}) && document.readyState === 'complete'"))
            .await;
    }

    /// Evaluates an expression in the page.
    pub(super) async fn eval(&self, expression: &str) -> Value {
        self.call("evaluate", json!([expression])).await
    }

    /// The visible text of the first element that matches.
    pub(super) async fn text(&self, selector: &str) -> String {
        self.call("innerText", json!([selector])).await.as_str().unwrap().to_owned()
    }

    /// Counts the elements that match a CSS selector.
    pub(super) async fn count(&self, selector: &str) -> u64 {
        self.eval(&format!("document.querySelectorAll({}).length", json!(selector))).await.as_u64().unwrap()
    }

    /// The rules of WCAG 2.2, levels A and AA, that the page breaks.
    pub(super) async fn violations(&self) -> Vec<String> {
        let tags = json!([["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa"]]);
        strings(self.call("violations", tags).await)
    }
}

fn strings(value: Value) -> Vec<String> {
    serde_json::from_value(value).unwrap()
}
