//! The load generator: asks, waits, and reads the clock.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use atlas::error::Result;
use atlas::eval::latency::Timed;
use atlas::search::Outcome;

/// What one request did, as the asking function tells it.
pub struct Answered {
    /// Every stage with its microseconds; the search's own are in the trace.
    pub stages: Vec<(String, f64)>,
    /// Estimated tokens of the context.
    pub tokens: usize,
}

impl Answered {
    /// The stages of a search's trace.
    pub fn of(outcome: &Outcome) -> Self {
        let stages = outcome.trace.stages.iter();
        Self {
            stages: stages.map(|stage| (stage.name.to_owned(), stage.elapsed_us)).collect(),
            tokens: outcome.tokens(),
        }
    }
}

/// What is asked, by how many, and when.
pub struct Plan<'p> {
    /// The number of the question of every request, in order.
    pub questions: &'p [usize],
    /// Threads that ask.
    pub workers: usize,
    /// When each request is due, counted from the start; `None` is a closed loop.
    pub due: Option<&'p [Duration]>,
}

/// What came of a plan.
pub struct Done {
    /// Names of the stages.
    pub stages: Vec<String>,
    /// One entry a request, in the order of the plan.
    pub requests: Vec<Timed>,
    /// Seconds from the first start to the last end.
    pub elapsed_s: f64,
    /// What the first request that failed said.
    pub fault: Option<String>,
}

/// One request as a worker saw it.
struct Seen {
    at: usize,
    answered: Result<Answered>,
    wait: Option<Duration>,
    total: Duration,
}

/// How long before a request is due a worker stops sleeping and watches the clock: sleeping on wakes
/// too late by up to a tenth of a millisecond, more than a search takes.
const WATCH: Duration = Duration::from_micros(300);

/// Runs `plan`: workers take the next request in order, wait until it is due, and ask. In an open loop
/// the wait from the moment it was due to its start is kept apart from the time that it took.
pub fn run(plan: &Plan<'_>, ask: &(dyn Fn(usize) -> Result<Answered> + Sync)) -> Done {
    let next = AtomicUsize::new(0);
    let started = Instant::now();
    let work = || {
        let mut seen = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(question) = plan.questions.get(at) else { return seen };
            let due = plan.due.and_then(|due| due.get(at)).map(|after| started + *after);
            if let Some(due) = due {
                wait_until(due);
            }
            let began = Instant::now();
            let answered = ask(*question);
            let total = began.elapsed();
            seen.push(Seen { at, answered, wait: due.map(|due| began - due), total });
        }
    };
    let mut seen: Vec<Seen> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..plan.workers.max(1)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
    });
    let elapsed_s = started.elapsed().as_secs_f64();
    seen.sort_by_key(|seen| seen.at);
    gather(plan, seen, elapsed_s)
}

fn wait_until(due: Instant) {
    loop {
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        if left > WATCH {
            std::thread::sleep(left - WATCH);
        } else {
            std::hint::spin_loop();
        }
    }
}

fn gather(plan: &Plan<'_>, seen: Vec<Seen>, elapsed_s: f64) -> Done {
    let mut done = Done { stages: Vec::new(), requests: Vec::new(), elapsed_s, fault: None };
    for seen in &seen {
        for (name, _) in seen.answered.iter().flat_map(|answered| &answered.stages) {
            if !done.stages.contains(name) {
                done.stages.push(name.clone());
            }
        }
    }
    let us = |time: Duration| time.as_secs_f64() * 1e6;
    for seen in seen {
        let mut timed = Timed {
            question: plan.questions[seen.at],
            stages_us: vec![0.0; done.stages.len()],
            total_us: us(seen.total),
            wait_us: seen.wait.map(us),
            tokens: None,
            failed: false,
        };
        match seen.answered {
            Ok(answered) => {
                timed.tokens = Some(answered.tokens);
                for (name, us) in answered.stages {
                    if let Some(at) = done.stages.iter().position(|stage| *stage == name) {
                        timed.stages_us[at] += us;
                    }
                }
            }
            Err(fault) => {
                timed.failed = true;
                done.fault.get_or_insert(fault.to_string());
            }
        }
        done.requests.push(timed);
    }
    done
}

#[cfg(test)]
mod tests {
    use atlas::error::Error;

    use super::*;

    fn slow(_: usize) -> Result<Answered> {
        std::thread::sleep(Duration::from_millis(4));
        Ok(Answered { stages: vec![("dense".to_owned(), 3000.0)], tokens: 7 })
    }

    #[test]
    fn a_closed_loop_sees_no_queue_and_an_open_one_does() {
        let questions = vec![0; 20];
        let closed = run(&Plan { questions: &questions, workers: 1, due: None }, &slow);
        assert!(closed.requests.iter().all(|request| request.wait_us.is_none()));
        assert!(closed.requests.iter().all(|request| request.total_us >= 4000.0));
        // Due every millisecond, answered in four: the last waits for most of the others.
        let due: Vec<Duration> = (0..20).map(Duration::from_millis).collect();
        let open = run(&Plan { questions: &questions, workers: 1, due: Some(&due) }, &slow);
        let wait = |at: usize| open.requests[at].wait_us.unwrap();
        assert!(wait(19) > 50_000.0 && wait(19) > wait(5), "{} {}", wait(5), wait(19));
        // Every request is asked once, and in order.
        assert_eq!((open.requests.len(), open.stages), (20, vec!["dense".to_owned()]));
    }

    #[test]
    fn nothing_starts_before_it_is_due() {
        let due = [Duration::ZERO, Duration::from_millis(30)];
        let fast = |_| Ok(Answered { stages: Vec::new(), tokens: 0 });
        let done = run(&Plan { questions: &[0, 1], workers: 2, due: Some(&due) }, &fast);
        assert!(done.elapsed_s >= 0.03);
        assert!(done.requests.iter().all(|request| request.wait_us.unwrap() >= 0.0));
    }

    #[test]
    fn a_failure_counts_with_its_time() {
        let fail = |question| {
            std::thread::sleep(Duration::from_millis(2));
            if question == 1 { Err(Error::invalid("it", 1, "another")) } else { slow(question) }
        };
        let done = run(&Plan { questions: &[0, 1], workers: 1, due: None }, &fail);
        let failed: Vec<bool> = done.requests.iter().map(|request| request.failed).collect();
        assert_eq!(failed, [false, true]);
        assert!(done.requests[1].total_us >= 2000.0);
        assert_eq!(done.fault.unwrap(), "it is 1; expected another");
    }
}
