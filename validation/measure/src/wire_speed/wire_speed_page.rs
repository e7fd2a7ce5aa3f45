//! The page docs/wire-speed.md: the targets, followed by all measurements.

use super::Sample;
use super::runs::{Direction, Party, RUNS, Run, TASKS, Task};
use crate::peers::machine::Machine;
use crate::peers::spread::{Spread, short};

/// Contents of the page.
pub struct Page<'a> {
    pub samples: &'a [Sample],
    pub machine: &'a Machine,
    /// Names and versions of the measured programs.
    pub versions: &'a [(&'a str, String)],
    pub seconds: &'a str,
    pub command: &'a str,
}

const INTRODUCTION: &str = "\
# Speed on real packets

This page shows how fast bytes move between this machine's kernel and a TCP endpoint over a TUN device. The endpoint is
dupack, smoltcp or, as the baseline, a second kernel behind a thread that only relays packets between two devices.
`cargo measure wire-speed` writes this page.

The numbers are Gbit/s of payload, medians of the rounds; the [spread](#all-measurements) is below. The endpoint, or the
relay, is bound to one core, and the program that reads or writes on the kernel's side to another. *Reached* compares
dupack's median with the aim.

| work | dupack | smoltcp | dupack over smoltcp | kernel to kernel | aim | reached |
| --- | --- | --- | --- | --- | --- | --- |
";

const DIFFERENCES: &str = "\
## Common conditions and differences

- All endpoints use the same kind of device, created in the same way, and read and written by the same code with one
  system call per packet. The MTU is always 1500 bytes. *With offload* means that packets of up to 64 KiB with incomplete
  checksums cross the device (`IFF_VNET_HDR`), as with a network card with segmentation offload.
- All endpoints run in one thread, are built by the same compiler with the same settings, and have buffers of 4 MiB in
  each direction. The kernel has its own buffers, and Reno instead of the system's default.
- A sender writes the same byte repeatedly into its buffer, and no program checks the received data.
  `crates/wire/tests/interop` tests that every byte arrives.
- **The endpoint's core also does part of the kernel's TCP work**: a packet that is written to the device passes through
  the kernel's TCP up to the socket within the system call, and an ACK makes the kernel send. The same applies to the
  relay's core.
- **dupack** runs `sack/reno` with SACK and timestamps, as Linux negotiates them. It acknowledges up to 64 packets that
  arrive together with one ACK.
- **smoltcp** is driven by its own `Interface::poll`, which reads all available packets and then answers once. Its
  default has no congestion control and no timestamps; [below](#all-measurements) are its numbers with Reno. Its
  segmentation offload is that of its `phy` layer, translated to the device's.
- **Kernel to kernel**: the program that writes and the one that reads share one core, and the relay has the other. The
  program in the table below is the one that reads.

";

const DETAILS: &str = "\
## All measurements

Gbit/s: minimum / median / maximum of the rounds. The other columns are medians: the processor time of the endpoint (or
relay) and of the program on the kernel's side for 1448 bytes of payload, a full segment, and the share of the time that
each was busy. If neither share is close to 100 %, other processes used a core, or the two waited for each other.

| run | rounds | Gbit/s | endpoint, ns | program, ns | endpoint busy | program busy |
| --- | --- | --- | --- | --- | --- | --- |
";

/// Payload of a full segment in bytes: 1500 minus the headers of IPv4 and TCP and the timestamps.
const SEGMENT_BYTES: f64 = 1448.0;

impl Page<'_> {
    /// Returns the page in Markdown.
    pub fn text(&self) -> String {
        let mut text = INTRODUCTION.to_owned();
        for (task, aim_gbits) in TASKS {
            text += &self.row(task, aim_gbits);
        }
        text += "\n";
        text += DIFFERENCES;
        text += DETAILS;
        for run in RUNS {
            text += &self.detail(run);
        }
        text += &self.circumstances();
        text
    }

    fn row(&self, task: Task, aim_gbits: f64) -> String {
        let rate = |party| self.gbits(Run { party, task });
        // The relay does the same work in both directions.
        let both_ways = Task {
            direction: Direction::Send,
            ..task
        };
        let relay = self.gbits(Run {
            party: Party::Relay,
            task: both_ways,
        });
        let (ours, theirs) = (rate(Party::Dupack), rate(Party::Smoltcp));
        let ratio = ours.zip(theirs).map(|(ours, theirs)| ours / theirs);
        let reached = match ours {
            Some(ours) if ours >= aim_gbits => "yes",
            Some(_) => "no",
            None => "",
        };
        format!(
            "| {} | **{}** | {} | {} | {} | ≥ {aim_gbits:.1} | {reached} |\n",
            task.name(),
            cell(ours),
            cell(theirs),
            cell(ratio),
            cell(relay),
        )
    }

    fn gbits(&self, run: Run) -> Option<f64> {
        self.spread(run, Sample::gbits).map(|spread| spread.median)
    }

    fn spread(&self, run: Run, of: impl Fn(&Sample) -> f64) -> Option<Spread> {
        let samples = self.samples.iter().filter(|sample| sample.run == run);
        Spread::of(samples.map(of))
    }

    fn detail(&self, run: Run) -> String {
        let Some(gbits) = self.spread(run, Sample::gbits) else {
            return String::new();
        };
        let rounds = self.samples.iter().filter(|s| s.run == run).count();
        let median =
            |of: fn(&Sample) -> f64| self.spread(run, of).map_or(0.0, |spread| spread.median);
        format!(
            "| {} | {rounds} | {} | {:.0} | {:.0} | {:.0} % | {:.0} % |\n",
            run.name(),
            gbits.text(),
            median(|s| s.endpoint_s * 1e9 / s.bytes * SEGMENT_BYTES),
            median(|s| s.program_s * 1e9 / s.bytes * SEGMENT_BYTES),
            median(|s| s.endpoint_s / s.seconds * 100.0),
            median(|s| s.program_s / s.seconds * 100.0),
        )
    }

    fn circumstances(&self) -> String {
        let mut text = format!(
            "\n## Circumstances\n\n- measured by `{}`; each run by `target/release/examples/wire_speed ARGUMENTS \
             --seconds {}` after half a second of warm-up, with these arguments:\n",
            self.command, self.seconds
        );
        for run in RUNS {
            text += &format!("  - `{}`\n", run.words().join(" "));
        }
        for line in self.machine.lines() {
            text += &format!("- {line}\n");
        }
        for (name, version) in self.versions {
            text += &format!("- {name}: {version}\n");
        }
        text
    }
}

fn cell(value: Option<f64>) -> String {
    value.map_or("—".to_owned(), short)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(run: Run, gbits: f64) -> Sample {
        Sample {
            run,
            bytes: gbits * 1e9 / 8.0,
            seconds: 1.0,
            endpoint_s: 1.0,
            program_s: 0.5,
        }
    }

    #[test]
    fn the_median_decides_whether_an_aim_is_reached() {
        let (task, aim_gbits) = TASKS[0];
        let row = |rates: [f64; 3]| {
            let run = Run {
                party: Party::Dupack,
                task,
            };
            let samples = rates.map(|rate| sample(run, rate));
            let page = Page {
                samples: &samples,
                machine: &Machine::here(),
                versions: &[],
                seconds: "1",
                command: "",
            };
            page.row(task, aim_gbits)
        };
        assert!(row([0.5, 1.0, 1.5]).ends_with("| **1.00** | — | — | — | ≥ 1.0 | yes |\n"));
        assert!(row([0.5, 0.9, 1.5]).ends_with("| ≥ 1.0 | no |\n"));
    }

    #[test]
    fn every_cell_of_the_table_is_measured() {
        for (task, _) in TASKS {
            for party in [Party::Dupack, Party::Smoltcp] {
                assert!(RUNS.contains(&Run { party, task }));
            }
        }
    }
}
