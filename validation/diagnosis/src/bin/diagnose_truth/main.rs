//! Diagnoses of real packets by `dupack diagnose`, compared with the knowledge of senders, kernel and path: `cargo
//! measure diagnose` writes `docs/diagnose-truth.md`.
//!
//! Arguments: `--seed N` (1) for the paths' random numbers, `--jobs N` (3) for simultaneous transfers, `--only TEXT`
//! for transfers whose sender and path contain the text (`kernel:cubic over 2 % loss`), `--out DIR` for captures and
//! wrong diagnoses, `--again` to diagnose the captures of an earlier run there instead of making transfers, `--page
//! FILE` for the page, `--what-if` for predictions instead (`--repeat N`, 10, for the number of real runs with which
//! each is compared).
//!
//! It must run as root: it needs namespaces and the kernel's tracing, which is mounted in a separate mount namespace if
//! necessary. Everything it makes ends with it.

#[cfg(target_os = "linux")]
mod kept;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod packets;
#[cfg(target_os = "linux")]
mod page;
#[cfg(target_os = "linux")]
mod paths;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod score;
#[cfg(target_os = "linux")]
mod told;
#[cfg(target_os = "linux")]
mod truth;
#[cfg(target_os = "linux")]
mod what_if;
#[cfg(target_os = "linux")]
mod work;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    work::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("real packets need Linux");
}
