//! Measurements of dupack in comparison with other simulators, other endpoints, the kernel and the papers. Each command
//! takes minutes or longer and writes a page in `docs/`. Most commands need a quiet machine.

mod captures;
mod conformance;
mod diagnose;
mod environments;
mod evaluation;
mod ns2;
mod ns3;
mod optimise;
mod part;
mod peers;
mod queues;
mod reproduce;
mod section;
mod shards;
mod stream;
mod testbed;
mod wire_card;
mod wire_speed;
mod yardstick;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use dupack_build::cargo;

#[derive(Parser)]
#[command(
    name = "cargo measure",
    about = "Measures dupack beside other programs and writes the pages about it."
)]
struct Args {
    #[command(subcommand)]
    measurement: Measurement,
}

#[derive(Subcommand)]
enum Measurement {
    /// Run ns-2, ns-3, htsim and dupack on the same work, and write docs/performance.md.
    Peers(peers::PeersArgs),
    /// Build dupack with a profile of its own work, which makes it faster by the amount in docs/performance.md (needs
    /// `rustup component add llvm-tools`, and some minutes).
    Optimise,
    /// Measure the throughput over TUN of the endpoint, smoltcp and the kernel, and write docs/wire-speed.md.
    WireSpeed(wire_speed::WireSpeedArgs),
    /// Run the scenarios in validation/peers/ns2 again with ns-2.35 (needs the Debian package `ns2`).
    PeersNs2(ns2::Ns2Args),
    /// Run the scenarios in validation/peers/ns3 again with ns-3.37 (needs the Debian package `libns3-dev`).
    PeersNs3(ns3::Ns3Args),
    /// Compare the dialect `ns2` with the recorded results of ns-2.35, and write docs/ns2-agreement.md.
    AgreeNs2(ns2::AgreeArgs),
    /// Send the same packets through our queues, the queues of ns-3 and Linux's token bucket, and write docs/queues.md
    /// (needs the Debian packages `libns3-dev` and `libgsl-dev`, network namespaces and `tc`).
    Queues(queues::QueuesArgs),
    /// Run LE's testbed and today's kernel on real packets, and write docs/testbed.md (needs a quiet machine; nearly an
    /// hour).
    Testbed(testbed::TestbedArgs),
    /// Make report cards on real packets of our senders and the kernel's senders, and write docs/wire-card.md (half an
    /// hour; put `nice -n -10` before the command, as root).
    WireCard(wire_card::WireCardArgs),
    /// Run packetdrill scripts of other projects and our own against our endpoint, and our own also against this
    /// machine's kernel, and write docs/conformance.md.
    Conformance(conformance::ConformanceArgs),
    /// Make the cards of docs/evaluation.md and the cards of broken senders, and check that rules differ and verdicts
    /// are stable (nearly an hour on two processors).
    Evaluation(evaluation::EvaluationArgs),
    /// Compare `dupack diagnose` with the truth about real packets of our senders and the kernel's senders, and write
    /// docs/diagnose-truth.md; with `--what-if`, compare its predictions, and write docs/diagnose-what-if.md (some
    /// minutes, or a quarter of an hour; as root). With `--speed`, measure the time of dupack, tshark and tcptrace for
    /// a large capture, for the last section of docs/performance.md (a quarter of an hour on a quiet machine; needs the
    /// Debian packages `time`, `tshark` and `tcptrace`).
    Diagnose(diagnose::DiagnoseArgs),
    /// Measure the steps per second of environments for reinforcement learning, and of ns-3 on the same path, for the
    /// last section of docs/environments.md (five minutes on a quiet machine; needs the Debian packages `libns3-dev`
    /// and `libgsl-dev`).
    Environments(environments::EnvironmentsArgs),
    /// Run the shards of some experiments one by one, and write their balance into docs/clusters.md (one minute; needs
    /// the Debian package `time`).
    Shards(shards::ShardsArgs),
    /// Run a sweep of a million runs with `dupack run --stream`, and write its time, memory and output, and the
    /// calculated time on many machines, into a section of docs/performance.md (some minutes on a quiet machine, and 2
    /// GB of disk; needs the Debian package `time`).
    Stream(stream::StreamArgs),
    /// Repeat the experiments of every paper at full scale, and write docs/reproduction with its figures.
    Reproduce(reproduce::ReproduceArgs),
}

fn main() -> ExitCode {
    let result = match Args::parse().measurement {
        Measurement::Peers(args) => peers::run(&args),
        Measurement::Optimise => optimise::run(),
        Measurement::WireSpeed(args) => wire_speed::run(&args),
        Measurement::PeersNs2(args) => ns2::run(&args),
        Measurement::PeersNs3(args) => ns3::run(&args),
        Measurement::AgreeNs2(args) => cargo(&args.command()),
        Measurement::Queues(args) => queues::run(&args),
        Measurement::Testbed(args) => cargo(&args.command()),
        Measurement::WireCard(args) => wire_card::run(&args),
        Measurement::Conformance(args) => conformance::run(&args),
        Measurement::Evaluation(args) => evaluation::run(&args),
        Measurement::Diagnose(args) => args.run(),
        Measurement::Environments(args) => environments::run(&args),
        Measurement::Shards(args) => shards::run(&args),
        Measurement::Stream(args) => stream::run(&args),
        Measurement::Reproduce(args) => reproduce::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
