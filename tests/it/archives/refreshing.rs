//! Archives are refreshed on a schedule, and not watched.

use std::time::Duration;

use contract::config::{Indexed, WatchedRepositories};

use super::{ArchiveFolder, FILES, files_with, index, tar_gz};
use crate::harness::{app_with, project};

#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_archive_is_indexed_by_the_schedule() {
    let folder = ArchiveFolder::new();
    let (root, id) = (folder.path(), project("scheduled-archive"));
    let archive = folder.write("shop.tar.gz", &tar_gz("", FILES));
    let app = app_with(|config| {
        config.indexing.roots = vec![root];
        config.freshness.every_ms = 1000;
        config.freshness.refresh_ms = 200;
        config.freshness.watch = WatchedRepositories::All(Indexed::Indexed);
    });
    index(&app, &id, &archive).await;
    app.start_refreshes();
    let mut files = FILES.to_vec();
    files[0].1 = "def weigh_drawer(coins):\n    return len(coins)\n";
    folder.write("shop.tar.gz", &tar_gz("", &files));
    for attempt in 0.. {
        if files_with(&app, &id, "weigh_drawer").await == ["src/till.py"] {
            break;
        }
        assert!(attempt < 600, "the archive is not refreshed");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    // The list of what to watch was read several times by then.
    assert_eq!(app.freshness.load(), [0, 0]);
    app.shutdown.cancel();
    app.wait_stopped().await;
}
