//! What dupack is measured against: other simulators, other endpoints, the kernel, the papers. Each command runs
//! for minutes or more, most on a quiet machine, and writes a page in `docs/`.

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
    about = "Measures dupack beside other programs, and writes the pages about it."
)]
struct Args {
    #[command(subcommand)]
    measurement: Measurement,
}

#[derive(Subcommand)]
enum Measurement {
    /// Run ns-2, ns-3 and htsim beside dupack on the same work, and write docs/performance.md.
    Peers(peers::PeersArgs),
    /// Build dupack by a profile of its own work, which makes it faster: docs/performance.md says by how
    /// much (needs `rustup component add llvm-tools`, and some minutes).
    Optimise,
    /// Measure what the endpoint moves over TUN, beside smoltcp and the kernel, and write
    /// docs/wire-speed.md.
    WireSpeed(wire_speed::WireSpeedArgs),
    /// Measure ns-2.35 anew on the scenarios in validation/peers/ns2 (needs the Debian package `ns2`).
    PeersNs2(ns2::Ns2Args),
    /// Measure ns-3.37 anew on the scenarios in validation/peers/ns3 (needs the Debian package `libns3-dev`).
    PeersNs3(ns3::Ns3Args),
    /// Compare the dialect `ns2` with what ns-2.35 did, and write docs/ns2-agreement.md.
    AgreeNs2(ns2::AgreeArgs),
    /// Give our queues, ns-3's and Linux's token bucket the same packets, and write docs/queues.md (needs
    /// the Debian packages `libns3-dev` and `libgsl-dev`, network namespaces and `tc`).
    Queues(queues::QueuesArgs),
    /// LE's testbed on real packets and today's kernel beside it, into docs/testbed.md; the machine
    /// must be quiet (the best part of an hour).
    Testbed(testbed::TestbedArgs),
    /// Report cards on real packets of our senders and the kernel's, into docs/wire-card.md (half an hour; put
    /// `nice -n -10` before it, as root).
    WireCard(wire_card::WireCardArgs),
    /// Play packetdrill scripts of others and our own against our endpoint, and our own against this machine's kernel,
    /// and write docs/conformance.md.
    Conformance(conformance::ConformanceArgs),
    /// The cards of docs/evaluation.md, and of senders that are broken on purpose: do the rules ask different
    /// things, and are verdicts stable? (The best part of an hour on two processors.)
    Evaluation(evaluation::EvaluationArgs),
    /// Hold `dupack diagnose` against real packets of our senders and the kernel's, of which is known what they were,
    /// into docs/diagnose-truth.md; with `--what-if`, its predictions, into docs/diagnose-what-if.md (some minutes
    /// and a quarter of an hour; as root). With `--speed`, how long it takes for a large capture, beside tshark and
    /// tcptrace, into the last section of docs/performance.md (a quarter of an hour on a quiet machine; needs the
    /// Debian packages `time`, `tshark` and `tcptrace`).
    Diagnose(diagnose::DiagnoseArgs),
    /// Count the steps that environments for reinforcement learning make in a second, beside ns-3 on the same path, into the last
    /// section of docs/environments.md (five minutes on a quiet machine; needs the Debian packages `libns3-dev` and
    /// `libgsl-dev`).
    Environments(environments::EnvironmentsArgs),
    /// Do the shards of some experiments one by one, and write into docs/clusters.md how well they are balanced (a
    /// minute; needs the Debian package `time`).
    Shards(shards::ShardsArgs),
    /// A sweep of a million runs with `dupack run --stream`: its time, its memory and what it writes, and what many
    /// machines would take, into a section of docs/performance.md (some minutes on a quiet machine, and 2 GB of disk;
    /// needs the Debian package `time`).
    Stream(stream::StreamArgs),
    /// Rerun every paper at full scale, and write docs/reproduction.md with its figures.
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
