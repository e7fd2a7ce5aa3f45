//! Prints what the gate goes by.
use dupack_algorithms::catalog::Catalog;
use dupack_diagnosis::{ConnectionFindings, Flow, diagnose};
use dupack_diagnosis_tell::asking::{Asked, ask, captured, in_words};
use dupack_lab::run::Interrupt;
use dupack_packet::captured::CaptureReader;
fn main() {
    let full = std::env::var("FULL").is_ok();
    for file in std::env::args().skip(1) {
        let Ok(f) = std::fs::File::open(&file) else {
            continue;
        };
        let Ok(mut reader) = CaptureReader::new(f) else {
            continue;
        };
        let Ok(d) = diagnose(&mut reader, Flow::All, &mut ()) else {
            continue;
        };
        let Some(s) = d
            .connections
            .first()
            .and_then(ConnectionFindings::main_stream)
        else {
            println!("{file}: no data");
            continue;
        };
        let p = &s.path;
        let name = file.rsplit('/').next().unwrap();
        println!(
            "{name}: {:?} {:?} {:?} uneven {:.3} foreign {:.3} full {:.2} rate {:?} rtt {:?} loss {} dur {:.2} bytes {} writes {} conns {} senders {:?}",
            p.place,
            p.company,
            p.steadiness,
            p.uneven,
            p.foreign,
            p.full,
            p.rate.value().map(|r| (r / 1e4).round() / 100.0),
            p.least_rtt.value(),
            p.losses,
            p.transfer.duration.as_secs_f64(),
            p.transfer.bytes,
            p.transfer.writes.len(),
            d.connections_all,
            captured(s)
                .iter()
                .map(|c| c.name())
                .take(3)
                .collect::<Vec<_>>()
        );
        if full {
            match ask(s, &Catalog::builtin(), None, &(), &Interrupt::new()) {
                Ok(Asked::Answered(a)) => {
                    for one in a {
                        println!("    {}", in_words(&one));
                    }
                }
                Ok(Asked::Refused(why)) => println!("    refused: {why}"),
                other => println!("    {other:?}"),
            }
        }
    }
}
