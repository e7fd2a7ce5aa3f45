//! Whether the runs came to the losses that were asked for.

use dupack_lab::experiment::DropRule;
use dupack_lab::trace::Unreached;
use dupack_lab::trace::stream::Account;
use dupack_report::folder::OutputFolder;
use miette::{Result, miette};

use super::{Done, Run, Setting, TraceArgs};

/// An error if a rule of the command line names only what came after the end of a run; a warning
/// where that is true of a part of it, or of a rule of the file.
pub(super) fn check(
    args: &TraceArgs,
    setting: &Setting,
    folder: &OutputFolder,
    runs: &[Run<'_>],
    done: &[Done],
) -> Result<()> {
    let of_file = setting.experiment.path.iter().flat_map(|path| &path.drop);
    let of_file = of_file.filter(|rule| !args.drop.contains(rule));
    for (run, done) in runs.iter().zip(done) {
        let account = &done.account;
        for rule in &args.drop {
            match account.reach.beyond(rule, account.end) {
                None => {}
                Some(Unreached::All) => {
                    let help = format!(
                        "name what comes before, or make the run longer with --duration; {} has the files of the run, but no figure",
                        folder.path().display()
                    );
                    let end = end_of(&run.name, rule, account);
                    return Err(miette!(
                        help = help,
                        "`--drop {rule}` lies beyond the run: {end}"
                    ));
                }
                Some(Unreached::End) => {
                    let end = end_of(&run.name, rule, account);
                    eprintln!("warning: the end of `--drop {rule}` lies beyond the run: {end}");
                }
            }
        }
        for rule in of_file.clone() {
            if account.reach.beyond(rule, account.end).is_some() {
                let end = end_of(&run.name, rule, account);
                eprintln!("warning: the file's loss `{rule}` lies beyond the run: {end}");
            }
        }
    }
    Ok(())
}

/// Where a run ended, in what the rule counts.
fn end_of(name: &str, rule: &DropRule, account: &Account) -> String {
    let last = |what: &str, count: u64| match count.checked_sub(1) {
        Some(last) => format!(", and {what} {last} was the last sent"),
        None => format!(", and no {what} was sent"),
    };
    let last = match rule {
        DropRule::Data { .. } | DropRule::Chosen { .. } => last("packet", account.reach.packets),
        DropRule::Ack { .. } => last("ACK", account.reach.acks),
        _ => String::new(),
    };
    format!("{name} ended at {:.3} s{last}", account.end.as_secs_f64())
}
