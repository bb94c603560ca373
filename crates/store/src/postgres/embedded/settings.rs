//! The server's settings, passed on its command line so that no file overrides them. Settings that change while it runs are in
//! [`super::limits`].

use std::ffi::OsString;
use std::path::Path;

use contract::config::Embedded;
use platform::disk_space;

use super::place::Place;

/// Settings that do not depend on the configuration, with the reason where it is not obvious.
const FIXED: &[(&str, &str)] = &[
    ("listen_addresses", ""),
    ("unix_socket_permissions", "0700"),
    // A killed client must not leave its query running.
    ("client_connection_check_interval", "5s"),
    // Provisioning touches many tables in one transaction.
    ("max_locks_per_transaction", "256"),
    // There is no replica, so WAL can be minimal.
    ("wal_level", "minimal"),
    ("max_wal_senders", "0"),
    ("checkpoint_timeout", "15min"),
    ("fsync", "on"),
    ("full_page_writes", "on"),
    // Queries are short, and embedding and parsing need the cores.
    ("jit", "off"),
    ("max_parallel_workers_per_gather", "0"),
    // A generic plan would use the vector index for filters that need an exact scan.
    ("plan_cache_mode", "force_custom_plan"),
    ("random_page_cost", "1.1"),
    // Saves three worker processes, at no measurable cost while the data is in the page cache.
    ("io_method", "sync"),
    ("timezone", "UTC"),
    ("log_timezone", "UTC"),
    ("lc_messages", "C"),
    ("logging_collector", "off"),
    ("log_destination", "stderr"),
    ("log_min_messages", "warning"),
    ("log_checkpoints", "off"),
    // Statements and row values may contain source code and secrets, so neither is logged.
    ("log_min_error_statement", "panic"),
    ("log_error_verbosity", "terse"),
];

/// The command-line arguments of `postgres`.
pub(super) fn arguments(place: &Place, settings: &Embedded, socket_directory: &Path) -> Vec<OsString> {
    let mut arguments: Vec<OsString> =
        vec!["-D".into(), place.data().into(), "-k".into(), socket_directory.into()];
    let mut set = |name: &str, value: OsString| {
        let mut setting = OsString::from(format!("{name}="));
        setting.push(value);
        arguments.push("-c".into());
        arguments.push(setting);
    };
    for (name, value) in FIXED {
        set(name, (*value).into());
    }
    if cfg!(target_os = "linux") {
        // Crash recovery makes one call instead of an fsync of every file; many projects have many files.
        set("recovery_init_sync_method", "syncfs".into());
    }
    set("config_file", place.limits_file().into());
    set("hba_file", place.hba_file().into());
    set("ident_file", place.ident_file().into());
    set("shared_buffers", format!("{}MB", settings.shared_buffers_mb).into());
    set("maintenance_work_mem", format!("{}MB", settings.maintenance_work_mem_mb).into());
    set("max_connections", settings.connections_max.to_string().into());
    set("max_parallel_maintenance_workers", maintenance_workers(settings).to_string().into());
    arguments
}

/// Number of parallel workers of an index build: 1, or 0 if shared memory is too small. A parallel build keeps its graph in
/// shared memory, up to `maintenance_work_mem`; with less, as in containers with the default of 64 MB, it fails, and a
/// serial build does not.
fn maintenance_workers(settings: &Embedded) -> u32 {
    let needed =
        u64::from(settings.maintenance_work_mem_mb + settings.maintenance_work_mem_mb / 8) * 1024 * 1024;
    let enough = match disk_space::free_bytes(Path::new("/dev/shm")) {
        Ok(free) => free > needed,
        // Without /dev/shm the platform limits shared memory in another way.
        Err(_) => true,
    };
    u32::from(enough)
}
