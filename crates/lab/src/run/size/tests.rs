//! Tests of limits that are checked before anything is built.

use dupack_algorithms::catalog::Catalog;

use super::one::SMALL;
use super::*;

fn plan_of(text: &str) -> Result<Plan, ExperimentError> {
    let source = Source::new("test.toml", text);
    Plan::new(source.parse().unwrap(), &source, &Catalog::builtin())
}

const BASE: &str = "stacks = [\"sack/reno\"]\nseeds = 2\nduration = \"10s\"\n";

fn refused(text: &str) -> String {
    let error = plan_of(&format!("{BASE}{text}")).unwrap_err();
    let help = Diagnostic::help(&error).map(|help| help.to_string());
    format!("{error}; {}", help.expect("there is a help text"))
}

#[test]
fn excessive_counts_are_errors_before_anything_is_built() {
    for hops in [64_u32, 10_000_000, u32::MAX] {
        let said = refused(&format!("[radio]\nhops = {hops}\n"));
        assert!(said.contains("at most 63 hops"), "{said}");
    }
    let path = "[path]\nrate = \"10Mbit/s\"\ndelay = \"10ms\"\n";
    let flows = refused(&format!("{path}[[flows]]\ncount = 1000000\n"));
    assert!(flows.contains("a run cannot hold 1000000 flows"), "{flows}");
    // Each flow has a list of a million writes of 32 bytes each, so 100,000 flows need 3.2 TB.
    let writes = refused(&format!(
        "{path}[[flows]]\ncount = 100000\nwrites = [{{ every = \"10us\", bytes = \"1B\" }}]\n"
    ));
    assert!(
        writes.contains("about 3.2 TB of memory are needed for one run"),
        "{writes}"
    );
    // The source sends 10^9 packets per second, and the buffer holds them.
    let udp = refused(
        "[path]\nrate = \"1Mbit/s\"\nbuffer = \"4000000000pkt\"\n[[udp]]\nrate = \"8Tbit/s\"\npacket = \"1000B\"\n",
    );
    assert!(udp.contains("of memory are needed for one run"), "{udp}");
}

#[test]
fn experiments_that_fit_are_accepted() {
    let path = "[path]\nrate = \"10Mbit/s\"\ndelay = \"10ms\"\nbuffer = \"4000000000pkt\"\n";
    assert!(plan_of(&format!("{BASE}[radio]\nhops = 63\n")).is_ok());
    assert!(plan_of(&format!("{BASE}{path}")).is_ok());
    assert!(plan_of(&format!("{BASE}{path}[[flows]]\ncount = 1000\n")).is_ok());
}

/// Common experiments are accepted on a small machine.
#[test]
fn common_experiments_need_little_memory() {
    let bytes = |text: &str| {
        let source = Source::new("test.toml", format!("{BASE}{text}"));
        running_bytes(&source.parse().unwrap())
    };
    let gigabit = "[path]\nrate = \"1Gbit/s\"\ndelay = \"50ms\"\nbuffer = \"5000pkt\"\n";
    let access = "[access]\nrate = \"10Gbit/s\"\ndelay = \"1ms\"\n";
    for text in [
        "[path]\nrate = \"10Gbit/s\"\ndelay = \"50ms\"\nbuffer = \"100MB\"\n".to_owned(),
        format!("{gigabit}{access}[[flows]]\ncount = 100\n"),
        format!("{gigabit}[[flows]]\ncount = 1000\n"),
        "[path]\ntrace = \"recorded\"\ndelay = \"50ms\"\nbuffer = \"1000pkt\"\n[[flows]]\ncount = 100\n".to_owned(),
        "[radio]\nhops = 7\n".to_owned(),
    ] {
        assert!(bytes(&text) < SMALL, "{} for {text}", bytes(&text));
    }
}

#[test]
fn overflowing_counts_are_errors() {
    assert_eq!(product([1 << 32, 1 << 31].into_iter()), Some(1 << 63));
    assert_eq!(product([1 << 32, 1 << 32].into_iter()), None);
    let size = Size {
        points: 1 << 33,
        runs_at_point: 1 << 31,
        plan_bytes: 0,
        run_bytes: RUN,
        running_bytes: RUNNING,
    };
    assert_eq!((size.runs(), size.bytes(Held::All, 1)), (None, None));
    let said = size.fits(Held::All, 1, 1 << 40).unwrap_err();
    assert!(said.to_string().contains("more than 2^64 runs"), "{said}");
}

#[test]
fn an_error_names_the_available_memory_and_a_remedy() {
    let plan = plan_of(&format!(
        "{BASE}[path]\nrate = \"10Mbit/s\"\n[sweep]\n\"path.loss\" = [\"0%\", \"1%\"]\n"
    ));
    let mut size = plan.unwrap().size();
    assert_eq!(
        (size.points, size.runs_at_point, size.runs()),
        (2, 2, Some(4))
    );
    size.runs_at_point = 1_000_000;
    let said = |held, jobs| {
        let error = size.fits(held, jobs, 10_000_000_000).unwrap_err();
        format!("{error}; {}", error.help().unwrap())
    };
    let all = said(Held::All, 2);
    assert!(
        all.contains(
            "about 22.2 GB of memory are needed for the results of 2000000 runs, but only 10.0 GB \
             are"
        ),
        "{all}"
    );
    assert!(all.contains("--stream"), "{all}");
    let point = said(Held::Points, 2);
    assert!(
        point.contains(
            "about 11.1 GB of memory are needed for the results of the 1000000 runs of a point"
        ),
        "{point}"
    );
    assert!(said(Held::Runs(1_000_000), 2).contains("more shards"));
    assert!(said(Held::Runs(10), 100_000).contains("--jobs"));
    size.runs_at_point = 1000;
    assert_eq!(size.fits(Held::All, 2, 10_000_000_000), Ok(()));
}
