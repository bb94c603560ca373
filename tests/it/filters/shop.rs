//! The fixture: a small shop in several languages, with a fixed git history, documents and a log.

use std::path::Path;
use std::sync::Arc;

use gate::app::App;
use serde_json::{Value, json};

use crate::harness::{Repository, call, git_as, project, result};

/// Sources of the shop. Each file is one chunk, so a file's path names its chunk.
pub(crate) const FILES: &[(&str, &str)] = &[
    ("src/billing/charge.rs", CHARGE),
    ("src/billing/refund.rs", REFUND),
    ("src/stock/shelf.rs", SHELF),
    ("src/stock/walk.rs", WALK),
    ("web/basket.ts", BASKET),
    ("web/money.ts", MONEY),
    ("jobs/nightly.py", NIGHTLY),
    ("tools/report.go", REPORT),
    ("docs/returns.md", RETURNS),
    ("docs/Shipping.md", SHIPPING),
    ("logs/night.log", NIGHT_LOG),
];

const CHARGE: &str = r#"use std::collections::HashMap;

/// Charges the card of an order once and remembers the receipt.
#[tracing::instrument(skip(ledger))]
pub async fn charge_order(ledger: &mut Ledger, cents: u64) -> Result<Receipt, PaymentError> {
    if cents == 0 {
        return Err(PaymentError::Empty);
    }
    let receipt = gateway::submit(cents).await?;
    ledger.total = ledger.total + cents;
    Ok(receipt)
}
"#;

const REFUND: &str = r#"/// Pays an order back, line by line.
fn refund_order(order: &Order, reason: &str) {
    let mut open = 0;
    for line in &order.lines {
        if line.refunded {
            continue;
        }
        if open > MAX_LINES {
            break;
        }
        match line.state {
            State::Sent => open += 2,
            State::Lost => panic!("lost: {reason}"),
            State::Kept => open += 1,
        }
    }
    while open > 0 {
        open -= 1;
    }
}
"#;

const SHELF: &str = r#"/// Where the wares of an order stand.
pub(crate) struct Shelf {
    wares: Vec<Ware>,
}

impl Iterator for Shelf {
    type Item = Ware;

    fn next(&mut self) -> Option<Ware> {
        self.wares.pop()
    }
}
"#;

const WALK: &str = r#"use crate::stock::Shelf;

/// Fetches every ware of an order.
pub fn fetch_wares(shelf: Shelf) {
    let aisle = shelf.aisle;
    let steps = 12.5;
    // TODO: take the shortest way through the aisles of the warehouse.
    walk_to(aisle, steps);
}
"#;

const BASKET: &str = r#"import { formatMoney } from "./money";

@Component({ selector: "basket" })
export class Basket extends Container {
  private wares: Ware[] = [];

  async checkOut(order: Order): Promise<Receipt> {
    const receipt = await this.api.placeOrder(order);
    return receipt;
  }
}
"#;

const MONEY: &str = r#"/** Prints the total of an order. */
export function formatMoney(cents: number): string {
  const euros = cents / 100;
  return euros.toFixed(2);
}
"#;

const NIGHTLY: &str = r#"from shop.mail import send_mail

@app.task
def remind_customers(orders):
    for order in orders:
        if order.paid:
            continue
        if order.age > 90:
            raise StaleOrder(order)
        send_mail(order.customer)
        yield order
"#;

const REPORT: &str = r#"package tools

import "net/http"

// Report writes what each order costs.
func Report(writer http.ResponseWriter, orders []Order) {
	for _, order := range orders {
		writer.Write(order.Row())
	}
}
"#;

const RETURNS: &str = r#"---
title: Returns
owner:
  team: Service Desk
audience: [customers, partners]
---
# Returns

An order can be returned within thirty days.
"#;

const SHIPPING: &str = r#"---
title: Shipping
---
# Shipping

An order leaves the warehouse the same day.
"#;

const NIGHT_LOG: &str = "02:00:01 INFO order 17 charged\n02:00:02 WARN order 18 refused by the bank\n";

