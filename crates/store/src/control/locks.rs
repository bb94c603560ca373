//! The advisory locks on projects and jobs. A transaction holds them until it ends. Each is named only here, so that all its
//! users mean the same one. (The lock on the control schema is in `postgres`, which does not depend on this module.)

use crate::postgres::sql;
use crate::transaction::ControlTx;
use contract::Fault;

/// The object that a transaction locks.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AdvisoryLock<'a> {
    /// The schema of a project: creating, migrating and deleting it.
    Provisioning(&'a str),
    /// The claims of all jobs of a project. Claims share it; a transaction that ends all runs takes it exclusively.
    Claims(&'a str),
    /// The claims in one lane of a project.
    Lane(&'a str, &'a str),
    /// The decision whether a job of this project, kind and subject is due.
    Due(&'a str, &'a str, &'a str),
}

impl AdvisoryLock<'_> {
    fn name(self) -> String {
        match self {
            Self::Provisioning(project) => format!("pairofcleats:provision:{project}"),
            Self::Claims(project) => format!("pairofcleats:claim:{project}"),
            Self::Lane(project, lane) => format!("pairofcleats:lane:{project}:{lane}"),
            Self::Due(project, kind, subject) => format!("pairofcleats:due:{project}:{kind}:{subject}"),
        }
    }

    /// Waits for the lock.
    pub(crate) async fn acquire(self, control: &mut ControlTx) -> Result<(), Fault> {
        let lock = sql("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))");
        control.tx.execute(lock.bind(self.name())).await.map(drop)
    }

    /// Takes the lock if it is free.
    pub(crate) async fn try_acquire(self, control: &mut ControlTx) -> Result<bool, Fault> {
        let lock = sql("SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))");
        control.tx.scalar(lock.bind(self.name())).await
    }

    /// Takes the lock together with others that share it, unless a transaction holds it exclusively.
    pub(crate) async fn try_share(self, control: &mut ControlTx) -> Result<bool, Fault> {
        let lock = sql("SELECT pg_try_advisory_xact_lock_shared(hashtextextended($1, 0))");
        control.tx.scalar(lock.bind(self.name())).await
    }
}
