//! Checks of background writers by `doctor`, such as that of the audit log: whether they lost entries or are unable to write.

use super::{DoctorCheck, failed_check};
use contract::clock::iso_from_millis;
use contract::{Fault, escaped_line};
use gate::app::App;
use gate::module::Modules;
use store::{WriterRow, writers};

/// Lists the writers of all servers of this database that lost entries in the last few days or cannot write now.
pub(super) async fn check_writers(app: &App) -> Vec<DoctorCheck> {
    let rows = async {
        let mut control = app.store().await?.control_read().await?;
        let rows = writers::list(&mut control).await?;
        control.commit().await?;
        Ok::<_, Fault>(rows)
    };
    match rows.await {
        Ok(rows) => rows.iter().flat_map(|row| checks_of(app.modules, row)).collect(),
        Err(fault) => vec![failed_check("background writers", fault)],
    }
}

fn checks_of(modules: &Modules, row: &WriterRow) -> Vec<DoctorCheck> {
    let kind = modules.writer_kinds().find(|kind| kind.name == row.writer);
    let (name, lost) = kind.map_or((row.writer.as_str(), "entries were"), |kind| (kind.title, kind.lost));
    let problem = escaped_line(&row.problem);
    let check = |message: String, remedy: &str| DoctorCheck {
        name: name.to_owned(),
        ok: false,
        message,
        remedy: Some(remedy.to_owned()),
    };
    let failing = row.failing_since_ms.map(|since| {
        check(
            format!("a server has been unable to write since {}: {problem}", iso_from_millis(since)),
            "What waits is kept in memory, and lost if that is full; the server's log says more.",
        )
    });
    let dropped = row.lost_ms.filter(|_| row.lost > 0).map(|last| {
        let count = row.lost;
        check(
            format!("{count} {lost} lost in the last week, the last at {}: {problem}", iso_from_millis(last)),
            "The others were written. Look at the server's log at that time, and report what the database refuses.",
        )
    });
    failing.into_iter().chain(dropped).collect()
}