/// Files of a second repository of the project, whose branch is `trial`.
const TRIAL: &[(&str, &str)] = &[(
    "trial.rs",
    "/// Tries an order out.\npub fn try_order(order: Order) {\n    charge_order(order);\n}\n",
)];

/// A project that is indexed, and the application to search it with.
pub(crate) struct IndexedProject {
    pub(crate) app: Arc<App>,
    pub(crate) project: String,
    pub(crate) repository: Repository,
    _trial: Option<Repository>,
}

impl IndexedProject {
    /// Indexes the shop as two repositories of one project. Ada commits everything in 2021; Grace changes the refunds twice
    /// in 2022 and adds a line to the charges; Linus changes the report in 2024.
    pub(crate) async fn shop(app: Arc<App>, name: &str) -> Self {
        let repository = Repository::new(FILES);
        git_as(repository.path(), ADA, &["init", "--quiet", "--initial-branch=main"]);
        commit(repository.path(), ADA);
        repository.write("src/billing/refund.rs", &REFUND.replace("order", "purchase"));
        commit(repository.path(), GRACE);
        repository.write("src/billing/refund.rs", REFUND);
        repository.write("src/billing/charge.rs", &CHARGE.replace("    Ok(", "    ledger.save();\n    Ok("));
        commit(repository.path(), GRACE);
        repository.write("tools/report.go", &REPORT.replace("costs", "costs in cents"));
        commit(repository.path(), LINUS);
        let trial = Repository::new(TRIAL);
        git_as(trial.path(), ADA, &["init", "--quiet", "--initial-branch=trial"]);
        commit(trial.path(), ADA);
        let project = project(name);
        for indexed in [&repository, &trial] {
            index(&app, indexed, &project).await;
        }
        Self { app, project, repository, _trial: Some(trial) }
    }

    /// A project whose repository is indexed already.
    pub(crate) fn new(app: Arc<App>, project: String, repository: Repository) -> Self {
        Self { app, project, repository, _trial: None }
    }

    /// Searches in all modes with further arguments; the result must be a success.
    pub(crate) async fn search(&self, query: &str, arguments: Value) -> Value {
        result(&self.app, "search", self.arguments(query, arguments)).await
    }

    /// The arguments that `search` sends; `arguments` override the defaults.
    pub(crate) fn arguments(&self, query: &str, arguments: Value) -> Value {
        let mut all = json!({ "query": query, "mode": "all", "top": 100, "project_id": self.project });
        all.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
        all
    }
}

/// Name of a committer, and the time of the commit.
type Author = (&'static str, Option<&'static str>);

const ADA: Author = ("Ada Lovelace", Some("2021-03-01T12:00:00+00:00"));
const GRACE: Author = ("Grace Hopper", Some("2022-06-15T12:00:00+00:00"));
const LINUS: Author = ("Linus Linter", Some("2024-02-29T12:00:00+00:00"));

fn commit(repository: &Path, author: Author) {
    git_as(repository, author, &["add", "--all"]);
    git_as(repository, author, &["commit", "--quiet", "--message", "A change"]);
}

/// Indexes a repository into a project.
pub(crate) async fn index(app: &Arc<App>, repository: &Repository, project: &str) {
    result(app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
}

/// The files of an answer's hits, best first.
pub(crate) fn hit_files(answer: &Value) -> Vec<String> {
    answer["hits"].as_array().unwrap().iter().map(|hit| hit["file"].as_str().unwrap().to_owned()).collect()
}

/// The files of an answer's hits, sorted.
pub(crate) fn sorted_hit_files(answer: &Value) -> Vec<String> {
    let mut sorted = hit_files(answer);
    sorted.sort();
    sorted
}

/// The warnings of a successful search.
pub(crate) async fn search_warnings(indexed: &IndexedProject, query: &str, arguments: Value) -> Vec<Value> {
    let envelope = call(&indexed.app, "search", indexed.arguments(query, arguments)).await;
    assert_eq!(envelope["ok"], true, "{envelope:#}");
    envelope["_meta"]["warnings"].as_array().cloned().unwrap_or_default()
}
