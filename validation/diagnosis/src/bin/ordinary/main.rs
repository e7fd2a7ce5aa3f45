//! Truth of ordinary traffic. Applications use the kernel's own TCP at both ends, their traffic is captured at both
//! ends, and the truth is compared with the first sentence of `dupack diagnose`.
//!
//! ```text
//! cargo run --release --manifest-path validation/Cargo.toml --bin ordinary -- [--seeds 1..100] [--kinds download,page]
//!     [--jobs 4] [--out DIR] [--again DIR] [--page FILE]
//! ```
//!
//! | argument | meaning |
//! | --- | --- |
//! | `--seeds A..B` | runs of the seeds from A to B, without B (`1..45`) |
//! | `--kinds K,..` | applications; by default all of them in turn |
//! | `--jobs N` | simultaneous runs, each in two separate network namespaces (4) |
//! | `--out DIR` | folder for captures, their truth and the scores (`dupack-out/ordinary`) |
//! | `--again DIR` | diagnoses the captures in DIR again, without new runs |
//! | `--page FILE` | rewrites the section between the markers in this page |
//!
//! **Seeds.** The seeds 1 to 1000 are for development. The seeds from 500000 on are held out: each of them is run once,
//! for the page, when the diagnosis is finished. If such a run reveals an error, the error is corrected, and the next
//! run has other seeds. The page lists all runs.
//!
//! | module | contents |
//! | --- | --- |
//! | `plan` | an application and its path, drawn from a seed |
//! | `app` | the application: two programs with sockets, and the samples of `TCP_INFO` |
//! | `info` | `TCP_INFO` |
//! | `truth` | the limit of a stream at every instant, from the samples |
//! | `derive` | other captures of the same traffic |
//! | `score` | the sentence about each stream compared with its truth |
//! | `page` | tables |
//! | `work` | the command |
//!
//! The command must run as root because of the namespaces. Everything that it creates in the kernel is removed when it
//! ends.

#[cfg(target_os = "linux")]
mod app;
#[cfg(target_os = "linux")]
mod derive;
#[cfg(target_os = "linux")]
mod diagnoses_page;
#[cfg(target_os = "linux")]
mod info;
#[cfg(target_os = "linux")]
mod plan;
#[cfg(target_os = "linux")]
mod score;
#[cfg(target_os = "linux")]
mod truth;
#[cfg(target_os = "linux")]
mod work;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    work::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("network namespaces need Linux");
}
