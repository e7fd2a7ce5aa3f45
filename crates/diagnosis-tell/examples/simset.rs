//! Simulated set.
use dupack_truth::paths::others::{Company, Question};
fn main() {
    let a: Vec<u64> = std::env::args()
        .skip(1)
        .map(|a| a.parse().unwrap())
        .collect();
    for company in [Company::Alone, Company::Hidden] {
        for seed in a[0]..a[1] {
            let q = Question::of(seed, company);
            let share = if company == Company::Alone {
                0.0
            } else {
                q.others()
            };
            let Some(s) = q.found() else {
                println!("{company:?} {seed} none");
                continue;
            };
            let p = &s.path;
            println!(
                "{company:?} share {share:.2}: {:?} {:?} uneven {:.3} foreign {:.3} full {:.2} rate {:?} rtt {:?} loss {} dur {:.2} bytes {} | {}",
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
                q.line()
            );
        }
    }
}
